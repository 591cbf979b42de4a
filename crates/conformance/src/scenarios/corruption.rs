//! Checkpoints that are not what was captured, with every digest made anew: only whoever reads a payload can notice.

use std::rc::Rc;

use serde_json::{Value, json};
use wellwritten_session::{
    Digest, ErrorCode, PayloadHeader, PayloadKind, RestoreRequest, StatePayload,
};

use crate::forgery::{BodyChange, Forgery, FrameChange, HeaderChange, with_values};
use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::{ScenarioFailure, Stage, Verdict};

use super::contradictions::contradictions;
use super::fencing::fail;
use super::forgery_bench::{Bench, Noticed, PAYLOADS, reader};
use super::resuming::save;

/// What the scenarios below refuse is the change and not the copying: a copy without one restores.
pub(super) async fn a_copy_without_a_change_restores(stage: Rc<dyn Stage>) -> Verdict {
    let mut bench = Bench::new(&stage).await?;
    let request = bench.forge(Forgery::default()).await?;
    let report = bench.play.session.restore(request).await?;
    let found = (report.checkpoint_id, report.boundary);
    same("restored,", &found, &(id("forged-1"), 2))?;
    bench.play.session.resume()?;
    bench.play.steps(2).await
}

pub(super) async fn one_bit_in_any_payload_is_refused_by_whoever_reads_it(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let mut bench = Bench::new(&stage).await?;
    for payload in PAYLOADS {
        // In its first bytes, in what it says of itself, in the state, in its digest.
        for quarter in 0..4 {
            let flip = |frame: &mut Vec<u8>| {
                let position = frame.len() * quarter / 4 + quarter;
                frame[position] ^= 4;
            };
            let forgery = Forgery {
                payload,
                frame: Some(&flip),
                ..Forgery::default()
            };
            let what = format!("a bit of {payload}, at {quarter}/4");
            bench.is_refused(&what, forgery, reader(payload)).await?;
        }
        bench.intact_restores().await?;
    }
    Ok(())
}

