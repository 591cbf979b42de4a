//! What a list of stimuli or rewards must be, on both sides of a transport.

use crate::plain_number::is_plain;
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
        if !(is_plain(stimulus.duration_ms) && stimulus.duration_ms > 0.0) {
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

/// At most 64, no event twice, finite values.
pub(crate) fn check_rewards(rewards: &[Reward]) -> Result<(), ParticipantError> {
    if rewards.len() > MAX_PER_STEP {
        return refuse(
            ErrorCode::InvalidArgument,
            format!("{} rewards, the limit is {MAX_PER_STEP}", rewards.len()),
        );
    }
    for (index, reward) in rewards.iter().enumerate() {
        let event = &reward.event_id;
        if !is_plain(reward.value) {
            return refuse(
                ErrorCode::InvalidArgument,
                format!("reward {event} is not finite, or an integer beyond 2^53-1"),
            );
        }
        if rewards[..index]
            .iter()
            .any(|earlier| earlier.event_id == *event)
        {
            return refuse(
                ErrorCode::InvalidArgument,
                format!("event {event} is rewarded twice"),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use wellwritten_envelope::{Id, U64};

    use super::*;

    type Change<T> = fn(&mut Vec<T>);

    fn id(text: &str) -> Id {
        Id::parse(text).unwrap()
    }

    fn stimuli(count: usize) -> Vec<Stimulus> {
        let one = |index| Stimulus {
            id: id(&format!("s{index}")),
            kind_id: id("spark"),
            duration_ms: f64::MIN_POSITIVE,
        };
        (0..count).map(one).collect()
    }

    fn rewards(count: usize) -> Vec<Reward> {
        let one = |index| Reward {
            event_id: id(&format!("e{index}")),
            rule_id: id("eat"),
            value: -f64::MAX,
        };
        (0..count).map(one).collect()
    }

    fn stimuli_refused(change: impl FnOnce(&mut Vec<Stimulus>)) -> (ErrorCode, String) {
        let graph = AgentGraph {
            neuron_count: U64(1),
            rate_roles: Vec::new(),
            supported_stimuli: vec![id("spark")],
        };
        let mut given = stimuli(MAX_PER_STEP);
        check_stimuli(&given, &graph).unwrap();
        change(&mut given);
        let error = check_stimuli(&given, &graph).unwrap_err();
        (error.code, error.message)
    }

    #[test]
    fn stimuli_at_the_bound_are_taken_and_anything_beyond_is_named() {
        let cases: [(Change<Stimulus>, ErrorCode, &str); 6] = [
            (
                |it| *it = stimuli(65),
                ErrorCode::InvalidArgument,
                "65 stimuli, the limit is 64",
            ),
            (
                |it| it[63].id = id("s0"),
                ErrorCode::InvalidArgument,
                "stimulus s0 is listed twice",
            ),
            (
                |it| it[5].duration_ms = 0.0,
                ErrorCode::InvalidArgument,
                "stimulus s5 lasts 0 ms",
            ),
            (
                |it| it[5].duration_ms = f64::NAN,
                ErrorCode::InvalidArgument,
                "stimulus s5 lasts NaN ms",
            ),
            (
                |it| it[5].duration_ms = f64::INFINITY,
                ErrorCode::InvalidArgument,
                "stimulus s5 lasts Infinity ms",
            ),
            (
                |it| it[63].kind_id = id("thunder"),
                ErrorCode::Unsupported,
                "stimulus kind thunder is not supported",
            ),
        ];
        for (change, code, said) in cases {
            assert_eq!(stimuli_refused(change), (code, said.to_owned()));
        }
    }

    #[test]
    fn rewards_at_the_bound_are_taken_and_anything_beyond_is_named() {
        check_rewards(&rewards(MAX_PER_STEP)).unwrap();
        let cases: [(Change<Reward>, &str); 4] = [
            (|it| *it = rewards(65), "65 rewards, the limit is 64"),
            (
                |it| it[63].event_id = id("e0"),
                "event e0 is rewarded twice",
            ),
            (
                |it| it[7].value = f64::NAN,
                "reward e7 is not finite, or an integer beyond 2^53-1",
            ),
            (
                |it| it[7].value = f64::NEG_INFINITY,
                "reward e7 is not finite, or an integer beyond 2^53-1",
            ),
        ];
        for (change, said) in cases {
            let mut given = rewards(MAX_PER_STEP);
            change(&mut given);
            let error = check_rewards(&given).unwrap_err();
            assert_eq!(
                (error.code, &*error.message),
                (ErrorCode::InvalidArgument, said)
            );
        }
    }
}
