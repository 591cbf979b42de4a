//! [`BackgroundSync`]: a disk that works while the processor does something else.

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::sync::mpsc;
use std::thread;

use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::Shared;
use rustix::fs::fsync;
use rustix::io::Errno;

/// What the thread is called, for a debugger and for `ps -T`.
const THREAD_NAME: &str = "store-sync";

/// What became of a sync; ready when it has ended. Cancelled where the thread is gone.
pub(super) type Syncing = Shared<oneshot::Receiver<Result<(), Errno>>>;

#[derive(Debug)]
struct Asked {
    file: File,
    answer: oneshot::Sender<Result<(), Errno>>,
}

/// A thread that syncs files, made when the first is to be synced. It ends when this is dropped.
#[derive(Debug, Default)]
pub(super) struct BackgroundSync {
    asks: OnceCell<mpsc::Sender<Asked>>,
}

impl BackgroundSync {
    /// Has a file synced. Refused where the system gives no thread or no descriptor.
    pub(super) fn begin(&self, file: &File) -> io::Result<Syncing> {
        // The same open file, so that an error of writing back is reported here as it would be there.
        let file = file.try_clone()?;
        let asks = match self.asks.get() {
            Some(asks) => asks,
            None => self.asks.get_or_init(|| start().unwrap_or_else(nobody)),
        };
        let (answer, syncing) = oneshot::channel();
        asks.send(Asked { file, answer })
            .map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(syncing.shared())
    }
}

fn start() -> io::Result<mpsc::Sender<Asked>> {
    let (asks, asked) = mpsc::channel::<Asked>();
    let named = thread::Builder::new().name(THREAD_NAME.to_owned());
    named.spawn(move || {
        for Asked { file, answer } in asked {
            // Who asked may not wait for it any more.
            let _ = answer.send(fsync(&file));
        }
    })?;
    Ok(asks)
}

/// A way to a thread that there is not.
fn nobody(_: io::Error) -> mpsc::Sender<Asked> {
    mpsc::channel().0
}