/// Under right digests, also the payload's own.
pub(super) async fn a_state_that_does_not_read_is_refused_by_its_owner(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let mut bench = Bench::new(&stage).await?;
    let shorter = |body: &[u8]| Ok(body[..body.len() - 1].to_vec());
    let longer = |body: &[u8]| Ok([body, b" "].concat());
    let nothing = |_: &[u8]| Ok(Vec::new());
    let list = |_: &[u8]| Ok(b"[]".to_vec());
    let more = |body: &[u8]| Ok([&body[..body.len() - 1], b",\"zz\":1}"].concat());
    let changes: [(&str, BodyChange<'_>); 5] = [
        ("a byte less", &shorter),
        ("a byte more", &longer),
        ("nothing", &nothing),
        ("a list", &list),
        ("a field more", &more),
    ];
    for payload in PAYLOADS {
        for (what, change) in changes {
            // Where there is more than it takes, but nothing that it could take for something else.
            if what == "a byte more" && reader(payload) == Noticed::Before {
                continue;
            }
            let forgery = Forgery {
                payload,
                body: Some(change),
                ..Forgery::default()
            };
            let what = format!("{what} of {payload}");
            bench.is_refused(&what, forgery, reader(payload)).await?;
        }
        bench.intact_restores().await?;
    }
    Ok(())
}

/// Nobody takes what belongs to somebody else, or is of another moment, for its own.
pub(super) async fn the_state_of_another_is_refused_by_its_owner(stage: Rc<dyn Stage>) -> Verdict {
    let mut bench = Bench::new(&stage).await?;
    for payload in PAYLOADS {
        let of_another = |header: &mut PayloadHeader| {
            header.owner = id("somebody");
        };
        let of_another_kind = |header: &mut PayloadHeader| {
            let is_ledger = header.kind == PayloadKind::TaskLedger;
            header.kind = if is_ledger {
                PayloadKind::Environment
            } else {
                PayloadKind::TaskLedger
            };
        };
        let of_another_checkpoint = |header: &mut PayloadHeader| {
            header.checkpoint_id = id("good");
        };
        let of_another_step = |header: &mut PayloadHeader| {
            header.source_scope.step.0 += 1;
        };
        let of_another_epoch = |header: &mut PayloadHeader| {
            header.source_scope.epoch = id("e0");
        };
        let of_another_session = |header: &mut PayloadHeader| {
            header.source_scope.session_id = id("other");
        };
        let of_another_make = |header: &mut PayloadHeader| {
            header.compatibility_digest = Digest::blake3(b"another make");
        };
        let changes: [(&str, HeaderChange<'_>); 7] = [
            ("owner", &of_another),
            ("kind", &of_another_kind),
            ("checkpoint", &of_another_checkpoint),
            ("step", &of_another_step),
            ("epoch", &of_another_epoch),
            ("session", &of_another_session),
            ("make", &of_another_make),
        ];
        for (what, change) in changes {
            let forgery = Forgery {
                payload,
                header: Some(change),
                ..Forgery::default()
            };
            let what = format!("{payload} of another {what}");
            bench.is_refused(&what, forgery, reader(payload)).await?;
        }
        bench.intact_restores().await?;
    }
    Ok(())
}

pub(super) async fn a_state_that_contradicts_the_rest_is_refused_by_who_compares(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let mut bench = Bench::new(&stage).await?;
    for (payload, values, noticed) in contradictions() {
        let change = |body: &[u8]| with_values(body, &values);
        let forgery = Forgery {
            payload,
            body: Some(&change),
            ..Forgery::default()
        };
        let what = format!("{payload} with {values:?}");
        bench.is_refused(&what, forgery, noticed).await?;
    }
    bench.intact_restores().await
}

/// An agent's payload and what the runtime keeps beside it agree with each other, and not with the checkpoint.
pub(super) async fn an_agent_that_agrees_with_itself_alone_is_refused_by_who_compares(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let mut bench = Bench::new(&stage).await?;
    for agent in ["fly-a", "fly-b"] {
        let ticks = |header: &mut PayloadHeader| {
            if let Some(record) = &mut header.agent {
                record.brain_ticks.0 += 1;
            }
        };
        let one_more = |body: &[u8]| {
            let read = serde_json::from_slice::<Value>(body).ok();
            let ticks = read.and_then(|it| it["ticks"].as_str()?.parse::<u64>().ok());
            let ticks = ticks.ok_or_else(|| ScenarioFailure::new("ticks", body))?;
            with_values(body, &[("/ticks", json!((ticks + 1).to_string()))])
        };
        let forgery = Forgery {
            payload: if agent == "fly-a" {
                "agent-fly-a"
            } else {
                "agent-fly-b"
            },
            body: Some(&one_more),
            header: Some(&ticks),
            ..Forgery::default()
        };
        let what = format!("{agent} with a tick more");
        let noticed = Noticed::ByComparison(if agent == "fly-a" { "fly-a" } else { "fly-b" });
        bench.is_refused(&what, forgery, noticed).await?;
    }
    bench.intact_restores().await
}

/// Damage of the file, which the store notices before anybody reads anything.
pub(super) async fn a_damaged_file_is_told_and_an_older_one_taken_only_if_asked_for(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(2).await?;
    save(&play, "good").await?;
    play.steps(1).await?;
    save(&play, "newest").await?;
    fail(&play)?;
    let store = play.store()?;
    let files = store.medium.files();
    let newest = files.iter().find(|(name, _)| name.starts_with("newest"));
    let (file, bytes) =
        newest.ok_or_else(|| ScenarioFailure::new("a file of the newest", files.keys()))?;
    let before = play.session.status();
    let mut torn = bytes.to_vec();
    torn.truncate(bytes.len() / 2);
    let mut flipped = bytes.to_vec();
    flipped[bytes.len() / 2] ^= 1;
    let _ = play.tap.drain();
    for damaged in [Some(torn), Some(flipped), Some(Vec::new()), None] {
        store.medium.tamper(file, damaged);
        let refusal = play.session.restore(RestoreRequest::default()).await;
        let refusal = refused("a damaged one", refusal, ErrorCode::IncompatibleState)?;
        let text = refusal.to_string();
        let offers = text.contains("newest") && text.contains("good");
        holds("the damage and what is left to be told", offers, text)?;
        same("the session as it was,", &play.session.status(), &before)?;
    }
    holds(
        "nobody to be asked",
        play.tap.entries().is_empty(),
        play.tap.entries().len(),
    )?;
    let request = RestoreRequest {
        fallback: true,
        ..RestoreRequest::default()
    };
    let report = play.session.restore(request).await?;
    let skipped: Vec<String> = report
        .skipped
        .iter()
        .map(|it| it.checkpoint_id.to_string())
        .collect();
    let found = (report.checkpoint_id, report.boundary, skipped);
    same(
        "the older one,",
        &found,
        &(id("good"), 2, vec!["newest".to_owned()]),
    )?;
    play.session.resume()?;
    play.steps(2).await
}

/// The frame around a state is read as strictly as the state.
pub(super) async fn a_frame_that_lies_about_its_length_is_refused(stage: Rc<dyn Stage>) -> Verdict {
    let mut bench = Bench::new(&stage).await?;
    for payload in PAYLOADS {
        let shorter = |frame: &mut Vec<u8>| {
            frame.pop();
        };
        let longer = |frame: &mut Vec<u8>| frame.push(0);
        let empty = |frame: &mut Vec<u8>| frame.clear();
        // Beyond the payload, under a digest that is right.
        let beyond = |frame: &mut Vec<u8>| {
            let body = frame.len() - Digest::BYTES;
            frame.truncate(body);
            frame[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
            let digest = Digest::blake3(frame);
            frame.extend_from_slice(digest.as_bytes());
        };
        let changes: [(&str, FrameChange<'_>); 4] = [
            ("shorter", &shorter),
            ("longer", &longer),
            ("empty", &empty),
            ("beyond its end", &beyond),
        ];
        for (what, change) in changes {
            let forgery = Forgery {
                payload,
                frame: Some(change),
                ..Forgery::default()
            };
            let what = format!("a frame of {payload}, {what}");
            bench.is_refused(&what, forgery, reader(payload)).await?;
        }
    }
    bench.intact_restores().await
}

/// Whether a checkpoint is read at all is shown by what was captured: every payload is one that its owner can tell.
pub(super) async fn every_payload_says_whose_it_is(stage: Rc<dyn Stage>) -> Verdict {
    let bench = Bench::new(&stage).await?;
    let bytes = bench.play.store()?.client().read(&id("good")).await;
    let bytes = bytes.map_err(|error| ScenarioFailure::new("a generation", error.to_string()))?;
    let envelope = wellwritten_envelope::decode(&bytes);
    let envelope =
        envelope.map_err(|error| ScenarioFailure::new("an envelope", error.to_string()))?;
    let mut found = Vec::new();
    for view in &envelope.payloads {
        let payload = StatePayload::decode(view.bytes)
            .map_err(|error| ScenarioFailure::new("a payload", error.to_string()))?;
        let step = payload.header.source_scope.step.0;
        same(
            "of this checkpoint,",
            &(payload.header.checkpoint_id, step),
            &(id("good"), 2),
        )?;
        found.push(view.name.to_string());
    }
    same(
        "all of them,",
        &found,
        &PAYLOADS.map(str::to_owned).to_vec(),
    )
}
