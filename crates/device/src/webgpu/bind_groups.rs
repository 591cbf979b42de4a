//! The bind groups of one pipeline that were used last.

use std::cell::RefCell;
use std::rc::Rc;

use crate::batch::BoundBytes;

/// What is bound, and the group that binds it.
type Entry = (Vec<BoundBytes>, wgpu::BindGroup);

/// A few bind groups, the one used last at the end. A page is never used again for another, so what is kept for
/// one that is gone is never asked for.
#[derive(Clone, Default)]
pub(super) struct BindGroups {
    recent: Rc<RefCell<Vec<Entry>>>,
}

impl BindGroups {
    /// Programs launch a kernel over a handful of buffers in turn.
    const KEPT: usize = 8;

    /// The group for these bindings, made where it is not kept.
    ///
    /// A group is made inside the error scopes of the submission that uses it first; a group that turns out
    /// invalid voids every submission that uses it again, so none of them passes for one that succeeded.
    pub(super) fn get(
        &self,
        bindings: &[BoundBytes],
        make: impl FnOnce() -> wgpu::BindGroup,
    ) -> wgpu::BindGroup {
        let mut recent = self.recent.borrow_mut();
        let known = recent.iter().rposition(|(known, _)| known == bindings);
        if known.is_some_and(|at| at + 1 == recent.len()) {
            return recent[recent.len() - 1].1.clone();
        }
        let entry = match known {
            Some(at) => recent.remove(at),
            None => (bindings.to_vec(), make()),
        };
        let group = entry.1.clone();
        if recent.len() == Self::KEPT {
            recent.remove(0);
        }
        recent.push(entry);
        group
    }
}
