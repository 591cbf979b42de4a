//! The [`Transport`] trait: how a request reaches a participant.

use async_trait::async_trait;

use crate::{Reply, Request};

/// Why no reply came. Says nothing about the participant's own opinion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The route was gone before the request was handed over: the participant never saw it. Retrying over the same
    /// route fails again.
    #[error("the route to the participant is gone")]
    RouteGone,
    /// The route went away while the participant had the request: it may have acted on it or not.
    #[error("the route to the participant went away before it replied")]
    ReplyLost,
}

/// Carries requests to one incarnation of one participant, and only ever to that one.
#[async_trait(?Send)]
pub trait Transport {
    /// Hands a request over and waits for the reply.
    async fn call(&self, request: Request) -> Result<Reply, TransportError>;

    /// Cuts the route for good: calls that wait, and every later one, fail.
    fn close(&self);
}
