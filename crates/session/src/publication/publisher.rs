//! [`Publisher`]: what stands published, and everyone who is to hear of the next.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use wellwritten_envelope::{Id, U64};

use crate::publication::mailbox::Mailbox;
use crate::{
    CommittedBoundary, CommittedSnapshot, GateVerdict, PublicationCounts, PublicationGate,
    PublicationOutcome, PublishedEvent, QueryError, SessionDescriptor, SubscribeError,
    SubscribeOptions, Subscription, check_coherence,
};

/// Revisions of the descriptor that are kept.
const MAX_DESCRIPTORS: usize = 16;

/// What a snapshot is stamped with.
pub(crate) struct Stamp {
    pub descriptor_revision: U64,
    pub publisher_incarnation: Id,
    pub sequence: U64,
}

/// What stands published, and everyone who is to hear of the next. Nothing in it grows with the number of boundaries.
#[derive(Default)]
pub(crate) struct Publisher {
    state: RefCell<PublisherState>,
}

#[derive(Default)]
struct PublisherState {
    incarnation: Option<Id>,
    descriptors: VecDeque<Rc<SessionDescriptor>>,
    latest: Option<Rc<CommittedSnapshot>>,
    counts: PublicationCounts,
    mailboxes: Vec<Weak<Mailbox>>,
    gate: Option<Rc<dyn PublicationGate>>,
}

impl Publisher {
    pub(crate) fn set_gate(&self, gate: Option<Rc<dyn PublicationGate>>) {
        self.state.borrow_mut().gate = gate;
    }

    /// Publishes what the session is made of. Its revision is the publisher's to give: the last one where nothing else
    /// changed, one more otherwise. A revision, once published, never says anything else.
    pub(crate) fn describe(&self, epoch: &Id, mut descriptor: SessionDescriptor) {
        let mut state = self.state.borrow_mut();
        state.incarnation.get_or_insert_with(|| {
            Id::parse(&format!("publisher-{epoch}")).expect("an epoch's name is short enough")
        });
        let last = state.descriptors.back();
        if last.is_some_and(|last| last.says_the_same_as(&descriptor)) {
            return;
        }
        descriptor.revision = U64(last.map_or(0, |last| last.revision.0) + 1);
        if state.descriptors.len() == MAX_DESCRIPTORS {
            state.descriptors.pop_front();
        }
        state.descriptors.push_back(Rc::new(descriptor));
    }

