//! [`Records`]: which operations a participant has seen, and what it answered.

use std::collections::VecDeque;

use wellwritten_envelope::{Id, Scope};

use crate::request::MethodClass;
use crate::{Answer, ErrorCode, MutationCertainty, ParticipantError, Request, RequestId};

/// Steps whose answers are kept: the current one and the one before.
const STEPS_KEPT: u64 = 2;
/// Lifecycle answers kept until acknowledged.
const LIFECYCLE_KEPT: usize = 16;

type Outcome = Result<Answer, ParticipantError>;

/// What makes two requests the same operation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    /// One mutation of one step; the request id is deliberately not in it.
    Step {
        session_id: Id,
        epoch: Id,
        step: u64,
        method: &'static str,
    },
    /// One lifecycle call.
    Lifecycle { request_id: RequestId },
}

/// An operation. The request is kept whole: a repetition is compared with it, which costs nothing where there is none, and
/// what it refers to lives as long as its answer does.
#[derive(Clone, Debug)]
struct Entry {
    key: Key,
    request: Request,
    is_kept: bool,
}

impl Entry {
    /// Whether `request` asks for this very operation: the same name, the same scope, the same parameters.
    fn is_exactly(&self, request: &Request) -> bool {
        self.request == *request
    }
}

#[derive(Debug)]
struct Record {
    entry: Entry,
    outcome: Outcome,
}

/// What admission decided.
pub(crate) enum Admission {
    /// A new operation.
    Run,
    /// A repetition: this was the answer.
    Replay(Box<Outcome>),
}

/// Answers of the last two steps and of unacknowledged lifecycle calls.
#[derive(Debug)]
pub(crate) struct Records {
    active: Option<Entry>,
    kept: VecDeque<Record>,
    /// Highest serial seen, to tell an expired answer from a step that never was.
    highest_serial: u64,
    /// Highest serial whose answer was released. Kept answers are looked for before it is: one below it still comes again,
    /// and one that was released is never done again, whatever the order of the acknowledgments.
    released_serial: Option<u64>,
    /// Epoch and highest step *executed* in it. Per epoch, and raised only by what passed every check: a stray request
    /// for a far step must not make the steps before it look old.
    watermark: Option<(Id, u64)>,
    last_completed: Option<RequestId>,
    progress: u64,
}

impl Records {
    pub(crate) const fn new() -> Self {
        Self {
            active: None,
            kept: VecDeque::new(),
            highest_serial: 0,
            released_serial: None,
            watermark: None,
            last_completed: None,
            progress: 0,
        }
    }

    /// Repetition, conflict, or a new operation. Changes nothing.
    pub(crate) fn admit(
        &self,
        request: &Request,
        scope: &Scope,
    ) -> Result<Admission, ParticipantError> {
        let key = key_of(request, scope);
        let method = request.call.method();
        if let Some(active) = &self.active {
            return Err(if active.key != key {
                let message = format!("{} is still running", active.request.request_id);
                ParticipantError::refused(ErrorCode::Busy, message)
            } else if active.is_exactly(request) {
                let message = format!("{} is still running", request.request_id);
                ParticipantError::refused(ErrorCode::InProgress, message)
            } else {
                conflict(method, scope)
            });
        }
        if let Some(record) = self.kept.iter().find(|record| record.entry.key == key) {
            return if record.entry.is_exactly(request) {
                Ok(Admission::Replay(Box::new(record.outcome.clone())))
            } else {
                Err(conflict(method, scope))
            };
        }
        let serial = request.request_id.0;
        let is_released = self
            .released_serial
            .is_some_and(|released| serial <= released);
        match request.call.class() {
            MethodClass::StepMutation => {
                let outside = self.watermark.as_ref().is_some_and(|(epoch, highest)| {
                    *epoch == scope.epoch && scope.step.0.saturating_add(STEPS_KEPT) <= *highest
                });
                if outside && serial <= self.highest_serial {
                    return Err(expired(request));
                }
            }
            // Steps have watermarks of their own: an acknowledgment must not expire them.
            MethodClass::Lifecycle if is_released => return Err(expired(request)),
            MethodClass::Lifecycle => {
                let kept = self
                    .kept
                    .iter()
                    .filter(|record| matches!(record.entry.key, Key::Lifecycle { .. }));
                if kept.count() >= LIFECYCLE_KEPT {
                    let message = format!("{LIFECYCLE_KEPT} answers wait for their acknowledgment");
                    return Err(ParticipantError::refused(ErrorCode::Busy, message));
                }
            }
            MethodClass::ReadOnly | MethodClass::Repeatable => {}
        }
        Ok(Admission::Run)
    }

