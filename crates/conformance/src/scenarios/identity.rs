//! A checkpoint of something else is refused by the name of what differs, before anyone is asked anything.

use std::rc::Rc;

use wellwritten_envelope::Manifest;
use wellwritten_session::{Digest, ErrorCode, Phase, RestoreRequest, SessionError};

use crate::forgery::Forgery;
use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, same};
use crate::store_tap::StoreTap;
use crate::{Entry, ScenarioFailure, Stage, Verdict};

use super::fencing::{failed, good_restores, tainted};
use super::resuming::{save, to};

/// A field by its name, how it is changed, and its two values as they are told: the checkpoint's and the session's.
struct Field {
    name: &'static str,
    change: Box<dyn Fn(&mut Manifest)>,
    value: fn(&Manifest) -> String,
}

fn other() -> Digest {
    Digest::blake3(b"of another make")
}

fn field(
    name: &'static str,
    change: impl Fn(&mut Manifest) + 'static,
    value: fn(&Manifest) -> String,
) -> Field {
    Field {
        name,
        change: Box::new(change),
        value,
    }
}

/// Every field of the compatibility block.
fn compatibility() -> Vec<Field> {
    vec![
        field(
            "backend",
            |manifest| manifest.compatibility.backend_digest = other(),
            |manifest| manifest.compatibility.backend_digest.to_string(),
        ),
        field(
            "content",
            |manifest| manifest.compatibility.content_digest = other(),
            |manifest| manifest.compatibility.content_digest.to_string(),
        ),
        field(
            "patch",
            |manifest| manifest.compatibility.patch_digest = other(),
            |manifest| manifest.compatibility.patch_digest.to_string(),
        ),
        field(
            "controller",
            |manifest| manifest.compatibility.controller_digest = other(),
            |manifest| manifest.compatibility.controller_digest.to_string(),
        ),
        field(
            "parser",
            |manifest| manifest.compatibility.parser_digest = other(),
            |manifest| manifest.compatibility.parser_digest.to_string(),
        ),
        field(
            "state-format",
            |manifest| manifest.compatibility.state_format_id = id("another-1"),
            |manifest| manifest.compatibility.state_format_id.to_string(),
        ),
    ]
}

/// Every other field that says what a checkpoint is of.
fn identities() -> Vec<Field> {
    vec![
        field(
            "episodeId",
            |manifest| manifest.episode_id = id("ep-other"),
            |manifest| manifest.episode_id.to_string(),
        ),
        field(
            "schedulerId",
            |manifest| manifest.scheduler_id = id("free-running-1"),
            |manifest| manifest.scheduler_id.to_string(),
        ),
        field(
            "compositionDigest",
            |manifest| manifest.composition_digest = other(),
            |manifest| manifest.composition_digest.to_string(),
        ),
        field(
            "portMap[p1]",
            |manifest| manifest.port_map[0].agent_id = id("fly-x"),
            |manifest| manifest.port_map[0].agent_id.to_string(),
        ),
        field(
            "portMap[p9]",
            |manifest| manifest.port_map[1].port_id = id("p9"),
            |_| "absent".to_owned(),
        ),
        field(
            "environment.workerId",
            |manifest| manifest.environment.worker_id = id("world-other"),
            |manifest| manifest.environment.worker_id.to_string(),
        ),
        field(
            "agents[fly-a].profileDigest",
            |manifest| manifest.agents[0].profile_digest = other(),
            |manifest| manifest.agents[0].profile_digest.to_string(),
        ),
        field(
            "agents[fly-b].datasetDigest",
            |manifest| manifest.agents[1].dataset_digest = other(),
            |manifest| manifest.agents[1].dataset_digest.to_string(),
        ),
        field(
            "agents[fly-a].indexDigest",
            |manifest| manifest.agents[0].index_digest = Some(other()),
            |manifest| match manifest.agents[0].index_digest {
                Some(digest) => digest.to_string(),
                None => "absent".to_owned(),
            },
        ),
        field(
            "agents[fly-b].modelVersion",
            |manifest| "lcg-2".clone_into(&mut manifest.agents[1].model_version),
            |manifest| manifest.agents[1].model_version.clone(),
        ),
        field(
            "agents[fly-a].plasticityVersion",
            |manifest| "xor-2".clone_into(&mut manifest.agents[0].plasticity_version),
            |manifest| manifest.agents[0].plasticity_version.clone(),
        ),
        field(
            "agents[fly-b].seed",
            |manifest| manifest.agents[1].seed += 1,
            |manifest| manifest.agents[1].seed.to_string(),
        ),
        field(
            "agents",
            |manifest| manifest.agents[0].agent_id = id("fly-0"),
            |_| "present".to_owned(),
        ),
        field(
            "coordinator.executorState",
            |manifest| manifest.coordinator.executor_state[1].agent_id = id("fly-z"),
            |_| "present".to_owned(),
        ),
    ]
}

