import { demand } from "./demand.ts";

/**
 * What typed arrays say of themselves, by the language's own getters: an object may call itself a `Uint8Array`, and a
 * class derived from it may name any length. Wasm believes the length that it is told, and would read on from there.
 */
const intrinsic = Object.getOwnPropertyDescriptors(
  Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array,
);
const tagOf = intrinsic[Symbol.toStringTag].get as (this: unknown) => string | undefined;
const bufferOf = getterOf<ArrayBufferLike>("buffer");
const byteOffsetOf = getterOf<number>("byteOffset");
const lengthOf = getterOf<number>("length");

/**
 * The bytes that `value` really is, as a plain `Uint8Array` over the same memory, of whatever frame or class it was.
 *
 * @throws `INVALID_ARGUMENT` for anything but a `Uint8Array`, and for one whose buffer was transferred away.
 */
export function realBytes(what: string, value: unknown): Uint8Array {
  demand(tagOf.call(value) === "Uint8Array", what, value, "a Uint8Array");
  const plain = overSameMemory(Uint8Array, value);
  demand(plain !== undefined, what, value, "one whose buffer was not transferred away");
  return plain;
}

/** The words that `array` really is, as a plain array over the same memory; `undefined` where that is gone. */
export function realWords(array: Uint32Array): Uint32Array | undefined {
  return overSameMemory(Uint32Array, array);
}

function overSameMemory<Plain>(
  plain: new (buffer: ArrayBufferLike, byteOffset: number, length: number) => Plain,
  array: unknown,
): Plain | undefined {
  try {
    return new plain(bufferOf.call(array), byteOffsetOf.call(array), lengthOf.call(array));
  } catch {
    // The only way to tell a buffer that is gone from an empty one everywhere.
    return undefined;
  }
}

function getterOf<Value>(name: "buffer" | "byteOffset" | "length") {
  return intrinsic[name].get as (this: unknown) => Value;
}
