//! Answers that deliver themselves.

use std::rc::{Rc, Weak};
use std::task::Poll;

use super::device::Fake;

/// In which order answers are delivered by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// As they were asked for.
    OldestFirst,
    /// The last one asked for first.
    NewestFirst,
    /// Any of them, after more or fewer turns of everything else. The same seed gives the same order.
    Random {
        /// Any number.
        seed: u64,
    },
}

impl Delivery {
    /// How often everything else gets its turn before an answer, so that there is more than one to choose from.
    const TURNS: usize = 12;

    /// Delivers whatever is held back until another plan replaces it, or the device is gone.
    pub(super) async fn run(self, fake: Weak<Fake>, plan: u64) {
        let Self::Random { mut seed } = self else {
            return self.run_with(fake, plan, &mut |_| 0).await;
        };
        self.run_with(fake, plan, &mut |end| below(&mut seed, end))
            .await;
    }

    async fn run_with(self, fake: Weak<Fake>, plan: u64, random: &mut dyn FnMut(usize) -> usize) {
        let present = || fake.upgrade().filter(|fake| fake.plan.get() == plan);
        while let Some(fake) = present() {
            if fake.answers.len() == 0 {
                let next = fake.answers.next();
                drop(fake);
                // An error when another plan, or nobody, wants to hear of it any more.
                if next.await.is_err() {
                    return;
                }
                continue;
            }
            drop(fake);
            let turns = match self {
                Self::Random { .. } => random(Self::TURNS + 1),
                Self::OldestFirst | Self::NewestFirst => Self::TURNS,
            };
            for _ in 0..turns {
                turn().await;
            }
            let Some(fake) = present() else { return };
            // Others may have delivered meanwhile.
            let Some(last) = fake.answers.len().checked_sub(1) else {
                continue;
            };
            fake.answers.deliver(match self {
                Self::OldestFirst => 0,
                Self::NewestFirst => last,
                Self::Random { .. } => random(last + 1),
            });
        }
    }

    pub(super) fn start(self, fake: &Rc<Fake>) {
        let plan = fake.plan.get() + 1;
        fake.plan.set(plan);
        fake.spawner.spawn(self.run(Rc::downgrade(fake), plan));
    }
}

/// Lets every other task that is ready run first.
async fn turn() {
    let mut is_first = true;
    std::future::poll_fn(move |context| {
        if std::mem::replace(&mut is_first, false) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

/// A number below `end`, of the sequence `SplitMix64`.
fn below(state: &mut u64, end: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    usize::try_from(mixed % end as u64).expect("less than a usize")
}