/// The manifests of a generation and of its copy with that change.
fn both(
    bytes: &[u8],
    change: &dyn Fn(&mut Manifest),
) -> Result<(Manifest, Manifest), ScenarioFailure> {
    let envelope = wellwritten_envelope::decode(bytes);
    let envelope =
        envelope.map_err(|error| ScenarioFailure::new("an envelope", error.to_string()))?;
    let own = envelope.manifest;
    let mut changed = own.clone();
    change(&mut changed);
    Ok((changed, own))
}

/// The name of the field and both values are in what is told.
fn told(error: &SessionError, field: &Field, stored: &Manifest, running: &Manifest) -> Verdict {
    let text = error.to_string();
    let (stored, running) = ((field.value)(stored), (field.value)(running));
    let is_told = [field.name, stored.as_str(), running.as_str()]
        .into_iter()
        .all(|word| text.contains(word));
    holds(
        &format!("{}, {stored} and {running} to be told", field.name),
        is_told,
        text,
    )
}

/// Each, on its own, is refused before anyone stages, and the session is what it was.
async fn each_is_named(stage: &Rc<dyn Stage>, fields: Vec<Field>, code: ErrorCode) -> Verdict {
    let play = failed(stage, Setup::default()).await?;
    let store = play.store()?.client();
    let bytes = store.read(&id("good")).await;
    let bytes = bytes.map_err(|error| ScenarioFailure::new("a generation", error.to_string()))?;
    let before = play.session.status();
    for (number, field) in fields.iter().enumerate() {
        let (stored, running) = both(&bytes, &*field.change)?;
        let name = format!("of-another-{number}");
        let forgery = Forgery {
            manifest: Some(&*field.change),
            ..Forgery::default()
        };
        forgery.commit(&store, "good", &name).await?;
        let _ = play.tap.drain();
        let Err(error) = play
            .session
            .restore(to(&name, &format!("try-{number}")))
            .await
        else {
            return Err(ScenarioFailure::new(
                format!("{} to be refused", field.name),
                (),
            ));
        };
        same(&format!("{}: {error}:", field.name), &error.code(), &code)?;
        told(&error, field, &stored, &running)?;
        let entries = play.tap.entries();
        let asked: Vec<&str> = entries.iter().map(Entry::method).collect();
        holds(
            &format!("{}: nobody to be asked", field.name),
            asked.is_empty(),
            &asked,
        )?;
        same(
            &format!("{}: the session,", field.name),
            &play.session.status(),
            &before,
        )?;
    }
    same("nobody tainted,", &tainted(&play), &Vec::new())?;
    good_restores(&play).await
}

pub(super) async fn every_compatibility_field_is_named_with_both_values(
    stage: Rc<dyn Stage>,
) -> Verdict {
    each_is_named(&stage, compatibility(), ErrorCode::IncompatibleState).await
}

pub(super) async fn everything_else_that_a_checkpoint_is_of_is_named_with_both_values(
    stage: Rc<dyn Stage>,
) -> Verdict {
    each_is_named(&stage, identities(), ErrorCode::IdentityMismatch).await
}

