//! What a world may sound: one chunk of every stream and transition, finite, whole, and where its stream goes on.

use std::cell::RefCell;
use std::rc::Rc;

use futures::executor::block_on;
use wellwritten_session::{
    Artifact, AudioRef, ErrorCode, Phase, RestoreRequest, U64, WorldObservation,
};

use crate::bench::{Bench, Rig, id};
use crate::forge::{forge, refused_record};
use crate::world::sample;

/// Every chunk that the world gave, in order, as it left the world.
fn recorded(bench: &Rc<Bench>) -> Rc<RefCell<Vec<AudioRef>>> {
    let chunks = Rc::new(RefCell::new(Vec::new()));
    let heard = chunks.clone();
    bench.tamper_with(move |observation| heard.borrow_mut().extend(observation.audio.clone()));
    chunks
}

fn spans(chunks: &[AudioRef], stream: &str) -> Vec<(u64, u32, bool)> {
    let chunks = chunks.iter();
    chunks
        .filter(|chunk| chunk.stream_id.as_str() == stream)
        .map(|chunk| {
            (
                chunk.first_sample.0,
                chunk.sample_frames,
                chunk.discontinuity,
            )
        })
        .collect()
}

#[test]
fn a_step_that_does_not_divide_the_rate_lands_on_whole_samples() {
    let rig = Rig::ready();
    let chunks = recorded(&rig.bench);
    rig.steps(6);
    let chunks = chunks.borrow();
    assert_eq!(
        spans(&chunks, "room"),
        [0, 800, 1600, 2400, 3200, 4000].map(|first| (first, 800, false))
    );
    assert_eq!(
        spans(&chunks, "voice"),
        [
            (0, 133, false),
            (133, 133, false),
            (266, 134, false),
            (400, 133, false),
            (533, 133, false),
            (666, 134, false)
        ]
    );
    let voice = chunks
        .iter()
        .find(|chunk| chunk.first_sample.0 == 133)
        .unwrap();
    let (samples, _) = voice.samples.bytes().as_chunks::<4>();
    assert!(
        (0..133)
            .all(|index| f32::from_le_bytes(samples[index]).to_bits()
                == sample(133, index).to_bits())
    );
}

fn samples_of(chunk: &AudioRef) -> Vec<u8> {
    chunk.samples.bytes().to_vec()
}

fn with_samples(chunk: &mut AudioRef, bytes: Vec<u8>) {
    chunk.samples = Artifact::seal(bytes, Artifact::F32LE);
}

type Change = fn(&mut Vec<AudioRef>);

/// What may go wrong with the chunks of the third transition, and a part of what is then said.
const WRONG: [(&str, Change, &str); 19] = [
    ("none", |audio| audio.clear(), "one chunk each was due"),
    (
        "one missing",
        |audio| drop(audio.pop()),
        "one chunk each was due",
    ),
    (
        "another order",
        |audio| audio.reverse(),
        "one chunk each was due",
    ),
    (
        "one twice",
        |audio| audio.push(audio[1].clone()),
        "one chunk each was due",
    ),
    (
        "another stream",
        |audio| audio[1].stream_id = id("noise"),
        "one chunk each was due",
    ),
    (
        "too few bytes",
        |audio| {
            let mut bytes = samples_of(&audio[0]);
            bytes.truncate(bytes.len() - 8);
            with_samples(&mut audio[0], bytes);
        },
        "stream room has 6392 bytes of audio/x-f32le, 800 sample frames are 6400",
    ),
    (
        "half a sample",
        |audio| {
            let mut bytes = samples_of(&audio[1]);
            bytes.truncate(bytes.len() - 2);
            with_samples(&mut audio[1], bytes);
        },
        "stream voice has 534 bytes of audio/x-f32le, 134 sample frames are 536",
    ),
    (
        "no bytes",
        |audio| with_samples(&mut audio[0], Vec::new()),
        "stream room has 0 bytes",
    ),
    (
        "fewer frames than bytes",
        |audio| audio[0].sample_frames -= 1,
        "799 sample frames are 6392",
    ),
    (
        "more frames than there may be",
        |audio| {
            audio[1].sample_frames = AudioRef::MAX_SAMPLE_FRAMES + 1;
            with_samples(&mut audio[1], vec![0; 4 * 192_001]);
        },
        "stream voice has a chunk of 192001 sample frames, the limit is 192000",
    ),
    (
        "another content type",
        |audio| audio[0].samples = Artifact::seal(samples_of(&audio[0]), Artifact::RGBA8),
        "bytes of image/x-rgba8",
    ),
    (
        "not a number",
        |audio| {
            let mut bytes = samples_of(&audio[0]);
            bytes[4 * 7..4 * 8].copy_from_slice(&f32::NAN.to_le_bytes());
            with_samples(&mut audio[0], bytes);
        },
        "stream room has a value that is no number at sample 7 of its chunk",
    ),
    (
        "infinity as the last sample",
        |audio| {
            let mut bytes = samples_of(&audio[1]);
            let last = bytes.len() - 4;
            bytes[last..].copy_from_slice(&f32::NEG_INFINITY.to_le_bytes());
            with_samples(&mut audio[1], bytes);
        },
        "at sample 133 of its chunk",
    ),
    (
        "an overlap of one sample",
        |audio| audio[0].first_sample.0 -= 1,
        "stream room: a chunk begins at sample 1599, the stream has reached 1600",
    ),
    (
        "an overlap that says so",
        |audio| {
            audio[1].first_sample.0 -= 1;
            audio[1].discontinuity = true;
        },
        "stream voice: a chunk begins at sample 265, the stream has reached 266",
    ),
    (
        "the chunk before once more",
        |audio| audio[0].first_sample.0 -= 800,
        "begins at sample 800, the stream has reached 1600",
    ),
    (
        "from the beginning",
        |audio| audio[0].first_sample.0 = 0,
        "begins at sample 0, the stream has reached 1600",
    ),
    (
        "a continuation called a discontinuity",
        |audio| audio[1].discontinuity = true,
        "begins exactly at the stream's end, 266, is marked",
    ),
    (
        "the end of all samples",
        |audio| audio[0].first_sample = U64(u64::MAX - 799),
        "end beyond the last sample there is",
    ),
];

