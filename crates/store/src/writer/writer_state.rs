//! [`WriterState`]: the slots, the queue and the budget, without a store and without waiting.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use futures::future::LocalBoxFuture;
use wellwritten_envelope::Id;

use crate::save_outcome::SaveOutcome;
use crate::save_request::SaveRequest;
use crate::writer::save_refusal::SaveRefusal;
use crate::writer::save_slot::SaveKind;
use crate::writer::save_ticket::SaveRecord;
use crate::writer::writer_config::WriterConfig;
use crate::writer::writer_event::WriterEvent;
use crate::writer::writer_statistics::WriterStatistics;

/// What is to be told of a save, in the order in which it happened.
pub(super) struct Telling {
    pub(super) record: Rc<SaveRecord>,
    pub(super) event: WriterEvent,
}

/// How far the work of a save is. Whoever drops it releases the payloads.
pub(super) enum Work {
    /// The store has not heard of it.
    Waiting(Box<SaveRequest>),
    /// The store was asked.
    Saving(LocalBoxFuture<'static, SaveOutcome>),
    /// It is being polled by someone.
    Taken,
}

struct Save {
    number: u64,
    kind: SaveKind,
    byte_length: u64,
    record: Rc<SaveRecord>,
    work: Work,
}

struct Reservation {
    kind: SaveKind,
    /// The waiting save whose place it takes, if that still waits when the capture is handed in.
    takes_over: Option<u64>,
    /// Whether it holds a slot of its own: at once where one was free, or as soon as one becomes free. Without one it
    /// stands for the slot of the save that it takes over, which therefore still waits.
    has_slot: bool,
}

/// Every change leaves a whole state behind; what it lets go and what it has to tell is kept in `released` and
/// `tellings` until nothing is borrowed any more.
pub(super) struct WriterState {
    config: WriterConfig,
    pub(super) closed: bool,
    next_number: u64,
    reservations: BTreeMap<u64, Reservation>,
    /// The one that the store is asked to save. There is one whenever something waits.
    flight: Option<Save>,
    queue: VecDeque<Save>,
    last_byte_length: u64,
    counted: WriterStatistics,
    pub(super) released: Vec<Work>,
    pub(super) tellings: VecDeque<Telling>,
}

impl WriterState {
    pub(super) fn new(config: WriterConfig) -> Self {
        Self {
            config,
            closed: false,
            next_number: 0,
            reservations: BTreeMap::new(),
            flight: None,
            queue: VecDeque::new(),
            last_byte_length: 0,
            counted: WriterStatistics::default(),
            released: Vec::new(),
            tellings: VecDeque::new(),
        }
    }

    pub(super) fn reserve(
        &mut self,
        kind: SaveKind,
        estimated_bytes: u64,
    ) -> Result<u64, SaveRefusal> {
        let reservation = self.reservation(kind, estimated_bytes);
        let reservation = reservation.inspect_err(|_| self.counted.rejected += 1)?;
        let number = self.next_number();
        self.reservations.insert(number, reservation);
        Ok(number)
    }

    fn reservation(
        &self,
        kind: SaveKind,
        estimated_bytes: u64,
    ) -> Result<Reservation, SaveRefusal> {
        if self.closed {
            return Err(SaveRefusal::Closed);
        }
        let capacity = self.config.queue_capacity;
        let has_slot = self.slots_taken() < capacity;
        let takes_over = if has_slot {
            None
        } else {
            Some(
                self.replaceable(kind)
                    .ok_or(SaveRefusal::Full { capacity })?,
            )
        };
        self.check_budget(estimated_bytes, takes_over)?;
        Ok(Reservation {
            kind,
            takes_over,
            has_slot,
        })
    }

    pub(super) fn give_back(&mut self, reservation: u64) {
        self.reservations.remove(&reservation);
        self.hand_on_slots();
    }

