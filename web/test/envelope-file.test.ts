import { describe, expect, it } from "vitest";
import type { EnvelopeLayout } from "#wasm/page";
import { manifestOf, readEnvelopeFile, scaled } from "../src/format/envelope-file.ts";

const text = (value: string) => new TextEncoder().encode(value);

describe("a dropped file", () => {
  it("is taken as it is when it is binary", () => {
    const bytes = text("FLYSESS1 and so on");
    expect(readEnvelopeFile(bytes)).toEqual({ bytes, wasBase64: false });
  });

  it("is decoded when it is an envelope's base64, line breaks included", () => {
    const base64 = btoa("FLYSESS1\0\u0001\u0002rest");
    const file = readEnvelopeFile(text(`\n${base64.slice(0, 9)}\r\n${base64.slice(9)}\n`));
    expect(file.wasBase64).toBe(true);
    expect([...file.bytes]).toEqual([...text("FLYSESS1\0\u0001\u0002rest")]);
  });

  it("is left for the codec to refuse when it is neither", () => {
    expect(readEnvelopeFile(new Uint8Array(0)).wasBase64).toBe(false);
    expect(readEnvelopeFile(text("RkxZU0VTUz and then no base64 ***")).wasBase64).toBe(false);
  });
});

describe("the manifest of a described file", () => {
  const layout = (is: "verified" | "not-reached"): EnvelopeLayout => ({
    fileBytes: "20",
    version: 2,
    refusal: undefined,
    soundBytes: "20",
    parts: [
      { kind: "manifest", name: null, offset: "4", byteLength: "9", digest: null, state: { is } },
    ],
  });

  it("is parsed where the layout says it is", () => {
    expect(manifestOf(text('xxxx{"a":[1]}'), layout("verified"))).toEqual({ a: [1] });
  });

  it("is absent when it was not reached or does not parse", () => {
    expect(manifestOf(text('xxxx{"a":[1]}'), layout("not-reached"))).toBeUndefined();
    expect(manifestOf(text('xxxx{"a":[1}}'), layout("verified"))).toBeUndefined();
  });

  it("scales offsets, of an empty file too", () => {
    expect(scaled("512", "2048", 1000)).toBe(250);
    expect(scaled("0", "0", 1000)).toBe(0);
  });
});
