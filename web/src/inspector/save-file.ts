/** Offers `content` to the person as a download. Nothing stays in the document. */
export function saveFile(name: string, content: Uint8Array | string, type: string): void {
  const url = URL.createObjectURL(new Blob([content as BlobPart], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // the download has taken its own reference by the next task
  setTimeout(() => URL.revokeObjectURL(url));
}
