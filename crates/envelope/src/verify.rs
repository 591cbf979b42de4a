//! [`verify`], [`read_head`], [`describe_source`]: reading files that need not fit into memory.

use crate::decode::{Depth, read_envelope};
use crate::describe::describe_file;
use crate::streamed::{Progress, StreamError, Streamed};
use crate::{EnvelopeHead, EnvelopeLayout, ReadAt};

/// Verifies a whole file, version 1 or 2, as [`crate::decode`] does: every rule in the same order, the same error
/// for the same defect.
///
/// Memory is bounded whatever the file holds or claims: one buffer of 64 KiB, and header, manifest and table, which
/// may be [`crate::MAX_STREAMED_HEAD_BYTES`] together. `progress` is called after every buffer.
pub fn verify<S: ReadAt>(
    source: &mut S,
    progress: &mut dyn FnMut(Progress),
) -> Result<EnvelopeHead, StreamError> {
    let mut file = Streamed::new(source, progress);
    file.expect_passes(1);
    let head = read_envelope(&mut file, Depth::Whole)?;
    file.finish();
    Ok(head)
}

/// Reads header, manifest, table, padding and footer, without a byte of any payload.
///
/// Every rule of [`verify`] is checked but for the payloads' digests and, in version 1, the footer's, which covers
/// them too. So in version 2 what is returned is verified, and [`crate::copy_payload`] verifies one payload more.
/// In version 1 the table is vouched for by nothing but its agreement with the manifest.
pub fn read_head<S: ReadAt>(source: &mut S) -> Result<EnvelopeHead, StreamError> {
    let mut no_progress = |_| {};
    Ok(read_envelope(
        &mut Streamed::new(source, &mut no_progress),
        Depth::Head,
    )?)
}

/// [`crate::describe`] for a file that need not fit into memory, as bounded as [`verify`].
///
/// It fails only where the source does; a file that breaks rules is described.
pub fn describe_source<S: ReadAt>(
    source: &mut S,
    progress: &mut dyn FnMut(Progress),
) -> Result<EnvelopeLayout, StreamError> {
    let mut file = Streamed::new(source, progress);
    // The second pass is over a damaged file only.
    file.expect_passes(2);
    let layout = describe_file(&mut file)?;
    file.finish();
    Ok(layout)
}
