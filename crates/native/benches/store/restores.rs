//! The reading of a restore: a generation found, read and verified by every rule, beside one copy of as many bytes.

use std::path::Path;
use std::time::Instant;

use wellwritten_envelope::decode;
use wellwritten_native::StoreThread;
use wellwritten_store::{Selection, StoreConfig};

use crate::checkpoint::{checkpoint, payload};
use crate::measured::{Measured, median};

const ROUNDS: usize = 21;
const BYTES: usize = 64 << 20;

/// What it comes to, in words.
pub async fn measure(folder: &Path) -> String {
    let opened = StoreThread::open(&folder.join("restores"), StoreConfig::default()).await;
    let StoreThread { client, end, .. } = opened.expect("a new store");
    let world = payload(BYTES);
    client
        .save(checkpoint(1, &world))
        .await
        .expect("it is saved");
    let mut measured = Measured::default();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let selected = client
            .select(Selection::default())
            .await
            .expect("it is whole");
        measured.seconds.push(began.elapsed().as_secs_f64());
        let envelope = decode(&selected.bytes).expect("it is verified");
        assert_eq!(envelope.manifest.checkpoint_id.as_str(), "checkpoint-1");
        let began = Instant::now();
        let copied = (*world).as_ref().to_vec();
        measured.floor.push(began.elapsed().as_secs_f64());
        assert_eq!(copied.len(), BYTES);
    }
    drop(client);
    end.wait().await.expect("it ends");
    format!(
        "\nRestoring 64 MiB: choosing, reading and verifying takes {:.1} ms, {:.1} times one copy ({:.1} ms); it reads the \
         file once from the system's cache, and hashes it and each payload",
        median(&measured.seconds) * 1e3,
        measured.of_floor(),
        median(&measured.floor) * 1e3,
    )
}
