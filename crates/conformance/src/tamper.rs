//! [`Tamper`]: what is done to a call on its way.

use wellwritten_session::Id;

/// What is done to a call on its way, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tamper {
    /// The participant never hears of it, and nobody answers.
    LoseRequest,
    /// The participant does it, and nobody hears of that.
    LoseReply,
    /// The participant does it, and the route ends before the reply comes.
    CutBeforeReply,
    /// The route ends before the participant hears of it.
    CutBeforeRequest,
    /// It is delivered twice; the second reply is the one that is given.
    Duplicate,
    /// After it was answered, the same batch is delivered with other controls.
    AlterControls,
    /// A commit comes without its rewards.
    LoseRewards,
    /// After it was answered, it is delivered under another request id.
    Rename,
    /// The reply comes when a reply to the same method has come from this other worker.
    HoldUntil(Id),
    /// The reply is from another worker.
    ForeignWorker,
    /// The reply is from another life of the worker.
    ForeignIncarnation,
    /// The reply is to another request.
    ForeignRequest,
    /// The reply is about another step.
    ForeignScope,
}
