//! The dumb model: for every word the value it has if all went well, and whether it did.

use super::mixing::{inputs, mix};
use wellwritten_device::Access;

/// One word of one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) value: u32,
    /// Whether it was last written by work that succeeded, as did all that this work read.
    pub(super) sound: bool,
}

/// Words `start..end` of a buffer, which is named by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) buffer: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Place {
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }
}

/// What one unit of work does, as the model knows it.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Write {
        to: Place,
        words: Vec<u32>,
    },
    Copy {
        from: Place,
        to: Place,
    },
    Launch {
        bindings: Vec<(Place, Access)>,
        salt: [u32; 2],
    },
}

impl Act {
    pub(super) fn reads(&self) -> Vec<Place> {
        match self {
            Self::Write { .. } => Vec::new(),
            Self::Copy { from, .. } => vec![*from],
            Self::Launch { bindings, .. } => of_access(bindings, Access::reads),
        }
    }

    pub(super) fn writes(&self) -> Vec<Place> {
        match self {
            Self::Write { to, .. } | Self::Copy { to, .. } => vec![*to],
            Self::Launch { bindings, .. } => of_access(bindings, Access::writes),
        }
    }

    pub(super) fn buffers(&self) -> Vec<usize> {
        let places = self.reads().into_iter().chain(self.writes());
        places.map(|place| place.buffer).collect()
    }
}

fn of_access(bindings: &[(Place, Access)], wanted: fn(Access) -> bool) -> Vec<Place> {
    let fitting = bindings.iter().filter(|(_, access)| wanted(*access));
    fitting.map(|(place, _)| *place).collect()
}

/// One buffer: its words, and whether it came into being at all.
#[derive(Clone, Debug)]
pub(super) struct ModelBuffer {
    pub(super) words: Vec<Word>,
    pub(super) exists: bool,
}

/// Every buffer that was ever there, by number; `None` once freed or lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) buffers: Vec<Option<ModelBuffer>>,
}

impl Model {
    pub(super) fn words(&self, place: Place) -> &[Word] {
        let buffer = self.buffers[place.buffer].as_ref();
        &buffer.expect("a live buffer").words[place.start..place.end]
    }

    fn words_mut(&mut self, place: Place) -> &mut [Word] {
        let buffer = self.buffers[place.buffer].as_mut();
        &mut buffer.expect("a live buffer").words[place.start..place.end]
    }

    pub(super) fn is_sound(&self, place: Place) -> bool {
        self.words(place).iter().all(|word| word.sound)
    }

    pub(super) fn is_live(&self, buffer: usize) -> bool {
        self.buffers[buffer].is_some()
    }

    fn exists(&self, buffer: usize) -> bool {
        self.buffers[buffer]
            .as_ref()
            .is_some_and(|buffer| buffer.exists)
    }

    /// Whether a unit succeeds that does these acts in turn: all it names exists, and all it reads from outside is
    /// sound.
    pub(super) fn succeeds(&self, acts: &[Act]) -> bool {
        let mut written: Vec<Place> = Vec::new();
        acts.iter().all(|act| {
            let sound = act.buffers().into_iter().all(|buffer| self.exists(buffer))
                && act.reads().into_iter().all(|place| {
                    (place.start..place.end).all(|at| {
                        let holds = |other: &Place| {
                            other.buffer == place.buffer && (other.start..other.end).contains(&at)
                        };
                        let word = Place {
                            start: at,
                            end: at + 1,
                            ..place
                        };
                        written.iter().any(holds) || self.is_sound(word)
                    })
                });
            written.extend(act.writes());
            sound
        })
    }

    /// One unit that does these acts in turn. Whether it succeeded.
    pub(super) fn run(&mut self, acts: &[Act], works: bool) -> bool {
        let succeeds = works && self.succeeds(acts);
        for act in acts {
            if succeeds {
                self.apply(act);
            } else {
                for place in act.writes() {
                    self.words_mut(place)
                        .iter_mut()
                        .for_each(|word| word.sound = false);
                }
            }
        }
        succeeds
    }

    fn apply(&mut self, act: &Act) {
        let fresh: Vec<(Place, Vec<u32>)> = match act {
            Act::Write { to, words } => vec![(*to, words.clone())],
            Act::Copy { from, to } => vec![(*to, self.values(*from))],
            Act::Launch { bindings, salt } => {
                let values: Vec<Vec<u32>> = bindings
                    .iter()
                    .map(|(place, _)| self.values(*place))
                    .collect();
                let accesses: Vec<Access> = bindings.iter().map(|(_, access)| *access).collect();
                let read = |at: usize, index: usize| values[at][index];
                let length = |at: usize| values[at].len();
                let word = |which: usize, index: usize| {
                    mix(&inputs(&accesses, read, length, which, index), *salt, index)
                };
                bindings
                    .iter()
                    .enumerate()
                    .filter(|(_, (_, access))| access.writes())
                    .map(|(which, (place, _))| {
                        let words = (0..place.len()).map(|index| word(which, index));
                        (*place, words.collect())
                    })
                    .collect()
            }
        };
        for (place, values) in fresh {
            for (word, value) in self.words_mut(place).iter_mut().zip(values) {
                *word = Word { value, sound: true };
            }
        }
    }

    fn values(&self, place: Place) -> Vec<u32> {
        self.words(place).iter().map(|word| word.value).collect()
    }
}
