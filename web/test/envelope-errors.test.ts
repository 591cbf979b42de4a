import "./wasm-from-disk.ts";
import { describe, expect, it } from "vitest";
import type { Manifest } from "#wasm/page";
import {
  compareCompatibility,
  decodeEnvelope,
  describeEnvelope,
  encodeEnvelope,
} from "../src/envelope.ts";
import { WellwrittenError } from "../src/wellwritten-error.ts";
import { fromBase64 } from "./base64.ts";
import extended from "./generated/envelopes/version-1-extended.json" with { type: "json" };
import sample from "./generated/envelopes/version-2.json" with { type: "json" };

// Oracle: what each misuse must be called, written down by hand: a code, and the field or the payload with its values.

const manifest = sample.manifest as unknown as Manifest;
const payloads = () =>
  new Map(sample.payloads.map(({ name, base64 }) => [name, fromBase64(base64)]));

function refusalOf(call: () => unknown): WellwrittenError {
  try {
    call();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(WellwrittenError);
    return thrown as WellwrittenError;
  }
  throw new Error("it was not refused");
}

/** What encoding answers to a manifest and payloads that are wrong. */
const encoding = (changed: object, given: unknown = payloads(), version?: unknown) =>
  refusalOf(() =>
    encodeEnvelope(
      { ...manifest, payloads: [], ...changed } as Manifest,
      given as Map<string, Uint8Array>,
      version === undefined ? {} : version === null ? (null as never) : { version: version as 1 },
    ),
  );