#[test]
fn whatever_is_wrong_with_a_chunk_fails_the_transition_before_any_reward() {
    for (name, change, said) in WRONG {
        let rig = Rig::ready();
        rig.steps(2);
        rig.bench
            .tamper_with(move |observation| change(&mut observation.audio));
        let record = rig.refused_transition();
        assert_eq!(record.error.code, ErrorCode::BufferInvalid, "{name}");
        assert!(record.error.message.contains(said), "{name}: {record}");
    }
}

/// The canary: changes as large that are allowed, after which the next transition is held to where the stream now is.
#[test]
fn what_is_allowed_is_taken_and_moves_the_stream() {
    let allowed: [(Change, u64); 5] = [
        (|_| {}, 2400),
        (|audio| audio[0].first_sample.0 += 1, 2401),
        (
            |audio| {
                audio[0].first_sample.0 += 100;
                audio[0].discontinuity = true;
            },
            2500,
        ),
        (
            |audio| {
                audio[0].sample_frames = 0;
                with_samples(&mut audio[0], Vec::new());
            },
            1600,
        ),
        (
            |audio| audio[0].first_sample = U64(u64::MAX - 800),
            u64::MAX,
        ),
    ];
    for (change, end) in allowed {
        let rig = Rig::ready();
        rig.steps(2);
        rig.bench
            .tamper_with(move |observation| change(&mut observation.audio));
        rig.steps(1);
        // One sample before the end is an overlap; exactly there, with nothing to hear, it goes on.
        let at = |first: u64| {
            move |observation: &mut WorldObservation| {
                observation.audio[0].first_sample = U64(first);
                observation.audio[0].sample_frames = 0;
                with_samples(&mut observation.audio[0], Vec::new());
            }
        };
        rig.bench.tamper_with(at(end));
        rig.steps(1);
        rig.bench.tamper_with(at(end - 1));
        let record = rig.refused_transition();
        let said = format!("the stream has reached {end}");
        assert!(record.error.message.contains(&said), "{record}");
    }
}

#[test]
fn the_first_chunk_of_an_episode_begins_at_its_origin() {
    let rig = Rig::ready();
    rig.bench
        .tamper_with(|observation| observation.audio[0].first_sample = U64(1));
    let record = rig.refused_transition();
    let said = "stream room: the first chunk begins at sample 1, the stream is at 0";
    assert!(record.error.message.contains(said), "{record}");
    let rig = Rig::ready();
    rig.bench
        .tamper_with(|observation| observation.audio[0].discontinuity = true);
    rig.steps(1);
}

fn stray() -> AudioRef {
    AudioRef {
        stream_id: id("room"),
        first_sample: U64(0),
        sample_frames: 0,
        samples: Artifact::seal(Vec::new(), Artifact::F32LE),
        discontinuity: true,
    }
}

