//! Our books against those of `cubecl-server` from `CubeCL`, the best that we know of: one process, one
//! allocator, the same optimization, one batch of each in turn, the order turned round every round.
//!
//! What is required: the whole cycle of a launch that succeeds takes at most half of the peer's time for
//! 1, 2 and 4 written buffers, and allocates nothing. Shown besides: the same against the peer's bare
//! claim and release, with no binding resolved and no scope around it, which is the harder comparison
//! (ours is still the whole cycle); launches that read, fail or are skipped; and allocations with many
//! stale ranges. `npm run bench:memory -- --peer` runs it.

#[path = "../../../crates/memory/benches/memory/counting_allocator.rs"]
mod counting_allocator;
#[path = "../../../crates/memory/benches/memory/cycles.rs"]
mod cycles;
#[path = "../../../crates/memory/benches/memory/goals.rs"]
mod goals;
#[path = "../../../crates/memory/benches/memory/in_turn.rs"]
mod in_turn;
#[path = "../../../crates/memory/benches/memory/machine.rs"]
mod machine;
#[path = "../../../crates/memory/benches/memory/rounds.rs"]
mod rounds;
#[path = "../../../crates/memory/benches/memory/tiles.rs"]
mod tiles;

mod device;
mod peer_tiles;
mod raw_cycle;

use counting_allocator::CountingAllocator;
use cubecl_server::id::KernelId;
use cubecl_server::memory_management::MemoryConfiguration as PeerConfiguration;
use cycles::Books;
use device::Device;
use goals::Goals;
use in_turn::in_turn;
use peer_tiles::PeerTiles;
use raw_cycle::RawCycle;
use rounds::{Subject, Timing, interleave};
use std::hint::black_box;
use std::process::ExitCode;
use tiles::Tiles;
use wellwritten_memory::{MemoryConfiguration, SubmissionId};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const ROUNDS: u32 = 201;
const BUFFER_BYTES: u64 = 4096;
/// The goal: our successful cycle takes at most this share of the peer's.
const SHARE: f64 = 0.5;

fn main() -> ExitCode {
    let [ours, theirs] = ["wellwritten-memory", "cubecl-server"].map(version);
    println!("ours       wellwritten-memory {ours}\npeer       cubecl-server {theirs}");
    println!("{}", machine::machine());
    println!("{ROUNDS} rounds in turns, at least 0.5 ms of each; ns per cycle as min / median;");
    println!("ratio: the median over the rounds of ours / peer; allocations per cycle, warm");
    let mut goals = Goals::default();
    whole_scopes(&mut goals);
    bindings_alone();
    against_the_raw_cycle();
    late_settlement();
    other_endings();
    many_ranges();
    goals.conclude()
}

/// The version of a package in the lock file this was built by.
fn version(package: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let entry = format!("name = \"{package}\"\nversion = \"");
    lock.split_once(entry.as_str())
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("unknown", |(version, _)| version)
}

fn head(what: &str) {
    println!("\n{what}");
    println!(
        "{:<40}{:>19}{:>19}{:>8}{:>14}",
        "", "ours", "peer", "ratio", "allocations"
    );
}

fn row(what: &str, [ours, theirs]: &[Timing; 2]) {
    let times = |timing: &Timing| format!("{:.1} / {:.1}", timing.min(), timing.median());
    let allocations = [ours, theirs].map(Timing::allocations_per_cycle);
    println!(
        "  {what:<38}{:>19}{:>19}{:>8.2}{:>14}",
        times(ours),
        times(theirs),
        ours.ratio_to(theirs),
        format!("{:.2} / {:.2}", allocations[0], allocations[1])
    );
}

/// What is required: whole scope against whole scope, in both layouts.
fn whole_scopes(goals: &mut Goals) {
    head("a launch that succeeds, whole scope: write set filled, entered, left clean");
    let layouts = [
        (
            "exclusive pages",
            MemoryConfiguration::ExclusivePages,
            PeerConfiguration::ExclusivePages,
        ),
        (
            "shared pages",
            MemoryConfiguration::SubSlices,
            PeerConfiguration::Adaptive,
        ),
    ];
    for (layout, ours, theirs) in layouts {
        for count in [1, 2, 4] {
            let mut books = Books::new(ours.clone());
            let (_ours, writes) = books.buffers(count, BUFFER_BYTES);
            let mut device = Device::new(theirs.clone());
            let (_theirs, peer_writes) = device.buffers(count, BUFFER_BYTES);
            let timings = interleave(
                [
                    Subject::each(|| books.succeed(&writes)),
                    Subject::each(|| device.succeed(&peer_writes)),
                ],
                ROUNDS,
            );
            books.assert_clean();
            device.assert_clean();
            let what = format!("writing {count}, {layout}");
            row(&what, &timings);
            let [timing, peer] = &timings;
            goals.no_allocation(&what, timing.allocations, timing.counted_cycles);
            goals.at_most(
                &format!("{what}, as a share of the peer's time"),
                timing.ratio_to(peer),
                SHARE,
            );
        }
    }
}

