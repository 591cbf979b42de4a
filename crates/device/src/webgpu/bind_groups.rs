//! The bind groups of one pipeline that were used last.

use std::cell::RefCell;
use std::rc::Rc;

use crate::launch_check::Bound;

/// A bind group and what it binds.
pub(super) struct KeptGroup {
    bindings: Bound,
    epoch: u64,
    pub(super) group: wgpu::BindGroup,
}

/// A few bind groups, the one used last at the end. A page is never used again for another, so what is kept for
/// one that is gone is never asked for.
#[derive(Default)]
pub(super) struct BindGroups {
    recent: RefCell<Vec<Rc<KeptGroup>>>,
}

impl BindGroups {
    /// Programs launch a kernel over a handful of buffers in turn.
    const KEPT: usize = 8;

    /// The group for these bindings, made where it is not kept.
    ///
    /// A group is made inside the error scopes of the submission that uses it first; a group that turns out
    /// invalid voids every submission that uses it again, so none of them passes for one that succeeded. Groups of
    /// another epoch are let go: the epoch is over when a submission fails, which may have made an invalid one.
    pub(super) fn get(
        &self,
        bindings: &Bound,
        epoch: u64,
        make: impl FnOnce() -> wgpu::BindGroup,
    ) -> Rc<KeptGroup> {
        let mut recent = self.recent.borrow_mut();
        recent.retain(|kept| kept.epoch == epoch);
        let known = recent.iter().rposition(|kept| kept.bindings == *bindings);
        let kept = match known {
            Some(at) if at + 1 == recent.len() => return Rc::clone(&recent[at]),
            Some(at) => recent.remove(at),
            None => Rc::new(KeptGroup {
                bindings: bindings.clone(),
                epoch,
                group: make(),
            }),
        };
        if recent.len() == Self::KEPT {
            recent.remove(0);
        }
        recent.push(Rc::clone(&kept));
        kept
    }
}