describe("what cannot be encoded", () => {
  const broken = (facts: object) => ({
    ...{ offset: null, field: null, payload: null, expected: null, found: null },
    ...facts,
  });

  it.each<[string, object, unknown, object]>([
    [
      "a field of the wrong type, by its path",
      { agents: [{ ...manifest.agents[0], seed: 2 ** 31 }] },
      payloads(),
      { rule: "manifest-field", field: "agents[0].seed", found: expect.stringContaining("i32") },
    ],
    [
      "a field that is missing",
      { environment: undefined },
      payloads(),
      { rule: "manifest-field", field: "(top level)", found: "missing field `environment`" },
    ],
    [
      "a field that version 2 does not have",
      { colour: "red" },
      payloads(),
      { rule: "unknown-field", field: "colour" },
    ],
    [
      "the other version's digest function",
      { digestAlgorithm: "sha256" },
      payloads(),
      { rule: "digest-algorithm", field: "digestAlgorithm", expected: "blake3", found: "sha256" },
    ],
    [
      "a payload that is not there",
      { helperState: ["nowhere"] },
      payloads(),
      { rule: "payload-reference", field: "helperState[0]", payload: "nowhere" },
    ],
    [
      "a payload that is referred to twice",
      { helperState: ["world"] },
      payloads(),
      {
        rule: "payload-reference",
        field: "helperState[0]",
        payload: "world",
        expected: "environment.payload",
        found: "helperState[0]",
      },
    ],
    [
      "a payload that nothing refers to",
      {},
      payloads().set("stray", new Uint8Array()),
      { rule: "payload-reference", payload: "stray" },
    ],
    [
      "rows that say something else than the payloads",
      { payloads: manifest.payloads },
      payloads().set("world", new Uint8Array(10)),
      {
        rule: "payload-rows",
        field: "payloads[0].byteLength",
        ...{ expected: "10", found: manifest.payloads[0]?.byteLength },
      },
    ],
    [
      "more payloads than fit",
      {},
      new Map(Array.from({ length: 65 }, (_, index) => [`p${index}`, new Uint8Array()])),
      { rule: "payload-count", expected: "64", found: "65" },
    ],
  ])("%s", (_what, changed, given, facts) => {
    const { code, message, context } = encoding(changed, given);
    expect(code).toBe("ENVELOPE_NOT_ENCODABLE");
    expect(message.length).toBeGreaterThan(20);
    expect(context).toEqual(broken(facts));
  });

  it.each<[string, object, unknown, unknown, RegExp]>([
    [
      "a payload name that is no id",
      {},
      new Map([["World", new Uint8Array()]]),
      undefined,
      /World|'W'/,
    ],
    [
      "a payload that is no bytes",
      {},
      new Map([["world", "text"]]),
      undefined,
      /world.*Uint8Array/,
    ],
    ["payloads that are no map", {}, { world: new Uint8Array() }, undefined, /Map/],
    ["a version there is not", {}, payloads(), 3, /version 3/],
    ["a number that is none", { agents: Number.NaN }, payloads(), undefined, /not finite/],
    [
      "half a character",
      { checkpointId: "\ud83d" },
      payloads(),
      undefined,
      /checkpointId.*surrogate/,
    ],
    ["a function", { checkpointId: () => "c" }, payloads(), undefined, /manifest/],
    ["options that are null", {}, payloads(), null, /options/],
    ["a version that is a text", {}, payloads(), "2", /version/],
    [
      "a class that calls itself bytes",
      {},
      new Map([["world", { [Symbol.toStringTag]: "Uint8Array", length: 4 }]]),
      undefined,
      /world.*Uint8Array/,
    ],
  ])("%s is a wrong argument", (_what, changed, given, version, words) => {
    const { code, message } = encoding(changed, given, version);
    expect(code).toBe("INVALID_ARGUMENT");
    expect(message).toMatch(words);
  });

  // In a field that nobody knows, so that nothing but its having no JSON is wrong with it.
  it.each<[string, unknown, string, RegExp]>([
    ["a date", new Date(0), "zz", /class/],
    ["a map", new Map([["a", 1]]), "zz", /class/],
    ["a set", new Set([1]), "zz", /class/],
    ["bytes", new Uint8Array(3), "zz", /class/],
    ["minus zero", -0, "zz", /-0/],
    ["minus zero in a list", [0, { deep: [1, -0] }], "zz[1].deep[1]", /-0/],
    ["half a character in a key", { "\ud83d": 1 }, "zz", /surrogate/],
    ["two keys that UTF-8 spells alike", { "\ud83d": 1, "\ud83e": 2 }, "zz", /surrogate/],
    ["not a number", { deep: Number.NaN }, "zz.deep", /finite/],
  ])("%s is refused by its field, not written as something else", (_what, value, path, words) => {
    const { digestAlgorithm: _, ...first } = manifest;
    const { code, message } = refusalOf(() =>
      encodeEnvelope(
        { ...first, envelopeVersion: 1, payloads: [], zz: value } as unknown as Manifest,
        payloads(),
      ),
    );
    expect(code).toBe("INVALID_ARGUMENT");
    expect(message).toContain(`manifest: ${path}: `);
    expect(message).toMatch(words);
  });

  it("a field that throws when it is read is a wrong argument, and the module goes on", () => {
    const trap = {
      get checkpointId(): string {
        throw new Error("not yet");
      },
    };
    const odd = Object.defineProperties({ ...manifest }, Object.getOwnPropertyDescriptors(trap));
    const { code, message } = refusalOf(() => encodeEnvelope(odd, payloads()));
    expect([code, message]).toEqual(["INVALID_ARGUMENT", expect.stringContaining("not yet")]);
    expect(encodeEnvelope({ ...manifest, payloads: [] }, payloads()).length).toBeGreaterThan(80);
  });

  it.each([1, 2] as const)("rows that are stated hold when the version becomes %i", (version) => {
    const there = encodeEnvelope({ ...manifest, payloads: [] }, payloads());
    const back = encodeEnvelope(decodeEnvelope(there).manifest, payloads(), { version: 1 });
    const stated = decodeEnvelope(version === 1 ? there : back).manifest;
    for (const [name, bytes] of payloads()) {
      if (bytes.length === 0) continue;
      const tampered = payloads().set(
        name,
        bytes.map((byte) => byte ^ 1),
      );
      const { code, context } = refusalOf(() => encodeEnvelope(stated, tampered, { version }));
      expect(code).toBe("ENVELOPE_NOT_ENCODABLE");
      expect(context).toMatchObject({
        rule: "payload-rows",
        field: expect.stringMatching(/^payloads\[\d+\]\.digest$/),
      });
    }
    expect(encodeEnvelope(stated, payloads(), { version })).toEqual(version === 1 ? back : there);
  });

  it("a row of version 1 with a field of its own does not become version 2 without a word", () => {
    const { __proto__: _, ...first } = extended.manifest as unknown as Manifest & {
      __proto__: never;
    };
    const current = {
      ...manifest,
      envelopeVersion: 1,
      payloads: first.payloads.map((row) => ({ ...row, colour: "red" })),
    } as unknown as Manifest & { digestAlgorithm?: unknown };
    delete current.digestAlgorithm;
    const { context } = refusalOf(() => encodeEnvelope(current, payloads(), { version: 2 }));
    expect(context).toMatchObject({ rule: "unknown-field", field: "payloads[0].colour" });
  });
});

