//! What the books cost: the cycle of a launch, claims on much fragmented allocations, a long report, and
//! the snapshot a page asks for at every frame. `npm run bench:memory` runs it.
//!
//! Allocations are counted, times are the fastest and the middle of many rounds. It fails where the cycle
//! of a successful launch allocates, or where a lookup among 10^4 ranges takes more than three times one
//! among 10^2; how fast is fast enough is said against a peer, in `benches/peer`.

mod counting_allocator;
mod cycles;
mod goals;
mod in_turn;
mod machine;
mod rounds;
mod tiles;

use counting_allocator::CountingAllocator;
use cycles::Books;
use goals::Goals;
use in_turn::in_turn;
use rounds::{Spent, Subject, Timing, interleave};
use std::hint::black_box;
use std::process::ExitCode;
use tiles::Tiles;
use wellwritten_memory::{BufferBinding, Handle, MemoryConfiguration, SubmissionId};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const ROUNDS: u32 = 101;
const BUFFER_BYTES: u64 = 4096;

fn main() -> ExitCode {
    println!("wellwritten-memory {}", env!("CARGO_PKG_VERSION"));
    println!("{}", machine::machine());
    println!("{ROUNDS} rounds of at least 0.5 ms each; allocations counted in the steady state\n");
    let mut goals = Goals::default();
    cycles(&mut goals);
    ranges(&mut goals);
    chain();
    snapshots();
    goals.conclude()
}

fn head(what: &str) {
    println!(
        "{what:<46}{:>12}{:>12}{:>14}",
        "min ns", "median ns", "allocations"
    );
}

fn row(what: &str, timing: &Timing) {
    let allocations = timing.allocations_per_cycle();
    let (min, median) = (timing.min(), timing.median());
    println!("  {what:<44}{min:>12.1}{median:>12.1}{allocations:>14.2}");
}

/// The life of one launch, for 1, 2 and 4 written buffers.
fn cycles(goals: &mut Goals) {
    head("one launch");
    for count in [1, 2, 4] {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let (_handles, writes) = books.buffers(count, BUFFER_BYTES);
        let [timing] = interleave([Subject::each(|| books.succeed(&writes))], ROUNDS);
        books.assert_clean();
        let what = format!("succeeds, writing {count}");
        row(&what, &timing);
        goals.no_allocation(&what, timing.allocations, timing.counted_cycles);
    }
    for count in [1, 2, 4] {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let (_handles, mut writes) = books.buffers(count + 1, BUFFER_BYTES);
        let reads = writes.split_off(count);
        let [timing] = interleave([Subject::each(|| books.launch(&reads, &writes))], ROUNDS);
        books.assert_clean();
        let what = format!("succeeds, reading 1 and writing {count}");
        row(&what, &timing);
        goals.no_allocation(&what, timing.allocations, timing.counted_cycles);
    }
    for count in [1, 2, 4] {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let (_handles, writes) = books.buffers(count, BUFFER_BYTES);
        let mut submission = 0;
        let cycle = || {
            submission += 1;
            books.submit(SubmissionId(submission), &[], &writes);
            books.settle(SubmissionId(submission));
        };
        let [timing] = interleave([Subject::each(cycle)], ROUNDS);
        books.assert_clean();
        let what = format!("pending and settled, writing {count}");
        row(&what, &timing);
        goals.no_allocation(&what, timing.allocations, timing.counted_cycles);
    }
    pipeline(goals);
    for count in [1, 2, 4] {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let (_handles, writes) = books.buffers(count, BUFFER_BYTES);
        let [timing] = interleave([Subject::each(|| books.fail(&writes))], ROUNDS);
        row(&format!("fails, writing {count}"), &timing);
    }
    for count in [1, 2, 4] {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let (_handles, mut writes) = books.buffers(count + 1, BUFFER_BYTES);
        let reads = writes.split_off(count);
        books.fail(&reads);
        let [timing] = interleave([Subject::each(|| books.skip(&reads, &writes))], ROUNDS);
        row(&format!("is skipped, writing {count}"), &timing);
    }
}

