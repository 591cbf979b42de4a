import type { EnvelopeLayout, LayoutPart } from "#wasm/page";

/** The first characters of an envelope's magic, `FLYSESS1`, in base64. */
const BASE64_MAGIC = "RkxZU0VTUz";

/** A file as dropped: its bytes, and whether they had to be decoded from base64 text first. */
export interface EnvelopeFile {
  readonly bytes: Uint8Array;
  readonly wasBase64: boolean;
}

/** The envelope in a file. Envelopes are often passed on as base64 text; that is decoded. */
export function readEnvelopeFile(content: Uint8Array): EnvelopeFile {
  const start = new TextDecoder().decode(content.subarray(0, 64)).replace(/\s/g, "");
  if (!start.startsWith(BASE64_MAGIC)) return { bytes: content, wasBase64: false };
  try {
    const binary = atob(new TextDecoder().decode(content).replace(/\s/g, ""));
    return { bytes: Uint8Array.from(binary, (char) => char.charCodeAt(0)), wasBase64: true };
  } catch {
    return { bytes: content, wasBase64: false };
  }
}

/** The manifest's JSON where the file has one that parses, whole or not. */
export function manifestOf(bytes: Uint8Array, layout: EnvelopeLayout): unknown {
  const part = layout.parts.find(({ kind }) => kind === "manifest");
  if (part === undefined || part.state.is === "not-reached") return undefined;
  const start = Number(part.offset);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(
      bytes.subarray(start, start + Number(part.byteLength)),
    );
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** How far along a file `byte` is, of `width`. */
export function scaled(byte: string | bigint, fileBytes: string, width: number): number {
  const total = Number(fileBytes);
  return total === 0 ? 0 : (Number(byte) / total) * width;
}

/** What is known of a part, in words. */
export function describeState({ state }: LayoutPart): string {
  switch (state.is) {
    case "verified":
      return "verified";
    case "unverified":
      return "nothing vouches for it";
    case "broken":
      return state.message;
    case "not-reached":
      return "could not be reached";
  }
}
