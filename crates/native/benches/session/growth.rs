//! Whether a long run grows.

use std::fs;
use std::time::Instant;

use crate::counter_host::{Way, counter, launcher, session, step};
use crate::counting_allocator::live_allocations;

/// Steps of the whole run.
const STEPS: u64 = 1_000_000;
/// Looks at what is live.
const LOOKS: u64 = 10;
/// The look from which on nothing may grow: until then what is bounded fills, the recording of 65,536 steps above all.
const FILLED: u64 = 2;
/// Live allocations that may come on top after that look: a list that grew once more.
const SLACK_ALLOCATIONS: i64 = 200;
/// Resident bytes that may come on top after that look.
const SLACK_BYTES: u64 = 1 << 20;

/// Bytes that are resident, as the system counts them.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// Steps a million times and looks ten times; whether nothing grew once everything bounded was full.
pub async fn is_flat(way: Way) -> bool {
    let counter = counter(2);
    let launcher = launcher(way, &counter);
    let session = session(launcher.clone(), &counter).await;
    println!("\nGrowth over {STEPS} steps, 2 agents, {}", way.name());
    println!("      steps  live allocations  resident KiB  steps/s");
    let mut first = None;
    let mut last = (0, 0);
    for look in 1..=LOOKS {
        let began = Instant::now();
        step(&session, STEPS / LOOKS).await;
        let seconds = began.elapsed().as_secs_f64();
        last = (live_allocations(), resident_bytes());
        if look >= FILLED {
            first.get_or_insert(last);
        }
        println!(
            "  {:>9}  {:>16}  {:>12}  {:>7.0}",
            look * STEPS / LOOKS,
            last.0,
            last.1 / 1024,
            f64::from(u32::try_from(STEPS / LOOKS).expect("it is small")) / seconds,
        );
    }
    let first = first.expect("there were enough looks");
    let is_flat = last.0 <= first.0 + SLACK_ALLOCATIONS && last.1 <= first.1 + SLACK_BYTES;
    println!("  {}", if is_flat { "flat" } else { "GROWS" });
    is_flat
}
