//! Words in guarded buffers, and what a participant says when they do not read.

use wellwritten_device::{BufferBinding, DeviceError, GuardedBuffer, GuardedDevice, ReadError};
use wellwritten_envelope::to_json;
use wellwritten_session::{ErrorCode, MutationCertainty, ParticipantError};

/// The little-endian bytes of words.
#[must_use]
pub fn bytes_from_words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The words of little-endian bytes; bytes after the last whole word are left out.
#[must_use]
pub fn words_from_bytes(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Reserves a buffer of `words` zeroed words.
pub(crate) fn reserve(
    device: &GuardedDevice,
    words: usize,
    label: &str,
) -> Result<GuardedBuffer, ParticipantError> {
    device
        .alloc(4 * words as u64, label)
        .map_err(|error| device_failed(&error, &format!("{label} could not be reserved")))
}

/// Reserves a buffer and writes `words` into it.
pub(crate) fn reserve_with(
    device: &GuardedDevice,
    words: &[u32],
    label: &str,
) -> Result<GuardedBuffer, ParticipantError> {
    let buffer = reserve(device, words.len(), label)?;
    write(device, &buffer.binding(), words)?;
    Ok(buffer)
}

/// Writes words over a binding of as many.
pub(crate) fn write(
    device: &GuardedDevice,
    binding: &BufferBinding,
    words: &[u32],
) -> Result<(), ParticipantError> {
    device
        .write(binding, &bytes_from_words(words))
        .map_err(|error| device_failed(&error, "a write was refused"))
}

/// Reads a whole buffer as words.
pub(crate) async fn read(
    device: &GuardedDevice,
    buffer: &GuardedBuffer,
) -> Result<Vec<u32>, ReadError> {
    device
        .read(&buffer.binding())
        .await
        .map(|bytes| words_from_bytes(&bytes))
}

/// The device refused work in the middle of an operation.
pub(crate) fn device_failed(error: &DeviceError, what: &str) -> ParticipantError {
    ParticipantError::uncertain(ErrorCode::BackendFailure, format!("{what}: {error}"))
}

/// A read that an operation began with was refused: nothing has changed yet.
pub(crate) fn read_refused(error: &ReadError, what: &str) -> ParticipantError {
    let code = match error {
        ReadError::Unwritten(_) => ErrorCode::BufferInvalid,
        _ => ErrorCode::BackendFailure,
    };
    with_report(
        ParticipantError::refused(code, format!("{what}: {error}")),
        error,
    )
}

/// A read failed after the operation had begun to change things.
pub(crate) fn read_failed(error: &ReadError, what: &str) -> ParticipantError {
    let error_with_code = ParticipantError::new(
        ErrorCode::BackendFailure,
        MutationCertainty::Unknown,
        format!("{what}: {error}"),
    );
    with_report(error_with_code, error)
}

fn with_report(error: ParticipantError, cause: &ReadError) -> ParticipantError {
    match cause {
        // A report that could not be serialized would still be named by the message.
        ReadError::Unwritten(report) => match to_json(report) {
            Ok(detail) => error.with_detail(detail),
            Err(_) => error,
        },
        _ => error,
    }
}
