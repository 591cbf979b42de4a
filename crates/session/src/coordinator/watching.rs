//! Finding out that a participant is gone before the next call does.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use crate::first_of::within;
use crate::session_state::Link;
use crate::{
    Answer, BoxedFuture, Call, Coordinator, ErrorCode, ParticipantError, Phase, Request,
    RouteEnded, join_all,
};

impl Coordinator {
    /// Watches over participants that live elsewhere, for as long as the session is there: where a route ends, or nobody
    /// answers at its other end while nothing else runs, the epoch fails and says who and why. The host lets it run beside
    /// everything else; without it the session finds out at its next step.
    ///
    /// It also writes what waits for the store; without it, that goes on only while somebody waits for an outcome. What
    /// was taken on when the session is dropped is still written.
    pub fn watch(session: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        let mut both: Vec<BoxedFuture<'static, ()>> = vec![Box::pin(Self::look_out(session))];
        if let Some(saves) = &session.saves {
            both.push(Box::pin(saves.writer.drive()));
        }
        async move {
            join_all(both).await;
        }
    }

    fn look_out(session: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        let (weak, clock) = (Rc::downgrade(session), session.clock.clone());
        let interval_ns = session.budgets.probe_ns;
        async move {
            loop {
                let Some(session) = weak.upgrade() else {
                    return;
                };
                let links = session.watched();
                drop(session);
                let ended = pin!(first_end(&links));
                let ended = within(&*clock, interval_ns, ended).await;
                let Some(session) = weak.upgrade() else {
                    return;
                };
                match ended {
                    Some((link, RouteEnded { reason })) => session.mourn(link, reason),
                    None => session.look_after(&links).await,
                }
            }
        }
    }

    /// The participants whose route can end by itself, and has not.
    fn watched(&self) -> Vec<Link> {
        let mut links = self.links();
        links.retain(|link| link.transport.end().is_some_and(|end| end.get().is_none()));
        links
    }

    /// Ends the epoch over a participant that is gone, unless it was replaced in the meantime.
    fn mourn(&self, link: &Link, reason: Option<String>) {
        let is_current = self
            .links()
            .iter()
            .any(|current| current.incarnation_id == link.incarnation_id);
        if !is_current {
            return;
        }
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let message = format!("{} is gone{reason}", link.participant_id);
        let error = ParticipantError::uncertain(ErrorCode::BackendFailure, message);
        // Refused where there is no epoch to end, which is just as well.
        let _ = self.fail_epoch(Some(&link.participant_id), error);
    }

    /// Asks everyone how they are where nothing else would find out.
    async fn look_after(&self, links: &[Link]) {
        for link in links {
            let is_resting = matches!(self.phase(), Phase::Ready { .. } | Phase::Paused { .. });
            if !is_resting || !self.is_idle() {
                return;
            }
            let question = Request {
                request_id: self.next_request_id(),
                scope: None,
                call: Call::Status {},
            };
            let mut asked = link.transport.call(&question);
            let patience_ns = self
                .budgets
                .probe_ns
                .saturating_add(self.budgets.resolve_ns);
            let answered = within(&*self.clock, patience_ns, asked.as_mut()).await;
            let is_well = match &answered {
                Some(Ok(reply)) => {
                    reply.incarnation_id == link.incarnation_id
                        && matches!(reply.outcome, Ok(Answer::Status(_)))
                }
                // A route that has ended is told of by its end.
                Some(Err(_)) => true,
                None => false,
            };
            if !is_well {
                let reason = format!("no answer to its status in {} ms", patience_ns / 1_000_000);
                self.mourn(link, Some(reason));
            }
        }
    }
}

/// Waits for the first of these routes to end; for ever where none can.
async fn first_end(links: &[Link]) -> (&Link, RouteEnded) {
    let mut ends: Vec<(&Link, BoxedFuture<'_, RouteEnded>)> = links
        .iter()
        .filter_map(|link| {
            let end = link.transport.end()?;
            Some((link, Box::pin(end.wait()) as BoxedFuture<'_, RouteEnded>))
        })
        .collect();
    poll_fn(|context| {
        for (link, end) in &mut ends {
            if let Poll::Ready(ended) = end.as_mut().poll(context) {
                return Poll::Ready((*link, ended));
            }
        }
        Poll::Pending
    })
    .await
}
