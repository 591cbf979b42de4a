//! Oracle: a model that forgets nothing, and a second participant that nothing stands in front of. Whatever is said to a served
//! participant, in whatever order, is answered as the model says: with the same code, the same certainty, the same bytes where
//! it is a repetition; and what is refused or repeated neither reaches the participant nor counts as progress.
//!
//! To hold one conversation again: `WELLWRITTEN_SEED=<seed> cargo test -p wellwritten-session --test conversation`. With
//! `WELLWRITTEN_LONG=1` there are a hundred times as many. `npm run fuzz -- session conversation` looks for others.

mod spoken;

use spoken::{Lie, Summary, converse};

/// Bytes of one conversation: a request takes two to four.
const BYTES: usize = 400;

fn spelled(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut word = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    (0..length.div_ceil(8))
        .flat_map(|_| word().to_le_bytes())
        .collect()
}

fn held(seed: u64) -> Summary {
    match converse(&spelled(seed, BYTES), None) {
        Ok(summary) => summary,
        Err(what) => panic!("seed {seed}: {what}\nagain: WELLWRITTEN_SEED={seed}"),
    }
}

#[test]
fn whatever_is_said_is_answered_as_the_model_says() {
    if let Ok(seed) = std::env::var("WELLWRITTEN_SEED") {
        println!("{:?}", held(seed.parse().expect("a number")));
        return;
    }
    let is_long = std::env::var_os("WELLWRITTEN_LONG").is_some();
    let count = if is_long { 4_000 } else { 40 };
    let mut all = Summary::default();
    for seed in 0..count {
        let one = held(seed);
        all.asked += one.asked;
        all.ran += one.ran;
        all.repeated += one.repeated;
        all.refused += one.refused;
    }
    println!("{count} conversations from seed 0: {all:?}");
    // Not one kind of answer alone.
    assert!(
        all.asked > 3_000 && all.ran > 500 && all.repeated > 100 && all.refused > 1_000,
        "{all:?}"
    );
}

/// Canary: each rule, told wrong, is noticed.
#[test]
fn a_model_that_gets_a_rule_wrong_is_noticed() {
    let lies = [
        Lie::ThreeStepsAreKept,
        Lie::AnotherBodyIsARepetition,
        Lie::AnotherNameIsARepetition,
        Lie::AcknowledgedMayRunAgain,
        Lie::SeventeenAreKept,
        Lie::OneKeyForAllSessions,
        Lie::AStrayStepRaisesTheWatermark,
        Lie::PhaseComesBeforeEpoch,
        Lie::ARefusalKeepsItsKey,
        Lie::DuplicatesWhileRunningAreBusy,
    ];
    for lie in lies {
        let noticed = (0..300).find(|seed| converse(&spelled(*seed, BYTES), Some(lie)).is_err());
        println!("{lie:?} is noticed with seed {noticed:?}");
        assert!(noticed.is_some(), "{lie:?} goes unnoticed");
    }
}

/// What is kept is bounded: steps do not add to it.
#[test]
fn ten_times_the_steps_keep_no_more() {
    for role in [0, 1] {
        let most = |steps: usize| {
            let mut bytes = vec![role];
            bytes.extend(vec![0; 2 * steps]);
            converse(&bytes, None).expect("nothing but steps")
        };
        let (few, many) = (most(40), most(400));
        assert!(
            many.step > 9 * few.step && few.step >= 19,
            "{few:?} {many:?}"
        );
        assert_eq!(few.artifacts, many.artifacts);
    }
}

/// Inputs that once failed.
#[test]
fn what_once_failed_passes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/regressions/conversation");
    let Ok(files) = std::fs::read_dir(folder) else {
        return;
    };
    for file in files {
        let path = file.expect("a file").path();
        let bytes = std::fs::read(&path).expect("a file that can be read");
        if let Err(what) = converse(&bytes, None) {
            panic!("{}: {what}", path.display());
        }
    }
}
