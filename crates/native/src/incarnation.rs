//! [`Incarnation`]: one life of a participant, before it begins.

use wellwritten_session::{Id, Role};

/// Who is to be started, and as what: all that a recipe is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incarnation {
    /// The session it belongs to.
    pub session_id: Id,
    /// Who; also its worker id.
    pub participant_id: Id,
    /// Which life of it: never the same twice in a session.
    pub incarnation_id: Id,
    /// How many lives of it this launcher has begun, this one included: 1 for the first.
    pub life: u32,
    /// As what.
    pub role: Role,
    /// How many threads it may use, itself included; at least 1.
    pub threads: usize,
}
