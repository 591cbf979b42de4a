//! What a writer must show after every call, computed the slow way: everything that ever was handed in stays in one
//! list, and every number is counted anew from it.

use std::collections::BTreeMap;

use wellwritten_store::{SaveKind, WriterStatistics};

/// A rule that the model gets wrong on purpose, to see that the comparison notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    DurableIsReplaced,
    FlightIsReplaced,
    PromisedTwice,
    SlotForNewcomers,
    SlotForWhoCameFirst,
    FlightIsFree,
    SupersededBytesCount,
    QueuedIsToldFirst,
    PanicIsLost,
    LostIsFailed,
    RefusedKeepsSlot,
    HeldUntilTold,
    LateStart,
}

/// What the store is made to say; each applies to what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Commits,
    Refuses,
    CannotSay,
    Gone,
    Panics,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Waiting,
    /// The first that has not ended. `heard` once the store was asked; `panicked` once it was asked again, about the
    /// same id.
    UnderWay {
        heard: bool,
        panicked: bool,
        word: Option<Word>,
    },
    Ended(String),
}

#[derive(Clone, Debug)]
pub struct Save {
    pub name: String,
    kind: SaveKind,
    bytes: u64,
    pub place: Place,
}

impl Save {
    pub fn has_ended(&self) -> bool {
        matches!(self.place, Place::Ended(_))
    }

    /// Whether anyone still has its payloads.
    pub fn is_held(&self) -> bool {
        !self.has_ended() && !matches!(self.place, Place::UnderWay { panicked: true, .. })
    }
}

#[derive(Clone, Debug)]
struct Reservation {
    kind: SaveKind,
    over: Option<usize>,
    own_slot: bool,
}

pub struct Model {
    mistake: Option<Mistake>,
    capacity: usize,
    limit: u64,
    pub closed: bool,
    pub saves: Vec<Save>,
    reservations: BTreeMap<usize, Reservation>,
    next_reservation: usize,
    pub told: Vec<String>,
    pub heard: Vec<String>,
    pub asked_about: Vec<String>,
    rejected: u64,
    peak_queue: u64,
    peak_bytes: u64,
    last_bytes: u64,
}

impl Model {
    pub fn new(capacity: usize, limit: u64, mistake: Option<Mistake>) -> Self {
        Self {
            mistake,
            capacity,
            limit,
            closed: false,
            saves: Vec::new(),
            reservations: BTreeMap::new(),
            next_reservation: 0,
            told: Vec::new(),
            heard: Vec::new(),
            asked_about: Vec::new(),
            rejected: 0,
            peak_queue: 0,
            peak_bytes: 0,
            last_bytes: 0,
        }
    }

    fn wrong(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn going(&self) -> impl Iterator<Item = (usize, &Save)> {
        let saves = self.saves.iter().enumerate();
        saves.filter(|(_, save)| !save.has_ended())
    }

    fn slots(&self) -> usize {
        self.going().count()
            + self
                .reservations
                .values()
                .filter(|one| one.own_slot)
                .count()
    }

    fn bytes(&self, without: Option<usize>) -> u64 {
        let counts = |(index, save): &(usize, &Save)| {
            let superseded = Some(*index) == without && save.place == Place::Waiting;
            let is_free = save.place != Place::Waiting && self.wrong(Mistake::FlightIsFree);
            !is_free && (!superseded || self.wrong(Mistake::SupersededBytesCount))
        };
        self.going()
            .filter(counts)
            .map(|(_, save)| save.bytes)
            .sum()
    }

    pub fn statistics(&self) -> WriterStatistics {
        let ended = |start: &str| {
            let is_it = |save: &&Save| matches!(&save.place, Place::Ended(words) if words.starts_with(start));
            self.saves.iter().filter(is_it).count() as u64
        };
        WriterStatistics {
            queued: self.saves.len() as u64,
            committed: ended("committed"),
            failed: ended("failed"),
            superseded: ended("superseded"),
            rejected: self.rejected,
            reply_lost: ended("reply lost"),
            peak_queue: self.peak_queue,
            peak_bytes: self.peak_bytes,
            held_bytes: self.bytes(None),
            outstanding: self.slots() as u64,
        }
    }

    pub fn estimate(&self) -> u64 {
        self.last_bytes.min(self.limit)
    }

    pub fn is_going(&self, name: &str) -> bool {
        self.going().any(|(_, save)| save.name == name)
    }

    /// The reservation, or why not.
    pub fn reserve(&mut self, kind: SaveKind, estimate: u64) -> Result<usize, &'static str> {
        let reserved = self.try_reserve(kind, estimate);
        self.rejected += u64::from(reserved.is_err());
        reserved
    }

