//! Seed derivation v1: one `i32` per agent from one master seed, the same on every machine.

use crate::{Digest, Id};

/// First line of the material. Any change of the bytes below needs another name here.
const ALGORITHM: &str = "flybrain/seed-derivation-v1";
/// How often the material is hashed with a counter when every lane is zero.
const REHASHES: u32 = 3;

/// Why no seed could be derived.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeedError {
    /// Four digests in a row were all zero. There is no fallback: a made-up seed would be a silent
    /// loss of determinism. Another master seed is the only way on.
    #[error("master seed {master_seed} gives agent {agent_id} no seed: every round was zero")]
    Exhausted {
        /// The master seed.
        master_seed: u64,
        /// The agent.
        agent_id: Id,
    },
}

/// The seed of `agent_id` under `master_seed`; never zero, because the generator it feeds is an
/// xorshift.
///
/// SHA-256 of `flybrain/seed-derivation-v1`, the decimal master seed and the agent id, a line each,
/// read as eight big-endian lanes; the first lane that is not zero, as two's complement. A seed belongs
/// to an agent for a whole run: epochs and restores do not derive it anew. This is not a key derivation
/// function.
pub fn derive_seed(master_seed: u64, agent_id: &Id) -> Result<i32, SeedError> {
    derive_with(master_seed, agent_id, Digest::sha256).ok_or_else(|| SeedError::Exhausted {
        master_seed,
        agent_id: agent_id.clone(),
    })
}

/// The derivation over any hash, so that a test can make lanes zero.
fn derive_with(master_seed: u64, agent_id: &Id, hash: impl Fn(&[u8]) -> Digest) -> Option<i32> {
    let material = format!("{ALGORITHM}\n{master_seed}\n{agent_id}\n");
    // The counter replaces the one before it; it does not accumulate.
    let rounds = (1..=REHASHES).map(|counter| format!("{material}{counter}\n"));
    std::iter::once(material.clone())
        .chain(rounds)
        .find_map(|text| first_nonzero_lane(&hash(text.as_bytes())))
}

fn first_nonzero_lane(digest: &Digest) -> Option<i32> {
    let (lanes, _) = digest.as_bytes().as_chunks::<4>();
    lanes
        .iter()
        .map(|&lane| i32::from_be_bytes(lane))
        .find(|&seed| seed != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const AGENTS: [&str; 4] = ["fly-a", "fly-b", "fly-c", "fly-d"];
    /// The recorded vectors of the algorithm.
    const VECTORS: [(u64, [i32; 4]); 5] = [
        (
            0,
            [1_828_176_714, 1_218_785_088, 1_403_534_381, -234_729_153],
        ),
        (1, [1_856_740_717, 1_137_843, -1_349_040_096, 276_935_240]),
        (
            42,
            [-184_946_063, 535_504_990, -1_247_653_395, -479_367_616],
        ),
        (
            9_223_372_036_854_775_808,
            [-710_979_269, -924_939_104, 894_095_852, 1_491_475_947],
        ),
        (
            18_446_744_073_709_551_615,
            [-125_244_523, -750_526_716, -2_013_172_958, -642_400_537],
        ),
    ];

    #[test]
    fn every_recorded_vector() {
        for (master_seed, seeds) in VECTORS {
            for (agent, seed) in AGENTS.iter().zip(seeds) {
                let agent_id = Id::parse(agent).unwrap();
                assert_eq!(
                    derive_seed(master_seed, &agent_id),
                    Ok(seed),
                    "{master_seed} {agent}"
                );
            }
        }
    }

    #[test]
    fn zero_lanes_are_skipped_and_the_counter_replaces() {
        let agent_id = Id::parse("fly-a").unwrap();
        let asked = RefCell::new(Vec::new());
        let only_zero = |bytes: &[u8]| {
            asked
                .borrow_mut()
                .push(String::from_utf8(bytes.to_vec()).unwrap());
            Digest::from_bytes([0; 32])
        };
        assert_eq!(derive_with(7, &agent_id, only_zero), None);
        let material = "flybrain/seed-derivation-v1\n7\nfly-a\n";
        assert_eq!(
            *asked.borrow(),
            ["", "1\n", "2\n", "3\n"].map(|suffix| format!("{material}{suffix}"))
        );

        let mut sparse = [0; 32];
        sparse[8..12].copy_from_slice(&[0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(
            derive_with(7, &agent_id, |_| Digest::from_bytes(sparse)),
            Some(-2)
        );
    }
}