/// Nothing is taken for want of anything better: where the newest is of something else, what differs is named too.
pub(super) async fn a_store_of_another_make_is_not_taken_for_an_empty_one(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let source = failed(&stage, Setup::default()).await?;
    let bytes = source.store()?.client().read(&id("good")).await;
    let bytes = bytes.map_err(|error| ScenarioFailure::new("a generation", error.to_string()))?;
    for field in compatibility() {
        let forgery = Forgery {
            manifest: Some(&*field.change),
            ..Forgery::default()
        };
        let forged = forgery.of(&bytes, "foreign")?;
        let store = StoreTap::new().await?;
        let imported = store.client().import(std::sync::Arc::new(forged)).await;
        imported.map_err(|error| ScenarioFailure::new("an import", error.to_string()))?;
        let play = Play::starting(&stage, Setup::default().over(&store)).await?;
        let _ = play.tap.drain();
        for request in [RestoreRequest::default(), to("foreign", "e7")] {
            let Err(error) = play.session.restore(request).await else {
                return Err(ScenarioFailure::new("a refusal", field.name));
            };
            let (stored, running) = both(&bytes, &*field.change)?;
            told(&error, &field, &stored, &running)?;
        }
        let entries = play.tap.entries();
        let asked: Vec<&str> = entries.iter().map(Entry::method).collect();
        holds("nobody to be asked", asked.is_empty(), &asked)?;
        same("as it was,", &play.session.phase(), &Phase::Starting)?;
        // And it can begin on its own.
        play.session.bootstrap().await?;
        play.steps(1).await?;
    }
    Ok(())
}

/// Participants that really are of another make, and not only a checkpoint that says so.
pub(super) async fn participants_of_another_make_do_not_take_the_checkpoint(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let first = Play::ready(&stage, Setup::default().with_store()).await?;
    first.steps(2).await?;
    save(&first, "good").await?;
    let store = first.store()?.clone();
    let mut others = Vec::new();
    let mut setup = Setup::default();
    setup.composition.sample_rate = 44_100;
    others.push(("patch", setup));
    let mut setup = Setup::default();
    setup.composition.view_delay_steps = 1;
    others.push(("patch", setup));
    others.push(("agents[fly-c]", Setup::agents(3)));
    others.push(("agents[fly-b]", Setup::agents(1)));
    let mut setup = Setup::default();
    setup.composition.episode_id = id("ep2");
    others.push(("episodeId", setup));
    for (named, setup) in others {
        let play = Play::starting(&stage, setup.over(&store)).await?;
        let _ = play.tap.drain();
        for request in [RestoreRequest::default(), to("good", "e7")] {
            let Err(error) = play.session.restore(request).await else {
                return Err(ScenarioFailure::new("a refusal", named));
            };
            let text = error.to_string();
            holds(&format!("{named} to be told"), text.contains(named), text)?;
        }
        let staging = play.tap.entries();
        let staging = staging.iter().any(|it| it.method() == "State.StageRestore");
        holds("nobody to be asked to stage", !staging, named)?;
        same("as it was,", &play.session.phase(), &Phase::Starting)?;
    }
    let same_again = Play::starting(&stage, Setup::default().over(&store)).await?;
    same_again
        .session
        .restore(RestoreRequest::default())
        .await?;
    same_again.session.resume()?;
    same_again.steps(1).await
}

/// A session under another name has nothing to do with it.
pub(super) async fn another_sessions_checkpoint_is_not_restored(stage: Rc<dyn Stage>) -> Verdict {
    let first = Play::ready(&stage, Setup::default().with_store()).await?;
    first.steps(1).await?;
    save(&first, "good").await?;
    let store = first.store()?.clone();
    let mut setup = Setup::default();
    setup.composition.session_id = id("another");
    let play = Play::starting(&stage, setup.over(&store)).await?;
    let _ = play.tap.drain();
    for request in [RestoreRequest::default(), to("good", "e7")] {
        let Err(error) = play.session.restore(request).await else {
            return Err(ScenarioFailure::new("a refusal", play.session.phase()));
        };
        let text = error.to_string();
        let is_told = ["sessionId", "demo", "another"]
            .iter()
            .all(|it| text.contains(it));
        holds("the session to be told", is_told, text)?;
    }
    let entries = play.tap.entries();
    holds("nobody to be asked", entries.is_empty(), entries.len())
}
