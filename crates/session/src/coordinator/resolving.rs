//! Calls whose answer does not come in time.
//!
//! A reply that is late says nothing about what happened. The participant may still be at it, may have done it and the reply
//! was lost, or may never have heard of it. All three end alike: the very same request, under its own name, is sent again
//! until one dispatch of it is answered. A participant that has done it answers what it answered then; one that is at it says
//! so; one that never heard of it does it now, once. Never is the same step asked for under another name.

use std::future::Future;
use std::pin::{Pin, pin};

use wellwritten_envelope::U64;

use crate::first_of::{First, first_of, within};
use crate::session_state::Link;
use crate::{
    Answer, BoxedFuture, Call, CallResolution, Coordinator, ErrorCode, ParticipantError, Reply,
    Request, ResolutionOutcome, TransportError, WorkerStatus,
};

/// First pause between two questions about an uncertain call, in nanoseconds; each is twice the one before.
const FIRST_PAUSE_NS: u64 = 2_000_000;
/// Longest pause between two questions, in nanoseconds.
const LONGEST_PAUSE_NS: u64 = 128_000_000;
/// Dispatches of one call that wait for an answer at once.
const MAX_DISPATCHED: usize = 8;
/// Resolutions that are kept until a transition takes them into its record.
const RESOLUTIONS_KEPT: usize = 64;

type Dispatched = Result<Reply, TransportError>;

/// An uncertain call, and what is known of it.
struct Uncertain<'a> {
    link: &'a Link,
    request: &'a Request,
    /// Every dispatch that may still be answered. None is dropped before the end: in the same program that would abandon
    /// the operation with it.
    dispatched: Vec<BoxedFuture<'a, Dispatched>>,
    dispatches: u32,
    status_queries: u32,
    began_ns: u64,
    sent_ns: u64,
    deadline_ns: u64,
    seen: Option<WorkerStatus>,
}

/// How it ended with an uncertain call.
struct Ending {
    reply: Result<Reply, ParticipantError>,
    outcome: ResolutionOutcome,
}

impl Ending {
    fn new(reply: Result<Reply, ParticipantError>, outcome: ResolutionOutcome) -> Box<Self> {
        Box::new(Self { reply, outcome })
    }
}

impl Coordinator {
    /// Sends a request and gives the reply, however often it takes.
    pub(crate) async fn deliver(
        &self,
        link: &Link,
        request: &Request,
    ) -> Result<Reply, ParticipantError> {
        let began_ns = self.clock.now_ns();
        let mut first = link.transport.call(request);
        let wait_ns = self.budgets.first_wait_ns(&request.call);
        if let Some(outcome) = within(&*self.clock, wait_ns, first.as_mut()).await {
            return outcome.map_err(|error| unreachable_error(request, &error));
        }
        let mut uncertain = Uncertain {
            link,
            request,
            dispatched: vec![first],
            dispatches: 1,
            status_queries: 0,
            began_ns,
            sent_ns: began_ns,
            deadline_ns: self.clock.now_ns().saturating_add(self.budgets.resolve_ns),
            seen: None,
        };
        let ending = self.resolve(&mut uncertain).await;
        self.note(CallResolution {
            participant: link.participant_id.clone(),
            method: request.call.method().to_owned(),
            request_id: request.request_id.to_string(),
            dispatches: uncertain.dispatches,
            status_queries: uncertain.status_queries,
            waited_ns: U64(self.clock.now_ns().saturating_sub(began_ns)),
            outcome: ending.outcome,
        });
        ending.reply
    }

    fn note(&self, resolution: CallResolution) {
        let mut state = self.state.borrow_mut();
        if state.resolutions.len() < RESOLUTIONS_KEPT {
            state.resolutions.push(resolution);
        }
    }

    async fn resolve(&self, uncertain: &mut Uncertain<'_>) -> Box<Ending> {
        let mut pause_ns = FIRST_PAUSE_NS;
        loop {
            if let Err(ending) = self.ask_again(uncertain).await {
                return ending;
            }
            let pause = pin!(self.clock.sleep_ns(pause_ns));
            if let Err(ending) = uncertain.wait(pause).await {
                return ending;
            }
            pause_ns = (pause_ns * 2).min(LONGEST_PAUSE_NS);
        }
    }

    /// One turn: gives up where it is time to, asks for the status, sends the request again where the participant is not
    /// at it.
    async fn ask_again(&self, uncertain: &mut Uncertain<'_>) -> Result<(), Box<Ending>> {
        let expired = self.clock.now_ns() >= uncertain.deadline_ns;
        if expired || uncertain.status_queries >= self.budgets.max_attempts {
            let outcome = if expired {
                ResolutionOutcome::BudgetExpired
            } else {
                ResolutionOutcome::AttemptsExhausted
            };
            return Err(Ending::new(Err(self.given_up(uncertain)), outcome));
        }
        let Some(status) = self.ask_status(uncertain).await? else {
            return Ok(());
        };
        let is_at_it = status.active_request_id == Some(uncertain.request.request_id);
        let now_ns = self.clock.now_ns();
        if is_at_it && uncertain.has_advanced(&status) {
            uncertain.deadline_ns = now_ns.saturating_add(self.budgets.resolve_ns);
        }
        uncertain.seen = Some(status);
        // While it is at it, the dispatch it is at is the one that will be answered.
        if !is_at_it {
            uncertain.send_again(now_ns, self.budgets.probe_ns);
        }
        Ok(())
    }