/// Two fields written in turn, each launch reading what the one before left pending, eight launches in
/// flight.
fn pipeline(goals: &mut Goals) {
    const IN_FLIGHT: u64 = 8;
    let mut books = Books::new(MemoryConfiguration::ExclusivePages);
    let (_handles, fields) = books.buffers(2, BUFFER_BYTES);
    let mut submission = 0;
    let mut cycle = || {
        submission += 1;
        let (reads, writes) = fields.split_at(1);
        let (reads, writes) = match submission % 2 {
            0 => (reads, writes),
            _ => (writes, reads),
        };
        books.submit(SubmissionId(submission), reads, writes);
        if submission > IN_FLIGHT {
            books.settle(SubmissionId(submission - IN_FLIGHT));
        }
    };
    let [timing] = interleave([Subject::each(&mut cycle)], ROUNDS);
    let what = "pending on pending, 8 in flight, writing 1";
    row(what, &timing);
    goals.no_allocation(what, timing.allocations, timing.counted_cycles);
}

/// What a claim, a release and a lookup cost on one allocation with that many stale ranges.
fn ranges(goals: &mut Goals) {
    println!();
    head("on an allocation with that many stale ranges");
    let powers = ["10^0", "10^2", "10^4", "10^6"];
    let mut tiles = [1, 100, 10_000, 1_000_000].map(Tiles::new);
    for stale in [false, true] {
        let subjects = tiles.each_ref().map(|tiles| {
            let asked = if stale { &tiles.stale } else { &tiles.trusted };
            let mut next = in_turn(asked);
            Subject::each(move || tiles.books.look_up(next()))
        });
        let timings = interleave(subjects, ROUNDS);
        let what = format!("lookup, {} bytes", if stale { "stale" } else { "trusted" });
        for (power, timing) in powers.iter().zip(&timings) {
            row(&format!("{power}  {what}"), timing);
        }
        let [_, hundred, ten_thousand, _] = &timings;
        goals.at_most(
            &format!("{what}, at 10^4 ranges as a multiple of 10^2"),
            ten_thousand.ratio_to(hundred),
            3.0,
        );
    }
    for (what, releases) in [
        ("claim, by a launch that fails", false),
        ("release, by a launch that succeeds", true),
    ] {
        let subjects = tiles.each_mut().map(|tiles| {
            Subject::batched(|cycles| {
                let (claimed, released) = tiles.claim_and_release(cycles);
                if releases { released } else { claimed }
            })
        });
        let timings = interleave(subjects, ROUNDS);
        for (power, timing) in powers.iter().zip(&timings) {
            row(&format!("{power}  {what}"), timing);
        }
    }
}

/// The report on a buffer a thousand skips behind the failure.
fn chain() {
    const DEPTH: usize = 1000;
    let mut books = Books::new(MemoryConfiguration::ExclusivePages);
    let (_handles, fields) = books.buffers(DEPTH + 1, BUFFER_BYTES);
    books.fail(&fields[..1]);
    for step in fields.windows(2) {
        books.skip(&step[..1], &step[1..]);
    }
    let last = &fields[DEPTH];
    let refused = books
        .memory
        .watch(last)
        .expect_err("it carries the failure");
    let text = refused.to_string();
    println!();
    head("a thousand skips behind the failure");
    let made = Subject::each(|| books.memory.watch(last).is_err());
    let [timing] = interleave([made], ROUNDS);
    row("the report", &timing);
    let [timing] = interleave([Subject::each(|| refused.to_string())], ROUNDS);
    row(
        &format!("its text, {} lines", text.lines().count()),
        &timing,
    );
}

/// What a page that shows memory asks for sixty times a second.
fn snapshots() {
    const BUFFERS: usize = 10_000;
    let mut books = Books::new(MemoryConfiguration::SubSlices);
    let (_handles, fields): (Vec<Handle>, Vec<BufferBinding>) =
        books.buffers(BUFFERS, BUFFER_BYTES);
    for field in fields.iter().step_by(100) {
        books.fail(std::slice::from_ref(field));
    }
    println!();
    head("10^4 buffers, 100 of them stale");
    let [timing] = interleave([Subject::each(|| books.memory.snapshot(0))], ROUNDS);
    row("a whole snapshot", &timing);
    let changing = Subject::batched(|cycles| {
        let mut spent = Spent::default();
        for _ in 0..cycles {
            let seen = books.memory.revision();
            books.fail(&fields[..1]);
            spent += Spent::on(|| {
                let snapshot = black_box(books.memory.snapshot(seen));
                assert_eq!(snapshot.buffers.len(), 1);
            });
        }
        spent
    });
    let [timing] = interleave([changing], ROUNDS);
    row("what changed since the last: one buffer", &timing);
    let seen = books.memory.revision();
    let [timing] = interleave([Subject::each(|| books.memory.snapshot(seen))], ROUNDS);
    row("what changed since the last: nothing", &timing);
}
