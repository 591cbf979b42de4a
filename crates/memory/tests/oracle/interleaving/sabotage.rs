//! [`Sabotage`]: the wrong answers that a comparison must notice.

/// A lie told to the manager, once a run is warm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A failed body is told as clean.
    FailedAsClean,
    /// A failed submission is told as succeeded.
    FailedAsSettled,
    /// What a launch reads is kept from it.
    ForgottenRead,
    /// The write set lacks its last byte.
    ShortWriteSet,
    /// The storage holds another value than was written.
    WrongValue,
    /// One failure is told as several of the same words.
    FailedTwice,
    /// A read is begun and kept, and nobody knows of it.
    KeptRead,
    /// A clone of a handle is kept when everything is dropped.
    KeptHandle,
    /// The report of a refused read lacks the last step of every path.
    ShortPath,
    /// A pending read is told to wait for one submission less.
    ForgottenWait,
    /// What a window recorded is not noted.
    ForgottenRecord,
    /// A buffer that a snapshot tells of is not noted.
    ForgottenChange,
}