    /// What the next snapshot is to be stamped with; nothing before the session was described.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let state = self.state.borrow();
        Some(Stamp {
            descriptor_revision: state.descriptors.back()?.revision,
            publisher_incarnation: state.incarnation.clone()?,
            sequence: U64(state.counts.accepted + 1),
        })
    }

    /// Which life of the publisher this is, once it has begun.
    pub(crate) fn incarnation(&self) -> Option<Id> {
        self.state.borrow().incarnation.clone()
    }

    /// Offers a snapshot to everyone. See [`PublicationOutcome`].
    pub(crate) fn publish(
        &self,
        snapshot: CommittedSnapshot,
        committed: &CommittedBoundary,
    ) -> PublicationOutcome {
        let (descriptor, gate) = {
            let state = self.state.borrow();
            (state.descriptors.back().cloned(), state.gate.clone())
        };
        let Some(descriptor) = descriptor else {
            return self.fault("the session was not described".to_owned());
        };
        if let Err(incoherent) = check_coherence(&snapshot, &descriptor, committed) {
            return self.fault(format!("{}: {incoherent}", incoherent.code()));
        }
        match gate.map_or(GateVerdict::Accept, |gate| gate.admit(&snapshot)) {
            GateVerdict::Accept => self.accept(&Rc::new(snapshot)),
            GateVerdict::Refuse => {
                self.state.borrow_mut().counts.refused += 1;
                PublicationOutcome::RefusedByObserver
            }
            GateVerdict::Fault(reason) => self.fault(reason),
        }
    }

    fn accept(&self, snapshot: &Rc<CommittedSnapshot>) -> PublicationOutcome {
        let mut state = self.state.borrow_mut();
        state.counts.accepted += 1;
        state.latest = Some(snapshot.clone());
        drop(state);
        let mut replaced = 0;
        for mailbox in self.mailboxes() {
            replaced += u32::from(mailbox.put_snapshot(snapshot));
        }
        PublicationOutcome::Accepted {
            sequence: snapshot.sequence,
            replaced,
        }
    }

    /// Counts a publication that could not be made.
    pub(crate) fn fault(&self, reason: String) -> PublicationOutcome {
        let mut state = self.state.borrow_mut();
        state.counts.faulted += 1;
        state.counts.last_fault = Some(reason.clone());
        PublicationOutcome::Faulted { reason }
    }

    /// Tells an event to those who want such events.
    pub(crate) fn tell(&self, event: &PublishedEvent) {
        for mailbox in self.mailboxes() {
            if mailbox.wants(event) {
                mailbox.put_event(event.clone());
            }
        }
    }

    /// Whether anyone would hear an event.
    pub(crate) fn has_listeners(&self) -> bool {
        !self.state.borrow().mailboxes.is_empty()
    }

    /// The epoch failed or was left: what it showed does not stand any more, and its bytes are let go.
    pub(crate) fn fence(&self) {
        self.state.borrow_mut().latest = None;
    }

    pub(crate) fn counts(&self) -> PublicationCounts {
        let state = self.state.borrow();
        let live = state.mailboxes.iter().filter(|it| it.strong_count() > 0);
        PublicationCounts {
            subscriptions: live.map(|_| 1).sum(),
            ..state.counts.clone()
        }
    }

    pub(crate) fn subscribe(
        &self,
        options: SubscribeOptions,
    ) -> Result<Subscription, SubscribeError> {
        let mut state = self.state.borrow_mut();
        state.mailboxes.retain(|it| it.strong_count() > 0);
        if state.mailboxes.len() == Subscription::MAX_SUBSCRIPTIONS {
            return Err(SubscribeError::TooMany {
                limit: Subscription::MAX_SUBSCRIPTIONS,
            });
        }
        let mailbox = Rc::new(Mailbox::new(options));
        if let Some(latest) = &state.latest {
            mailbox.put_snapshot(latest);
        }
        state.mailboxes.push(Rc::downgrade(&mailbox));
        Ok(Subscription::new(mailbox))
    }

    pub(crate) fn descriptor(
        &self,
        revision: Option<u64>,
    ) -> Result<Rc<SessionDescriptor>, QueryError> {
        let state = self.state.borrow();
        let (Some(oldest), Some(last)) = (state.descriptors.front(), state.descriptors.back())
        else {
            return Err(QueryError::NothingPublished);
        };
        let Some(asked) = revision else {
            return Ok(last.clone());
        };
        let found = state.descriptors.iter().find(|it| it.revision.0 == asked);
        found
            .cloned()
            .ok_or(if (1..oldest.revision.0).contains(&asked) {
                QueryError::ForgottenRevision {
                    asked,
                    oldest: oldest.revision.0,
                }
            } else {
                QueryError::UnknownRevision {
                    asked,
                    last: last.revision.0,
                }
            })
    }

    pub(crate) fn snapshot(&self) -> Result<Rc<CommittedSnapshot>, QueryError> {
        let latest = self.state.borrow().latest.clone();
        latest.ok_or(QueryError::NothingPublished)
    }

    /// Every mailbox someone still reads, owned for as long as it takes to fill them: waking its reader may do anything.
    fn mailboxes(&self) -> Vec<Rc<Mailbox>> {
        let mut state = self.state.borrow_mut();
        state.mailboxes.retain(|it| it.strong_count() > 0);
        state.mailboxes.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        for mailbox in self.mailboxes() {
            mailbox.end();
        }
    }
}
