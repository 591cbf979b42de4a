//! The [`ParticipantFactory`] trait: where participants come from.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_envelope::Id;

use crate::{ParticipantError, Transport};

/// Builds participants, at the start and when a failed epoch's are replaced. The host supplies it.
///
/// A participant is built uninitialized, under the incarnation it is given, behind a route that reaches no other.
/// [`Direct`](crate::Direct) is such a route.
#[async_trait(?Send)]
pub trait ParticipantFactory {
    /// Builds the world.
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError>;

    /// Builds an agent.
    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError>;
}