    pub(super) fn submit(
        &mut self,
        reservation: Option<u64>,
        request: SaveRequest,
    ) -> Result<Rc<SaveRecord>, SaveRefusal> {
        let reserved = reservation.and_then(|number| self.reservations.remove(&number));
        self.last_byte_length = request.byte_length();
        let accepted = reserved
            .ok_or(SaveRefusal::ForeignSlot)
            .and_then(|reserved| self.check(&reserved, &request).map(|()| reserved));
        match accepted {
            Ok(reserved) => Ok(self.take_on(&reserved, request)),
            Err(refusal) => {
                self.released.push(Work::Waiting(Box::new(request)));
                self.hand_on_slots();
                self.counted.rejected += 1;
                Err(refusal)
            }
        }
    }

    fn check(&self, reserved: &Reservation, request: &SaveRequest) -> Result<(), SaveRefusal> {
        if self.closed {
            return Err(SaveRefusal::Closed);
        }
        let checkpoint_id = &request.manifest.checkpoint_id;
        if self.outstanding(checkpoint_id).is_some() {
            return Err(SaveRefusal::AlreadyQueued {
                checkpoint_id: checkpoint_id.clone(),
            });
        }
        self.check_budget(request.byte_length(), reserved.takes_over)
    }

    fn take_on(&mut self, reserved: &Reservation, request: SaveRequest) -> Rc<SaveRecord> {
        let manifest = &request.manifest;
        let record = Rc::new(SaveRecord {
            checkpoint_id: manifest.checkpoint_id.clone(),
            boundary: manifest.source_scope.step.get(),
            outcome: None.into(),
        });
        self.supersede(reserved.takes_over, &record.checkpoint_id);
        let save = Save {
            number: self.next_number(),
            kind: reserved.kind,
            byte_length: request.byte_length(),
            record: Rc::clone(&record),
            work: Work::Waiting(Box::new(request)),
        };
        self.tellings.push_back(Telling {
            record: Rc::clone(&record),
            event: WriterEvent::Queued {
                checkpoint_id: record.checkpoint_id.clone(),
                boundary: record.boundary,
                byte_length: save.byte_length,
            },
        });
        self.counted.queued += 1;
        self.queue.push_back(save);
        self.start_next();
        self.hand_on_slots();
        self.counted.peak_queue = self.counted.peak_queue.max(self.saves().count() as u64);
        self.counted.peak_bytes = self.counted.peak_bytes.max(self.held_bytes(None));
        record
    }

    fn supersede(&mut self, number: Option<u64>, by: &Id) {
        let waiting = |save: &Save| Some(save.number) == number;
        let Some(save) = self
            .queue
            .iter()
            .position(waiting)
            .and_then(|index| self.queue.remove(index))
        else {
            return;
        };
        let outcome = SaveOutcome::Superseded {
            checkpoint_id: save.record.checkpoint_id.clone(),
            boundary: save.record.boundary,
            by: by.clone(),
        };
        self.end(save, outcome);
    }

    /// The store's answer to the save under way; nothing, where that ended meanwhile.
    pub(super) fn end_flight(&mut self, number: u64, outcome: SaveOutcome) {
        if let Some(save) = self.flight.take_if(|save| save.number == number) {
            self.end(save, outcome);
            self.hand_on_slots();
            self.start_next();
        }
    }

    /// Ends everything that has not ended: what the store never heard of failed, of the rest it is not known.
    pub(super) fn give_up(&mut self) {
        let mut left: Vec<Save> = self.flight.take().into_iter().collect();
        left.extend(self.queue.drain(..));
        for save in left {
            let checkpoint_id = save.record.checkpoint_id.clone();
            let boundary = save.record.boundary;
            let outcome = if matches!(save.work, Work::Waiting(_)) {
                SaveOutcome::Failed {
                    checkpoint_id,
                    boundary,
                    message: "the writer was closed before the save began".to_owned(),
                }
            } else {
                SaveOutcome::ReplyLost {
                    checkpoint_id,
                    boundary,
                    message: "the writer was closed before the store answered".to_owned(),
                }
            };
            self.end(save, outcome);
        }
        self.hand_on_slots();
    }

    /// The work of the save under way, unless someone has it.
    pub(super) fn take_work(&mut self) -> Option<(u64, Work)> {
        let save = self.flight.as_mut()?;
        match std::mem::replace(&mut save.work, Work::Taken) {
            Work::Taken => None,
            work => Some((save.number, work)),
        }
    }

