//! [`KnownNames`]: names that are taken, as many as fit.

use std::collections::VecDeque;

use wellwritten_envelope::Id;

/// Names that are taken. The oldest are forgotten: whoever keeps the things that are named knows them all, and refuses.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownNames(VecDeque<Id>);

impl KnownNames {
    /// Names remembered at most.
    pub(crate) const MAX: usize = 1024;

    pub(crate) fn insert(&mut self, name: Id) {
        if self.contains(&name) {
            return;
        }
        if self.0.len() == Self::MAX {
            self.0.pop_front();
        }
        self.0.push_back(name);
    }

    pub(crate) fn contains(&self, name: &Id) -> bool {
        self.0.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_names_are_remembered_once_each() {
        let id = |number: usize| Id::parse(&format!("c-{number}")).unwrap();
        let mut known = KnownNames::default();
        for number in 0..=KnownNames::MAX {
            known.insert(id(number));
            known.insert(id(number));
        }
        assert!(!known.contains(&id(0)) && known.contains(&id(1)));
        assert_eq!(known.0.len(), KnownNames::MAX);
    }
}
