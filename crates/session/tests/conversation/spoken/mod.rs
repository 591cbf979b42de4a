//! A conversation with one participant, spelled out by bytes, held against a model of what has to be answered.

mod choices;
mod line;
mod model;
mod operations;
mod requests;
mod watched;

use wellwritten_counter::{Fault, FaultKind, FaultPoint};
use wellwritten_session::testing::live_artifacts;
use wellwritten_session::wire::CallId;
use wellwritten_session::{
    Answer, Artifact, Call, Digest, ErrorCode, MutationCertainty, Reply, Request, Role, Scope,
    WorkerState,
};

use choices::Choices;
use line::{INCARNATION, Line, told};
use model::{Asked, Foreseen, Model, Planned, Verdict};

pub use model::Lie;

/// What a conversation came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub asked: usize,
    pub ran: usize,
    pub repeated: usize,
    pub refused: usize,
    /// Most artifacts that anybody owned at once.
    pub artifacts: usize,
    /// The boundary it got to.
    pub step: u64,
}

/// A state that was captured.
#[derive(Clone)]
struct Saved {
    at: Scope,
    checkpoint_id: String,
    compatibility_digest: Digest,
    payload: Artifact,
}

/// What came back was not what had to come.
type Held = Result<(), String>;

struct Talk<'a> {
    choices: Choices<'a>,
    line: Line,
    model: Model,
    next_serial: u64,
    next_epoch: u64,
    /// What was asked, and whether it ran.
    history: Vec<(Asked, bool)>,
    saved: Vec<Saved>,
    last_token: String,
    summary: Summary,
}

/// Remembered requests and states: few, so that what they refer to does not hide what the participant keeps.
const REMEMBERED: usize = 12;

/// Holds the conversation that `bytes` spell, in which the model gets `lie` wrong.
pub fn converse(bytes: &[u8], lie: Option<Lie>) -> Result<Summary, String> {
    let before = live_artifacts();
    let summary = Talk::new(bytes, lie).run()?;
    // The line, the model and everything either remembered is gone.
    match live_artifacts() - before {
        0 => Ok(summary),
        left => Err(format!(
            "{left} artifacts have an owner when nobody is left"
        )),
    }
}

impl<'a> Talk<'a> {
    fn new(bytes: &'a [u8], lie: Option<Lie>) -> Self {
        let mut choices = Choices::new(bytes);
        let role = choices.one_of(&[Role::Environment, Role::Agent]);
        Self {
            choices,
            line: Line::new(role),
            model: Model::new(role, lie),
            next_serial: 1,
            next_epoch: 2,
            history: Vec::new(),
            saved: Vec::new(),
            last_token: "rt-0".to_owned(),
            summary: Summary::default(),
        }
    }

    fn run(mut self) -> Result<Summary, String> {
        while let Some(choice) = self.choices.next(operations::COUNT) {
            let seen = self.line.seen.calls.get();
            let progress = self.line.runtime.status().progress_counter;
            let ran = self.summary.ran;
            self.operate(choice)
                .map_err(|what| format!("after {} requests: {what}", self.summary.asked))?;
            self.summary.artifacts = self.summary.artifacts.max(live_artifacts());
            if self.line.has_ended() {
                break;
            }
            self.compare_status()?;
            if self.summary.ran == ran {
                let now = self.line.runtime.status().progress_counter;
                if now != progress || self.line.seen.calls.get() != seen {
                    return Err(format!(
                        "nothing ran, and progress went from {progress} to {now}"
                    ));
                }
            }
        }
        self.summary.step = self.model.step;
        if self.line.unanswered() > 0 && !self.line.has_ended() {
            return Err(format!(
                "{} calls were never answered",
                self.line.unanswered()
            ));
        }
        Ok(self.summary)
    }

