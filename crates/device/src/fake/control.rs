//! The hand on a fake.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use wellwritten_memory::{Failure, FailureKind};

use super::answers::Question;
use super::delivery::Delivery;
use super::device::Fake;
use super::faults::ErrorChoice;
use super::generation::Generation;
use super::submitted::Submitted;
use crate::connection::DeviceSignal;
use crate::limits::DeviceLimits;

/// Decides what goes wrong on a fake device, and when its answers come. Cheap to clone.
///
/// What is to go wrong concerns the generation on which it comes up; what has happened is told of the present
/// generation.
#[derive(Clone)]
pub struct FakeControl {
    fake: Rc<Fake>,
}

impl fmt::Debug for FakeControl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FakeControl")
            .field("held", &self.held())
            .finish_non_exhaustive()
    }
}

/// When answers come.
impl FakeControl {
    pub(super) fn of(fake: Rc<Fake>) -> Self {
        Self { fake }
    }

    /// What is held back, of all generations, in the order in which it was asked.
    #[must_use]
    pub fn held(&self) -> Vec<Question> {
        self.fake.answers.questions()
    }

    /// Delivers one held-back answer, by its place in [`held`](Self::held). What it answered; nothing where there
    /// is none. Whoever waits for it goes on when the executor next runs.
    #[expect(
        clippy::must_use_candidate,
        reason = "called for its effect; what it answered is rarely asked"
    )]
    pub fn deliver(&self, index: usize) -> Option<Question> {
        self.fake.answers.deliver(index)
    }

    /// Delivers the oldest answer to such a question, if one is held back.
    #[expect(
        clippy::must_use_candidate,
        reason = "called for its effect; what it answered is rarely asked"
    )]
    pub fn deliver_first(&self, question: Question) -> Option<Question> {
        let index = self.held().iter().position(|held| *held == question)?;
        self.deliver(index)
    }

    /// From now on answers deliver themselves, in the background.
    pub fn deliver_by(&self, plan: Delivery) {
        plan.start(&self.fake);
    }

    /// From now on answers are held back again.
    pub fn hold_answers(&self) {
        self.fake.plan.set(self.fake.plan.get() + 1);
    }

    /// How many answers have been delivered.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.fake.answers.delivered()
    }
}

/// What goes wrong.
impl FakeControl {
    /// The creation of a buffer after `skipped` more turns out to have had no memory.
    pub fn fail_creation_after(&self, skipped: u64) {
        self.fake.faults.borrow_mut().fail_creation_after(skipped);
    }

    /// Whether the next creation turns out to have had no memory.
    #[must_use]
    pub fn next_creation_fails(&self) -> bool {
        self.fake.faults.borrow().next_creation_fails()
    }

    /// The shader of this kernel does not compile, and the compiler says `said`. For kernels that are launched on
    /// the present generation for the first time.
    pub fn break_shader(&self, label: &str, said: &str) {
        let message = format!("shader `{label}` failed to compile: {said}");
        self.break_kernel(label, FailureKind::Shader, message);
    }

    /// The shader of this kernel compiles, but no pipeline can be made of it, as with a bad entry point.
    pub fn break_pipeline(&self, label: &str, said: &str) {
        let message = format!("the pipeline of kernel `{label}` is invalid: {said}");
        self.break_kernel(label, FailureKind::Validation, message);
    }

    /// The next dispatch of this kernel is invalid, though everything about the kernel is known to be good.
    pub fn fail_dispatch(&self, label: &str) {
        self.fake.faults.borrow_mut().fail_dispatch(label);
    }

    /// The next submission has this error among its others, and is dropped.
    pub fn fail_submission(&self, kind: FailureKind, message: &str) {
        let message = message.to_owned();
        let mut faults = self.fake.faults.borrow_mut();
        faults.fail_submission(Failure { kind, message });
    }

    /// Which of the errors of a submission is delivered, from now on. The others are lost.
    pub fn choose_error(&self, choice: ErrorChoice) {
        self.fake.faults.borrow_mut().error_choice = choice;
    }

    /// The next copy to the host fails: its mapping rejects.
    pub fn fail_read(&self) {
        self.fake.faults.borrow_mut().fail_read();
    }

    /// Says "clean" of the next dropped submission, or failed creation: what a device must never do, and what a test
    /// must notice.
    pub fn lie_once(&self) {
        self.lie(1);
    }