/// How much of that is the cloning of bindings: the peer's keep their buffer alive by an atomic count,
/// because they go between threads; ours stay on one and do not keep it alive.
fn bindings_alone() {
    head("of which: each binding cloned and dropped (the peer's counts are atomic; not a goal)");
    for count in [1, 2, 4] {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let (_ours, writes) = books.buffers(count, BUFFER_BYTES);
        let mut device = Device::new(PeerConfiguration::ExclusivePages);
        let (_theirs, peer_writes) = device.buffers(count, BUFFER_BYTES);
        let timings = interleave(
            [
                Subject::each(|| clone_each(&writes)),
                Subject::each(|| clone_each(&peer_writes)),
            ],
            ROUNDS,
        );
        row(&format!("writing {count}"), &timings);
    }
}

fn clone_each<T: Clone>(items: &[T]) {
    for item in black_box(items) {
        black_box(item.clone());
    }
}

/// The harder comparison: our whole scope against the peer's claims alone.
fn against_the_raw_cycle() {
    head("our whole scope against the peer's bare claim and release (harder; not a goal)");
    for count in [1, 2, 4] {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let (_ours, writes) = books.buffers(count, BUFFER_BYTES);
        let mut raw = RawCycle::new(count, BUFFER_BYTES);
        let timings = interleave(
            [
                Subject::each(|| books.succeed(&writes)),
                Subject::each(|| raw.succeed()),
            ],
            ROUNDS,
        );
        raw.assert_clean();
        row(&format!("writing {count}"), &timings);
    }
}

/// Our launch whose outcome comes late, from write set to settlement, against the peer's clean one: the
/// peer has no such thing, and trusts the bytes as soon as the work is enqueued.
fn late_settlement() {
    head("ours pending on a submission that then settles, the peer's left clean (not a goal)");
    for count in [1, 2, 4] {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let (_ours, writes) = books.buffers(count, BUFFER_BYTES);
        let mut device = Device::new(PeerConfiguration::ExclusivePages);
        let (_theirs, peer_writes) = device.buffers(count, BUFFER_BYTES);
        let mut submission = 0;
        let late = || {
            submission += 1;
            books.submit(SubmissionId(submission), &[], &writes);
            books.settle(SubmissionId(submission));
        };
        let timings = interleave(
            [
                Subject::each(late),
                Subject::each(|| device.succeed(&peer_writes)),
            ],
            ROUNDS,
        );
        books.assert_clean();
        row(&format!("writing {count}"), &timings);
    }
}

/// Launches that read, fail, or are skipped.
fn other_endings() {
    head("other endings, whole scope");
    let kernel = KernelId::new::<Books>();
    for count in [1, 2, 4] {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let (_ours, mut writes) = books.buffers(count + 1, BUFFER_BYTES);
        let reads = writes.split_off(count);
        let mut device = Device::new(PeerConfiguration::ExclusivePages);
        let (_theirs, mut peer_writes) = device.buffers(count + 1, BUFFER_BYTES);
        let peer_reads = peer_writes.split_off(count);
        let timings = interleave(
            [
                Subject::each(|| books.launch(&reads, &writes)),
                Subject::each(|| device.launch(&kernel, &peer_reads, &peer_writes)),
            ],
            ROUNDS,
        );
        row(&format!("succeeds, reading 1, writing {count}"), &timings);
        let timings = interleave(
            [
                Subject::each(|| books.fail(&writes)),
                Subject::each(|| device.fail(&peer_writes)),
            ],
            ROUNDS,
        );
        row(&format!("fails, writing {count}"), &timings);
        books.fail(&reads);
        device.fail(&peer_reads);
        let timings = interleave(
            [
                Subject::each(|| books.skip(&reads, &writes)),
                Subject::each(|| device.skip(&kernel, &peer_reads, &peer_writes)),
            ],
            ROUNDS,
        );
        row(&format!("is skipped, reading 1, writing {count}"), &timings);
    }
}

/// One allocation with many stale ranges. The peer walks a list, so it stops at 10^4 and gets few rounds.
fn many_ranges() {
    head("one allocation with many stale ranges");
    for (power, count, rounds) in [(0, 1, ROUNDS), (2, 100, ROUNDS), (4, 10_000, 21)] {
        let mut tiles = Tiles::new(count);
        let mut peer = PeerTiles::new(count);
        for (what, ours, theirs) in [
            ("trusted", &tiles.trusted, &peer.trusted),
            ("stale", &tiles.stale, &peer.stale),
        ] {
            let (mut ours, mut theirs) = (in_turn(ours), in_turn(theirs));
            let timings = interleave(
                [
                    Subject::each(|| tiles.books.look_up(ours())),
                    Subject::each(|| peer.device.look_up(theirs())),
                ],
                rounds,
            );
            row(&format!("10^{power}  lookup, {what} bytes"), &timings);
        }
        for (what, releases) in [
            ("claim (a launch fails)", false),
            ("release (one succeeds)", true),
        ] {
            let phase = |(claims, released)| if releases { released } else { claims };
            let timings = interleave(
                [
                    Subject::batched(|cycles| phase(tiles.claim_and_release(cycles))),
                    Subject::batched(|cycles| phase(peer.claim_and_release(cycles))),
                ],
                rounds,
            );
            row(&format!("10^{power}  {what}"), &timings);
        }
    }
}