#[test]
fn where_nothing_moved_nothing_sounds() {
    // Not a rule about boundary 0: a restore at boundary 2 is silent too.
    let bench = Rc::new(Bench::default());
    bench.tamper_with(|observation| observation.audio.push(stray()));
    let rig = Rig::starting_on(bench);
    let error = block_on(rig.session.bootstrap()).unwrap_err();
    let said = "nothing moved, and stream room has a chunk of 0 sample frames";
    assert!(error.to_string().contains(said), "{error}");

    let rig = Rig::ready();
    rig.steps(2);
    rig.save("two");
    rig.fail();
    rig.bench
        .tamper_with(|observation| observation.audio.push(stray()));
    let error = block_on(rig.session.restore(RestoreRequest::default())).unwrap_err();
    assert!(error.to_string().contains(said), "{error}");
    let status = rig.session.status();
    assert_eq!((status.phase, status.tainted.len()), (Phase::Failed, 3));
}

#[test]
fn a_restore_goes_on_at_the_preserved_position_and_says_so_once() {
    let rig = Rig::ready();
    rig.steps(3);
    rig.save("three");
    rig.steps(2);
    rig.fail();
    rig.restore();
    let chunks = recorded(&rig.bench);
    rig.steps(2);
    {
        let chunks = chunks.borrow();
        assert_eq!(
            spans(&chunks, "room"),
            [(2400, 800, true), (3200, 800, false)]
        );
        assert_eq!(
            spans(&chunks, "voice"),
            [(400, 133, true), (533, 133, false)]
        );
    }
    // A checkpoint of a boundary that was restored and not left again preserves the same position.
    rig.fail();
    rig.restore();
    rig.save("still-three");
    rig.fail();
    rig.restore();
    chunks.borrow_mut().clear();
    rig.steps(1);
    assert_eq!(spans(&chunks.borrow(), "room"), [(2400, 800, true)]);
}

#[test]
fn the_first_chunk_after_a_restore_is_held_to_both() {
    let wrong: [(Change, &str); 3] = [
        (
            |audio| audio[0].discontinuity = false,
            "stream room: the first chunk after a restore, at sample 1600, is a discontinuity",
        ),
        (
            |audio| audio[0].first_sample = U64(0),
            "stream room: the first chunk begins at sample 0, the stream is at 1600",
        ),
        // What the abandoned future had reached.
        (
            |audio| audio[0].first_sample = U64(3200),
            "stream room: the first chunk begins at sample 3200, the stream is at 1600",
        ),
    ];
    for (change, said) in wrong {
        let rig = Rig::ready();
        rig.steps(2);
        rig.save("two");
        rig.steps(2);
        rig.fail();
        rig.restore();
        rig.bench
            .tamper_with(move |observation| change(&mut observation.audio));
        let record = rig.refused_transition();
        assert!(record.error.message.contains(said), "{record}");
    }
}

#[test]
fn a_rejected_chunk_does_not_move_the_stream_that_is_captured() {
    let rig = Rig::ready();
    rig.steps(2);
    rig.save("two");
    rig.bench
        .tamper_with(|observation| observation.audio[1].first_sample = U64(0));
    rig.refused_transition();
    rig.bench.tamper_with(|_| {});
    rig.restore();
    rig.steps(3);
}

#[test]
fn positions_that_are_not_the_worlds_are_never_installed() {
    let rig = Rig::ready();
    rig.steps(2);
    let error = refused_record(&rig, |record| {
        record["audioPositions"][1]["streamId"] = "noise".into();
    });
    let said = r#"its audioPositions is ["room","noise"], elsewhere in the checkpoint it is ["room","voice"]"#;
    assert!(error.to_string().contains(said), "{error}");
    // Only the world knows better than a number: it is asked when it stages, and nobody activates.
    let rig = Rig::ready();
    rig.steps(2);
    forge(&rig, |record| {
        record["audioPositions"][0]["nextSample"] = "1601".into();
    });
    rig.bench.log.borrow_mut().clear();
    let error = block_on(rig.session.restore(RestoreRequest::default())).unwrap_err();
    let said = "its audioPositions is [room at 1600, voice at 266], elsewhere in the checkpoint it is [room at 1601, voice at 266]";
    assert!(error.to_string().contains(said), "{error}");
    assert_eq!(*rig.bench.log.borrow(), ["world.stage"]);
    assert_eq!(rig.session.status().tainted, [id("world")]);
}

#[test]
fn no_agent_hears_anything() {
    let rig = Rig::ready();
    rig.steps(2);
    for input in &*rig.bench.inputs.borrow() {
        let text = serde_json::to_string(input).unwrap();
        assert!(!text.contains("audio") && !text.contains("f32le"), "{text}");
        assert_eq!(input.views.len(), 1);
    }
}
