//! [`Memory`]: the words of one variable, and who touched which of them since when.

use crate::interpreter::Fault;

/// Where and when an invocation touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The workgroup, counted over the launch.
    pub group: u32,
    /// Barriers passed that order this memory.
    pub phase: u32,
    /// The invocation within its workgroup.
    pub lane: usize,
}

impl Moment {
    /// Whether nothing orders the two: they may happen in either order, or at once.
    fn is_unordered(self, other: Self) -> bool {
        self.group != other.group || (self.phase == other.phase && self.lane != other.lane)
    }
}

/// What is known of the touches of one word.
#[derive(Clone, Copy, Debug, Default)]
struct Touches {
    last_write: Option<Moment>,
    /// The last read, and the last one before it by anyone else.
    reads: [Option<Moment>; 2],
}

/// Words that watch over their use. Out of bounds is a fault, though a device would bend it.
#[derive(Clone, Debug)]
pub struct Memory {
    name: String,
    words: Vec<u32>,
    touches: Vec<Touches>,
}

impl Memory {
    /// A variable that holds `words`.
    pub fn new(name: &str, words: Vec<u32>) -> Self {
        Self {
            name: name.to_owned(),
            touches: vec![Touches::default(); words.len()],
            words,
        }
    }

    /// The words now.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The first word that nobody wrote.
    pub fn unwritten(&self) -> Option<usize> {
        self.touches
            .iter()
            .position(|touches| touches.last_write.is_none())
    }

    fn place(&self, index: u32) -> Result<usize, Fault> {
        let place = index as usize;
        if place < self.words.len() {
            return Ok(place);
        }
        Err(Fault::OutOfBounds {
            variable: self.name.clone(),
            index,
            words: self.words.len(),
        })
    }

    fn race(&self, index: u32) -> Fault {
        Fault::Race {
            variable: self.name.clone(),
            index,
        }
    }

    /// Reads a word.
    pub fn load(&mut self, index: u32, now: Moment) -> Result<u32, Fault> {
        let place = self.place(index)?;
        let touches = &mut self.touches[place];
        if touches
            .last_write
            .is_some_and(|write| write.is_unordered(now))
        {
            return Err(self.race(index));
        }
        // The last read and the last one by anybody else tell every later write what it must know:
        // time only goes on, and a variable is either of one workgroup or knows no barrier.
        let [last, other] = touches.reads;
        touches.reads = match last {
            Some(last) if (last.group, last.lane) != (now.group, now.lane) => {
                [Some(now), Some(last)]
            }
            _ => [Some(now), other],
        };
        Ok(self.words[place])
    }

    /// Writes a word.
    pub fn store(&mut self, index: u32, value: u32, now: Moment) -> Result<(), Fault> {
        let place = self.place(index)?;
        let touches = self.touches[place];
        let [last, other] = touches.reads;
        if [touches.last_write, last, other]
            .into_iter()
            .flatten()
            .any(|touch| touch.is_unordered(now))
        {
            return Err(self.race(index));
        }
        self.touches[place].last_write = Some(now);
        self.words[place] = value;
        Ok(())
    }
}
