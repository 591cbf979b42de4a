//! Commits, each in turns with the bare file operations of the same bytes.

use std::fs;
use std::path::Path;
use std::time::Instant;

use wellwritten_native::StoreThread;
use wellwritten_store::StoreConfig;

use crate::bare_commit::BareCommits;
use crate::checkpoint::{checkpoint, name, payload};
use crate::measured::{Measured, median, verdict};

/// How many times the bare operations a commit may take.
const GOAL: f64 = 1.2;
/// Rounds of a case.
const ROUNDS: u64 = 21;
const MIB: usize = 1 << 20;
const KEEP: u64 = 3;

/// Whether every goal is met.
pub async fn measure(folder: &Path) -> bool {
    println!("\nCommits, through the store's thread; medians of {ROUNDS} rounds");
    println!(
        "bare: write, fsync, rename, fsync of the folder, for the envelope and for the list, and the unlink"
    );
    println!("of the oldest; a commit also encodes, hashes, reads back and compares");
    println!("goal: a commit takes {GOAL} times the bare operations at most\n");
    println!("    MiB  commit ms  bare ms  of bare  goal");
    let mut met = true;
    for mebibytes in [1, 16, 64] {
        let measured = measure_one(folder, mebibytes).await;
        let of_floor = measured.of_floor();
        met &= of_floor <= GOAL;
        println!(
            "  {mebibytes:>5}{:>11.2}{:>9.2}{of_floor:>8.2}x  {}",
            median(&measured.seconds) * 1e3,
            median(&measured.floor) * 1e3,
            verdict(of_floor <= GOAL)
        );
    }
    met
}

async fn measure_one(folder: &Path, mebibytes: usize) -> Measured {
    let store = folder.join(format!("commits-{mebibytes}"));
    let config = StoreConfig {
        keep_generations: usize::try_from(KEEP).expect("it is small"),
    };
    let StoreThread { client, end, .. } = StoreThread::open(&store, config)
        .await
        .expect("a new store");
    let bare = BareCommits::new(folder.join(format!("bare-{mebibytes}")), KEEP).expect("a folder");
    let world = payload(mebibytes * MIB);
    let mut measured = Measured::default();
    for number in 0..ROUNDS + KEEP {
        let request = checkpoint(number, &world);
        let began = Instant::now();
        client.save(request).await.expect("it is saved");
        let seconds = began.elapsed().as_secs_f64();
        // The same bytes, in memory.
        let envelope =
            fs::read(store.join(format!("{}.flysess", name(number)))).expect("it is there");
        let manifest = fs::read(store.join("manifest.json")).expect("it is there");
        let began = Instant::now();
        bare.commit(number, &envelope, &manifest)
            .expect("there is room");
        let floor = began.elapsed().as_secs_f64();
        // The first few rotate nothing out, and make the store.
        if number >= KEEP {
            measured.seconds.push(seconds);
            measured.floor.push(floor);
        }
    }
    drop(client);
    end.wait().await.expect("it ends");
    measured
}
