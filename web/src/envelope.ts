import type {
  Compatibility,
  CompatibilityDifference,
  EnvelopeLayout,
  Manifest,
  PayloadPlace,
  VerifiedEnvelope,
} from "#wasm/page";
import { demand } from "./demand.ts";
import { callWasm } from "./load-wellwritten.ts";
import { realBytes } from "./real-bytes.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/** A payload of a verified envelope. */
export interface DecodedPayload extends PayloadPlace {
  /**
   * Its bytes as they were verified: a view into the file that was decoded, not a copy, so it changes when the file's
   * bytes are written to. Throws `INVALID_ARGUMENT` once the file's buffer was transferred elsewhere.
   */
  bytes(): Uint8Array;
}

/** A verified envelope. */
export interface DecodedEnvelope {
  /** Version of the file. */
  version: 1 | 2;
  /** What the checkpoint says of itself. */
  manifest: Manifest;
  /** In file order. */
  payloads: DecodedPayload[];
}

/**
 * Decodes and verifies a whole FLYSESS1 envelope of either version: every byte of it. Throws `ENVELOPE_INVALID`, whose
 * context is the rule that failed first (`BrokenRule`); nothing is returned for a file that is only partly sound. The
 * bytes are copied into the module's memory: of 2 GiB and more they are refused (`INVALID_ARGUMENT`).
 */
export function decodeEnvelope(bytes: Uint8Array): DecodedEnvelope {
  const file = bytesOf(bytes);
  const verified: VerifiedEnvelope = callWasm((wasm) => wasm.decodeEnvelope(file));
  return {
    version: verified.version,
    manifest: JSON.parse(verified.manifestJson) as Manifest,
    payloads: verified.payloads.map((place) => ({ ...place, bytes: () => viewOf(file, place) })),
  };
}

/**
 * Every part of a file with its offset and length, and, for a broken one, the rule that failed and where. Takes any
 * bytes, up to 2 GiB, and never throws for what they hold.
 */
export function describeEnvelope(bytes: Uint8Array): EnvelopeLayout {
  const file = bytesOf(bytes);
  return callWasm((wasm) => wasm.describeEnvelope(file));
}

/**
 * Encodes a manifest and the payloads it names; the map's order is the file's. The manifest's `payloads` may be empty,
 * and is then filled in; otherwise it must say what the map holds.
 *
 * The manifest's `envelopeVersion` decides the format. `version` asks for the other one: the payloads are compared with
 * the rows that the manifest states, then version, digest function and digests are made anew, and what version 2 has no
 * place for is refused rather than dropped. Of fields that this library does not know, version 1 keeps those anywhere
 * but within `sourceScope`, `worldTime` and `remainder`, where they are refused.
 *
 * Throws `ENVELOPE_NOT_ENCODABLE`, whose context is the rule by which a reader would refuse the result (`BrokenRule`),
 * and `INVALID_ARGUMENT` for a manifest that holds what JSON cannot say: it names the field.
 */
export function encodeEnvelope(
  manifest: Manifest,
  payloads: Map<string, Uint8Array>,
  options: { version?: 1 | 2 } = {},
): Uint8Array {
  demand(typeof options === "object" && options !== null, "options", options, "an object");
  const { version } = options;
  demand(
    version === undefined || typeof version === "number",
    "options.version",
    version,
    "1, 2 or undefined",
  );
  const plain = plainCopy("manifest", manifest);
  const given = bytesByName(payloads);
  return callWasm((wasm) => wasm.encodeEnvelope(plain, given, version));
}

/**
 * Every field in which what a checkpoint needs (its manifest's `compatibility`) and what a session has differ, with
 * both values; empty where a restore may go on.
 */
export function compareCompatibility(
  stored: Compatibility,
  running: Compatibility,
): CompatibilityDifference[] {
  const left = plainCopy("stored", stored);
  const right = plainCopy("running", running);
  return callWasm((wasm) => wasm.compareCompatibility(left, right));
}

/** The first length that cannot be copied into wasm in one piece. */
const TOO_LONG = 2 ** 31;

function bytesOf(value: unknown): Uint8Array {
  const bytes = realBytes("the bytes of an envelope", value);
  refuseTooLong("An envelope", bytes.byteLength);
  return bytes;
}

function refuseTooLong(what: string, length: number): void {
  if (length < TOO_LONG) return;
  throw new WellwrittenError(
    "INVALID_ARGUMENT",
    `${what} of ${length} bytes is too long to be held in wasm's memory, where there is room for less than 2 GiB. The ` +
      "command line takes files of any length: wellwritten envelope verify FILE.",
  );
}

/** What the map really holds, and bytes that are: nothing of the caller's runs while wasm reads them. */
function bytesByName(payloads: unknown): Map<string, Uint8Array> {
  demand(payloads instanceof Map, "payloads", payloads, "a Map of names and bytes");
  const given = new Map<string, Uint8Array>();
  let total = 0;
  Map.prototype.forEach.call(payloads, (value: unknown, name: unknown) => {
    demand(typeof name === "string", "the name of a payload", name, "a text");
    const bytes = realBytes(`payload ${name}`, value);
    total += bytes.byteLength;
    given.set(name, bytes);
  });
  refuseTooLong("An envelope", total);
  return given;
}

/**
 * The same data without the caller's getters and proxies, which must not run, let alone throw, while wasm reads. What is
 * no plain data is still what it is, for wasm to refuse by the field it is in.
 */
function plainCopy<Data>(what: string, data: Data): Data {
  try {
    return structuredClone(data);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new WellwrittenError("INVALID_ARGUMENT", `${what} is no plain data: ${why}`);
  }
}

function viewOf(file: Uint8Array, { name, offset, byteLength }: PayloadPlace): Uint8Array {
  const start = Number(offset);
  const length = Number(byteLength);
  if (file.length < start + length) {
    throw new WellwrittenError(
      "INVALID_ARGUMENT",
      `Payload ${name} is out of reach: the buffer of the envelope it lies in was transferred or shrunk.`,
    );
  }
  return file.subarray(start, start + length);
}
