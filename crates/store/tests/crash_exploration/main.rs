//! Oracle: whatever moment the machine crashes at, and whatever of the unsynced operations reached the
//! disk, opening the store shows what it showed when the last change was acknowledged, or what the change in
//! progress makes of it: the generations, which are pinned and which abandoned, each with its exact bytes, and
//! nothing else is left in the folder.
//!
//! Exhaustive over every prefix of the operations of the script, ten commits with rotation, pins, a pruning and an
//! import; from every such state over a kill of the process, or a crash of the machine, followed by recovery (open
//! and save once more) and a second crash at every operation of that recovery. With `WELLWRITTEN_LONG=1` the store goes on
//! after that one too.

mod exploration;
mod script;

use exploration::{Exploration, operations};
use wellwritten_store::file_name;
use wellwritten_store::testing::{Operation, SyncIgnored};

#[test]
fn every_crash_shows_the_last_acknowledged_change_or_the_next() {
    let findings = Exploration::new(None).run();
    println!(
        "{} different disks after a crash, {} recoveries",
        findings.images, findings.recoveries
    );
    assert!(
        findings.images > 500,
        "{} disks are too few to be all",
        findings.images
    );
    assert_eq!(findings.violations, Vec::<String>::new());
}

/// Canary: the exploration notices each kind of sync, of the commit order and of opening, that is left out.
#[test]
fn a_kind_of_sync_that_is_left_out_is_noticed() {
    for ignored in [
        SyncIgnored::File(file_name::GENERATION_TEMPORARY.to_owned()),
        SyncIgnored::File(file_name::MANIFEST_TEMPORARY.to_owned()),
        SyncIgnored::DirectoryAfterRenameTo(file_name::GENERATION_SUFFIX.to_owned()),
        SyncIgnored::DirectoryAfterRenameTo(file_name::MANIFEST.to_owned()),
        SyncIgnored::DirectoryAtOpening,
    ] {
        let findings = Exploration::new(Some(ignored.clone())).run();
        assert!(
            !findings.violations.is_empty(),
            "{ignored:?} was not noticed"
        );
        println!("{ignored:?}: {}", findings.violations[0]);
    }
}

/// Canary: the exploration notices every single sync of the script that is left out.
#[test]
fn every_single_sync_that_is_left_out_is_noticed() {
    let operations = operations();
    let is_sync =
        |operation: &Operation| matches!(operation, Operation::Sync(_) | Operation::SyncDir);
    let syncs: Vec<usize> = (0..operations.len())
        .filter(|at| is_sync(&operations[*at]))
        .collect();
    println!("{} syncs of {} calls", syncs.len(), operations.len());
    assert!(syncs.len() > 50, "{} are too few to be all", syncs.len());
    let mut unnoticed = Vec::new();
    for number in syncs {
        let findings = Exploration::new(Some(SyncIgnored::Number(number))).run();
        if findings.violations.is_empty() {
            unnoticed.push((number, &operations[number]));
        }
    }
    // The one with which a store is opened, on a folder that is empty: opening does not know, and there is nothing to
    // lose. That it is needed where there is something is the canary above.
    assert_eq!(unnoticed, [(1, &Operation::SyncDir)]);
}
