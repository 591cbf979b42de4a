// A second writer of envelopes, which checks nothing: it puts any text where the manifest goes and makes everything
// around it right.

import { encodeEnvelope } from "../src/envelope.ts";

/** A payload as the table names it. */
export interface ForgedPayload {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const HEADER_BYTES = 32;
const ENTRY_BYTES = 112;
const FOOTER_BYTES = 48;
const align8 = (offset: number) => Math.ceil(offset / 8) * 8;

/** Keys in UTF-16 order, which is how JavaScript sorts, and numbers as JavaScript writes them: RFC 8785. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(
          Object.entries(part).sort(([left], [right]) =>
            left < right ? -1 : left > right ? 1 : 0,
          ),
        )
      : part,
  );
}

const carrier = {
  ...{ checkpointId: "c", episodeId: "e", schedulerId: "s", portMap: [], agents: [] },
  ...{ helperState: [], payloads: [], worldTime: { numerator: "0", denominator: "1" } },
  sourceScope: { sessionId: "s", epoch: "e", step: "0" },
  environment: { workerId: "w", payload: "bytes" },
  coordinator: {
    ...{ taskLedger: "ledger", priorInspection: "inspection", admissionState: "admission" },
    ...{ executorState: [], eventWatermarks: { lastSourceStep: "0", issued: "0" } },
  },
};

/** The digest of `bytes` by a version's function, read off the table of an envelope that carries them. */
function digestOf(version: 1 | 2, bytes: Uint8Array): Uint8Array {
  const any = "0".repeat(64);
  const manifest = {
    ...carrier,
    envelopeVersion: version,
    ...(version === 2 ? { digestAlgorithm: "blake3" as const } : {}),
    compositionDigest: any,
    compatibility: {
      ...{ backendDigest: any, contentDigest: any, patchDigest: any, controllerDigest: any },
      ...{ parserDigest: any, stateFormatId: "f" },
    },
  };
  const nothing = new Uint8Array();
  const payloads = new Map([
    ["bytes", bytes],
    ["ledger", nothing],
    ["inspection", nothing],
    ["admission", nothing],
  ]);
  const file = encodeEnvelope(manifest, payloads);
  const tableOffset = new DataView(file.buffer).getUint32(24, true);
  return file.subarray(tableOffset + 80, tableOffset + ENTRY_BYTES);
}

/** What writes envelopes of `version` with the same payloads around any text in the manifest's place. */
export function forgerOf(
  version: 1 | 2,
  payloads: readonly ForgedPayload[],
): (manifest: string) => Uint8Array {
  const digests = payloads.map(({ bytes }) => digestOf(version, bytes));
  return (manifest) => {
    const text = new TextEncoder().encode(manifest);
    const tableOffset = align8(HEADER_BYTES + text.length);
    const tableEnd = tableOffset + ENTRY_BYTES * payloads.length;
    let end = tableEnd;
    const offsets = payloads.map(({ bytes }) => {
      const offset = align8(end);
      end = offset + bytes.length;
      return offset;
    });
    const file = new Uint8Array(end + FOOTER_BYTES);
    const view = new DataView(file.buffer);
    const ascii = (offset: number, word: string) =>
      file.set(new TextEncoder().encode(word), offset);
    const words = [version, HEADER_BYTES, text.length, payloads.length, tableOffset, 0];
    ascii(0, "FLYSESS1");
    for (const [index, word] of words.entries()) view.setUint32(8 + 4 * index, word, true);
    file.set(text, HEADER_BYTES);
    for (const [index, { name, bytes }] of payloads.entries()) {
      const entry = tableOffset + ENTRY_BYTES * index;
      const offset = offsets[index] ?? 0;
      ascii(entry, name);
      view.setBigUint64(entry + 64, BigInt(offset), true);
      view.setBigUint64(entry + 72, BigInt(bytes.length), true);
      file.set(digests[index] ?? [], entry + 80);
      file.set(bytes, offset);
    }
    const covered = file.subarray(0, version === 1 ? end : tableEnd);
    view.setBigUint64(end, BigInt(file.length), true);
    file.set(digestOf(version, covered), end + 8);
    ascii(end + 40, "FLYSESSF");
    return file;
  };
}
