//! The oracle: a read returns bytes if and only if every byte it returns was last written by work that
//! succeeded; and every byte's state, root failure and value agree with a model of one entry per byte.
//!
//! A failing run prints its seed. Replay it alone with
//! `WELLWRITTEN_SEED=<seed> cargo test -p wellwritten-memory --test oracle`; run many more with
//! `WELLWRITTEN_LONG=1`.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the model counts in usize and in bytes, and every buffer is under a hundred bytes"
)]

mod byte_model;
mod random;
mod run;

use run::{Compared, Plan, Sabotage, run};
use wellwritten_memory::{MemoryConfiguration, PoolConfiguration, PoolKind};

fn sub_slices() -> MemoryConfiguration {
    MemoryConfiguration::Custom(vec![PoolConfiguration::new(PoolKind::SubSlices {
        page_size_bytes: 512,
    })])
}

fn seeds() -> Vec<u64> {
    match std::env::var("WELLWRITTEN_SEED")
        .ok()
        .and_then(|seed| seed.parse::<u64>().ok())
    {
        Some(seed) => vec![seed],
        None if std::env::var("WELLWRITTEN_LONG").is_ok() => (0..2000).collect(),
        None => (0..40).collect(),
    }
}

fn all_seeds(configuration: &MemoryConfiguration, late: bool, whole: bool) {
    let mut total = Compared::default();
    for seed in seeds() {
        let plan = Plan {
            configuration: configuration.clone(),
            seed,
            operations: 300,
            late,
            whole,
            sabotage: None,
        };
        let compared = run(&plan).unwrap_or_else(|what| {
            panic!("{what}\nreplay: WELLWRITTEN_SEED={seed} cargo test -p wellwritten-memory --test oracle")
        });
        total.trusted_reads += compared.trusted_reads;
        total.refused_reads += compared.refused_reads;
        total.late_refusals += compared.late_refusals;
        total.skips += compared.skips;
        total.settlements += compared.settlements;
        total.bytes += compared.bytes;
    }
    println!(
        "{} seeds, late {late}, whole {whole}: {total:?}",
        seeds().len()
    );
    assert!(
        total.trusted_reads > 0 && total.refused_reads > 0 && total.skips > 0,
        "{total:?}"
    );
    assert!(
        !late || (total.settlements > 0 && total.late_refusals > 0),
        "{total:?}"
    );
}

fn is_noticed(sabotage: Sabotage, late: bool) {
    for (configuration, name) in [
        (sub_slices(), "sub-slices"),
        (MemoryConfiguration::ExclusivePages, "pages"),
    ] {
        let noticed = (0..40).filter(|&seed| {
            let plan = Plan {
                configuration: configuration.clone(),
                seed,
                operations: 300,
                late,
                whole: false,
                sabotage: Some(sabotage),
            };
            run(&plan).is_err()
        });
        let noticed = noticed.count();
        assert!(
            noticed >= 20,
            "{sabotage:?} on {name}: noticed under {noticed} of 40 seeds"
        );
    }
}

#[test]
fn settled_on_sub_slices() {
    all_seeds(&sub_slices(), false, false);
}

#[test]
fn settled_on_exclusive_pages() {
    all_seeds(&MemoryConfiguration::ExclusivePages, false, false);
}

#[test]
fn settled_on_whole_buffers() {
    all_seeds(&sub_slices(), false, true);
    all_seeds(&MemoryConfiguration::ExclusivePages, false, true);
}

#[test]
fn late_on_sub_slices() {
    all_seeds(&sub_slices(), true, false);
}

#[test]
fn late_on_exclusive_pages() {
    all_seeds(&MemoryConfiguration::ExclusivePages, true, false);
}

#[test]
fn late_on_whole_buffers() {
    all_seeds(&sub_slices(), true, true);
    all_seeds(&MemoryConfiguration::ExclusivePages, true, true);
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
