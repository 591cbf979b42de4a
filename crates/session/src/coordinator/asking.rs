//! How a coordinator asks: one request, one reply that must be its own, and agents in the order of the day.

use wellwritten_envelope::Scope;

use crate::coordinator::Fault;
use crate::session_state::Link;
use crate::{
    Answer, BoxedFuture, Call, Coordinator, DispatchOrder, ErrorCode, MutationCertainty,
    ParticipantError, Request, RequestId, SessionError, join_all,
};

/// Why a participant did not give the answer asked for.
pub(crate) enum Unanswered {
    /// It refused, and says that nothing changed.
    Refused(Fault),
    /// It failed, cannot be reached, or is not who it was.
    Faulted(Fault),
}

impl Unanswered {
    pub(crate) fn into_fault(self) -> Fault {
        match self {
            Self::Refused(fault) | Self::Faulted(fault) => fault,
        }
    }
}

pub(crate) type Asked<T> = Result<T, Unanswered>;
pub(crate) type Asking<'a, T> = BoxedFuture<'a, Asked<T>>;

/// A question that was put, and what came of it; none where it was not put, since an earlier one was not answered.
pub(crate) type Put<T> = Option<Asked<T>>;

/// Puts a question, unless the one before it was not answered.
async fn put_after<T>(earlier: &[Put<T>], question: Asking<'_, T>) -> Put<T> {
    match earlier.last() {
        None | Some(Some(Ok(_))) => Some(question.await),
        Some(_) => None,
    }
}

/// Every answer, or why the first that is missing is. What was not put has no say.
fn all_of<T>(put: Vec<Put<T>>) -> Asked<Vec<T>> {
    put.into_iter().flatten().collect()
}

/// The same outside a transition, where a refusal leaves everything as it is: a fault counts before any refusal.
pub(crate) fn all_unless_faulted<T>(mut put: Vec<Put<T>>) -> Asked<Vec<T>> {
    let is_fault = |put: &Put<T>| matches!(put, Some(Err(Unanswered::Faulted(_))));
    match put.iter().position(is_fault) {
        Some(position) => all_of(put.split_off(position)),
        None => all_of(put),
    }
}

impl Coordinator {
    pub(crate) fn next_request_id(&self) -> RequestId {
        let serial = self.next_request.get();
        self.next_request.set(serial + 1);
        RequestId(serial)
    }

    /// Asks one participant and checks that the reply is the reply: same request, scope, worker and incarnation.
    pub(crate) async fn ask(
        &self,
        link: &Link,
        request_id: RequestId,
        scope: Option<Scope>,
        call: Call,
    ) -> Asked<Answer> {
        let fault = |error| Unanswered::Faulted(Fault::of(link.participant_id.clone(), error));
        let request = Request {
            request_id,
            scope,
            call,
        };
        let reply = self.deliver(link, &request).await.map_err(fault)?;
        let is_its_own = reply.request_id == request_id
            && reply.scope == request.scope
            && reply.worker_id == link.participant_id
            && reply.incarnation_id == link.incarnation_id;
        if !is_its_own {
            let message = format!(
                "{}: {} of {} answered {} where {request_id} was asked of {} of {}",
                request.call.method(),
                reply.incarnation_id,
                reply.worker_id,
                reply.request_id,
                link.incarnation_id,
                link.participant_id
            );
            return Err(fault(ParticipantError::uncertain(
                ErrorCode::IdentityMismatch,
                message,
            )));
        }
        reply.outcome.map_err(|error| {
            let refused = error.mutation == MutationCertainty::None;
            let fault = Fault::of(link.participant_id.clone(), error);
            if refused {
                Unanswered::Refused(fault)
            } else {
                Unanswered::Faulted(fault)
            }
        })
    }

    /// The fault of a participant that answered another method.
    pub(crate) fn wrong_answer(link: &Link, method: &str) -> Unanswered {
        let message = format!("{method} was answered as another method");
        Unanswered::Faulted(Fault::broken(
            &link.participant_id,
            ErrorCode::IdentityMismatch,
            message,
        ))
    }

    /// Runs one question per agent in the order of the day. Answers come back by agent whatever the order was, and
    /// of several faults the first agent's is the one that counts.
    pub(crate) async fn in_order<T>(&self, questions: Vec<Asking<'_, T>>) -> Asked<Vec<T>> {
        all_of(self.each_in_order(questions).await)
    }

    /// The same with every answer there is, by agent: asked all at once, each answers for itself; asked one after the
    /// other, nobody is asked after one that did not answer.
    pub(crate) async fn each_in_order<T>(&self, questions: Vec<Asking<'_, T>>) -> Vec<Put<T>> {
        let mut answers: Vec<Put<T>> = Vec::with_capacity(questions.len());
        match self.dispatch.get() {
            DispatchOrder::Concurrent => {
                answers.extend(join_all(questions).await.into_iter().map(Some));
            }
            DispatchOrder::Sequential => {
                for question in questions {
                    answers.push(put_after(&answers, question).await);
                }
            }
            DispatchOrder::Reversed => {
                for question in questions.into_iter().rev() {
                    answers.push(put_after(&answers, question).await);
                }
                answers.reverse();
            }
        }
        answers
    }

    /// Turns an unanswered question outside a transition into what the caller hears: a refusal leaves the session as
    /// it is, anything else ends the epoch.
    pub(crate) fn refusal_or_failure(&self, unanswered: Unanswered) -> SessionError {
        match unanswered {
            Unanswered::Refused(Fault {
                participant: Some(participant),
                error,
            }) => SessionError::Refused { participant, error },
            Unanswered::Refused(fault) | Unanswered::Faulted(fault) => self.fail(fault),
        }
    }

    /// Releases the replies the participants keep for us. Losing one costs them a place in a bounded list, no more.
    pub(crate) async fn acknowledge(&self, kept: &[(Link, RequestId)]) {
        for (link, request_id) in kept {
            let call = Call::Acknowledge {
                request_ids: vec![*request_id],
            };
            let _ = self.ask(link, self.next_request_id(), None, call).await;
        }
    }
}