    /// Asks what the participant is doing; an answer to the call itself may come first. None where nobody answers in time.
    async fn ask_status(
        &self,
        uncertain: &mut Uncertain<'_>,
    ) -> Result<Option<WorkerStatus>, Box<Ending>> {
        uncertain.status_queries += 1;
        let question = Request {
            request_id: self.next_request_id(),
            scope: None,
            call: Call::Status {},
        };
        let left_ns = uncertain.deadline_ns.saturating_sub(self.clock.now_ns());
        let wait_ns = self.budgets.probe_ns.min(left_ns);
        let link = uncertain.link;
        let mut asked = link.transport.call(&question);
        let asked = pin!(within(&*self.clock, wait_ns, asked.as_mut()));
        match uncertain.wait(asked).await? {
            None | Some(Err(TransportError::TooManyCalls { .. })) => Ok(None),
            Some(Ok(reply)) => match reply.outcome {
                Ok(Answer::Status(status)) if reply.incarnation_id == link.incarnation_id => {
                    Ok(Some(status))
                }
                _ => {
                    let message = "Worker.Status was answered by someone else, or not";
                    let error = ParticipantError::uncertain(ErrorCode::IdentityMismatch, message);
                    Err(Ending::new(Err(error), ResolutionOutcome::RouteEnded))
                }
            },
            Some(Err(error)) => Err(Ending::new(
                Err(uncertain.lost(&error)),
                ResolutionOutcome::RouteEnded,
            )),
        }
    }

    fn given_up(&self, uncertain: &Uncertain<'_>) -> ParticipantError {
        let waited_ms = self.clock.now_ns().saturating_sub(uncertain.began_ns) / 1_000_000;
        let seen = match &uncertain.seen {
            None => "its status was not answered either".to_owned(),
            Some(status) => format!(
                "its status was {:?}, progress {}",
                status.state, status.progress_counter
            ),
        };
        let message = format!(
            "{} ({}) was not answered in {waited_ms} ms, sent {} times: {seen}",
            uncertain.request.call.method(),
            uncertain.request.request_id,
            uncertain.dispatches
        );
        ParticipantError::uncertain(ErrorCode::BackendFailure, message)
    }
}

impl Uncertain<'_> {
    /// Waits for `other`, unless a dispatch is answered first.
    async fn wait<T>(
        &mut self,
        mut other: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, Box<Ending>> {
        loop {
            match first_of(&mut self.dispatched, other.as_mut()).await {
                First::One(over) => return Ok(over),
                First::Many(Ok(reply)) if is_of_this_dispatch_only(&reply) => {}
                First::Many(Ok(reply)) => {
                    return Err(Ending::new(Ok(reply), ResolutionOutcome::Answered));
                }
                First::Many(Err(TransportError::TooManyCalls { .. })) => {}
                First::Many(Err(error)) => {
                    return Err(Ending::new(
                        Err(self.lost(&error)),
                        ResolutionOutcome::RouteEnded,
                    ));
                }
            }
        }
    }

    /// Sends the request again, unless the dispatch before this one may still be on its way or too many wait.
    fn send_again(&mut self, now_ns: u64, probe_ns: u64) {
        let is_due = now_ns.saturating_sub(self.sent_ns) >= probe_ns;
        if !is_due || self.dispatched.len() >= MAX_DISPATCHED {
            return;
        }
        self.sent_ns = now_ns;
        self.dispatches += 1;
        self.dispatched.push(self.link.transport.call(self.request));
    }

    /// Whether the participant got further since it was last asked.
    fn has_advanced(&self, status: &WorkerStatus) -> bool {
        self.seen.as_ref().is_none_or(|seen| {
            seen.progress_counter != status.progress_counter
                || seen.active_request_id != status.active_request_id
        })
    }

    /// The route ended while the call was uncertain: whatever the last dispatch was told, an earlier one may have arrived.
    fn lost(&self, error: &TransportError) -> ParticipantError {
        let message = format!("{}: {error}", self.request.call.method());
        ParticipantError::uncertain(ErrorCode::IdentityMismatch, message)
    }
}

/// Whether a reply says something about the dispatch and nothing about the operation.
fn is_of_this_dispatch_only(reply: &Reply) -> bool {
    matches!(
        &reply.outcome,
        Err(error) if matches!(error.code, ErrorCode::InProgress | ErrorCode::Busy)
    )
}

/// Why a call that was never uncertain got no reply.
fn unreachable_error(request: &Request, error: &TransportError) -> ParticipantError {
    let code = match error {
        TransportError::TooManyCalls { .. } => ErrorCode::Busy,
        TransportError::Unsendable { .. } => ErrorCode::InvalidArgument,
        TransportError::RouteGone { .. } | TransportError::ReplyLost { .. } => {
            ErrorCode::IdentityMismatch
        }
    };
    let message = format!("{}: {error}", request.call.method());
    ParticipantError::new(code, error.mutation(), message)
}