    /// Back to the save it is of, or, where that ended meanwhile, to be dropped.
    pub(super) fn put_back(&mut self, number: u64, work: Work) {
        match &mut self.flight {
            Some(save) if save.number == number => save.work = work,
            _ => self.released.push(work),
        }
    }

    pub(super) fn has_nothing_to_tell(&self) -> bool {
        self.released.is_empty() && self.tellings.is_empty()
    }

    pub(super) fn outstanding(&self, checkpoint_id: &Id) -> Option<&Rc<SaveRecord>> {
        self.records()
            .find(|record| record.checkpoint_id == *checkpoint_id)
    }

    /// The saves that have not ended, in the order in which they were handed in.
    pub(super) fn records(&self) -> impl Iterator<Item = &Rc<SaveRecord>> {
        self.saves().map(|save| &save.record)
    }

    pub(super) fn estimate(&self) -> u64 {
        self.last_byte_length.min(self.config.queued_bytes_max)
    }

    pub(super) fn statistics(&self) -> WriterStatistics {
        WriterStatistics {
            held_bytes: self.held_bytes(None),
            outstanding: self.slots_taken() as u64,
            ..self.counted
        }
    }

    fn end(&mut self, save: Save, outcome: SaveOutcome) {
        let counter = match &outcome {
            SaveOutcome::Committed { .. } => &mut self.counted.committed,
            SaveOutcome::Superseded { .. } => &mut self.counted.superseded,
            SaveOutcome::Failed { .. } => &mut self.counted.failed,
            SaveOutcome::ReplyLost { .. } | SaveOutcome::DeadlineExpired { .. } => {
                &mut self.counted.reply_lost
            }
        };
        *counter += 1;
        self.released.push(save.work);
        self.tellings.push_back(Telling {
            record: save.record,
            event: WriterEvent::Ended(outcome),
        });
    }

    /// As soon as nothing is under way: a writer that nobody drives must not let the same save be taken over twice.
    fn start_next(&mut self) {
        if self.flight.is_none() {
            self.flight = self.queue.pop_front();
        }
    }

    /// A slot that became free goes to who reserved without one, first to whose save is the next to start: it would
    /// no longer wait.
    fn hand_on_slots(&mut self) {
        while self.slots_taken() < self.config.queue_capacity {
            let without = self.reservations.values_mut().filter(|one| !one.has_slot);
            match without.min_by_key(|one| one.takes_over) {
                Some(reservation) => reservation.has_slot = true,
                None => return,
            }
        }
    }

    /// The oldest waiting save that a capture of this kind may replace and no other one will.
    fn replaceable(&self, kind: SaveKind) -> Option<u64> {
        if kind == SaveKind::Durable {
            return None;
        }
        let taken = |number| {
            let mut reservations = self.reservations.values();
            reservations.any(|one| one.takes_over == Some(number))
        };
        let mut waiting = self.queue.iter();
        waiting
            .find(|save| save.kind == SaveKind::Replaceable && !taken(save.number))
            .map(|save| save.number)
    }

    fn check_budget(&self, asked_bytes: u64, without: Option<u64>) -> Result<(), SaveRefusal> {
        let held_bytes = self.held_bytes(without);
        let limit_bytes = self.config.queued_bytes_max;
        if asked_bytes > limit_bytes.saturating_sub(held_bytes) {
            return Err(SaveRefusal::OverBudget {
                held_bytes,
                asked_bytes,
                limit_bytes,
            });
        }
        Ok(())
    }

    /// The bytes of every save that has not ended, but for one that waits.
    fn held_bytes(&self, without: Option<u64>) -> u64 {
        let waiting = self.queue.iter();
        let waiting = waiting.filter(|save| Some(save.number) != without);
        self.flight
            .iter()
            .chain(waiting)
            .map(|save| save.byte_length)
            .fold(0, u64::saturating_add)
    }

    fn slots_taken(&self) -> usize {
        let reserved = self.reservations.values().filter(|one| one.has_slot);
        reserved.count() + self.saves().count()
    }

    fn saves(&self) -> impl Iterator<Item = &Save> {
        self.flight.iter().chain(&self.queue)
    }

    fn next_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }
}
