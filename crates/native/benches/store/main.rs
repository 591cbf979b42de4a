//! What a checkpoint costs on a file system: commits of 1, 16 and 64 MiB beside the bare file operations of the same bytes, steps of a session
//! beside a save in flight, and a restore's reading beside one copy. Everything is measured in turns with its floor, in one run.
//!
//! The floor of a commit is what a commit cannot do without, with the same bytes, the same names and the same files there before:
//! create `~generation` and write the envelope, `fsync` it, rename it, `fsync` the folder; create `~manifest` and write the list, `fsync` it,
//! rename it, `fsync` the folder; unlink the generation that rotates out. A commit does that, encodes and hashes the
//! checkpoint, reads both files back and compares them.
//!
//! The folder is made in the current one, not in `/tmp`, which may be memory: an `fsync` there is nothing.

mod bare_commit;
mod checkpoint;
mod commits;
mod measured;
mod restores;
mod steps;

use std::process::ExitCode;

use futures::executor::block_on;

fn main() -> ExitCode {
    let folder = tempfile::Builder::new()
        .prefix("bench-store-")
        .tempdir_in(".")
        .expect("the current folder can be written to");
    println!(
        "A store in {}; everything in turns with its floor",
        folder.path().display()
    );
    let committed = block_on(commits::measure(folder.path()));
    let restored = block_on(restores::measure(folder.path()));
    let stepped = steps::measure(folder.path());
    println!("{restored}");
    ExitCode::from(u8::from(!(committed && stepped)))
}
