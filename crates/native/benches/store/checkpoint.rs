//! Checkpoints of any length.

use std::sync::Arc;

use wellwritten_store::testing::SampleGeneration;
use wellwritten_store::{PayloadBytes, SaveRequest};

/// Bytes that no file system packs.
pub fn payload(byte_length: usize) -> PayloadBytes {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(byte_length);
    while bytes.len() < byte_length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(byte_length);
    Arc::new(bytes)
}

/// A checkpoint with that payload as its world.
pub fn checkpoint(number: u64, world: &PayloadBytes) -> SaveRequest {
    let mut request = SampleGeneration::new(&name(number), "e1", number).to_save();
    request.payloads[0].1 = world.clone();
    request
}

/// What it is called.
pub fn name(number: u64) -> String {
    format!("checkpoint-{number}")
}