    fn serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial - 1
    }

    fn epoch(&self) -> String {
        self.model.epoch.clone().unwrap_or_else(|| "e1".to_owned())
    }

    /// Of several refusals on end the last is remembered.
    fn remember(&mut self, asked: &Asked, runs: bool) {
        if !runs && self.history.last().is_some_and(|(_, ran)| !ran) {
            self.history.pop();
        }
        if self.history.len() >= REMEMBERED {
            self.history.remove(0);
        }
        self.history.push((asked.clone(), runs));
    }

    /// Asks one thing that is no `Worker` method, and holds what comes to what has to.
    fn ask(&mut self, asked: &Asked, planned: Planned) -> Held {
        self.summary.asked += 1;
        let verdict = self.model.judge(asked);
        self.remember(asked, verdict == Verdict::Run);
        if verdict == Verdict::Run {
            self.plan(asked, planned)?;
            let foreseen = self.model.begin(asked, planned);
            let before = self.line.runtime.status().progress_counter;
            let call_id = self.line.post(&asked.request);
            let reply = self.only_reply(call_id, &asked.request)?;
            return self.hold_end(asked, foreseen, &reply, before.0);
        }
        let call_id = self.line.post(&asked.request);
        let reply = self.only_reply(call_id, &asked.request)?;
        self.hold_refusal(asked, &verdict, &reply)
    }

    fn hold_refusal(&mut self, asked: &Asked, verdict: &Verdict, reply: &Reply) -> Held {
        let found = told(reply);
        let is_held = match verdict {
            Verdict::Refused(code) => found.error == Some((*code, MutationCertainty::None)),
            Verdict::Expired => {
                found.error == Some((ErrorCode::ResultExpired, MutationCertainty::Unknown))
            }
            Verdict::Repeated(before) => found == *before,
            Verdict::Run => false,
        };
        match verdict {
            Verdict::Repeated(_) => self.summary.repeated += 1,
            _ => self.summary.refused += 1,
        }
        if !is_held {
            return Err(format!(
                "{} {} at {:?}: {verdict:?} was due, {:?} came",
                asked.request.request_id,
                asked.request.call.method(),
                asked.request.scope,
                reply.outcome
            ));
        }
        self.model.refused(asked);
        Ok(())
    }

    /// An operation that ran has answered `reply`.
    fn hold_end(&mut self, asked: &Asked, foreseen: Foreseen, reply: &Reply, before: u64) -> Held {
        self.summary.ran += 1;
        let found = told(reply);
        let due = format!("{foreseen:?}");
        let is_held = match foreseen {
            Foreseen::Error(code, mutation) => found.error == Some((code, mutation)),
            Foreseen::Answer(text) => found.error.is_none() && found.text == text,
            Foreseen::Like(method) => self.is_like(method, asked, reply),
        };
        if !is_held {
            return Err(format!(
                "{} {} at {:?}: {due} was due, {:?} came",
                asked.request.request_id,
                asked.request.call.method(),
                asked.request.scope,
                reply.outcome
            ));
        }
        let is_refusal = found
            .error
            .is_some_and(|(_, mutation)| mutation == MutationCertainty::None);
        let after = self.line.runtime.status().progress_counter.0;
        if is_refusal != (after == before) {
            return Err(format!("{due}, and progress went from {before} to {after}"));
        }
        let token = match &reply.outcome {
            Ok(Answer::Staged { restore_token, .. }) => {
                self.last_token.clone_from(restore_token);
                Some(restore_token.clone())
            }
            _ => None,
        };
        if let Ok(Answer::Captured {
            compatibility_digest,
            payload,
            ..
        }) = &reply.outcome
        {
            let at = asked.request.scope.clone().expect("what ran has a scope");
            let Call::Capture { checkpoint_id } = &asked.request.call else {
                return Err("only a capture answers a capture".to_owned());
            };
            if self.saved.len() >= 3 {
                self.saved.remove(0);
            }
            self.saved.push(Saved {
                at,
                checkpoint_id: checkpoint_id.as_str().to_owned(),
                compatibility_digest: *compatibility_digest,
                payload: payload.clone(),
            });
        }
        let is_broken = found.error.is_some() && !is_refusal;
        self.model.end(found, token);
        let (due, found) = (self.model.digest(), self.line.seen.digest.get());
        match found {
            // Where a planned failure left it, nobody promises anything about its state.
            Some(found) if found != due && !is_broken => Err(format!(
                "state {found} after {} at {:?} had answered {:?}, {due} was due",
                asked.request.call.method(),
                asked.request.scope,
                reply.outcome
            )),
            _ => Ok(()),
        }
    }

    fn is_like(&self, method: &str, asked: &Asked, reply: &Reply) -> bool {
        let step = asked.request.scope.as_ref().map(|scope| scope.step);
        match (&reply.outcome, &asked.request.call) {
            (
                Ok(Answer::Captured {
                    checkpoint_id,
                    boundary,
                    ..
                }),
                Call::Capture { checkpoint_id: due },
            ) => method == "State.Capture" && checkpoint_id == due && Some(*boundary) == step,
            (
                Ok(Answer::Staged {
                    checkpoint_id,
                    restore_token,
                    ..
                }),
                Call::StageRestore(stage),
            ) => {
                method == "State.StageRestore"
                    && *checkpoint_id == stage.checkpoint_id
                    && restore_token.starts_with("rt-")
                    && *restore_token != self.last_token
            }
            _ => false,
        }
    }

    /// Plans what goes wrong in the operation that begins next.
    fn plan(&self, asked: &Asked, planned: Planned) -> Held {
        let kind = match planned {
            Planned::Nothing => return Ok(()),
            Planned::Refusal(code) => FaultKind::Refuse(code),
            Planned::Failure => FaultKind::Break,
        };
        self.arm(asked, kind)
    }

    fn arm(&self, asked: &Asked, kind: FaultKind) -> Held {
        let at = point_of(&asked.request.call).ok_or("no fault fits there")?;
        let worker = line::id(if self.model.role == Role::Agent {
            "fly-a"
        } else {
            "world"
        });
        let armed = self.line.faults.arm(Fault::new(worker, at, kind));
        armed.map_err(|error| error.to_string())
    }

    /// The one reply that has come, addressed as it must be.
    fn only_reply(&mut self, call_id: CallId, request: &Request) -> Result<Reply, String> {
        let replies = self.line.replies()?;
        let [(answered, reply)] = <[_; 1]>::try_from(replies)
            .map_err(|replies| format!("{} replies, one was due", replies.len()))?;
        if answered != call_id {
            return Err(format!("{answered} was answered, {call_id} was asked"));
        }
        self.hold_address(&reply, request)?;
        Ok(reply)
    }

    fn hold_address(&self, reply: &Reply, request: &Request) -> Held {
        let worker = if self.model.role == Role::Agent {
            "fly-a"
        } else {
            "world"
        };
        let is_held = reply.request_id == request.request_id
            && reply.scope == request.scope
            && reply.worker_id.as_str() == worker
            && reply.incarnation_id.as_str() == INCARNATION;
        if is_held {
            Ok(())
        } else {
            Err(format!("{reply:?} does not answer {request:?}"))
        }
    }

    /// What the participant says of itself is what the model says.
    fn compare_status(&mut self) -> Held {
        let status = self.line.runtime.status();
        let due_scope = self
            .model
            .epoch
            .as_ref()
            .map(|epoch| requests::scope(epoch, self.model.step));
        let is_held = status.state == self.model.state
            && status.current_scope == due_scope
            && status.active_request_id.is_none()
            && status.last_completed_request_id.map(|id| id.0) == self.model.last_completed
            && status
                .last_batch_id
                .as_ref()
                .map(wellwritten_session::Id::as_str)
                == self.model.last_batch.as_deref();
        if is_held {
            Ok(())
        } else {
            Err(format!(
                "{status:?}, but {:?} at {due_scope:?}",
                self.model.state
            ))
        }
    }
}

/// Where an operation can be held up or go wrong.
fn point_of(call: &Call) -> Option<FaultPoint> {
    Some(match call {
        Call::InitializeEnvironment(_) | Call::InitializeAgent(_) => FaultPoint::Initialize,
        Call::Advance(_) => FaultPoint::Advance,
        Call::Prepare(_) => FaultPoint::Prepare,
        Call::Commit(_) => FaultPoint::Commit,
        Call::Verify {} => FaultPoint::Verify,
        Call::Capture { .. } => FaultPoint::Capture,
        Call::StageRestore(_) => FaultPoint::Stage,
        Call::ActivateRestore { .. } => FaultPoint::Activate,
        _ => return None,
    })
}

/// Whether the operation says so while it runs.
const fn state_while(call: &Call, before: WorkerState) -> WorkerState {
    match call {
        Call::Advance(_) => WorkerState::Advancing,
        Call::Prepare(_) => WorkerState::Preparing,
        Call::Commit(_) => WorkerState::Committing,
        Call::Capture { .. } => WorkerState::Capturing,
        Call::ActivateRestore { .. } => WorkerState::Restoring,
        _ => before,
    }
}