    /// An operation that passed every check begins.
    pub(crate) fn begin(&mut self, request: &Request, scope: &Scope) {
        self.highest_serial = self.highest_serial.max(request.request_id.0);
        if request.call.class() == MethodClass::StepMutation {
            let highest = match &self.watermark {
                Some((epoch, highest)) if *epoch == scope.epoch => (*highest).max(scope.step.0),
                _ => scope.step.0,
            };
            self.watermark = Some((scope.epoch.clone(), highest));
            self.kept.retain(|record| match &record.entry.key {
                Key::Step { epoch, step, .. } => {
                    *epoch == scope.epoch && step.saturating_add(STEPS_KEPT) > highest
                }
                Key::Lifecycle { .. } => true,
            });
        }
        self.active = Some(Entry {
            key: key_of(request, scope),
            request: request.clone(),
            is_kept: request.call.class() != MethodClass::Repeatable,
        });
    }

    /// The operation ends. A refusal frees its key, so that a corrected request may follow.
    pub(crate) fn end(&mut self, outcome: &Outcome) {
        let Some(entry) = self.active.take() else {
            return;
        };
        self.last_completed = Some(entry.request.request_id);
        let refused = matches!(outcome, Err(error) if error.mutation == MutationCertainty::None);
        if refused {
            return;
        }
        self.progress += 1;
        if entry.is_kept {
            self.kept.push_back(Record {
                entry,
                outcome: outcome.clone(),
            });
        }
    }

    /// Releases lifecycle answers; says which were still kept.
    pub(crate) fn acknowledge(&mut self, request_ids: &[RequestId]) -> Vec<RequestId> {
        let mut released = Vec::new();
        self.kept.retain(|record| {
            let Key::Lifecycle { request_id } = record.entry.key else {
                return true;
            };
            if request_ids.contains(&request_id) {
                released.push(request_id);
            }
            !request_ids.contains(&request_id)
        });
        let highest = released.iter().map(|request_id| request_id.0).max();
        self.released_serial = self.released_serial.max(highest);
        released
    }

    pub(crate) fn active_request_id(&self) -> Option<RequestId> {
        self.active.as_ref().map(|entry| entry.request.request_id)
    }

    pub(crate) const fn last_completed_request_id(&self) -> Option<RequestId> {
        self.last_completed
    }

    pub(crate) const fn progress_counter(&self) -> u64 {
        self.progress
    }
}

fn key_of(request: &Request, scope: &Scope) -> Key {
    match request.call.class() {
        MethodClass::StepMutation => Key::Step {
            session_id: scope.session_id.clone(),
            epoch: scope.epoch.clone(),
            step: scope.step.0,
            method: request.call.method(),
        },
        MethodClass::ReadOnly | MethodClass::Repeatable | MethodClass::Lifecycle => {
            Key::Lifecycle {
                request_id: request.request_id,
            }
        }
    }
}

fn conflict(method: &str, scope: &Scope) -> ParticipantError {
    let message = format!(
        "{method} at step {} of {} was asked with another id or body",
        scope.step, scope.epoch
    );
    ParticipantError::refused(ErrorCode::Conflict, message)
}

fn expired(request: &Request) -> ParticipantError {
    let message = format!("the answer to {} is no longer kept", request.request_id);
    ParticipantError::uncertain(ErrorCode::ResultExpired, message)
}
