//! The names of a store's files, so that no two purposes can ever share one.
//!
//! A generation is `<checkpoint id>.flysess`, and a checkpoint id starts with a lower-case letter or a
//! digit. Temporaries start with `~`, so no checkpoint id can name one; there are two of them, fixed,
//! because a store has one writer, and a name that is used again cannot pile up.

use wellwritten_envelope::Id;

/// The store manifest.
pub const MANIFEST: &str = "manifest.json";

/// A generation that is being written.
pub const GENERATION_TEMPORARY: &str = "~generation";

/// A store manifest that is being written.
pub const MANIFEST_TEMPORARY: &str = "~manifest";

/// What follows the checkpoint id in the name of a generation.
pub const GENERATION_SUFFIX: &str = ".flysess";

/// The file of a generation: the checkpoint id and [`GENERATION_SUFFIX`].
#[must_use]
pub fn generation(checkpoint_id: &Id) -> String {
    format!("{checkpoint_id}{GENERATION_SUFFIX}")
}

/// The longest name of a file, in bytes: that of a generation whose id has the most characters there are, with room to spare.
pub const LONGEST: usize = 80;

/// Whether `name` is one that a store gives: `[A-Za-z0-9~][A-Za-z0-9._~-]*`, at most [`LONGEST`] characters. No such
/// name is a path, is hidden, or means something to a shell. A medium refuses every other.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    let mut characters = name.bytes();
    let begins = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'~';
    characters.next().is_some_and(begins)
        && characters.all(|byte| begins(byte) || b"._-".contains(&byte))
        && name.len() <= LONGEST
}

/// Whether `name` is one of the temporaries of a store. What is neither that nor a generation is someone else's, and
/// is never removed, whatever it begins with.
#[must_use]
pub fn is_temporary(name: &str) -> bool {
    [GENERATION_TEMPORARY, MANIFEST_TEMPORARY].contains(&name)
}

/// The checkpoint id whose generation `name` would be, if it is such a name.
#[must_use]
pub fn checkpoint_id_of(name: &str) -> Option<Id> {
    name.strip_suffix(GENERATION_SUFFIX)?.parse().ok()
}
