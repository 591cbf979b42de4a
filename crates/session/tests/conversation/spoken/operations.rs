//! What can be said in a conversation.

use wellwritten_counter::{FIELD, FaultKind};
use wellwritten_session::wire::{CallId, MAX_MESSAGE_BYTES};
use wellwritten_session::{
    Answer, Artifact, Call, ErrorCode, Hello, MutationCertainty, Request, RequestId, Role, Scope,
    StageRestore, U64, WorkerState,
};

use super::line::{id, told};
use super::model::{Asked, Flaw, Planned, Verdict};
use super::requests::{
    VARIANTS, advance, asked, commit, flawed, initialize_agent, initialize_world, prepare, scope,
    sound,
};
use super::{Held, Talk, state_while};

/// How many operations there are to choose from.
pub const COUNT: u8 = 32;

/// A step that is far from every other, and still a number that JSON has.
const FAR: u64 = 1 << 40;

impl Talk<'_> {
    pub(super) fn operate(&mut self, choice: u8) -> Held {
        match choice {
            0..=7 => {
                let next = self.next_operation();
                self.ask(&next, Planned::Nothing)
            }
            8 | 9 => self.again(),
            10 => self.under_another_name(),
            11 => self.with_another_body(),
            12 | 13 => self.somewhere_else(),
            14 => self.with_a_flaw(),
            15 => self.capture(),
            16 => self.acknowledge(),
            17 | 18 => self.stage(),
            19 => self.activate(),
            20 => self.repeatable(),
            21 => self.hello(),
            22 => self.status(),
            23 => self.wrong_role(),
            24 => self.damaged(),
            25 | 26 => self.while_one_runs(),
            27 => self.refused_by_itself(),
            28 => self.with_another_serial(),
            29 => self.many_at_once(),
            30 => self.more_answers_than_are_kept(),
            _ => self.an_ending(),
        }
    }

    /// What a coordinator would ask next.
    fn next_operation(&mut self) -> Asked {
        let serial = self.serial();
        self.next_under(serial)
    }

    fn next_under(&mut self, serial: u64) -> Asked {
        let variant = sound(&mut self.choices);
        if let Some((token, at)) = self.model.staged.clone() {
            let call = Call::ActivateRestore {
                restore_token: token,
            };
            return asked(serial, at, (call, Flaw::None));
        }
        self.operation(serial, variant)
    }

    /// The operation that is due, in one of its variants.
    fn operation(&self, serial: u64, variant: u8) -> Asked {
        let (epoch, step) = (self.epoch(), self.model.step);
        let call = match (self.model.role, self.model.state) {
            (Role::Environment, WorkerState::Uninitialized) => initialize_world(variant),
            (Role::Agent, WorkerState::Uninitialized) => initialize_agent(variant),
            (Role::Environment, _) => advance(&epoch, step, variant),
            (Role::Agent, WorkerState::Prepared) => {
                commit(step, self.model.prepared.unwrap_or(0), variant)
            }
            (Role::Agent, _) => prepare(step, variant),
        };
        asked(serial, scope(&epoch, step), call)
    }

    fn earlier(&mut self) -> Option<Asked> {
        let count = u8::try_from(self.history.len()).unwrap_or(u8::MAX);
        if count == 0 {
            return None;
        }
        let back = usize::from(self.choices.below(count));
        Some(self.history[self.history.len() - 1 - back].0.clone())
    }

    fn again(&mut self) -> Held {
        match self.earlier() {
            Some(earlier) => self.ask(&earlier, Planned::Nothing),
            None => Ok(()),
        }
    }

    fn under_another_name(&mut self) -> Held {
        let Some(mut earlier) = self.earlier() else {
            return Ok(());
        };
        let serial = self.serial();
        earlier.request.request_id = RequestId(serial);
        self.ask(&earlier, Planned::Nothing)
    }

    fn with_another_body(&mut self) -> Held {
        let Some(earlier) = self.earlier() else {
            return Ok(());
        };
        let Some(at) = earlier.request.scope.clone() else {
            return Ok(());
        };
        let variant = self.choices.below(VARIANTS);
        let (epoch, step) = (at.epoch.as_str().to_owned(), at.step.0);
        let call = match &earlier.request.call {
            Call::InitializeEnvironment(_) => initialize_world(variant),
            Call::InitializeAgent(_) => initialize_agent(variant),
            Call::Advance(_) => advance(&epoch, step, variant),
            Call::Prepare(_) => prepare(step, variant),
            Call::Commit(_) => commit(step, self.model.prepared.unwrap_or(0), variant),
            Call::Capture { .. } => (
                Call::Capture {
                    checkpoint_id: id("other"),
                },
                Flaw::None,
            ),
            Call::ActivateRestore { .. } => {
                let restore_token = "rt-other".to_owned();
                (Call::ActivateRestore { restore_token }, Flaw::None)
            }
            _ => return Ok(()),
        };
        self.ask(
            &asked(earlier.request.request_id.0, at, call),
            Planned::Nothing,
        )
    }

    /// The operation that is due, at another step, in another epoch, of another session, of nothing at all.
    fn somewhere_else(&mut self) -> Held {
        let serial = self.serial();
        let variant = sound(&mut self.choices);
        let (epoch, step) = (self.epoch(), self.model.step);
        let place = self.choices.below(10);
        let step = match place {
            0 => step + 1,
            1 => step.saturating_sub(1),
            2 => step.saturating_sub(2),
            3 => step.saturating_sub(3),
            4 => FAR,
            _ => step,
        };
        let epoch = match place {
            5 => "e1".to_owned(),
            6 => "elsewhere".to_owned(),
            _ => epoch,
        };
        let mut there = self.operation(serial, variant);
        let mut at = scope(&epoch, step);
        match &there.request.call {
            Call::Advance(_) => there.request.call = advance(&epoch, step, variant).0,
            Call::Prepare(_) => there.request.call = prepare(step, variant).0,
            Call::Commit(_) => {
                there.request.call = commit(step, self.model.prepared.unwrap_or(0), variant).0;
            }
            _ => {}
        }
        if place == 7 || place == 8 {
            at.session_id = id("other");
        }
        if place == 8 && step > 0 {
            at.step = U64(step - 1);
        }
        there.request.scope = (place != 9).then_some(at);
        self.ask(&there, Planned::Nothing)
    }

    fn with_a_flaw(&mut self) -> Held {
        let serial = self.serial();
        let variant = flawed(&mut self.choices);
        let flawed = self.operation(serial, variant);
        self.ask(&flawed, Planned::Nothing)
    }

    fn capture(&mut self) -> Held {
        let asked = self.a_capture();
        self.ask(&asked, Planned::Nothing)
    }

    fn a_capture(&mut self) -> Asked {
        let serial = self.serial();
        let at = scope(&self.epoch(), self.model.step);
        asked(
            serial,
            at,
            (
                Call::Capture {
                    checkpoint_id: id("c"),
                },
                Flaw::None,
            ),
        )
    }

    fn worker(&self, call: Call, scope: Option<Scope>) -> Request {
        Request {
            request_id: RequestId(self.next_serial),
            scope,
            call,
        }
    }

    fn ask_worker(&mut self, request: &Request) -> Result<wellwritten_session::Reply, String> {
        self.summary.asked += 1;
        let call_id = self.line.post(request);
        self.only_reply(call_id, request)
    }

    fn acknowledge(&mut self) -> Held {
        let kept: Vec<u64> = self.model.lifecycle.keys().copied().collect();
        let mut serials: Vec<u64> = match self.choices.below(6) {
            0 => kept.iter().rev().take(16).copied().collect(),
            1 => kept.last().copied().into_iter().collect(),
            2 => kept.first().copied().into_iter().collect(),
            3 => kept.iter().step_by(2).copied().collect(),
            4 => vec![0, 999_999, self.next_serial],
            _ => (1..=17).collect(),
        };
        if self.choices.below(8) == 7 {
            let again = serials.first().copied().unwrap_or(0);
            serials.push(again);
        }
        let mut unique = serials.clone();
        unique.sort_unstable();
        unique.dedup();
        let is_refused = unique.len() < serials.len() || serials.len() > 16;
        let request_ids = serials.iter().map(|serial| RequestId(*serial)).collect();
        let request = self.worker(Call::Acknowledge { request_ids }, None);
        let reply = self.ask_worker(&request)?;
        let due = if is_refused {
            None
        } else {
            Some(self.model.acknowledge(&serials))
        };
        let found = match &reply.outcome {
            Ok(Answer::Acknowledged { acknowledged }) => {
                let mut found: Vec<u64> = acknowledged.iter().map(|id| id.0).collect();
                found.sort_unstable();
                Some(found)
            }
            _ => None,
        };
        if found != due || (due.is_none() && told(&reply).error != Some(NOT_AN_ARGUMENT)) {
            return Err(format!(
                "{due:?} was to be let go, {:?} came",
                reply.outcome
            ));
        }
        Ok(())
    }

    fn stage(&mut self) -> Held {
        let Some(saved) = self.saved.last().cloned() else {
            return self.capture();
        };
        let saved = match self.choices.below(2) {
            0 => saved,
            _ => self.saved[0].clone(),
        };
        let epoch = format!("e{}", self.next_epoch);
        self.next_epoch += 1;
        let mut at = scope(&epoch, saved.at.step.0);
        let mut stage = StageRestore {
            checkpoint_id: id(&saved.checkpoint_id),
            source_scope: saved.at.clone(),
            compatibility_digest: saved.compatibility_digest,
            payload: saved.payload.clone(),
        };
        let flaw = match self.choices.below(10) {
            0 => {
                at.epoch = id(&self.epoch());
                Flaw::None
            }
            1 => {
                at.step.0 += 1;
                Flaw::None
            }
            2 => {
                stage.compatibility_digest = wellwritten_session::Digest::blake3(b"another");
                Flaw::Early(ErrorCode::IncompatibleState)
            }
            3 => {
                stage.source_scope.epoch = id("elsewhere");
                Flaw::Late(ErrorCode::IncompatibleState)
            }
            4 => {
                stage.checkpoint_id = id("another");
                Flaw::Late(ErrorCode::IncompatibleState)
            }
            5 => {
                let mut bytes = stage.payload.bytes().to_vec();
                let place = bytes.len() / 2;
                bytes[place] ^= 1;
                stage.payload = Artifact::seal(bytes, Artifact::CHECKPOINT_PAYLOAD);
                Flaw::Late(ErrorCode::IncompatibleState)
            }
            _ => Flaw::None,
        };
        let serial = self.serial();
        self.ask(
            &asked(serial, at, (Call::StageRestore(stage), flaw)),
            Planned::Nothing,
        )
    }

    fn activate(&mut self) -> Held {
        let serial = self.serial();
        let staged = self.model.staged.clone();
        let mut at = staged
            .as_ref()
            .map_or_else(|| scope("e9", 0), |(_, at)| at.clone());
        let restore_token = match self.choices.below(4) {
            0 => "rt-0".to_owned(),
            1 => {
                at.step.0 += 1;
                self.last_token.clone()
            }
            _ => self.last_token.clone(),
        };
        let call = Call::ActivateRestore { restore_token };
        self.ask(&asked(serial, at, (call, Flaw::None)), Planned::Nothing)
    }

    /// What is done again when it is asked again.
    fn repeatable(&mut self) -> Held {
        let serial = match self.choices.below(2) {
            0 => self.serial(),
            _ => self.model.lifecycle.keys().next().copied().unwrap_or(1),
        };
        let rewrite = |label: &str| Call::Rewrite {
            buffer_label: label.to_owned(),
        };
        let call = match self.choices.below(3) {
            0 => Call::Verify {},
            1 => rewrite(FIELD),
            _ => rewrite("nothing"),
        };
        let at = scope(&self.epoch(), self.model.step);
        self.ask(&asked(serial, at, (call, Flaw::None)), Planned::Nothing)
    }

    fn hello(&mut self) -> Held {
        let worker = if self.model.role == Role::Agent {
            "fly-a"
        } else {
            "world"
        };
        let mut hello = Hello {
            session_id: id("demo"),
            expected_worker_id: id(worker),
            role: self.model.role,
            supported_majors: vec![2, 1],
        };
        let mut at = None;
        let mismatch = Some(ErrorCode::IdentityMismatch);
        let invalid = Some(ErrorCode::InvalidArgument);
        let due = match self.choices.below(10) {
            0 => {
                hello.session_id = id("other");
                mismatch
            }
            1 => {
                hello.expected_worker_id = id("fly-b");
                mismatch
            }
            2 => {
                hello.role = match self.model.role {
                    Role::Agent => Role::Environment,
                    Role::Environment => Role::Agent,
                };
                mismatch
            }
            3 => {
                hello.supported_majors = vec![2];
                Some(ErrorCode::Unsupported)
            }
            4 => {
                hello.supported_majors = vec![1, 1];
                invalid
            }
            5 => {
                hello.supported_majors.clear();
                invalid
            }
            6 => {
                hello.supported_majors = (1..=9).collect();
                invalid
            }
            7 => {
                at = Some(scope("e1", 0));
                invalid
            }
            _ => None,
        };
        let request = self.worker(Call::Hello(hello), at);
        let reply = self.ask_worker(&request)?;
        let is_held = match (&reply.outcome, due) {
            (Ok(Answer::Hello(hello)), None) => {
                hello.selected_major == 1 && hello.worker_id.as_str() == worker
            }
            (Err(error), Some(code)) => {
                error.code == code && error.mutation == MutationCertainty::None
            }
            _ => false,
        };
        held(is_held, || {
            format!("{due:?} was due, {:?} came", reply.outcome)
        })
    }

    fn status(&mut self) -> Held {
        let request = self.worker(Call::Status {}, None);
        let due = self.line.runtime.status();
        let reply = self.ask_worker(&request)?;
        let is_held = matches!(&reply.outcome, Ok(Answer::Status(found)) if *found == due);
        held(is_held, || {
            format!("{due:?} was due, {:?} came", reply.outcome)
        })
    }

    fn wrong_role(&mut self) -> Held {
        let serial = self.serial();
        let step = self.model.step;
        let epoch = self.epoch();
        let call = match (self.model.role, self.choices.below(3)) {
            (Role::Environment, 0) => initialize_agent(0),
            (Role::Environment, 1) => prepare(step, 0),
            (Role::Environment, _) => commit(step, 1, 0),
            (Role::Agent, 0) => initialize_world(0),
            (Role::Agent, _) => advance(&epoch, step, 0),
        };
        self.ask(&asked(serial, scope(&epoch, step), call), Planned::Nothing)
    }

    /// Something that is no request, in a frame that is whole.
    fn damaged(&mut self) -> Held {
        let due = self.next_under(self.next_serial);
        let frame = self.line.next_frame(&due.request).received();
        let text = String::from_utf8(frame.message.clone()).map_err(|error| error.to_string())?;
        let mut attachments = frame.attachments;
        let name = format!("\"requestId\":\"req-{}\"", self.next_serial);
        let (text, code, request_id, is_named) = match self.choices.below(8) {
            0 => (
                text.replacen("\"params\":{", "\"params\":{\"more\":1,", 1),
                ErrorCode::InvalidArgument,
                self.next_serial,
                true,
            ),
            1 => {
                let method = format!("\"method\":\"{}\"", due.request.call.method());
                let text = text.replacen(&method, "\"method\":\"Agent.Rollback\"", 1);
                (text, ErrorCode::Unsupported, self.next_serial, true)
            }
            2 => (
                text.replacen(&name, "\"requestId\":\"req-007\"", 1),
                ErrorCode::InvalidArgument,
                0,
                true,
            ),
            3 => (
                text.replacen(&name, &format!("{name},{name}"), 1),
                ErrorCode::InvalidArgument,
                0,
                false,
            ),
            4 => (
                text.replacen("\"request\":", "\"reply\":", 1),
                ErrorCode::InvalidArgument,
                0,
                true,
            ),
            5 => (format!("{text} {{}}"), ErrorCode::InvalidArgument, 0, false),
            6 => {
                attachments.push(vec![1]);
                (text, ErrorCode::BufferInvalid, 0, false)
            }
            _ => {
                let cut = usize::from(self.choices.below(u8::MAX)) % text.len();
                (
                    text.chars().take(cut).collect(),
                    ErrorCode::InvalidArgument,
                    0,
                    false,
                )
            }
        };
        self.summary.asked += 1;
        let call_id = if is_named {
            self.line.take_call()
        } else {
            CallId::NONE
        };
        self.line.expect(call_id, "Worker.Status");
        self.line
            .post_bytes(frame_of(text.as_bytes(), &attachments));
        let replies = self.line.replies()?;
        let is_held = matches!(&replies[..], [(answered, reply)] if *answered == call_id
            && reply.request_id == RequestId(request_id)
            && told(reply).error == Some((code, MutationCertainty::None)));
        held(is_held, || {
            format!("{code} for req-{request_id} was due, {replies:?} came")
        })
    }

    /// One operation is held up; everything else is asked meanwhile.
    fn while_one_runs(&mut self) -> Held {
        let running = match self.choices.below(3) {
            0 => self.a_capture(),
            _ => self.next_operation(),
        };
        if self.model.judge(&running) != Verdict::Run {
            return self.ask(&running, Planned::Nothing);
        }
        self.remember(&running, true);
        self.summary.asked += 1;
        let planned = match self.choices.below(16) {
            15 => Planned::Failure,
            _ => Planned::Nothing,
        };
        self.line.gate.close();
        self.arm(&running, FaultKind::DelayMs(1))?;
        self.plan(&running, planned)?;
        let before = self.line.runtime.status().progress_counter.0;
        let state = self.model.state;
        let foreseen = self.model.begin(&running, planned);
        let call_id = self.line.post(&running.request);
        let early = self.line.replies()?;
        held(early.is_empty(), || {
            format!("{early:?} came before it was done")
        })?;
        let status = self.line.runtime.status();
        let due = state_while(&running.request.call, state);
        held(
            status.state == due && status.active_request_id == Some(running.request.request_id),
            || format!("{status:?} while {} runs", running.request.call.method()),
        )?;
        for _ in 0..self.choices.below(5) {
            match self.choices.below(7) {
                0 => self.status()?,
                1 => self.hello()?,
                2 => self.ask(&running, Planned::Nothing)?,
                3 => self.again()?,
                4 => self.under_another_name()?,
                5 => self.acknowledge()?,
                _ => self.somewhere_else()?,
            }
        }
        self.line.gate.open();
        let reply = self.only_reply(call_id, &running.request)?;
        self.hold_end(&running, foreseen, &reply, before)
    }

    /// The participant refuses, and is asked again.
    fn refused_by_itself(&mut self) -> Held {
        let next = self.next_operation();
        if self.model.judge(&next) == Verdict::Run {
            let code = self
                .choices
                .one_of(&[ErrorCode::Busy, ErrorCode::BufferInvalid]);
            self.ask(&next, Planned::Refusal(code))?;
        }
        self.ask(&next, Planned::Nothing)
    }

    fn with_another_serial(&mut self) -> Held {
        let serial = match self.choices.below(3) {
            0 => {
                self.next_serial += 1_000;
                self.serial()
            }
            1 => self.next_serial.saturating_sub(2),
            _ => 0,
        };
        let next = self.next_under(serial);
        self.ask(&next, Planned::Nothing)
    }

    /// Forty calls before anything is read.
    fn many_at_once(&mut self) -> Held {
        let request = self.worker(Call::Status {}, None);
        let due = self.line.runtime.status();
        let calls: Vec<CallId> = (0..40).map(|_| self.line.post(&request)).collect();
        let mut replies = Vec::new();
        loop {
            let more = self.line.replies()?;
            if more.is_empty() {
                break;
            }
            replies.extend(more);
        }
        replies.sort_by_key(|(call_id, _)| *call_id);
        let answered: Vec<CallId> = replies.iter().map(|(call_id, _)| *call_id).collect();
        held(answered == calls, || {
            format!("of {calls:?} {answered:?} were answered")
        })?;
        let mut served = 0;
        for (_, reply) in &replies {
            self.hold_address(reply, &request)?;
            match &reply.outcome {
                Ok(Answer::Status(found)) if *found == due => served += 1,
                Err(error)
                    if error.code == ErrorCode::Busy
                        && error.mutation == MutationCertainty::None => {}
                other => return Err(format!("{other:?} to one of many")),
            }
        }
        held(served >= 16, || format!("{served} of 40 were served"))
    }

    fn more_answers_than_are_kept(&mut self) -> Held {
        for _ in 0..17 {
            self.capture()?;
        }
        self.acknowledge()
    }

    /// What ends it, sooner or later; seldom, since nothing comes after.
    fn an_ending(&mut self) -> Held {
        match self.choices.below(12) {
            0 => {
                let next = self.next_operation();
                if self.model.judge(&next) == Verdict::Run {
                    self.ask(&next, Planned::Failure)?;
                }
                Ok(())
            }
            1 => {
                let request = self.worker(
                    Call::Shutdown {
                        reason: id("finished"),
                    },
                    None,
                );
                let reply = self.ask_worker(&request)?;
                let is_held = matches!(reply.outcome, Ok(Answer::Stopping { stopping: true }))
                    && self.line.has_ended();
                held(is_held, || format!("{:?} to a shutdown", reply.outcome))
            }
            2 => {
                let message = vec![b' '; MAX_MESSAGE_BYTES + 1];
                self.line.post_bytes(frame_of(&message, &[]));
                let replies = self.line.replies()?;
                held(replies.is_empty() && self.line.has_ended(), || {
                    format!("{replies:?} to a message that is too long")
                })
            }
            _ => self.with_a_flaw(),
        }
    }
}

const NOT_AN_ARGUMENT: (ErrorCode, MutationCertainty) =
    (ErrorCode::InvalidArgument, MutationCertainty::None);

fn held(is_held: bool, what: impl FnOnce() -> String) -> Held {
    if is_held { Ok(()) } else { Err(what()) }
}

/// A frame of any message, by hand.
fn frame_of(message: &[u8], attachments: &[Vec<u8>]) -> Vec<u8> {
    let word = |length: usize| u32::try_from(length).expect("short").to_le_bytes();
    let mut bytes = [word(message.len()), word(attachments.len())].concat();
    for attachment in attachments {
        bytes.extend((attachment.len() as u64).to_le_bytes());
    }
    bytes.extend(message);
    bytes.extend(attachments.concat());
    bytes
}
