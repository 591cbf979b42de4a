//! [`StoreThread`]: a store on a thread of its own, so that nobody who asks it waits for a disk.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use async_trait::async_trait;
use futures::channel::oneshot;
use futures::executor::block_on;
use wellwritten_store::{
    OpenReport, OpenStore, ReadError, Store, StoreClient, StoreConfig, StoreError, StoreGone,
    StoreMedium, StoreReader, StoreReply, StoreRequest, StoreRoute, serve_request,
};

use crate::obituary::Ending;
use crate::{FileMedium, FolderError};

/// What the thread is called, for a debugger and for `ps -T`.
const THREAD_NAME: &str = "store";

/// A store was not opened. Nothing in it changed, and no thread is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// The folder cannot be had.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The store in it does not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It opened, and cannot be looked at.
    #[error(transparent)]
    Looking(#[from] ReadError),
    /// The system gives no thread.
    #[error("there is no thread for the store: {0}")]
    Thread(#[source] io::Error),
    /// Opening it panicked: a mistake in this software.
    #[error("the store's thread {ending} while it opened the store")]
    Panicked {
        /// What it said.
        ending: String,
    },
}

/// A store that is open on a thread of its own.
#[derive(Debug)]
pub struct StoreThread {
    /// The way to it. The thread ends when every clone of it is dropped, after what was asked until then, and then nobody
    /// holds the store's lock.
    pub client: StoreClient,
    /// What opening it found and removed.
    pub report: OpenReport,
    /// When it ends.
    pub end: StoreThreadEnd,
}

impl StoreThread {
    /// Opens the store in a folder to write to it; the folder is made where it is missing.
    pub async fn open(folder: &Path, config: StoreConfig) -> Result<Self, OpenStoreError> {
        let folder = folder.to_owned();
        Self::start(async move || {
            let medium = FileMedium::create(&folder)?;
            let (store, report) = Store::open(medium, config).await?;
            Ok((store.into(), report))
        })
        .await
    }

    /// Opens the store in a folder to look at it, whoever owns it.
    pub async fn open_read_only(folder: &Path) -> Result<Self, OpenStoreError> {
        let folder = folder.to_owned();
        Self::start(async move || {
            let reader = StoreReader::open(FileMedium::open(&folder)?).await?;
            Ok((reader.into(), OpenReport::default()))
        })
        .await
    }

    /// Starts a thread that opens a store, on any medium, and waits until it has. The medium lives and dies there, so it
    /// need not be able to go to another thread.
    pub async fn start<M, F>(
        open: impl FnOnce() -> F + Send + 'static,
    ) -> Result<Self, OpenStoreError>
    where
        M: StoreMedium,
        F: Future<Output = Result<(OpenStore<M>, OpenReport), OpenStoreError>>,
    {
        let (asks, asked) = mpsc::channel();
        let (tell_opened, opened) = oneshot::channel();
        let (tell_end, ended) = oneshot::channel();
        let ending = Arc::<LastWords>::default();
        let words = ending.clone();
        let body = move || {
            let body = AssertUnwindSafe(|| live(open, tell_opened, asked, &words));
            if let Err(panic) = catch_unwind(body) {
                words.say(Ending::of_panic(&*panic).how);
            }
            // Nobody may be waiting for it.
            let _ = tell_end.send(());
        };
        let named = thread::Builder::new().name(THREAD_NAME.to_owned());
        named.spawn(body).map_err(OpenStoreError::Thread)?;
        let Ok(opened) = opened.await else {
            let _ = ended.await;
            return Err(OpenStoreError::Panicked {
                ending: ending.read(),
            });
        };
        let route = ThreadRoute {
            asks,
            ending: ending.clone(),
        };
        Ok(Self {
            report: opened?,
            client: StoreClient::new(Rc::new(route)),
            end: StoreThreadEnd { ended, ending },
        })
    }
}

/// The end of a store's thread, to be waited for.
#[derive(Debug)]
pub struct StoreThreadEnd {
    ended: oneshot::Receiver<()>,
    ending: Arc<LastWords>,
}

impl StoreThreadEnd {
    /// Waits until the thread has let go of the store. It does so when every [`StoreClient`] of it is dropped, or when it
    /// panics, which is an error.
    pub async fn wait(self) -> Result<(), StoreGone> {
        let _ = self.ended.await;
        match self.ending.taken() {
            None => Ok(()),
            Some(how) => Err(gone(&how)),
        }
    }
}

/// What a thread that ended before its time had to say.
#[derive(Debug, Default)]
struct LastWords(Mutex<Option<String>>);

impl LastWords {
    fn say(&self, how: String) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.get_or_insert(how);
    }

    fn taken(&self) -> Option<String> {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.clone()
    }

    fn read(&self) -> String {
        self.taken().unwrap_or_else(|| "ended".to_owned())
    }
}

fn gone(how: &str) -> StoreGone {
    StoreGone {
        reason: format!("its thread {how}"),
    }
}

/// A request, and where its answer goes.
struct Asked {
    request: StoreRequest,
    answer: oneshot::Sender<StoreReply>,
}

/// The way to the thread.
struct ThreadRoute {
    asks: mpsc::Sender<Asked>,
    ending: Arc<LastWords>,
}

#[async_trait(?Send)]
impl StoreRoute for ThreadRoute {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let (answer, answered) = oneshot::channel();
        let is_asked = self.asks.send(Asked { request, answer }).is_ok();
        if is_asked && let Ok(reply) = answered.await {
            return Ok(reply);
        }
        Err(gone(&self.ending.read()))
    }
}

/// The thread's life: opens the store and serves it until nobody can ask any more.
fn live<M, F>(
    open: impl FnOnce() -> F,
    tell_opened: oneshot::Sender<Result<OpenReport, OpenStoreError>>,
    asked: mpsc::Receiver<Asked>,
    words: &LastWords,
) where
    M: StoreMedium,
    F: Future<Output = Result<(OpenStore<M>, OpenReport), OpenStoreError>>,
{
    let mut store = match block_on(open()) {
        Ok((store, report)) => {
            let _ = tell_opened.send(Ok(report));
            store
        }
        Err(error) => {
            let _ = tell_opened.send(Err(error));
            return;
        }
    };
    for Asked { request, answer } in asked {
        let serving = AssertUnwindSafe(|| block_on(serve_request(&mut store, request)));
        match catch_unwind(serving) {
            // Who asked may have stopped waiting.
            Ok(reply) => drop(answer.send(reply)),
            Err(panic) => {
                // Before whoever asked hears that there is no answer. What waits is not served: nobody knows what state a
                // panic has left.
                words.say(Ending::of_panic(&*panic).how);
                return;
            }
        }
    }
}
