//! [`PhaseMachine`]: the only way a session changes phase.

use std::collections::VecDeque;

use serde::Serialize;

use crate::{Phase, PhaseEdge};

/// One change of phase; written `from -> to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct PhaseChange {
    /// The phase left.
    pub from: Phase,
    /// The phase entered.
    pub to: Phase,
}

impl std::fmt::Display for PhaseChange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} -> {}", self.from, self.to)
    }
}

/// A change that is no edge. The phase is what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a session cannot go from {from} to {to}")]
pub struct IllegalEdge {
    /// Where the session stands.
    pub from: Phase,
    /// Where it was to go.
    pub to: Phase,
}

/// A phase that changes only along legal edges, and remembers the last changes.
#[derive(Clone, Debug)]
pub struct PhaseMachine {
    phase: Phase,
    /// The phase a capture came from and must go back to.
    capture_origin: Option<Phase>,
    history: VecDeque<PhaseChange>,
    dropped: u64,
}

impl Default for PhaseMachine {
    fn default() -> Self {
        Self::starting()
    }
}

impl PhaseMachine {
    /// Changes remembered at most.
    pub const MAX_HISTORY: usize = 4096;

    /// A session that has not begun.
    #[must_use]
    pub const fn starting() -> Self {
        Self {
            phase: Phase::Starting,
            capture_origin: None,
            history: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Where the session stands.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// The phase a running capture goes back to.
    #[must_use]
    pub const fn capture_origin(&self) -> Option<Phase> {
        self.capture_origin
    }

    /// The last changes, oldest first.
    pub fn history(&self) -> impl Iterator<Item = &PhaseChange> {
        self.history.iter()
    }

    /// Changes no longer remembered.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Changes the phase along a legal edge.
    pub fn go(&mut self, to: Phase) -> Result<PhaseChange, IllegalEdge> {
        let from = self.phase;
        if !self.is_legal(to) {
            return Err(IllegalEdge { from, to });
        }
        self.capture_origin = matches!(to, Phase::Capturing { .. }).then_some(from);
        self.phase = to;
        let change = PhaseChange { from, to };
        if self.history.len() == Self::MAX_HISTORY {
            self.history.pop_front();
            self.dropped += 1;
        }
        self.history.push_back(change);
        Ok(change)
    }

    fn is_legal(&self, to: Phase) -> bool {
        let listed = PhaseEdge::all()
            .iter()
            .any(|edge| edge.from == self.phase.kind() && edge.to == to.kind());
        listed
            && match (self.phase, to) {
                (Phase::Starting | Phase::Resetting { .. }, Phase::Ready { boundary }) => {
                    boundary == 0
                }
                (Phase::Applying { boundary }, Phase::Observing { boundary: next })
                | (Phase::Committing { boundary }, Phase::Ready { boundary: next })
                | (Phase::Observing { boundary: next }, Phase::Committing { boundary }) => {
                    boundary.checked_add(1) == Some(next)
                }
                (Phase::Capturing { .. }, Phase::Ready { .. } | Phase::Paused { .. }) => {
                    self.capture_origin == Some(to)
                }
                (_, Phase::Failed) | (Phase::Starting | Phase::Failed, Phase::Restoring { .. }) => {
                    true
                }
                (from, to) => from.boundary() == to.boundary(),
            }
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: the edge table of the protocol, written out again over small boundaries as text. Every pair of phases
    //! is tried; the machine must take exactly the pairs the table holds.

    use std::collections::BTreeSet;

    use super::*;

    fn phases() -> Vec<Phase> {
        let mut phases = vec![Phase::Starting, Phase::Failed];
        for boundary in 0..3 {
            phases.extend([
                Phase::Ready { boundary },
                Phase::Preparing { boundary },
                Phase::Applying { boundary },
                Phase::Observing { boundary },
                Phase::Committing { boundary },
                Phase::Paused { boundary },
                Phase::Capturing { boundary },
                Phase::Restoring { boundary },
                Phase::Resetting { boundary },
            ]);
        }
        phases
    }

    fn table() -> BTreeSet<String> {
        let mut legal = BTreeSet::from([
            "Starting -> Ready(0)".to_owned(),
            "Starting -> Failed".to_owned(),
        ]);
        for k in 0..3 {
            let next = k + 1;
            for edge in [
                format!("Starting -> Restoring({k})"),
                format!("Failed -> Restoring({k})"),
                format!("Ready({k}) -> Preparing({k})"),
                format!("Preparing({k}) -> Applying({k})"),
                format!("Applying({k}) -> Observing({next})"),
                format!("Observing({next}) -> Committing({k})"),
                format!("Committing({k}) -> Ready({next})"),
                format!("Ready({k}) -> Paused({k})"),
                format!("Paused({k}) -> Ready({k})"),
                format!("Ready({k}) -> Capturing({k})"),
                format!("Paused({k}) -> Capturing({k})"),
                format!("Restoring({k}) -> Paused({k})"),
                format!("Paused({k}) -> Resetting({k})"),
                format!("Resetting({k}) -> Ready(0)"),
            ] {
                legal.insert(edge);
            }
            for kind in [
                "Ready",
                "Preparing",
                "Applying",
                "Observing",
                "Committing",
                "Paused",
                "Capturing",
                "Restoring",
                "Resetting",
            ] {
                legal.insert(format!("{kind}({k}) -> Failed"));
            }
        }
        legal
    }

    #[test]
    fn exactly_the_edges_of_the_table_are_taken() {
        let legal = table();
        let (mut taken, mut refused) = (0, 0);
        for from in phases() {
            for to in phases() {
                let mut machine = PhaseMachine::starting();
                machine.phase = from;
                let expected = legal.contains(&format!("{from} -> {to}"));
                let result = machine.go(to);
                assert_eq!(result.is_ok(), expected, "{from} -> {to}");
                if expected {
                    taken += 1;
                    assert_eq!(machine.phase(), to);
                } else {
                    refused += 1;
                    assert_eq!(machine.phase(), from, "a refusal changes nothing");
                    assert_eq!(machine.history().count(), 0);
                }
            }
        }
        assert!(
            taken > 50 && refused > 500,
            "{taken} taken, {refused} refused"
        );
    }

    #[test]
    fn a_capture_goes_back_to_where_it_came_from() {
        for (origin, other) in [
            (Phase::Ready { boundary: 0 }, Phase::Paused { boundary: 0 }),
            (Phase::Paused { boundary: 0 }, Phase::Ready { boundary: 0 }),
        ] {
            let mut machine = PhaseMachine::starting();
            machine.phase = origin;
            machine.go(Phase::Capturing { boundary: 0 }).unwrap();
            assert!(machine.go(other).is_err());
            assert!(machine.go(Phase::Ready { boundary: 1 }).is_err());
            assert_eq!(
                machine.go(origin).unwrap().to_string(),
                format!("Capturing(0) -> {origin}")
            );
        }
    }

    #[test]
    fn the_history_is_bounded_and_says_what_it_dropped() {
        let mut machine = PhaseMachine::starting();
        machine.go(Phase::Ready { boundary: 0 }).unwrap();
        for _ in 0..PhaseMachine::MAX_HISTORY {
            machine.go(Phase::Paused { boundary: 0 }).unwrap();
            machine.go(Phase::Ready { boundary: 0 }).unwrap();
        }
        assert_eq!(machine.history().count(), PhaseMachine::MAX_HISTORY);
        assert_eq!(machine.dropped(), PhaseMachine::MAX_HISTORY as u64 + 1);
    }
}
