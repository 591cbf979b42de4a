//! One generation of the fake: its pages, what reached it, and whether it is lost.

use std::collections::{BTreeSet, HashSet};

use futures::FutureExt as _;
use futures::channel::mpsc::UnboundedSender;
use futures::channel::oneshot;
use futures::future::{LocalBoxFuture, Shared};
use wellwritten_memory::{Failure, FailureKind};

use super::faults::Faults;
use super::kernel::FakeKernel;
use super::submitted::Submitted;
use crate::backend::{PageId, Verdict};
use crate::batch::Work;
use crate::connection::DeviceSignal;
use crate::host_pages::HostPages;
use crate::limits::DeviceLimits;

pub(super) struct Generation {
    pub(super) pages: HostPages,
    /// Pages there are, and those of them that are invalid.
    pub(super) live: BTreeSet<PageId>,
    pub(super) invalid: HashSet<PageId>,
    /// Given back, but perhaps named by work that is recorded and not yet submitted.
    pub(super) retired: Vec<PageId>,
    pub(super) pages_created: u64,
    pub(super) creations: Vec<(PageId, Verdict)>,
    pub(super) submitted: Vec<Submitted>,
    pub(super) compiled: u64,
    pub(super) limits: DeviceLimits,
    pub(super) is_lost: bool,
    announce: Option<oneshot::Sender<()>>,
    /// Resolves when the loss is announced.
    pub(super) announced: Shared<LocalBoxFuture<'static, ()>>,
    signals: UnboundedSender<DeviceSignal>,
}

impl Generation {
    pub(super) fn new(limits: DeviceLimits, signals: UnboundedSender<DeviceSignal>) -> Self {
        let (announce, announced) = oneshot::channel();
        Self {
            pages: HostPages::new(|kernel| &FakeKernel::of(kernel).function),
            live: BTreeSet::new(),
            invalid: HashSet::new(),
            retired: Vec::new(),
            pages_created: 0,
            creations: Vec::new(),
            submitted: Vec::new(),
            compiled: 0,
            limits,
            is_lost: false,
            announce: Some(announce),
            announced: announced.map(|_| ()).boxed_local().shared(),
            signals,
        }
    }

    /// Says something outside any call. Nobody may listen any more.
    pub(super) fn signal(&self, signal: DeviceSignal) {
        let _ = self.signals.unbounded_send(signal);
    }

    /// From now on everything that reaches it is dropped and called a success.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
    }

    /// Lets everyone who waits for an explanation know that it is lost.
    pub(super) fn explain(&mut self) {
        self.lose();
        if let Some(announce) = self.announce.take() {
            let _ = announce.send(());
        }
    }

    /// Everything that is wrong with `work`.
    pub(super) fn errors(&self, work: &[Work], faults: &mut Faults) -> Vec<Failure> {
        let invalid = |message: String| Failure {
            kind: FailureKind::Validation,
            message,
        };
        let mut errors: Vec<Failure> = faults.take_submission().into_iter().collect();
        for unit in work {
            unit.names(&mut |page| {
                assert!(
                    self.live.contains(&page),
                    "{page:?} belongs to another generation, or is gone"
                );
                if self.invalid.contains(&page) {
                    errors.push(invalid(format!("[Invalid Buffer {}]", page.0)));
                }
                false
            });
            unit.visit(&mut |unit| {
                let Work::Launch { label, kernel, .. } = unit else {
                    return;
                };
                errors.extend(faults.take_dispatch(label));
                if FakeKernel::of(kernel).compiles.is_err() {
                    let said =
                        format!("[Invalid ComputePipeline of {label}] due to a previous error");
                    errors.push(invalid(said));
                }
            });
        }
        errors
    }

    /// Applies `work`, all of which is valid. What a kernel says that fails all the same, as none can on a GPU,
    /// is the error of its submission.
    pub(super) fn apply(&mut self, work: &[Work]) -> Result<(), Failure> {
        work.iter().try_for_each(|unit| self.pages.run(unit))
    }

    /// Destroys what was given back before the submission that was just made.
    pub(super) fn destroy_retired(&mut self) {
        for page in std::mem::take(&mut self.retired) {
            self.pages.remove(page);
            self.live.remove(&page);
            self.invalid.remove(&page);
        }
    }
}
