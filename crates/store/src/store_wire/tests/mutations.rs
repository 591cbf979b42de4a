//! Oracle: a message that was changed is refused by a typed error, or is read as a message that returns when it is
//! written and read again, with the attachments it came with. Nothing panics.
//!
//! Replay one seed with `WELLWRITTEN_SEED=<seed> cargo test -p wellwritten-store mutants -- --nocapture`;
//! `WELLWRITTEN_LONG=1` runs many more.

use super::samples::{replies, requests};
use super::{decode_reply, decode_request, encode_reply, received, spelled};

/// `SplitMix64`: a published generator of a few lines, so that a seed means the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).expect("less than a usize")
    }
}

type Message = (String, Vec<Vec<u8>>);

const PIECES: [&str; 12] = [
    "null",
    "{}",
    "[]",
    "\"\"",
    "1",
    "-1",
    "1e400",
    "\"a\"",
    "{\"Ok\":{}}",
    ",",
    "}",
    "\\ud800",
];

fn mutate(message: &Message, others: &[Message], random: &mut Random) -> Message {
    let (text, mut attachments) = message.clone();
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(3) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(20)).min(text.len());
        match random.below(8) {
            0 => text.truncate(at),
            1 => drop(text.drain(at..end)),
            2 => {
                let piece = PIECES[random.below(PIECES.len())];
                text.splice(at..end, piece.chars());
            }
            3 => {
                let again: Vec<char> = text[at..end].to_vec();
                text.splice(at..at, again);
            }
            4 => {
                let other: Vec<char> = others[random.below(others.len())].0.chars().collect();
                let from = random.below(other.len());
                let piece = &other[from..(from + 40).min(other.len())];
                text.splice(at..end, piece.iter().copied());
            }
            5 => attachments.push(vec![1]),
            6 => drop(attachments.pop()),
            _ => {
                if let Some(character) = text.get_mut(at) {
                    *character = char::from(u8::try_from(32 + random.below(95)).unwrap());
                }
            }
        }
    }
    (text.into_iter().collect(), attachments)
}

#[derive(Default)]
struct Tally {
    read: usize,
    refused: usize,
}

fn seeds() -> std::ops::Range<u64> {
    let seed = std::env::var("WELLWRITTEN_SEED").ok();
    if let Some(seed) = seed.and_then(|seed| seed.parse().ok()) {
        return seed..seed + 1;
    }
    let long = std::env::var_os("WELLWRITTEN_LONG").is_some();
    0..if long { 300 } else { 3 }
}

/// Feeds mutants of `messages` to `again`, which reads, and writes again what it could read.
fn feed(messages: &[Message], again: impl Fn(&Message) -> Option<Message>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds() {
        let mut random = Random(seed);
        for message in messages {
            assert_eq!(again(message).as_ref(), Some(message), "unchanged");
            for _ in 0..10 {
                let mutant = mutate(message, messages, &mut random);
                let Some(written) = again(&mutant) else {
                    tally.refused += 1;
                    continue;
                };
                tally.read += 1;
                assert_eq!(written.1, mutant.1, "seed {seed}: {}", mutant.0);
                let returned = again(&written);
                assert_eq!(returned, Some(written), "seed {seed}: {}", mutant.0);
            }
        }
    }
    println!("{} mutants refused, {} read", tally.refused, tally.read);
    tally
}

#[test]
fn mutants_of_requests_are_refused_or_read_for_what_they_say() {
    let messages: Vec<Message> = requests().into_iter().map(spelled).collect();
    let tally = feed(&messages, |(text, attachments)| {
        let read = decode_request(text, attachments.clone()).ok()?;
        Some(spelled(read))
    });
    assert!(tally.refused > 100 && tally.read > 5);
}

#[test]
fn mutants_of_replies_are_refused_or_read_for_what_they_say() {
    let written = |reply| {
        let message = encode_reply(reply).unwrap();
        let attachments = received(&message);
        (message.text, attachments)
    };
    let messages: Vec<Message> = replies().into_iter().map(written).collect();
    assert!(messages.len() > 250, "{} are not all", messages.len());
    let tally = feed(&messages, |(text, attachments)| {
        decode_reply(text, attachments.clone()).ok().map(written)
    });
    assert!(tally.refused > 1000 && tally.read > 50);
}
