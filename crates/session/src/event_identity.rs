//! Names of events: derived, so that a resumed run gives the same ones ([`EventIdentity`], [`EventLedger`]).

use std::collections::{BTreeMap, VecDeque};

use wellwritten_envelope::{Digest, Id};

use crate::MAX_TRACE_RECORDS;

/// What an event's name is derived from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventIdentity {
    /// The boundary it belongs to: `k + 1` for transition `k`, 0 for the bootstrap.
    pub source_step: u64,
    /// The rule that made it.
    pub rule: Id,
    /// Which event of its transition it is, from 0.
    pub ordinal: u32,
}

impl EventIdentity {
    /// The event's name under an epoch: `ev-` and the first 16 hexadecimal digits of the SHA-256 of epoch,
    /// source step, rule and ordinal, a line each.
    #[must_use]
    pub fn id(&self, epoch: &Id) -> Id {
        let material = format!(
            "{epoch}\n{}\n{}\n{}\n",
            self.source_step, self.rule, self.ordinal
        );
        let digest = Digest::sha256(material.as_bytes()).to_string();
        Id::parse(&format!("ev-{}", &digest[..16]))
            .expect("hexadecimal digits after a prefix are an id")
    }
}

/// How far the events of a session have come; the same over every epoch of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventWatermark {
    /// Events issued so far.
    pub issued: u64,
    /// The boundary of the last one, 0 where there is none.
    pub last_source_step: u64,
}

/// Every event a task issued that a trace may still hold, so that names can be carried from epoch to epoch.
///
/// Bounded: events of more than [`MAX_TRACE_RECORDS`] boundaries ago are forgotten, as their trace records are.
#[derive(Clone, Debug)]
pub struct EventLedger {
    epoch: Id,
    issued: VecDeque<(Id, EventIdentity)>,
    next_ordinal: (u64, u32),
    watermark: EventWatermark,
}

impl EventLedger {
    /// A ledger that has issued nothing.
    #[must_use]
    pub const fn new(epoch: Id) -> Self {
        Self {
            epoch,
            issued: VecDeque::new(),
            next_ordinal: (0, 0),
            watermark: EventWatermark {
                issued: 0,
                last_source_step: 0,
            },
        }
    }

    /// The same history, going on under a new epoch from boundary `step`, up to which the events are counted by
    /// `watermark`: what was issued beyond it is dropped.
    #[must_use]
    pub fn restored(&self, epoch: Id, step: u64, watermark: EventWatermark) -> Self {
        let mut issued = self.issued.clone();
        issued.retain(|(_, event)| event.source_step <= step);
        Self {
            epoch,
            issued,
            next_ordinal: (step, 0),
            watermark,
        }
    }

    /// Names the next event of the transition that ends at `source_step`.
    pub fn issue(&mut self, source_step: u64, rule: &Id) -> Id {
        if self.next_ordinal.0 != source_step {
            self.next_ordinal = (source_step, 0);
        }
        let event = EventIdentity {
            source_step,
            rule: rule.clone(),
            ordinal: self.next_ordinal.1,
        };
        self.next_ordinal.1 += 1;
        self.watermark.issued += 1;
        self.watermark.last_source_step = source_step;
        let id = event.id(&self.epoch);
        let oldest = source_step.saturating_sub(MAX_TRACE_RECORDS as u64);
        while self
            .issued
            .front()
            .is_some_and(|(_, event)| event.source_step < oldest)
        {
            self.issued.pop_front();
        }
        self.issued.push_back((id.clone(), event));
        id
    }

    /// Every remembered name, and the name the same event has under `to_epoch`.
    #[must_use]
    pub fn rebase_ids(&self, to_epoch: &Id) -> BTreeMap<Id, Id> {
        let mut ids = BTreeMap::new();
        for (id, event) in &self.issued {
            ids.insert(id.clone(), event.id(to_epoch));
        }
        ids
    }

    /// How many events were issued, and the boundary of the last.
    #[must_use]
    pub const fn watermark(&self) -> EventWatermark {
        self.watermark
    }

    /// The epoch names are issued under.
    #[must_use]
    pub const fn epoch(&self) -> &Id {
        &self.epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vectors() {
        let vectors = [
            ("e1", 0, "bootstrap", 0, "ev-3acdcc6ad920b7cd"),
            ("e1", 1, "counter-delta", 0, "ev-174c85c5394d5381"),
            ("e1", 1, "counter-delta", 1, "ev-25786b172a07e212"),
            ("e2", 1, "counter-delta", 0, "ev-2f87dee3814e0ffb"),
            ("e1", 5, "milestone", 1, "ev-851efca37f2e273d"),
        ];
        for (epoch, source_step, rule, ordinal, expected) in vectors {
            let event = EventIdentity {
                source_step,
                rule: Id::parse(rule).unwrap(),
                ordinal,
            };
            assert_eq!(event.id(&Id::parse(epoch).unwrap()).as_str(), expected);
        }
    }

    #[test]
    fn a_restored_ledger_keeps_the_past_and_drops_the_abandoned_future() {
        let rule = Id::parse("counter-delta").unwrap();
        let (e1, e2) = (Id::parse("e1").unwrap(), Id::parse("e2").unwrap());
        let mut ledger = EventLedger::new(e1);
        let kept = ledger.issue(1, &rule);
        let watermark = ledger.watermark();
        let dropped = ledger.issue(2, &rule);
        let mut ledger = ledger.restored(e2.clone(), 1, watermark);
        let again = ledger.issue(2, &rule);
        let (issued, last_source_step) = (2, 2);
        let expected = EventWatermark {
            issued,
            last_source_step,
        };
        assert_eq!(ledger.watermark(), expected);
        let map = ledger.rebase_ids(&e2);
        assert_eq!(map.get(&again), Some(&again));
        assert_eq!(map.get(&kept).map(Id::as_str), Some("ev-2f87dee3814e0ffb"));
        assert!(!map.contains_key(&dropped));
    }
}
