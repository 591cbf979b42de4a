//! The oracle: a read returns bytes if and only if every byte it returns was last written by work that
//! succeeded; and every byte's state, root failure and value agree with a model of one entry per byte.
//!
//! A failing run prints its seed. Replay it alone with
//! `WELLWRITTEN_SEED=<seed> cargo test -p wellwritten-memory --test oracle`; make 2,000 runs of 1,000
//! operations each with `WELLWRITTEN_LONG=1`. In a browser there is no environment: the runs are the
//! short ones.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the model counts in usize and in bytes, and every buffer is under a hundred bytes"
)]

mod interleaving;

use interleaving::{Choices, Compared, Plan, Sabotage, Seeded, Spelled, run, small_sub_slices};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{MemoryConfiguration, Uninitialized};

/// Operations of a run in `npm test`, and of one that must notice a lie.
const SHORT: usize = 300;
const LONG: usize = 1000;

fn is_long() -> bool {
    std::env::var("WELLWRITTEN_LONG").is_ok()
}

fn seeds() -> Vec<u64> {
    let replayed = std::env::var("WELLWRITTEN_SEED").ok();
    match replayed.and_then(|seed| seed.parse::<u64>().ok()) {
        Some(seed) => vec![seed],
        None if is_long() => (0..2000).collect(),
        None => (0..40).collect(),
    }
}

fn all_seeds(configuration: &MemoryConfiguration, late: bool, whole: bool) {
    let operations = if is_long() { LONG } else { SHORT };
    let mut total = Compared::default();
    for seed in seeds() {
        let uninitialized = if seed % 4 == 3 {
            Uninitialized::Refuse
        } else {
            Uninitialized::Trust
        };
        let plan = Plan {
            uninitialized,
            late,
            whole,
            ..Plan::new(configuration.clone(), operations)
        };
        total += run(&plan, &mut Seeded::new(seed)).unwrap_or_else(|what| {
            panic!("seed {seed}, {what}\nreplay: WELLWRITTEN_SEED={seed} cargo test -p wellwritten-memory --test oracle")
        });
    }
    println!("{} seeds, {total:?}", seeds().len());
    let compared = [
        total.trusted_reads,
        total.refused_reads,
        total.skips,
        total.recycled,
        total.windows,
    ];
    assert!(!compared.contains(&0), "{total:?}");
    assert!(
        !late || (total.settlements > 0 && total.late_refusals > 0),
        "{total:?}"
    );
}

fn is_noticed(sabotage: Sabotage, late: bool) {
    is_noticed_in(sabotage, late, false);
}

fn is_noticed_in(sabotage: Sabotage, late: bool, whole: bool) {
    for (configuration, name) in [
        (small_sub_slices(), "sub-slices"),
        (MemoryConfiguration::ExclusivePages, "pages"),
    ] {
        let plan = Plan {
            late,
            whole,
            sabotage: Some(sabotage),
            ..Plan::new(configuration, SHORT)
        };
        let noticed = (0..20).filter(|&seed| run(&plan, &mut Seeded::new(seed)).is_err());
        let noticed = noticed.count();
        assert!(
            noticed >= 10,
            "{sabotage:?} on {name}: noticed under {noticed} of 20 seeds"
        );
    }
}

#[test]
fn settled_on_sub_slices() {
    all_seeds(&small_sub_slices(), false, false);
}

#[test]
fn settled_on_exclusive_pages() {
    all_seeds(&MemoryConfiguration::ExclusivePages, false, false);
}

#[test]
fn settled_on_whole_buffers() {
    all_seeds(&small_sub_slices(), false, true);
    all_seeds(&MemoryConfiguration::ExclusivePages, false, true);
}

#[test]
fn late_on_sub_slices() {
    all_seeds(&small_sub_slices(), true, false);
}

#[test]
fn late_on_exclusive_pages() {
    all_seeds(&MemoryConfiguration::ExclusivePages, true, false);
}

#[test]
fn late_on_whole_buffers() {
    all_seeds(&small_sub_slices(), true, true);
    all_seeds(&MemoryConfiguration::ExclusivePages, true, true);
}

/// Runs as a fuzzer makes them: everything about one is in its bytes.
#[test]
fn spelled_out_in_bytes() {
    let mut total = Compared::default();
    for seed in seeds() {
        let mut seeded = Seeded::new(seed);
        let mut byte = || u8::try_from(seeded.below(256)).expect("below 256");
        let bytes: Vec<u8> = (0..1000).map(|_| byte()).collect();
        let mut spelled = Spelled::new(&bytes);
        let plan = Plan::chosen(&mut spelled);
        let compared = run(&plan, &mut spelled);
        total += compared.unwrap_or_else(|what| panic!("bytes {bytes:?}, {what}"));
        assert!(spelled.is_spent());
    }
    assert!(total.operations > 0 && total.trusted_reads > 0, "{total:?}");
}

/// What the fuzzer once found. In a browser there are no files.
#[cfg(not(target_arch = "wasm32"))]
#[test]
fn what_fuzzing_found_stays_fixed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/regressions");
    // There is no such folder until something was found.
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a readable folder").path();
        let bytes = std::fs::read(&path).expect("a readable file");
        let mut spelled = Spelled::new(&bytes);
        let plan = Plan::chosen(&mut spelled);
        if let Err(what) = run(&plan, &mut spelled) {
            panic!("{}: {what}", path.display());
        }
        println!("{}", path.display());
    }
}

#[test]
fn canary_a_change_that_is_not_noted() {
    is_noticed(Sabotage::ForgottenChange, false);
}

#[test]
fn canary_a_failed_body_told_as_clean() {
    is_noticed(Sabotage::FailedAsClean, false);
}

#[test]
fn canary_a_failed_submission_told_as_settled() {
    is_noticed(Sabotage::FailedAsSettled, true);
}

#[test]
fn canary_a_read_kept_from_the_manager() {
    is_noticed(Sabotage::ForgottenRead, false);
}

#[test]
fn canary_a_write_set_short_of_a_byte() {
    is_noticed(Sabotage::ShortWriteSet, false);
}

#[test]
fn canary_a_wrong_value_in_the_storage() {
    is_noticed(Sabotage::WrongValue, true);
}

#[test]
fn canary_more_failures_than_stale_buffers() {
    is_noticed_in(Sabotage::FailedTwice, false, true);
}

#[test]
fn canary_a_failure_that_nothing_carries() {
    is_noticed(Sabotage::KeptRead, true);
}

#[test]
fn canary_a_buffer_left_at_the_end() {
    is_noticed(Sabotage::KeptHandle, false);
}

#[test]
fn canary_a_path_short_of_a_step() {
    is_noticed(Sabotage::ShortPath, false);
}

#[test]
fn canary_a_submission_that_a_read_forgot() {
    is_noticed(Sabotage::ForgottenWait, true);
}

#[test]
fn canary_a_window_that_recorded_more_than_it_should() {
    is_noticed(Sabotage::ForgottenRecord, false);
}
