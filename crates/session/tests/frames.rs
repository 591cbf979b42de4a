//! Oracle: what was read is written as the same message, and reads again as the same; the samples of every message, damaged at
//! random where `messages` damages them one place after the other, and cut into pieces. `npm run fuzz -- session frames` goes on
//! from here.

mod opened;

use opened::{check_frame, check_stream};
use wellwritten_session::Call;
use wellwritten_session::testing::{
    Filling, sample_answers, sample_calls, sample_reply, sample_request,
};
use wellwritten_session::wire::{CallId, Frame, reply_frame, request_frame};

const CALL: CallId = CallId(3);

fn frames() -> Vec<Frame> {
    let mut frames = Vec::new();
    for filling in [Filling::Full, Filling::Null] {
        for call in sample_calls(filling) {
            frames.push(request_frame(CALL, &sample_request(7, call)).unwrap());
        }
        for answer in sample_answers(filling) {
            frames.push(reply_frame(CALL, &sample_reply(7, Ok(answer))).unwrap());
        }
    }
    frames
}

#[test]
fn every_sample_is_the_same_message_again() {
    let frames = frames();
    assert_eq!(frames.len(), 4 * Call::METHODS.len());
    let mut accepted = 0;
    for frame in &frames {
        accepted += check_frame(&frame.received()).unwrap();
        for pieces in [0, 4, 252] {
            let stream = [&[pieces][..], &frame.encode(), &frame.encode()].concat();
            assert!(check_stream(&stream).unwrap() >= 2);
        }
    }
    // An empty result answers two methods.
    assert_eq!(accepted, frames.len() + 4);
}

#[test]
fn a_sample_that_is_damaged_at_random_is_refused_or_another_message() {
    let seed = 11_u64;
    println!("seed {seed}, in this file");
    let mut state = seed;
    let mut below = |count: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % count as u64).unwrap()
    };
    let frames = frames();
    let count = if std::env::var_os("WELLWRITTEN_LONG").is_some() {
        1_000_000
    } else {
        10_000
    };
    let mut accepted = 0;
    for _ in 0..count {
        let mut bytes = frames[below(frames.len())].encode();
        for _ in 0..=below(3) {
            let at = below(bytes.len());
            match below(4) {
                0 => bytes[at] ^= 1 << below(8),
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"0\"{}[],:e-"[below(10)]),
                _ => {
                    let from = below(bytes.len());
                    bytes[at] = bytes[from];
                }
            }
        }
        bytes.insert(0, u8::try_from(2 * below(64)).unwrap());
        accepted += check_stream(&bytes).unwrap();
    }
    // Canary: some damage makes another message, most makes none.
    assert!(accepted > 0 && accepted < count, "{accepted}");
}

/// Inputs that once failed.
#[test]
fn what_once_failed_passes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/regressions/frames");
    let mut replayed = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if let Err(what) = check_stream(&std::fs::read(&path).unwrap()) {
            panic!("{}: {what}", path.display());
        }
        replayed += 1;
    }
    assert!(replayed > 0);
}