    fn try_reserve(&mut self, kind: SaveKind, estimate: u64) -> Result<usize, &'static str> {
        if self.closed {
            return Err("closed");
        }
        let own_slot = self.slots() < self.capacity;
        let over = if own_slot {
            None
        } else {
            Some(self.first_replaceable(kind).ok_or("full")?)
        };
        if self.bytes(over) + estimate > self.limit {
            return Err("over budget");
        }
        self.next_reservation += 1;
        let reservation = Reservation {
            kind,
            over,
            own_slot,
        };
        self.reservations.insert(self.next_reservation, reservation);
        Ok(self.next_reservation)
    }

    fn first_replaceable(&self, kind: SaveKind) -> Option<usize> {
        let is_promised = |index| {
            self.reservations
                .values()
                .any(|one| one.over == Some(index))
        };
        let may = |(index, save): &(usize, &Save)| {
            (save.place == Place::Waiting || self.wrong(Mistake::FlightIsReplaced))
                && (save.kind == SaveKind::Replaceable || self.wrong(Mistake::DurableIsReplaced))
                && (!is_promised(*index) || self.wrong(Mistake::PromisedTwice))
        };
        let first = self.going().find(may);
        first
            .filter(|_| kind == SaveKind::Replaceable)
            .map(|(index, _)| index)
    }

    pub fn give_back(&mut self, reservation: usize) {
        self.reservations.remove(&reservation);
        self.fill_slots();
    }

    pub fn submit(
        &mut self,
        reservation: usize,
        name: &str,
        bytes: u64,
    ) -> Result<usize, &'static str> {
        let reserved = self.reservations[&reservation].clone();
        self.last_bytes = bytes;
        let refused = if self.closed {
            Some("closed")
        } else if self.is_going(name) {
            Some("already queued")
        } else if self.bytes(reserved.over) + bytes > self.limit {
            Some("over budget")
        } else {
            None
        };
        if let Some(refused) = refused {
            self.rejected += 1;
            if !self.wrong(Mistake::RefusedKeepsSlot) {
                self.give_back(reservation);
            }
            return Err(refused);
        }
        if self.wrong(Mistake::QueuedIsToldFirst) {
            self.told.push(format!("queued {name}"));
        }
        if let Some(over) = reserved
            .over
            .filter(|over| self.saves[*over].place == Place::Waiting)
        {
            let words = format!("superseded {} by {name}", self.saves[over].name);
            self.end(over, words);
        }
        if !self.wrong(Mistake::QueuedIsToldFirst) {
            self.told.push(format!("queued {name}"));
        }
        self.reservations.remove(&reservation);
        self.saves.push(Save {
            name: name.to_owned(),
            kind: reserved.kind,
            bytes,
            place: Place::Waiting,
        });
        if !self.wrong(Mistake::LateStart) {
            self.start();
        }
        self.fill_slots();
        self.peak_queue = self.peak_queue.max(self.going().count() as u64);
        self.peak_bytes = self.peak_bytes.max(self.bytes(None));
        Ok(self.saves.len() - 1)
    }

    fn end(&mut self, index: usize, words: String) {
        self.told.push(words.clone());
        self.saves[index].place = Place::Ended(words);
    }

    /// The first that has not ended is under way.
    fn start(&mut self) {
        let first = self.saves.iter_mut().find(|save| !save.has_ended());
        if let Some(save) = first.filter(|save| save.place == Place::Waiting) {
            save.place = Place::UnderWay {
                heard: false,
                panicked: false,
                word: None,
            };
        }
    }

    fn fill_slots(&mut self) {
        if self.wrong(Mistake::SlotForNewcomers) {
            return;
        }
        while self.slots() < self.capacity {
            let by_arrival = self.wrong(Mistake::SlotForWhoCameFirst);
            let without = self
                .reservations
                .iter_mut()
                .filter(|(_, one)| !one.own_slot);
            let first =
                without.min_by_key(|(number, one)| (one.over.filter(|_| !by_arrival), **number));
            match first {
                Some((_, reservation)) => reservation.own_slot = true,
                None => return,
            }
        }
    }

    /// Whether the store has been asked something that it has not answered.
    pub fn is_held(&self) -> bool {
        let mut going = self.going();
        let first = going.next().map(|(_, save)| &save.place);
        matches!(
            first,
            Some(Place::UnderWay {
                heard: true,
                word: None,
                ..
            })
        )
    }

    /// The store answers; nobody has looked yet.
    pub fn answer(&mut self, answered: Word) {
        let first = self.saves.iter_mut().find(|save| !save.has_ended());
        if let Some(Place::UnderWay { word, .. }) = first.map(|save| &mut save.place) {
            *word = Some(answered);
        }
    }

    /// Somebody waits, and so does the work.
    pub fn turn(&mut self) {
        if self.wrong(Mistake::LateStart) {
            self.start();
        }
        for _ in 0..self.going().count() {
            if !self.step() {
                return;
            }
        }
    }

    /// Goes on with the save under way; whether it ended.
    fn step(&mut self) -> bool {
        let Some(index) = self.going().next().map(|(index, _)| index) else {
            return false;
        };
        let name = self.saves[index].name.clone();
        let Place::UnderWay {
            heard,
            panicked,
            word,
        } = self.saves[index].place.clone()
        else {
            return false;
        };
        if !heard {
            self.heard.push(name.clone());
        }
        let (kind, panicked) = match (word, panicked) {
            (None, panicked) => (None, panicked),
            (Some(Word::Panics), false) if !self.wrong(Mistake::PanicIsLost) => {
                self.asked_about.push(name.clone());
                (None, true)
            }
            (Some(word), panicked) => (Some(self.ending(word)), panicked),
        };
        let Some(kind) = kind else {
            self.saves[index].place = Place::UnderWay {
                heard: true,
                panicked: panicked && !self.wrong(Mistake::HeldUntilTold),
                word: None,
            };
            return false;
        };
        self.end(index, format!("{kind} {name}"));
        self.fill_slots();
        self.start();
        true
    }

    fn ending(&self, word: Word) -> &'static str {
        let lost = if self.wrong(Mistake::LostIsFailed) {
            "failed"
        } else {
            "reply lost"
        };
        match word {
            Word::Commits => "committed",
            // Asked about a save that panicked, the store says that it did not commit.
            Word::Refuses => "failed",
            Word::CannotSay | Word::Gone | Word::Panics => lost,
        }
    }

    pub fn give_up(&mut self) {
        let left: Vec<usize> = self.going().map(|(index, _)| index).collect();
        for index in left {
            let save = &self.saves[index];
            let heard = matches!(save.place, Place::UnderWay { heard: true, .. });
            let kind = if heard { "reply lost" } else { "failed" };
            self.end(index, format!("{kind} {}", save.name));
        }
        self.fill_slots();
    }
}
