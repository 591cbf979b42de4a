//! Publication: what a session shows of itself at committed boundaries, and who looks.
//!
//! At every committed boundary the [`Publisher`](publisher::Publisher) makes one [`CommittedSnapshot`] out of the very
//! handles the participants were given, checks it ([`check_coherence`]), asks the host's [`PublicationGate`], and gives it
//! to every [`Subscription`] and to [`SessionQueries`]. Nothing of it can move, stall or fail the session.
//!
//! **A publication that faults does not fail the epoch.** The boundary is committed by then and every participant stands at
//! it; what is wrong is only what outsiders were about to be shown. The fault is counted ([`PublicationCounts`]), its reason
//! kept, the record's `publishedBoundary` stays empty, outsiders keep the snapshot before, and the next boundary publishes
//! anew. The alternative, failing the epoch as a fault of the transition, would let an observer stop a world.

mod coherence;
mod committed_snapshot;
mod mailbox;
mod publication_gate;
mod publication_outcome;
mod published_event;
pub(crate) mod publisher;
mod query_error;
mod session_descriptor;
mod session_queries;
mod subscription;

pub use coherence::{CommittedBoundary, IncoherentSnapshot, check_coherence};
pub use committed_snapshot::{CommittedSnapshot, SnapshotAgent, SnapshotMedia};
pub use publication_gate::{GateVerdict, PublicationGate};
pub use publication_outcome::{PublicationCounts, PublicationOutcome};
pub use published_event::{EventBatch, PublishedEvent};
pub use query_error::QueryError;
pub use session_descriptor::{PublishedAgent, SessionDescriptor};
pub use session_queries::{QueryAnswer, SessionQueries};
pub use subscription::{SnapshotDelivery, SubscribeError, SubscribeOptions, Subscription};
