/// <reference types="vite/client" />
import "./wasm-from-disk.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { decodeEnvelope, describeEnvelope, encodeEnvelope } from "../src/envelope.ts";
import { manifestSchema } from "../src/manifest-schema.ts";
import { fromBase64 } from "./base64.ts";

// Oracle: an envelope that someone else's implementation wrote, with its layout and the corruptions a reader must
// refuse as that implementation recorded them.

interface Fixture {
  readonly manifest: Record<string, unknown>;
  readonly payloads: readonly { readonly name: string; readonly base64: string }[];
  readonly envelope: {
    readonly base64: string;
    readonly layout: {
      readonly headerBytes: number;
      readonly manifestOffset: string;
      readonly manifestBytes: number;
      readonly tableOffset: string;
      readonly entries: readonly {
        readonly name: string;
        readonly offset: string;
        readonly byteLength: string;
        readonly digest: string;
      }[];
      readonly footerOffset: string;
      readonly footerBytes: number;
      readonly totalBytes: string;
    };
  };
  readonly corruption: readonly {
    readonly name: string;
    readonly offset: number;
    readonly reason: string;
  }[];
}

/** Beside the repository, not in it. */
const found = import.meta.glob<Fixture>(
  "../../../shared/fixtures/flysess1/checkpoint-envelope.json",
  { eager: true, import: "default" },
);
const [fixture] = Object.values(found);
const missing = fixture === undefined;
const suffix = missing
  ? " (skipped: ../shared/fixtures/flysess1/checkpoint-envelope.json is not here)"
  : "";

describe.skipIf(missing)(`the reference's own envelope${suffix}`, () => {
  const { manifest, payloads, envelope, corruption } = fixture ?? ({} as Fixture);
  const file = () => fromBase64(envelope.base64);

  it("is read as the reference wrote it, and written again byte for byte", () => {
    const decoded = decodeEnvelope(file());
    expect(decoded.version).toBe(1);
    expect(decoded.manifest).toEqual(manifest);
    expect(decoded.payloads.map((payload) => [payload.name, payload.bytes()])).toEqual(
      payloads.map(({ name, base64 }) => [name, fromBase64(base64)]),
    );
    const { entries } = envelope.layout;
    expect(
      decoded.payloads.map(({ name, offset, byteLength, digest }) => ({
        ...{ name, digest },
        ...{ offset: String(offset), byteLength: String(byteLength) },
      })),
    ).toEqual(entries);
    const bytes = new Map(decoded.payloads.map((payload) => [payload.name, payload.bytes()]));
    expect(encodeEnvelope(decoded.manifest, bytes)).toEqual(file());
    expect(new Ajv2020().compile(manifestSchema)(decoded.manifest)).toBe(true);
  });

  it("becomes a file of version 2 and comes back byte for byte", () => {
    const one = decodeEnvelope(file());
    expect(one.manifest.coordinator.admissionState).toBeNull();
    const bytesOf = ({ payloads }: typeof one) =>
      new Map(payloads.map((payload) => [payload.name, payload.bytes()]));
    const two = decodeEnvelope(encodeEnvelope(one.manifest, bytesOf(one), { version: 2 }));
    expect(two.version).toBe(2);
    expect(two.manifest.coordinator).toEqual(manifest.coordinator);
    expect(new Ajv2020().compile(manifestSchema)(two.manifest)).toBe(true);
    expect(two.manifest.digestAlgorithm).toBe("blake3");
    expect(encodeEnvelope(two.manifest, bytesOf(two), { version: 1 })).toEqual(file());
  });

  it("has the layout the reference recorded", () => {
    const { layout } = envelope;
    const { parts, refusal, fileBytes } = describeEnvelope(file());
    expect(refusal).toBeNull();
    expect(fileBytes).toBe(layout.totalBytes);
    const place = (kind: string) => {
      const part = parts.find((part) => part.kind === kind);
      return [part?.offset, part?.byteLength];
    };
    expect(place("header")).toEqual(["0", String(layout.headerBytes)]);
    expect(place("manifest")).toEqual([layout.manifestOffset, String(layout.manifestBytes)]);
    expect(place("table")[0]).toBe(layout.tableOffset);
    expect(place("footer")).toEqual([layout.footerOffset, String(layout.footerBytes)]);
  });

  it("is refused with each corruption the reference recorded, for the recorded reason", () => {
    const rules: Record<string, string> = {
      "wrong magic": "magic",
      "unsupported version": "version",
      "the footer digest covers the manifest": "footer-digest",
      // In version 1 the footer covers the payloads too, and it is looked at first.
      "every payload carries its own digest": "footer-digest",
      "the footer digest must match the contents": "footer-digest",
      "a truncated file cannot look complete": "footer-magic",
    };
    expect(corruption.map(({ reason }) => reason).sort()).toEqual(Object.keys(rules).sort());
    for (const { name, offset, reason } of corruption) {
      const bytes = file();
      bytes[offset] = (bytes[offset] ?? 0) ^ 0xff;
      expect(() => decodeEnvelope(bytes), name).toThrow(
        expect.objectContaining({
          code: "ENVELOPE_INVALID",
          context: expect.objectContaining({ rule: rules[reason] }),
        }),
      );
    }
  });
});
