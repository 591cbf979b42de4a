//! The [`Transport`] trait: how a request reaches a participant.

use async_trait::async_trait;

use crate::wire::WireError;
use crate::{MutationCertainty, Reply, Request, RouteEnd};

/// Why no reply came. Says nothing about the participant's own opinion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The route was gone before the request was handed over: the participant never saw it. Retrying over the same
    /// route fails again.
    #[error("the route to the participant is gone{}", because(.reason.as_deref()))]
    RouteGone {
        /// What is known of why.
        reason: Option<String>,
    },
    /// The route went away while the participant had the request: it may have acted on it or not.
    #[error("the route to the participant went away before it replied{}", because(.reason.as_deref()))]
    ReplyLost {
        /// What is known of why.
        reason: Option<String>,
    },
    /// As many calls wait on this route as may. The participant never saw this one; it may be tried again when one has
    /// ended.
    #[error("{limit} calls wait on this route, which is as many as may")]
    TooManyCalls {
        /// The most that may wait.
        limit: usize,
    },
    /// The request is more than a message may be. The participant never saw it.
    #[error("the request cannot be sent: {error}")]
    Unsendable {
        /// The bound it breaks.
        error: WireError,
    },
}

fn because(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

impl TransportError {
    /// What is known of the mutation the request was meant to make.
    #[must_use]
    pub const fn mutation(&self) -> MutationCertainty {
        match self {
            Self::ReplyLost { .. } => MutationCertainty::Unknown,
            Self::RouteGone { .. } | Self::TooManyCalls { .. } | Self::Unsendable { .. } => {
                MutationCertainty::None
            }
        }
    }
}

/// Carries requests to one incarnation of one participant, and only ever to that one.
#[async_trait(?Send)]
pub trait Transport {
    /// Hands a request over and waits for the reply.
    async fn call(&self, request: &Request) -> Result<Reply, TransportError>;

    /// Cuts the route for good: calls that wait, and every later one, fail.
    fn close(&self);

    /// When the route ends by itself, for whoever wants to know before the next call. None where it cannot: a participant
    /// in the same program.
    fn end(&self) -> Option<&RouteEnd> {
        None
    }
}