function transferred(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

describe("what is no envelope", () => {
  it("of what is too long it says what takes it", () => {
    const { message } = refusalOf(() => decodeEnvelope(new Uint8Array(2 ** 31)));
    expect(message).toContain("wellwritten envelope verify");
  });

  it.each([
    ["an ArrayBuffer", new ArrayBuffer(96)],
    ["a list", [1, 2, 3]],
    ["nothing", undefined],
    ["other words than bytes", new Uint16Array(96)],
    ["what calls itself bytes", { [Symbol.toStringTag]: "Uint8Array", length: 96 }],
    ["bytes whose buffer is gone", transferred(new Uint8Array(96))],
    ["bytes that do not fit into wasm", new Uint8Array(2 ** 31)],
  ])("%s is a wrong argument", (_what, value) => {
    for (const read of [decodeEnvelope, describeEnvelope])
      expect(refusalOf(() => read(value as never)).code).toBe("INVALID_ARGUMENT");
  });

  it("an error's code gives its context a type", () => {
    const error = refusalOf(() => decodeEnvelope(new Uint8Array(8)));
    expect(error.is("LOAD_FAILED")).toBe(false);
    if (!error.is("ENVELOPE_INVALID")) throw error;
    const { rule, expected, found } = error.context;
    expect([rule, expected, found]).toEqual(["length", "80", "8"]);
  });

  it("no bytes at all are described, and refused by the first rule", () => {
    expect(describeEnvelope(new Uint8Array()).refusal?.rule).toBe("length");
    const { code, context } = refusalOf(() => decodeEnvelope(new Uint8Array()));
    expect(code).toBe("ENVELOPE_INVALID");
    expect(context).toMatchObject({ rule: "length", expected: "80", found: "0" });
  });
});

describe("a decoded envelope", () => {
  it("is views into the bytes given, also where these are a part of a larger buffer", () => {
    const file = fromBase64(sample.base64);
    const larger = new Uint8Array(file.length + 24);
    larger.set(file, 13);
    const part = larger.subarray(13, 13 + file.length);
    for (const payload of decodeEnvelope(part).payloads) {
      expect(payload.bytes().buffer).toBe(larger.buffer);
      expect(payload.bytes()).toEqual(payloads().get(payload.name));
    }
  });

  it("says so when its bytes have gone elsewhere", () => {
    const file = fromBase64(sample.base64);
    const [first] = decodeEnvelope(file).payloads;
    structuredClone(file.buffer, { transfer: [file.buffer] });
    const { code, message } = refusalOf(() => first?.bytes());
    expect(code).toBe("INVALID_ARGUMENT");
    expect(message).toMatch(/world.*transferred/);
  });

  it("has plain numbers in fields that nobody knows, and survives JSON and structured clone", () => {
    const decoded = decodeEnvelope(fromBase64(extended.base64)).manifest;
    expect(decoded).toEqual(extended.manifest);
    expect(JSON.parse(JSON.stringify(decoded))).toEqual(decoded);
    expect(structuredClone(decoded)).toEqual(decoded);
  });

  it("keeps a field that is called __proto__", () => {
    const { digestAlgorithm: _, ...first } = manifest;
    const text = JSON.stringify({ ...first, envelopeVersion: 1, payloads: [] });
    const odd = JSON.parse(text.replace("{", '{"__proto__":{"a":1},')) as Manifest;
    const file = encodeEnvelope(odd, payloads());
    const { manifest: read } = decodeEnvelope(file);
    expect(Object.keys(read)).toContain("__proto__");
    expect(encodeEnvelope(read, payloads())).toEqual(file);
  });
});

describe("two compatibility blocks", () => {
  const stored = manifest.compatibility;

  it("that are the same do not differ", () => {
    expect(compareCompatibility(stored, { ...stored })).toEqual([]);
  });

  it("differ by every field that does, with both values", () => {
    const fields = {
      backendDigest: "backend",
      contentDigest: "content",
      patchDigest: "patch",
      controllerDigest: "controller",
      parserDigest: "parser",
      stateFormatId: "state-format",
    } as const;
    const other = { ...stored };
    for (const [field, name] of Object.entries(fields)) {
      const running = field === "stateFormatId" ? "another" : "ab".repeat(32);
      const changed = { ...stored, [field]: running };
      const before = stored[field as keyof typeof fields];
      expect(compareCompatibility(stored, changed)).toEqual([
        { field: name, stored: before, running },
      ]);
      Object.assign(other, { [field]: running });
    }
    expect(compareCompatibility(stored, other).map(({ field }) => field)).toEqual(
      Object.values(fields),
    );
  });

  it("that are none are wrong arguments, by which and where", () => {
    const { code, message } = refusalOf(() =>
      compareCompatibility(stored, { ...stored, patchDigest: "short" }),
    );
    expect(code).toBe("INVALID_ARGUMENT");
    expect(message).toMatch(/^running: patchDigest: /);
  });
});
