//! What a list of stimuli or rewards must be, on both sides of a transport.

use crate::{AgentGraph, ErrorCode, ParticipantError, Reward, Stimulus};

/// Stimuli or rewards of one agent in one step, at most.
pub(crate) const MAX_PER_STEP: usize = 64;

fn refuse(code: ErrorCode, message: String) -> Result<(), ParticipantError> {
    Err(ParticipantError::refused(code, message))
}

/// At most 64, no name twice, finite durations above zero, kinds the agent supports.
pub(crate) fn check_stimuli(
    stimuli: &[Stimulus],
    graph: &AgentGraph,
) -> Result<(), ParticipantError> {
    if stimuli.len() > MAX_PER_STEP {
        return refuse(
            ErrorCode::InvalidArgument,
            format!("{} stimuli, the limit is {MAX_PER_STEP}", stimuli.len()),
        );
    }
    for (index, stimulus) in stimuli.iter().enumerate() {
        if stimuli[..index]
            .iter()
            .any(|earlier| earlier.id == stimulus.id)
        {
            return refuse(
                ErrorCode::InvalidArgument,
                format!("stimulus {} is listed twice", stimulus.id),
            );
        }
        if !(stimulus.duration_ms.is_finite() && stimulus.duration_ms > 0.0) {
            let message = format!(
                "stimulus {} lasts {} ms",
                stimulus.id,
                ryu_js::Buffer::new().format(stimulus.duration_ms)
            );
            return refuse(ErrorCode::InvalidArgument, message);
        }
        if !graph.supported_stimuli.contains(&stimulus.kind_id) {
            return refuse(
                ErrorCode::Unsupported,
                format!("stimulus kind {} is not supported", stimulus.kind_id),
            );
        }
    }
    Ok(())
}

/// At most 64, finite values.
pub(crate) fn check_rewards(rewards: &[Reward]) -> Result<(), ParticipantError> {
    if rewards.len() > MAX_PER_STEP {
        return refuse(
            ErrorCode::InvalidArgument,
            format!("{} rewards, the limit is {MAX_PER_STEP}", rewards.len()),
        );
    }
    match rewards.iter().find(|reward| !reward.value.is_finite()) {
        Some(reward) => refuse(
            ErrorCode::InvalidArgument,
            format!("reward {} is not finite", reward.event_id),
        ),
        None => Ok(()),
    }
}
