/** Numbers as a person reads them. Counts and sizes may be `bigint`, as they are on the wire. */

const SIZE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** `196608n` -> `192 KiB`. At most one decimal; exact below 1 KiB. */
export function formatSize(sizeBytes: bigint | number): string {
  let value = Number(sizeBytes);
  let unit = 0;
  while (value >= 1024 && unit < SIZE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  // through a number again, so that 10.04 is "10" and not "10.0"
  const text = unit === 0 ? String(value) : String(Number(value.toFixed(1)));
  return `${text} ${SIZE_UNITS[unit]}`;
}

/** `1234567n` -> `1,234,567`, whatever the locale of the machine. */
export function formatCount(count: bigint | number): string {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** An offset in bytes as hexadecimal, padded to the width of `sizeBytes`: `0x0002f0`. */
export function formatOffset(offset: bigint | number, sizeBytes: bigint | number = 0): string {
  const digits = Math.max(4, BigInt(sizeBytes).toString(16).length);
  return `0x${BigInt(offset).toString(16).padStart(digits, "0")}`;
}

/** `1 buffer`, `2 buffers`. */
export function plural(count: bigint | number, noun: string, many = `${noun}s`): string {
  return `${formatCount(count)} ${Number(count) === 1 ? noun : many}`;
}

/** The first characters of a digest, enough to tell two apart by eye. */
export function shortDigest(digest: string): string {
  return digest.length > 16 ? `${digest.slice(0, 8)}…${digest.slice(-4)}` : digest;
}

/** `text` with every whole digest in it shortened. */
export function shortenDigests(text: string): string {
  return text.replace(/\b[0-9a-f]{64}\b/g, shortDigest);
}

/** JSON in which a `bigint` is a decimal string, as the envelope and the trace write U64. */
export function toJson(value: unknown, indent = 2): string {
  return JSON.stringify(
    value,
    (_key, item) => (typeof item === "bigint" ? String(item) : item),
    indent,
  );
}
