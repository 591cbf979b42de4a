//! Where the parts of a file lie, and the small reads that all of them share.

use crate::Digest;

/// First 8 bytes of every envelope.
pub const MAGIC: [u8; 8] = *b"FLYSESS1";
/// Last 8 bytes of every envelope.
pub const FOOTER_MAGIC: [u8; 8] = *b"FLYSESSF";
/// Length of the header.
pub const HEADER_BYTES: u32 = 32;
/// Length of one entry of the payload table.
pub const ENTRY_BYTES: u32 = 112;
/// Length of the name field of an entry.
pub const NAME_BYTES: usize = 64;
/// Length of the footer.
pub const FOOTER_BYTES: u32 = 48;
/// The most payloads one envelope holds.
pub const MAX_PAYLOADS: u32 = 64;
/// The longest manifest that is read or written, in bytes. Its length has 32 bits; real ones take some kilobytes.
pub const MAX_MANIFEST_BYTES: u32 = 16 * 1024 * 1024;

/// Rounds up to the next multiple of 8; `None` beyond 64 bits.
pub(crate) fn align8(offset: u64) -> Option<u64> {
    offset.checked_next_multiple_of(8)
}

/// `len` bytes at `offset`, or `None` where they are not all there.
pub(crate) fn bytes_at(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    bytes.get(start..end)
}

/// A field of `N` bytes. The caller has checked that the part it lies in is there.
pub(crate) fn array_at<const N: usize>(part: &[u8], offset: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&part[offset..offset + N]);
    array
}

/// A little-endian word of a part that is known to be there.
pub(crate) fn u32_at(part: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(array_at(part, offset))
}

/// A little-endian double word of a part that is known to be there.
pub(crate) fn u64_at(part: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(array_at(part, offset))
}

/// A digest of a part that is known to be there.
pub(crate) fn digest_at(part: &[u8], offset: usize) -> Digest {
    Digest::from_bytes(array_at(part, offset))
}

/// A length in memory as a length in a file.
pub(crate) fn file_length(length: usize) -> u64 {
    u64::try_from(length).expect("no address space is larger than 64 bits")
}