    /// Says "clean" of the next `times` dropped submissions and failed creations.
    pub fn lie(&self, times: u32) {
        self.fake.faults.borrow_mut().lie(times);
    }

    /// How often it lied.
    #[must_use]
    pub fn lies_told(&self) -> u32 {
        self.fake.faults.borrow().lies_told
    }

    /// Reports an error outside every scope.
    pub fn report_uncaptured(&self, kind: FailureKind, message: &str) {
        let message = format!("WebGPU reported an error outside every scope: {message}");
        let failure = Failure { kind, message };
        self.now()
            .borrow()
            .signal(DeviceSignal::Uncaptured(failure));
    }

    /// Refuses a device the next `times` that a recovery asks for one.
    pub fn refuse_connections(&self, times: u32) {
        self.fake.faults.borrow_mut().refuse_connections(times);
    }

    /// Grants these limits, now and on later generations. A buffer that the device allows but this does not is
    /// one that could not be created.
    pub fn grant(&self, limits: DeviceLimits) {
        self.fake.granted.set(limits);
        self.now().borrow_mut().limits = limits;
    }

    fn break_kernel(&self, label: &str, kind: FailureKind, message: String) {
        let broken = &mut self.fake.faults.borrow_mut().broken_shaders;
        broken.insert(label.to_owned(), Failure { kind, message });
    }
}

/// Loss. Whatever reaches a lost device is dropped, and every error scope pops clean.
impl FakeControl {
    /// The device is lost, and says so at once; the program hears of it when its executor next runs.
    pub fn lose(&self, reason: &str) {
        self.lose_silently();
        self.announce_loss(reason);
    }

    /// The device is lost and does not say so yet: error scopes pop clean, and mappings abort.
    pub fn lose_silently(&self) {
        self.now().borrow_mut().lose();
    }

    /// The present generation says that it is lost.
    pub fn announce_loss(&self, reason: &str) {
        announce(&self.now(), reason);
    }

    /// A generation, counted from 1, says that it is lost, however late. Nothing where there was none.
    pub fn announce_loss_of(&self, generation: u64, reason: &str) {
        let index = usize::try_from(generation)
            .ok()
            .and_then(|at| at.checked_sub(1));
        let generations = self.fake.generations.borrow();
        if let Some(generation) = index.and_then(|index| generations.get(index)) {
            announce(generation, reason);
        }
    }

    /// After a loss copies to the host succeed too. No device does that before it has announced the loss; a guard
    /// that believes one that does it afterwards returns bytes of a lost device.
    pub fn let_copies_survive(&self) {
        self.fake.faults.borrow_mut().copies_survive = true;
    }
}

/// What has happened.
impl FakeControl {
    /// Buffers created on the present generation.
    #[must_use]
    pub fn pages_created(&self) -> u64 {
        self.now().borrow().pages_created
    }

    /// Buffers there are on the present generation.
    #[must_use]
    pub fn pages(&self) -> usize {
        let generation = self.now();
        let generation = generation.borrow();
        generation.live.len() - generation.retired.len()
    }

    /// Kernels compiled on the present generation.
    #[must_use]
    pub fn compiled(&self) -> u64 {
        self.now().borrow().compiled
    }

    /// Every submission that reached the present generation.
    #[must_use]
    pub fn submitted(&self) -> Vec<Submitted> {
        self.submitted_after(0)
    }

    /// Those after the first `seen`.
    #[must_use]
    pub fn submitted_after(&self, seen: usize) -> Vec<Submitted> {
        let generation = self.now();
        let generation = generation.borrow();
        generation
            .submitted
            .get(seen..)
            .unwrap_or_default()
            .to_vec()
    }

    /// How often a device was made, the first one included.
    #[must_use]
    pub fn generations(&self) -> usize {
        self.fake.generations.borrow().len()
    }

    /// How long recoveries asked to pause before each further try. The fake does not wait; it holds the answer back.
    #[must_use]
    pub fn pauses(&self) -> Vec<Duration> {
        self.fake.pauses.borrow().clone()
    }

    fn now(&self) -> Rc<RefCell<Generation>> {
        let generations = self.fake.generations.borrow();
        Rc::clone(generations.last().expect("a fake is opened with its first"))
    }
}

fn announce(generation: &RefCell<Generation>, reason: &str) {
    let mut generation = generation.borrow_mut();
    generation.explain();
    generation.signal(DeviceSignal::Lost(reason.to_owned()));
}
