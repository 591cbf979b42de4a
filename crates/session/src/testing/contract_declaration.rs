//! What the contract digest is the digest of.

use serde_json::{Map, Value, json};
use wellwritten_envelope::to_json;

use super::{Filling, sample_answers, sample_calls};
use crate::wire::{MAX_ATTACHMENTS, MAX_CALLS_IN_FLIGHT, MAX_MESSAGE_BYTES};
use crate::{
    Artifact, AudioDescriptor, AudioRef, AxisRange, Call, Composition, ErrorCode, MAX_MAJORS,
    MutationCertainty, PROTOCOL_MAJOR, PROTOCOL_MINOR, ParticipantError, Role, TypedValue,
    ViewAudience, ViewDescriptor, WorkerState,
};

fn json<T: serde::Serialize>(value: &T) -> Value {
    to_json(value).expect("a sample has string keys and finite numbers")
}

/// Every message there is, once with all of its fields and once with what may be null, every closed enumeration, and every
/// bound: a field, a spelling or a bound that changes, changes this.
#[must_use]
pub fn contract_declaration() -> Value {
    let messages = |filling| {
        let pairs = sample_calls(filling)
            .into_iter()
            .zip(sample_answers(filling));
        let mut methods = Map::new();
        for (method, (call, answer)) in Call::METHODS.iter().zip(pairs) {
            let message = json!({"params": json(&call), "result": json(&answer)});
            methods.insert((*method).to_owned(), message);
        }
        Value::Object(methods)
    };
    let states = [
        WorkerState::Uninitialized,
        WorkerState::Ready,
        WorkerState::Preparing,
        WorkerState::Prepared,
        WorkerState::Advancing,
        WorkerState::Committing,
        WorkerState::Capturing,
        WorkerState::StagedRestore,
        WorkerState::Restoring,
        WorkerState::Failed,
        WorkerState::Stopping,
    ];
    let certainties = [
        MutationCertainty::None,
        MutationCertainty::Applied,
        MutationCertainty::Unknown,
    ];
    json!({
        "version": [PROTOCOL_MAJOR, PROTOCOL_MINOR],
        "full": messages(Filling::Full),
        "null": messages(Filling::Null),
        "error": json(&ParticipantError::refused(ErrorCode::Internal, "sample")),
        "enumerations": {
            "errorCode": json(&ErrorCode::ALL),
            "mutationCertainty": json(&certainties),
            "role": json(&[Role::Environment, Role::Agent]),
            "workerState": json(&states),
            "axisRange": json(&[AxisRange::Bipolar, AxisRange::Unit]),
            "viewAudience": json(&[ViewAudience::Sensory, ViewAudience::Spectator]),
            "contentType": [Artifact::RGBA8, Artifact::F32LE, Artifact::CHECKPOINT_PAYLOAD],
        },
        "bounds": {
            "messageBytes": MAX_MESSAGE_BYTES,
            "attachments": MAX_ATTACHMENTS,
            "attachmentBytes": Artifact::MAX_BYTES,
            "callsInFlight": MAX_CALLS_IN_FLIGHT,
            "majors": MAX_MAJORS,
            "acknowledged": crate::participant_runtime::MAX_ACKNOWLEDGED,
            "agents": Composition::MAX_AGENTS,
            "typedValueBytes": TypedValue::MAX_BYTES,
            "errorMessage": ParticipantError::MAX_MESSAGE,
            "viewDimension": ViewDescriptor::MAX_DIMENSION,
            "observationDelay": ViewDescriptor::MAX_DELAY_STEPS,
            "sampleRate": [AudioDescriptor::MIN_SAMPLE_RATE, AudioDescriptor::MAX_SAMPLE_RATE],
            "channels": AudioDescriptor::MAX_CHANNELS,
            "sampleFrames": AudioRef::MAX_SAMPLE_FRAMES,
        },
    })
}
