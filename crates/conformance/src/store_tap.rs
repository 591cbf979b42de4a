//! [`StoreTap`]: everything that a session asks of its store, and what is done to it on the way.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Poll, Waker};

use async_trait::async_trait;
use futures::lock::Mutex;
use wellwritten_store::testing::SimulatedMedium;
use wellwritten_store::{
    OpenStore, Store, StoreClient, StoreConfig, StoreGone, StoreReply, StoreRequest, StoreRoute,
    serve_request,
};

use crate::ScenarioFailure;

/// What becomes of one save, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaveMishap {
    /// The store does it, and nobody hears of that.
    LoseReply,
    /// The store does it, and panics before it says so.
    PanicAfter,
    /// The store panics before it does anything.
    PanicBefore,
    /// The store's owner ends before it does anything, and stays away.
    End,
}

/// A store on a simulated medium, reached by a route on which everything is heard and some things are tampered with. Plays
/// that share one share the store, so that a second coordinator comes up over what the first one left.
pub(crate) struct StoreTap {
    pub medium: SimulatedMedium,
    store: Mutex<OpenStore<SimulatedMedium>>,
    is_shut: Cell<bool>,
    has_ended: Cell<bool>,
    mishaps: RefCell<VecDeque<SaveMishap>>,
    asked: RefCell<Vec<String>>,
    /// Who waits for the gate.
    waiting: RefCell<Vec<Waker>>,
}

impl StoreTap {
    /// A store on an empty medium.
    pub(crate) async fn new() -> Result<Rc<Self>, ScenarioFailure> {
        Self::over(SimulatedMedium::new()).await
    }

    /// The store on a medium.
    pub(crate) async fn over(medium: SimulatedMedium) -> Result<Rc<Self>, ScenarioFailure> {
        let opened = Store::open(medium.clone(), StoreConfig::default()).await;
        let (store, _) =
            opened.map_err(|error| ScenarioFailure::new("a store to open", error.to_string()))?;
        Ok(Rc::new(Self {
            medium,
            store: Mutex::new(store.into()),
            is_shut: Cell::new(false),
            has_ended: Cell::new(false),
            mishaps: RefCell::default(),
            asked: RefCell::default(),
            waiting: RefCell::default(),
        }))
    }

    /// What a machine that lost its power finds on the medium, if nothing is lost but what runs.
    pub(crate) async fn after_kill(&self) -> Result<Rc<Self>, ScenarioFailure> {
        Self::over(SimulatedMedium::after_kill(&self.medium.snapshot())).await
    }

    /// The store for whoever looks at it from outside of a session.
    pub(crate) fn client(self: &Rc<Self>) -> StoreClient {
        StoreClient::new(self.clone())
    }

    /// From now on a save takes until the gate is opened, and so does whatever is asked after it.
    pub(crate) fn shut_gate(&self) {
        self.is_shut.set(true);
    }

    pub(crate) fn open_gate(&self) {
        self.is_shut.set(false);
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Plans what becomes of the next save of which nothing is planned yet.
    pub(crate) fn plan(&self, mishap: SaveMishap) {
        self.mishaps.borrow_mut().push_back(mishap);
    }

    /// How often an operation was asked for.
    pub(crate) fn times_asked(&self, operation: &str) -> usize {
        let asked = self.asked.borrow();
        asked.iter().filter(|it| *it == operation).count()
    }

    async fn gate(&self) {
        std::future::poll_fn(|context| {
            if !self.is_shut.get() {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn gone() -> StoreGone {
        StoreGone {
            reason: "its owner ended".to_owned(),
        }
    }
}

#[async_trait(?Send)]
impl StoreRoute for StoreTap {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        self.asked.borrow_mut().push(format!("{request:?}"));
        let is_save = matches!(request, StoreRequest::Save(_));
        // An owner does one thing after the other: whoever comes after a save that takes long waits for it.
        let mut store = self.store.lock().await;
        if is_save {
            self.gate().await;
        }
        let mishap = is_save
            .then(|| self.mishaps.borrow_mut().pop_front())
            .flatten();
        if mishap == Some(SaveMishap::End) {
            self.has_ended.set(true);
        }
        if self.has_ended.get() {
            return Err(Self::gone());
        }
        assert!(
            mishap != Some(SaveMishap::PanicBefore),
            "a planned panic of a save"
        );
        let reply = serve_request(&mut store, request).await;
        match mishap {
            Some(SaveMishap::PanicAfter) => panic!("a planned panic of a save"),
            Some(SaveMishap::LoseReply) => Err(Self::gone()),
            _ => Ok(reply),
        }
    }
}
