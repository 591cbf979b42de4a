//! [`AudioTimeline`]: where the next chunk of a stream may begin.

/// Why a chunk does not go on where the stream is. The timeline is what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AudioTimelineError {
    /// The first chunk is not where the stream begins, or goes on after a restore.
    #[error("the first chunk begins at sample {first_sample}, the stream is at {position}")]
    Origin {
        /// Where the chunk begins.
        first_sample: u64,
        /// Where it had to.
        position: u64,
    },
    /// The first chunk after a restore claims to follow what was heard before it.
    #[error(
        "the first chunk after a restore, at sample {first_sample}, is a discontinuity and does not say so"
    )]
    Unmarked {
        /// Where the chunk begins.
        first_sample: u64,
    },
    /// The chunk begins before the stream's end.
    #[error("a chunk begins at sample {first_sample}, the stream has reached {position}")]
    Overlap {
        /// Where the chunk begins.
        first_sample: u64,
        /// Where the stream is.
        position: u64,
    },
    /// The chunk begins exactly at the stream's end and says that it does not.
    #[error(
        "a chunk that begins exactly at the stream's end, {position}, is marked as a discontinuity"
    )]
    Mismarked {
        /// Where the stream is.
        position: u64,
    },
    /// The chunk's end does not fit the sample counter.
    #[error(
        "{sample_frames} sample frames from {first_sample} on end beyond the last sample there is"
    )]
    Overflow {
        /// Where the chunk begins.
        first_sample: u64,
        /// Its length.
        sample_frames: u32,
    },
}

/// What the next chunk follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing: the episode begins.
    Nothing,
    /// A restore; what was heard before it was of another epoch.
    Restore,
    /// A chunk of this epoch.
    Chunk,
}

/// One stream's line of samples, from the episode's beginning on.
///
/// Chunks never overlap and a gap is allowed. Whether a chunk is marked as a discontinuity must be true of it: the first
/// one after a restore always is, one that begins exactly where the last ended never is. A chunk that is refused moves
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioTimeline {
    position: u64,
    before: Before,
}

impl AudioTimeline {
    /// The line of an episode that begins.
    #[must_use]
    pub const fn fresh() -> Self {
        Self {
            position: 0,
            before: Before::Nothing,
        }
    }

    /// The line of an episode that goes on, restored, at the position it had.
    #[must_use]
    pub const fn restored(position: u64) -> Self {
        Self {
            position,
            before: Before::Restore,
        }
    }

    /// The sample frame that follows the last one accepted.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Takes a chunk in and moves to its end.
    pub fn accept(
        &mut self,
        first_sample: u64,
        sample_frames: u32,
        discontinuity: bool,
    ) -> Result<(), AudioTimelineError> {
        let position = self.position;
        match self.before {
            Before::Nothing | Before::Restore if first_sample != position => {
                return Err(AudioTimelineError::Origin {
                    first_sample,
                    position,
                });
            }
            Before::Restore if !discontinuity => {
                return Err(AudioTimelineError::Unmarked { first_sample });
            }
            Before::Chunk if first_sample < position => {
                return Err(AudioTimelineError::Overlap {
                    first_sample,
                    position,
                });
            }
            Before::Chunk if first_sample == position && discontinuity => {
                return Err(AudioTimelineError::Mismarked { position });
            }
            _ => {}
        }
        let end = first_sample.checked_add(u64::from(sample_frames)).ok_or(
            AudioTimelineError::Overflow {
                first_sample,
                sample_frames,
            },
        )?;
        *self = Self {
            position: end,
            before: Before::Chunk,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: the protocol's table of situations, a line each, and a slow model that keeps every chunk ever accepted and
    //! looks at all of them, driven with every short sequence of small chunks.

    use super::*;

    #[test]
    fn the_table_of_situations() {
        let fresh = AudioTimeline::fresh();
        let restored = AudioTimeline::restored(800);
        let mut running = fresh;
        running.accept(0, 800, false).unwrap();
        let refusals = [
            (
                fresh,
                (1, 10, false),
                "the first chunk begins at sample 1, the stream is at 0",
            ),
            (
                restored,
                (0, 10, true),
                "the first chunk begins at sample 0, the stream is at 800",
            ),
            (
                restored,
                (801, 10, true),
                "the first chunk begins at sample 801, the stream is at 800",
            ),
            (
                restored,
                (800, 10, false),
                "the first chunk after a restore, at sample 800, is a discontinuity and does not say so",
            ),
            (
                running,
                (799, 10, true),
                "a chunk begins at sample 799, the stream has reached 800",
            ),
            (
                running,
                (799, 0, false),
                "a chunk begins at sample 799, the stream has reached 800",
            ),
            (
                running,
                (800, 10, true),
                "a chunk that begins exactly at the stream's end, 800, is marked as a discontinuity",
            ),
            (
                running,
                (u64::MAX, 1, true),
                "1 sample frames from 18446744073709551615 on end beyond the last sample there is",
            ),
        ];
        for (timeline, (first, frames, marked), expected) in refusals {
            let mut tried = timeline;
            let error = tried.accept(first, frames, marked).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert_eq!(tried, timeline, "a refused chunk moves nothing");
        }
        for (timeline, (first, frames, marked)) in [
            (fresh, (0, 800, false)),
            (fresh, (0, 800, true)),
            (fresh, (0, 0, false)),
            (restored, (800, 800, true)),
            (restored, (800, 0, true)),
            (running, (800, 800, false)),
            (running, (800, 0, false)),
            (running, (900, 800, true)),
            (running, (900, 800, false)),
            (running, (u64::MAX, 0, true)),
        ] {
            let mut timeline = timeline;
            timeline.accept(first, frames, marked).unwrap();
            assert_eq!(timeline.position(), first + u64::from(frames));
        }
    }

    /// Everything that was accepted, and how the line began.
    struct Model {
        began_at: u64,
        was_restored: bool,
        chunks: Vec<(u64, u64)>,
    }

    impl Model {
        fn accepts(&mut self, first: u64, frames: u64, marked: bool) -> bool {
            let end = self.chunks.iter().map(|(_, end)| *end).max();
            let fits = match end {
                None => first == self.began_at && (marked || !self.was_restored),
                Some(end) => first > end || (first == end && !marked),
            };
            if fits {
                self.chunks.push((first, first + frames));
            }
            fits
        }
    }

    #[test]
    fn every_short_sequence_is_taken_as_the_model_takes_it() {
        let mut chunks = Vec::new();
        for first in 0..5_u64 {
            for frames in 0..3_u32 {
                chunks.extend([(first, frames, false), (first, frames, true)]);
            }
        }
        let (mut accepted, mut refused) = (0, 0);
        for (start, was_restored) in [(0, false), (0, true), (2, true)] {
            for one in &chunks {
                for two in &chunks {
                    for three in &chunks {
                        let mut model = Model {
                            began_at: start,
                            was_restored,
                            chunks: Vec::new(),
                        };
                        let mut timeline = if was_restored {
                            AudioTimeline::restored(start)
                        } else {
                            AudioTimeline::fresh()
                        };
                        for &(first, frames, marked) in [one, two, three] {
                            let taken = timeline.accept(first, frames, marked).is_ok();
                            assert_eq!(
                                taken,
                                model.accepts(first, u64::from(frames), marked),
                                "{one:?} {two:?} {three:?} from {start}, restored: {was_restored}"
                            );
                            if taken {
                                accepted += 1;
                            } else {
                                refused += 1;
                            }
                        }
                    }
                }
            }
        }
        assert!(accepted > 1_000 && refused > 1_000, "{accepted}, {refused}");
    }
}
