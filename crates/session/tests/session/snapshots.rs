//! A snapshot is held against what is known of the boundary apart from it: a good one passes, and each single thing of
//! another boundary is noticed, by its own name.

use wellwritten_session::{
    Artifact, CommittedBoundary, CommittedSnapshot, ErrorCode, IncoherentSnapshot as No,
    RationalNs, U64, check_coherence,
};

use crate::rig::{Rig, id};

/// A good snapshot and the boundary it is held against.
fn good() -> (CommittedSnapshot, CommittedBoundary, Rig) {
    let rig = Rig::ready();
    rig.steps(3);
    let snapshot = (*rig.session.snapshot().unwrap()).clone();
    let committed = CommittedBoundary {
        boundary: 3,
        world_time: snapshot.world_time,
        committed_steps: vec![(id("fly-a"), 3), (id("fly-b"), 3)],
        audio: snapshot
            .media
            .audio
            .iter()
            .map(|chunk| wellwritten_session::AudioPosition {
                stream_id: chunk.stream_id.clone(),
                next_sample: U64(chunk.first_sample.0 + u64::from(chunk.sample_frames)),
            })
            .collect(),
        attachments: snapshot
            .attachments()
            .map(|(name, artifact)| (name, artifact.clone()))
            .collect(),
    };
    (snapshot, committed, rig)
}

type Change = fn(&mut CommittedSnapshot, &mut CommittedBoundary);
type Expected = fn(&No) -> bool;

#[test]
#[expect(clippy::too_many_lines, reason = "a table of changes")]
fn coherence_notices_any_one_thing_that_is_of_another_boundary() {
    let (snapshot, committed, rig) = good();
    let descriptor = rig.session.descriptor(None).unwrap();
    check_coherence(&snapshot, &descriptor, &committed).unwrap();
    assert!(!snapshot.media.audio.is_empty(), "the counter sounds");
    let changes: [(Change, Expected); 20] = [
        (
            |it, _| it.descriptor_revision = U64(2),
            |no| matches!(no, No::Revision { .. }),
        ),
        (
            |it, _| it.scope.session_id = id("other"),
            |no| matches!(no, No::Session { .. }),
        ),
        (
            |it, _| it.scope.step = U64(4),
            |no| matches!(no, No::Boundary { found: 4, .. }),
        ),
        (
            |it, _| it.world_time = RationalNs::ZERO,
            |no| matches!(no, No::WorldTime),
        ),
        (
            |_, committed| committed.committed_steps[1].1 = 2,
            |no| matches!(no, No::NotCommitted { found: 2, .. }),
        ),
        (
            |it, _| it.agents.reverse(),
            |no| matches!(no, No::Agents { .. }),
        ),
        (
            |it, _| it.agents.truncate(1),
            |no| matches!(no, No::Agents { .. }),
        ),
        (
            |it, _| {
                let telemetry = it.agents[0].telemetry.as_mut().unwrap();
                telemetry.rates.clear();
            },
            |no| matches!(no, No::RateRoles { .. }),
        ),
        (
            |it, _| it.agents[0].applied_controls = it.agents[1].applied_controls.clone(),
            |no| matches!(no, No::Port { .. }),
        ),
        (
            |it, _| it.agents[1].selected_decision = None,
            |no| matches!(no, No::Actions { .. }),
        ),
        (
            |it, _| it.agents[1].applied_controls = None,
            |no| matches!(no, No::Actions { .. }),
        ),
        (
            |it, _| it.progress = it.agents[0].selected_decision.clone().unwrap(),
            |no| matches!(no, No::TaskSchema { .. }),
        ),
        (
            |it, _| it.media.views.clear(),
            |no| matches!(no, No::Views { .. }),
        ),
        (
            |it, _| it.media.views[0].produced_step = U64(2),
            |no| matches!(no, No::ProducedStep { found: 2, .. }),
        ),
        (
            // The same bytes, rendered again: another artifact.
            |it, _| {
                let view = &mut it.media.views[0];
                let bytes = view.pixels.bytes().to_vec();
                view.pixels = Artifact::seal(bytes, view.pixels.content_type());
            },
            |no| matches!(no, No::Attachment { name } if name == "view.arena"),
        ),
        (
            |it, _| {
                let view = &mut it.media.views[0];
                view.pixels = Artifact::seal(vec![0; 4], view.pixels.content_type());
            },
            |no| matches!(no, No::Shape { found: 4, .. }),
        ),
        (
            |it, _| it.media.audio.clear(),
            |no| matches!(no, No::Streams { .. }),
        ),
        (
            |it, _| it.media.audio[0].first_sample.0 += 1,
            |no| matches!(no, No::AudioPosition { .. }),
        ),
        (
            |_, committed| {
                let again = committed.attachments[0].clone();
                committed.attachments.push(again);
            },
            |no| matches!(no, No::Attachment { .. }),
        ),
        (
            |it, _| it.event_ids.push(it.event_ids[0].clone()),
            |no| matches!(no, No::Events { .. }),
        ),
    ];
    for (index, (change, expected)) in changes.into_iter().enumerate() {
        let (mut snapshot, mut committed) = (snapshot.clone(), committed.clone());
        change(&mut snapshot, &mut committed);
        let no = check_coherence(&snapshot, &descriptor, &committed).unwrap_err();
        assert!(expected(&no), "change {index}: {no}");
        assert_eq!(no.code(), ErrorCode::BufferInvalid);
    }
}
