import type {
  Compatibility,
  CompatibilityDifference,
  EnvelopeLayout,
  Manifest,
  PayloadPlace,
  VerifiedEnvelope,
} from "#wasm/page";
import { callWasm } from "./load-wellwritten.ts";
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
 * context is the rule that failed first (`BrokenRule`); nothing is returned for a file that is only partly sound.
 */
export function decodeEnvelope(bytes: Uint8Array): DecodedEnvelope {
  const file = requireBytes(bytes);
  const verified: VerifiedEnvelope = callWasm((wasm) => wasm.decodeEnvelope(file));
  return {
    version: verified.version,
    manifest: JSON.parse(verified.manifestJson) as Manifest,
    payloads: verified.payloads.map((place) => ({ ...place, bytes: () => viewOf(file, place) })),
  };
}

/**
 * Every part of a file with its offset and length, and, for a broken one, the rule that failed and where. Takes any
 * bytes and never throws for what they hold.
 */
export function describeEnvelope(bytes: Uint8Array): EnvelopeLayout {
  const file = requireBytes(bytes);
  return callWasm((wasm) => wasm.describeEnvelope(file));
}

/**
 * Encodes a manifest and the payloads it names; the map's order is the file's. The manifest's `payloads` may be empty,
 * and is then filled in; otherwise it must say what the map holds.
 *
 * The manifest's `envelopeVersion` decides the format. `version` asks for the other one: version, digest function and
 * digests are then made anew, and what version 2 has no place for is refused rather than dropped. Throws
 * `ENVELOPE_NOT_ENCODABLE`, whose context is the rule by which a reader would refuse the result (`BrokenRule`).
 */
export function encodeEnvelope(
  manifest: Manifest,
  payloads: Map<string, Uint8Array>,
  options: { version?: 1 | 2 } = {},
): Uint8Array {
  return callWasm((wasm) => wasm.encodeEnvelope(manifest, payloads, options.version));
}

/**
 * Every field in which what a checkpoint needs (its manifest's `compatibility`) and what a session has differ, with
 * both values; empty where a restore may go on.
 */
export function compareCompatibility(
  stored: Compatibility,
  running: Compatibility,
): CompatibilityDifference[] {
  return callWasm((wasm) => wasm.compareCompatibility(stored, running));
}

/** Anything else, an `ArrayBuffer` for one, would reach wasm as no bytes at all. */
function requireBytes(bytes: Uint8Array): Uint8Array {
  if (Object.prototype.toString.call(bytes) === "[object Uint8Array]") return bytes;
  throw new WellwrittenError("INVALID_ARGUMENT", "The bytes of an envelope must be a Uint8Array.");
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
