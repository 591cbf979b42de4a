import { formatOffset } from "./quantity.ts";

/** One line of a hex dump. */
export interface HexRow {
  /** Where the row starts in the buffer, as text. */
  readonly offset: string;
  /** Pairs of hexadecimal digits in groups of eight bytes; a short last row is padded to full width. */
  readonly hex: string;
  /** Printable ASCII, a dot for everything else. */
  readonly text: string;
}

/**
 * The rows of a hex dump of `bytes`, which start at `start` in their buffer.
 *
 * `start` need not be a multiple of `rowBytes`: rows begin where the bytes do.
 */
export function hexRows(
  bytes: Uint8Array,
  start: bigint,
  sizeBytes: bigint,
  rowBytes = 16,
): HexRow[] {
  const rows: HexRow[] = [];
  const width = rowBytes * 3 + Math.max(0, Math.ceil(rowBytes / 8) - 1) - 1;
  for (let at = 0; at < bytes.length; at += rowBytes) {
    const row = bytes.subarray(at, at + rowBytes);
    let hex = "";
    let text = "";
    row.forEach((byte, index) => {
      if (index > 0) hex += index % 8 === 0 ? "  " : " ";
      hex += byte.toString(16).padStart(2, "0");
      text += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".";
    });
    rows.push({
      offset: formatOffset(start + BigInt(at), sizeBytes),
      hex: hex.padEnd(width),
      text,
    });
  }
  return rows;
}
