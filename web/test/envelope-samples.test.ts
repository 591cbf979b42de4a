/// <reference types="vite/client" />
import "./wasm-from-disk.ts";
import { describe, expect, it } from "vitest";
import type { BrokenRule, EnvelopeRule, Manifest } from "#wasm/page";
import { decodeEnvelope, describeEnvelope, encodeEnvelope } from "../src/envelope.ts";
import { WellwrittenError } from "../src/wellwritten-error.ts";
import { fromBase64 } from "./base64.ts";
import { canonical, forgerOf } from "./forge-envelope.ts";

// Oracle: files that Rust wrote, one per shape a manifest can have and one per rule a file can break. TypeScript must
// read in each what Rust put there, write the same bytes again, and refuse each broken one for the same reason.

interface Sample {
  readonly version: 1 | 2;
  readonly manifest: Manifest;
  readonly payloads: readonly { readonly name: string; readonly base64: string }[];
  readonly base64: string;
}

interface Refused {
  readonly message: string;
  readonly context: Omit<BrokenRule, "offset"> & { readonly offset: number | null };
  readonly base64: string;
}

const byName = <T>(files: Record<string, unknown>) =>
  Object.entries(files).map(([path, file]): [string, T] => [
    path.replace(/^.*\/|\.json$/g, ""),
    file as T,
  ]);
const samples = byName<Sample>(
  import.meta.glob("./generated/envelopes/*.json", { eager: true, import: "default" }),
);
const refused = byName<Refused>(
  import.meta.glob("./generated/envelopes/refused/*.json", { eager: true, import: "default" }),
);

/** A payload per name, in the sample's order. */
const payloadsOf = ({ payloads }: Sample) =>
  new Map(payloads.map(({ name, base64 }) => [name, fromBase64(base64)]));

/** Whether a sample's file is what TypeScript makes of it: read, written again, and compared byte by byte. */
function survives(sample: Sample): boolean {
  const file = fromBase64(sample.base64);
  const { manifest, payloads } = decodeEnvelope(file);
  const again = encodeEnvelope(
    manifest,
    new Map(payloads.map((payload) => [payload.name, payload.bytes()])),
  );
  return again.length === file.length && again.every((byte, index) => byte === file[index]);
}

function refusalOf(call: () => unknown): WellwrittenError {
  try {
    call();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(WellwrittenError);
    return thrown as WellwrittenError;
  }
  throw new Error("it was not refused");
}

