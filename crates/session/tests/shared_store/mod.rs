//! A store that a test looks into, holds up and cuts off while a session uses it.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use async_trait::async_trait;
use futures::executor::block_on;
use futures::lock::{MappedMutexGuard, Mutex, MutexGuard};
use wellwritten_store::testing::SimulatedMedium;
use wellwritten_store::{
    OpenStore, Store, StoreClient, StoreConfig, StoreGone, StoreReply, StoreRequest, StoreRoute,
    serve_request,
};

type Simulated = Store<SimulatedMedium>;

/// A store on a simulated medium, and the way to it.
pub struct SharedStore {
    store: Mutex<OpenStore<SimulatedMedium>>,
    /// Whoever holds it keeps every save from reaching the store.
    pub gate: Mutex<()>,
    /// How many turns others get before and after each request is served.
    pub turns: Cell<usize>,
    /// The next save's answer gets lost.
    pub loses_reply: Cell<bool>,
}

impl SharedStore {
    pub fn open(medium: &SimulatedMedium, config: StoreConfig) -> Rc<Self> {
        let (store, _) = block_on(Store::open(medium.clone(), config)).unwrap();
        Rc::new(Self {
            store: Mutex::new(store.into()),
            gate: Mutex::new(()),
            turns: Cell::new(0),
            loses_reply: Cell::new(false),
        })
    }

    pub fn client(self: &Rc<Self>) -> StoreClient {
        StoreClient::new(Rc::new(Shared(self.clone())))
    }

    pub async fn lock(&self) -> MappedMutexGuard<'_, OpenStore<SimulatedMedium>, Simulated> {
        let store = self.store.lock().await;
        MutexGuard::map(store, |store| store.owned().expect("it is owned"))
    }
}

struct Shared(Rc<SharedStore>);

#[async_trait(?Send)]
impl StoreRoute for Shared {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let shared = &self.0;
        let is_save = matches!(request, StoreRequest::Save(_));
        turns_pass(shared.turns.get()).await;
        if is_save {
            drop(shared.gate.lock().await);
        }
        let reply = serve_request(&mut *shared.store.lock().await, request).await;
        turns_pass(shared.turns.get()).await;
        if is_save && shared.loses_reply.take() {
            let reason = "its answer got lost".to_owned();
            return Err(StoreGone { reason });
        }
        Ok(reply)
    }
}

async fn turns_pass(mut turns: usize) {
    poll_fn(|context| {
        if turns == 0 {
            return Poll::Ready(());
        }
        turns -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
