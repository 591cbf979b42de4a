//! [`Labels`]: one copy of each name in use, so that naming work costs no allocation.

use alloc::rc::Rc;
use hashbrown::HashSet;

/// Interned names. A name that nothing holds any more goes at the next purge, so a caller that makes
/// up a new name for every launch cannot grow the table.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    names: HashSet<Rc<str>>,
    purge_at: usize,
    /// Names that were asked for lately, by where the caller keeps them: the same few launches come again
    /// and again, and comparing a name is cheaper than hashing it.
    lately: [Option<Rc<str>>; LATELY],
}

/// How many names are found without hashing.
const LATELY: usize = 8;

/// Below this many names a purge is not worth its scan.
const SMALLEST_PURGE: usize = 64;

impl Labels {
    /// The one copy of `name`.
    #[inline]
    pub(crate) fn intern(&mut self, name: &str) -> Rc<str> {
        let place = (name.as_ptr().addr() >> 3) % LATELY;
        if let Some(known) = &self.lately[place]
            && **known == *name
        {
            return Rc::clone(known);
        }
        let known = self.find(name);
        self.lately[place] = Some(Rc::clone(&known));
        known
    }

    fn find(&mut self, name: &str) -> Rc<str> {
        if let Some(known) = self.names.get(name) {
            return Rc::clone(known);
        }
        if self.names.len() >= self.purge_at.max(SMALLEST_PURGE) {
            self.names.retain(|name| Rc::strong_count(name) > 1);
            self.purge_at = self.names.len() * 2;
        }
        let name: Rc<str> = Rc::from(name);
        self.names.insert(Rc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn a_name_is_held_once_and_names_without_holder_go() {
        let mut labels = Labels::default();
        let kept = labels.intern("kernel diffuse");
        assert!(Rc::ptr_eq(&kept, &labels.intern("kernel diffuse")));
        for number in 0..10_000 {
            labels.intern(&format!("kernel {number}"));
        }
        assert!(
            labels.names.len() <= 2 * (SMALLEST_PURGE + LATELY),
            "{} names held",
            labels.names.len()
        );
        assert!(Rc::ptr_eq(&kept, &labels.intern("kernel diffuse")));
    }
}