describe("a sample of every shape", () => {
  it("there are samples of both versions and of every kind", () => {
    const manifests = samples.map(([, { manifest }]) => manifest);
    const kinds = {
      one: manifests.filter((manifest) => manifest.envelopeVersion === 1),
      two: manifests.filter((manifest) => manifest.envelopeVersion === 2),
      noAdmission: manifests.filter(({ coordinator }) => coordinator.admissionState === null),
      lastEvent: manifests.filter(
        ({ coordinator }) => "lastEventId" in coordinator.eventWatermarks,
      ),
      issued: manifests.filter(({ coordinator }) => "issued" in coordinator.eventWatermarks),
      sha256: manifests.filter(({ digestAlgorithm }) => digestAlgorithm === "sha256"),
      blake3: manifests.filter(({ digestAlgorithm }) => digestAlgorithm === "blake3"),
      unstated: manifests.filter((manifest) => !("digestAlgorithm" in manifest)),
      index: manifests.filter(({ agents }) => agents.some((agent) => "indexDigest" in agent)),
      noIndex: manifests.filter(({ agents }) => agents.some((agent) => !("indexDigest" in agent))),
      amended: manifests.filter((manifest) => "amendment" in manifest),
      full: manifests.filter(({ payloads }) => payloads.length === 64),
    };
    for (const [kind, found] of Object.entries(kinds)) expect(found, kind).not.toEqual([]);
  });

  it.each(samples)("%s is read as Rust wrote it", (_name, sample) => {
    const file = fromBase64(sample.base64);
    const { version, manifest, payloads } = decodeEnvelope(file);
    expect(version).toBe(sample.version);
    expect(manifest).toEqual(sample.manifest);
    expect(payloads.map(({ name }) => name)).toEqual(sample.payloads.map(({ name }) => name));
    for (const [index, payload] of payloads.entries()) {
      const bytes = payload.bytes();
      expect(bytes.buffer).toBe(file.buffer);
      expect(bytes).toEqual(fromBase64(sample.payloads[index]?.base64 ?? ""));
      expect(bytes.length).toBe(Number(payload.byteLength));
      expect(payload.digest).toBe(manifest.payloads[index]?.digest);
    }
    const layout = describeEnvelope(file);
    expect(layout.refusal).toBeNull();
    expect(layout.parts.map(({ state }) => state.is)).toEqual(layout.parts.map(() => "verified"));
  });

  it.each(samples)("%s is written again byte for byte", (_name, sample) => {
    expect(survives(sample)).toBe(true);
    const filledIn = encodeEnvelope({ ...sample.manifest, payloads: [] }, payloadsOf(sample));
    // A row may carry a field of a later amendment, which nobody can fill in.
    const rowsAreOurs = sample.manifest.payloads.every((row) => Object.keys(row).length === 3);
    expect(filledIn).toEqual(rowsAreOurs ? fromBase64(sample.base64) : filledIn);
  });

  it.each(samples)("%s is what a second writer makes of it", (_name, sample) => {
    const payloads = [...payloadsOf(sample)].map(([name, bytes]) => ({ name, bytes }));
    const forged = forgerOf(sample.version, payloads)(canonical(sample.manifest));
    expect(forged).toEqual(fromBase64(sample.base64));
  });

  it.each(samples)(
    "%s goes to the other version and back, or is refused rather than cut",
    (_name, sample) => {
      const payloads = payloadsOf(sample);
      const other = sample.version === 1 ? 2 : 1;
      const amended = canonical(sample.manifest).includes("amendment");
      const convert = () => encodeEnvelope(sample.manifest, payloads, { version: other });
      if (other === 2 && amended) {
        const { code, context } = refusalOf(convert);
        expect(code).toBe("ENVELOPE_NOT_ENCODABLE");
        expect((context as BrokenRule).rule).toBe("unknown-field");
        return;
      }
      // Nor can version 2 carry that a version 1 file said the obvious.
      if (sample.manifest.digestAlgorithm === "sha256") {
        const { code, context } = refusalOf(convert);
        expect(code).toBe("ENVELOPE_NOT_ENCODABLE");
        expect((context as BrokenRule).rule).toBe("digest-algorithm");
        return;
      }
      const there = decodeEnvelope(convert());
      expect(there.version).toBe(other);
      const back = encodeEnvelope(there.manifest, payloads, { version: sample.version });
      expect(decodeEnvelope(back).manifest).toEqual(sample.manifest);
      expect(back).toEqual(fromBase64(sample.base64));
    },
  );

  it("canary: a sample that does not survive is noticed", () => {
    const [, sample] = samples[0] ?? [];
    if (sample === undefined) throw new Error("there are samples");
    const longer = { ...sample.manifest, checkpointId: "another" };
    const other = encodeEnvelope({ ...longer, payloads: [] }, payloadsOf(sample));
    expect(survives(sample)).toBe(true);
    expect(other).not.toEqual(fromBase64(sample.base64));
  });
});

describe("a file for every rule that it can break", () => {
  /** Every rule; the compiler refuses a list that misses one or has one too many. */
  const everyRule: Record<EnvelopeRule, true> = {
    length: true,
    magic: true,
    version: true,
    "header-bytes": true,
    "reserved-word": true,
    "payload-count": true,
    "footer-magic": true,
    "file-bytes": true,
    "footer-digest": true,
    "manifest-bounds": true,
    "manifest-json": true,
    "manifest-canonical": true,
    "table-offset": true,
    "table-bounds": true,
    "entry-name": true,
    "entry-unique": true,
    "entry-offset": true,
    "entry-bounds": true,
    "payload-digest": true,
    padding: true,
    "footer-gap": true,
    "manifest-field": true,
    "manifest-version": true,
    "digest-algorithm": true,
    "unknown-field": true,
    "payload-rows": true,
    "payload-reference": true,
  };

  it("no rule is left out", () => {
    expect(refused.map(([name]) => name).sort()).toEqual(Object.keys(everyRule).sort());
  });

  it.each(refused)("%s is refused by that rule, with its place and values", (rule, file) => {
    const bytes = fromBase64(file.base64);
    const { code, message, context } = refusalOf(() => decodeEnvelope(bytes));
    expect(code).toBe("ENVELOPE_INVALID");
    expect(message).toBe(file.message);
    const { offset } = file.context;
    const expected = { ...file.context, offset: offset === null ? null : BigInt(offset) };
    expect(context).toEqual(expected);
    expect(expected.rule).toBe(rule);
    const { refusal, parts } = describeEnvelope(bytes);
    expect(refusal).toEqual({ rule, message });
    expect(parts.every(({ state }) => state.is === "verified")).toBe(false);
  });
});
