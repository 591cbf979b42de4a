//! [`Subject`] and [`in_turns`]: several things measured in turns, so that whatever slows the machine down for a while
//! slows all of them.

use crate::host::seconds;

/// How long one batch takes at least, in seconds: short, so that some of them are not interrupted.
const BATCH: f64 = 0.002;
/// How long all rounds take about, in seconds.
const ALL_ROUNDS: f64 = 3.0;
const FEWEST_ROUNDS: u32 = 25;
const MOST_ROUNDS: u32 = 200;

/// Something that can be done again and again.
pub struct Subject<'a> {
    work: Box<dyn FnMut() + 'a>,
    /// How often it is done in a batch.
    cycles: u32,
}

impl<'a> Subject<'a> {
    pub fn new(work: impl FnMut() + 'a) -> Self {
        Self {
            work: Box::new(work),
            cycles: 1,
        }
    }

    /// Seconds for each cycle of one batch. A cycle before it does not count: it finds in the caches what the subject
    /// before has left there. One that takes a batch by itself fits no cache.
    fn batch(&mut self) -> f64 {
        if self.cycles > 1 {
            (self.work)();
        }
        let start = seconds();
        for _ in 0..self.cycles {
            (self.work)();
        }
        (seconds() - start) / f64::from(self.cycles)
    }
}

/// One batch of each in every round, every second round backwards; seconds for each cycle of the fastest batch.
///
/// The fastest and not the middle one: what interrupts a batch only ever makes it slower, and the machine may be shared.
pub fn in_turns<const N: usize>(subjects: &mut [Subject<'_>; N]) -> [f64; N] {
    let mut round_seconds = 0.0;
    for subject in subjects.iter_mut() {
        // The warm-up too.
        round_seconds += loop {
            let batch_seconds = subject.batch() * f64::from(subject.cycles);
            if batch_seconds >= BATCH {
                break batch_seconds;
            }
            subject.cycles *= 2;
        };
    }
    let mut fastest = [f64::INFINITY; N];
    let start = seconds();
    for round in 0..MOST_ROUNDS {
        if round >= FEWEST_ROUNDS && seconds() - start > ALL_ROUNDS - round_seconds {
            break;
        }
        for turn in 0..N {
            let at = if round % 2 == 0 { turn } else { N - 1 - turn };
            fastest[at] = fastest[at].min(subjects[at].batch());
        }
    }
    fastest
}
