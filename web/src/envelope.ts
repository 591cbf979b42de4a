import type { DecodedEnvelope, DecodedPayload, EnvelopeLayout, Manifest, PhaseEdge } from "#wasm";
import { callWasm } from "./load-wellwritten.ts";

/** A payload of a verified envelope. */
export interface EnvelopePayload extends DecodedPayload {
  /** A view of its bytes in the file that was decoded, not a copy. */
  bytes(): Uint8Array;
}

/** A verified envelope. */
export interface Envelope extends Omit<DecodedEnvelope, "payloads"> {
  /** In file order. */
  payloads: EnvelopePayload[];
}

/**
 * Decodes and verifies a whole FLYSESS1 envelope of either version. Throws with the code of the rule
 * that failed; nothing is returned for a file that is only partly sound.
 */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  const decoded: DecodedEnvelope = callWasm((wasm) => wasm.decodeEnvelope(bytes));
  return {
    ...decoded,
    payloads: decoded.payloads.map((payload) => ({
      ...payload,
      bytes() {
        const start = Number(payload.offset);
        return bytes.subarray(start, start + Number(payload.byteLength));
      },
    })),
  };
}

/** Every part of a file with its offset and length, and, for a broken one, the rule that failed and where. */
export function describeEnvelope(bytes: Uint8Array): EnvelopeLayout {
  return callWasm((wasm) => wasm.describeEnvelope(bytes));
}

/** Encodes a manifest and the payloads it names. Version 2 (BLAKE3) unless asked otherwise. */
export function encodeEnvelope(
  manifest: Manifest,
  payloads: Map<string, Uint8Array>,
  options: { version?: 1 | 2 } = {},
): Uint8Array {
  return callWasm((wasm) => wasm.encodeEnvelope(manifest, payloads, options.version));
}

/** Every legal phase transition of a session, with what it needs. */
export function phaseEdges(): PhaseEdge[] {
  return callWasm((wasm) => wasm.phaseEdges());
}
