//! Oracle: a generation reads back only if it is, byte for byte, what was committed.

use futures::executor::block_on;
use wellwritten_store::testing::SimulatedMedium;
use wellwritten_store::{Damage, ReadError, SelectError, Selection};

use crate::sample_store::{id, sample, store_with};

#[test]
fn every_flipped_byte_and_every_cut_of_a_small_checkpoint_is_detected() {
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, 2, &["a"]);
    let whole = sample("a").bytes;
    assert!(block_on(store.verify(&id("a"))).unwrap().verified);
    let mut detected = 0;
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0xff;
        medium.tamper("a.flysess", Some(flipped));
        let report = block_on(store.verify(&id("a"))).unwrap();
        assert!(!report.verified && report.damage.is_some(), "byte {at}");
        assert!(matches!(
            block_on(store.read(&id("a"))),
            Err(ReadError::Damaged {
                damage: Damage::Digest { .. },
                ..
            })
        ));
        assert!(matches!(
            block_on(store.select(&Selection::default())),
            Err(SelectError::Damaged { .. })
        ));
        medium.tamper("a.flysess", Some(whole[..at].to_vec()));
        assert!(matches!(
            block_on(store.read_whole(&id("a"))),
            Err(ReadError::Damaged {
                damage: Damage::Length { .. },
                ..
            })
        ));
        detected += 1;
    }
    assert_eq!(detected, whole.len());
    assert!(detected > 2000, "{detected} bytes are too few to be all");
    medium.tamper("a.flysess", Some(whole));
    assert!(block_on(store.verify(&id("a"))).unwrap().verified);
}
