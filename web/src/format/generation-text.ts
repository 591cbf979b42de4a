import type { OpenReport, StoredGeneration } from "#wasm/session";
import { formatCount, plural } from "./quantity.ts";

/** Where a generation lies: `boundary 10, e1`, and whether that future was abandoned. */
export function placeText({
  boundary,
  epoch,
  abandoned,
}: Pick<StoredGeneration, "boundary" | "epoch" | "abandoned">): string {
  return `boundary ${formatCount(BigInt(boundary))}${abandoned ? " abandoned" : ""}, ${epoch}`;
}

/** The word for a generation's mark, and the sentence that explains it. */
export function markOf(abandoned: boolean, durable: boolean): { word: string; title: string } {
  if (abandoned) {
    return {
      word: "abandoned",
      title: "Abandoned: another was restored since; a restore takes it only by name",
    };
  }
  return durable
    ? { word: "durable", title: "The durable mark: a restore takes this one" }
    : { word: "superseded", title: "Superseded, still restorable" };
}

/** One sentence on what opening the store removed, kept and missed; empty when that is nothing. */
export function openingText({
  removed,
  kept,
  missing,
}: Pick<OpenReport, "removed" | "kept" | "missing">): string {
  const parts: string[] = [];
  if (removed.length > 0) parts.push(`removed ${plural(removed.length, "leftover file")}`);
  if (kept.length > 0) {
    const aside = kept.map(({ file }) => file).join(", ");
    parts.push(`kept ${plural(kept.length, "unlisted file")} (${aside})`);
  }
  if (missing.length > 0) {
    parts.push(
      `found the file of ${plural(missing.length, "generation")} missing (${missing.join(", ")})`,
    );
  }
  const last = parts.pop();
  if (last === undefined) return "";
  return `Opening the store ${parts.length > 0 ? `${parts.join(", ")} and ` : ""}${last}.`;
}
