//! The canonical JSON of a behaviour, written straight down.
//!
//! The general way makes a tree of values and sorts its keys, at a tenth of what a whole transition costs; the digest of a trace
//! needs the text at every step. Here the keys stand in their order, and nothing needs an escape: every text in a behaviour
//! is an id, a number or a digest. A test holds the two against each other.

use std::fmt::{Display, Write};

use wellwritten_envelope::{RationalNs, Scope};

use crate::{AgentBehaviour, AudioBehaviour, Behaviour, EpisodeBehaviour, ViewBehaviour};

/// An object in the making. Members are written in the order of the calls, which has to be that of their keys.
struct Members<'a> {
    text: &'a mut String,
    before: char,
}

impl<'a> Members<'a> {
    fn of(text: &'a mut String) -> Self {
        Self { text, before: '{' }
    }

    fn key(&mut self, key: &str) -> &mut String {
        self.text.push(self.before);
        self.before = ',';
        write(self.text, format_args!("\"{key}\":"));
        self.text
    }

    fn text(&mut self, key: &str, value: impl Display) -> &mut Self {
        write(self.key(key), format_args!("\"{value}\""));
        self
    }

    /// Nothing at all where there is no value.
    fn optional(&mut self, key: &str, value: Option<impl Display>) -> &mut Self {
        if let Some(value) = value {
            self.text(key, value);
        }
        self
    }

    fn list<T>(
        &mut self,
        key: &str,
        items: &[T],
        mut each: impl FnMut(&mut String, &T),
    ) -> &mut Self {
        let text = self.key(key);
        text.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            each(text, item);
        }
        text.push(']');
        self
    }

    fn end(&mut self) {
        self.text.push('}');
    }
}

fn write(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("writing to a string does not fail");
}

/// As `canonical_json` writes it.
pub(crate) fn canonical_behaviour(behaviour: &Behaviour) -> String {
    let Behaviour {
        scope,
        agents,
        batch_id,
        control_digest,
        acknowledged_boundary,
        observation_boundaries,
        inspection_digest,
        world_state_digest,
        audio,
        outcome_ids,
        event_ids,
        episode_request,
        published_boundary,
    } = behaviour;
    let mut text = String::with_capacity(2048);
    let id = |text: &mut String, id: &_| write(text, format_args!("\"{id}\""));
    let mut members = Members::of(&mut text);
    members
        .text("acknowledgedBoundary", acknowledged_boundary)
        .list("agents", agents, write_agent);
    if !audio.is_empty() {
        members.list("audio", audio, write_audio);
    }
    members
        .text("batchId", batch_id)
        .text("controlDigest", control_digest);
    if let Some(request) = episode_request {
        write_episode(members.key("episodeRequest"), request);
    }
    members
        .list("eventIds", event_ids, id)
        .optional("inspectionDigest", inspection_digest.as_ref())
        .list("observationBoundaries", observation_boundaries, write_view)
        .list("outcomeIds", outcome_ids, id)
        .optional("publishedBoundary", published_boundary.as_ref());
    write_scope(members.key("scope"), scope);
    members
        .optional("worldStateDigest", world_state_digest.as_ref())
        .end();
    text
}

fn write_agent(text: &mut String, agent: &AgentBehaviour) {
    let AgentBehaviour {
        agent_id,
        profile_digest,
        ticks_advanced,
        brain_ticks,
        remainder,
        decision_digest,
        committed_step,
        telemetry_digest,
        outcome_digest,
        pre_step_digest,
        state_digest,
    } = agent;
    let mut members = Members::of(text);
    members
        .text("agentId", agent_id)
        .text("brainTicks", brain_ticks)
        .text("committedStep", committed_step)
        .text("decisionDigest", decision_digest)
        .optional("outcomeDigest", outcome_digest.as_ref())
        .optional("preStepDigest", pre_step_digest.as_ref())
        .text("profileDigest", profile_digest);
    write_rational(members.key("remainder"), *remainder);
    members
        .optional("stateDigest", state_digest.as_ref())
        .optional("telemetryDigest", telemetry_digest.as_ref())
        .text("ticksAdvanced", ticks_advanced)
        .end();
}

fn write_audio(text: &mut String, chunk: &AudioBehaviour) {
    let AudioBehaviour {
        stream_id,
        first_sample,
        sample_frames,
        samples_digest,
    } = chunk;
    let mut members = Members::of(text);
    members.text("firstSample", first_sample);
    write(members.key("sampleFrames"), format_args!("{sample_frames}"));
    members
        .text("samplesDigest", samples_digest)
        .text("streamId", stream_id)
        .end();
}

fn write_view(text: &mut String, view: &ViewBehaviour) {
    let ViewBehaviour {
        view_id,
        produced_step,
        frame_digest,
    } = view;
    Members::of(text)
        .optional("frameDigest", frame_digest.as_ref())
        .text("producedStep", produced_step)
        .text("viewId", view_id)
        .end();
}

fn write_episode(text: &mut String, request: &EpisodeBehaviour) {
    let EpisodeBehaviour {
        kind,
        reason,
        outcome_digest,
    } = request;
    let kind = match kind {
        crate::EpisodeRequestKind::Terminal => "terminal",
    };
    Members::of(text)
        .text("kind", kind)
        .text("outcomeDigest", outcome_digest)
        .text("reason", reason)
        .end();
}

fn write_scope(text: &mut String, scope: &Scope) {
    Members::of(text)
        .text("epoch", &scope.epoch)
        .text("sessionId", &scope.session_id)
        .text("step", scope.step)
        .end();
}

fn write_rational(text: &mut String, rational: RationalNs) {
    Members::of(text)
        .text("denominator", rational.denominator())
        .text("numerator", rational.numerator())
        .end();
}
