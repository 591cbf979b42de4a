//! What a participant in JavaScript says it is: [`WorldDeclaration`], [`AgentDeclaration`].

use serde::Deserialize;
use tsify::Tsify;
use wellwritten_envelope::{Digest, Id, RationalNs, U64};
use wellwritten_session::{
    AgentGraph, AgentProfile, AudioDescriptor, AudioFormat, AxisRange, AxisSchema,
    ControllerSchema, EnvironmentDescriptor, ErrorCode, ParticipantError, PixelAspect,
    PortDescriptor, SchemaRef, ViewAudience, ViewDescriptor,
};

/// Exact logical time: `numerator / denominator` nanoseconds.
#[derive(Clone, Copy, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[tsify(large_number_types_as_bigints)]
pub struct ExactNanoseconds {
    numerator: u64,
    denominator: u64,
}

/// A schema by name and version, and by the digest of its definition where it has one.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchemaName {
    /// Its name.
    #[tsify(type = "string")]
    id: Id,
    /// Its version, from 1.
    version: u16,
    /// 64 hexadecimal digits; of name and version alone where absent.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    digest: Option<Digest>,
}

/// The values an axis may take.
#[derive(Clone, Copy, Debug, Deserialize, Tsify)]
#[serde(rename_all = "lowercase")]
pub enum DeclaredRange {
    /// -1 to 1.
    Bipolar,
    /// 0 to 1.
    Unit,
}

/// One declared axis.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeclaredAxis {
    /// Its name.
    #[tsify(type = "string")]
    id: Id,
    /// Its values.
    range: DeclaredRange,
    /// Its resting value.
    neutral: f64,
}

/// One port and what it accepts.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeclaredPort {
    /// Its name.
    #[tsify(type = "string")]
    port_id: Id,
    /// Name and version of its controller.
    schema: SchemaName,
    /// Buttons, at most 32, in the order in which controls list them.
    #[tsify(type = "string[]")]
    buttons: Vec<Id>,
    /// Axes, at most 16, in the order in which controls list them.
    axes: Vec<DeclaredAxis>,
}

/// One declared view: RGBA8 from the top left, rows of `4 * width` bytes.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeclaredView {
    /// Its name.
    #[tsify(type = "string")]
    view_id: Id,
    /// In pixels, 1 to 4096.
    width: u32,
    /// In pixels, 1 to 4096.
    height: u32,
    /// Shape of its pixels; square where absent.
    #[serde(default)]
    #[tsify(optional)]
    pixel_aspect: Option<DeclaredAspect>,
    /// How many steps after it was shown a frame is seen, 0 to 8; 0 where absent. Frames wait here, not in the world.
    #[serde(default)]
    #[tsify(optional)]
    observation_delay_steps: u8,
    /// For whom it is; for agents where absent.
    #[serde(default)]
    #[tsify(optional)]
    audience: DeclaredAudience,
}

/// Width of one pixel to its height, 1 to 65,535 each.
#[derive(Clone, Copy, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeclaredAspect {
    numerator: u16,
    denominator: u16,
}

/// For whom a view is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Tsify)]
#[serde(rename_all = "lowercase")]
pub enum DeclaredAudience {
    /// Agents, and spectators too: shown at every boundary.
    #[default]
    Sensory,
    /// Spectators only: may be left out.
    Spectator,
}

/// One declared stream of sound: 32-bit floats, the channels of a sample frame next to each other. For listeners only.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeclaredAudio {
    /// Its name.
    #[tsify(type = "string")]
    stream_id: Id,
    /// Sample frames in a second of world time, 8,000 to 192,000.
    sample_rate: u32,
    /// 1 to 8.
    channels: u8,
}

/// What a world in JavaScript is; constant for its lifetime. Two worlds with the same declaration take each other's
/// states, so whatever changes what a state means belongs into `name` or a digest.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorldDeclaration {
    /// Name and version of the world, at most 64 characters, as an id: what its digests are of, where they are absent.
    #[tsify(type = "string")]
    name: Id,
    /// Digest of the engine, 64 hexadecimal digits.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    backend_digest: Option<Digest>,
    /// Digest of the content the engine runs.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    content_digest: Option<Digest>,
    /// Digest of the configuration.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    patch_digest: Option<Digest>,
    /// Digest of what makes the inspection out of the state.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    parser_digest: Option<Digest>,
    /// Format of the captured state; `name` where absent.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    state_format_id: Option<Id>,
    /// Logical time of one step, above zero.
    step_duration: ExactNanoseconds,
    /// 1 to 4, in the order in which controls list them.
    ports: Vec<DeclaredPort>,
    /// Schema of the inspection.
    inspection_schema: SchemaName,
    /// At most 8.
    views: Vec<DeclaredView>,
    /// At most 8; none where absent. Every step gives samples of each.
    #[serde(default)]
    #[tsify(optional)]
    audio: Vec<DeclaredAudio>,
}

/// What an agent in JavaScript is; constant for its lifetime.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[tsify(large_number_types_as_bigints)]
pub struct AgentDeclaration {
    /// Name and version of the model, as an id: what its digests are of, where they are absent.
    #[tsify(type = "string")]
    name: Id,
    /// Digest of the profile, 64 hexadecimal digits.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    profile_digest: Option<Digest>,
    /// Digest of the data the model is built from.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    dataset_digest: Option<Digest>,
    /// `name` where absent.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    model_version: Option<Id>,
    /// `none` where absent.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    plasticity_version: Option<Id>,
    /// Logical time of one tick, above zero.
    tick_duration: ExactNanoseconds,
    /// Schema of its decisions.
    decision_schema: SchemaName,
    /// Schema of the contexts it decodes with.
    context_schema: SchemaName,
    /// Neurons, or whatever it counts as such.
    neuron_count: u64,
    /// Roles whose rates telemetry reports, in this order; at most 64.
    #[tsify(type = "string[]")]
    rate_roles: Vec<Id>,
    /// Kinds of stimulus it accepts; at most 64.
    #[tsify(type = "string[]")]
    supported_stimuli: Vec<Id>,
}

impl ExactNanoseconds {
    fn duration(self, what: &str) -> Result<RationalNs, ParticipantError> {
        RationalNs::duration(self.numerator, self.denominator).map_err(|error| {
            ParticipantError::refused(ErrorCode::InvalidArgument, format!("{what}: {error}"))
        })
    }
}

impl From<SchemaName> for SchemaRef {
    fn from(name: SchemaName) -> Self {
        match name.digest {
            Some(digest) => Self {
                id: name.id,
                version: name.version,
                digest,
            },
            None => Self::synthetic(name.id, name.version),
        }
    }
}

impl From<DeclaredPort> for PortDescriptor {
    fn from(port: DeclaredPort) -> Self {
        let axes = port.axes.into_iter().map(|axis| AxisSchema {
            id: axis.id,
            range: match axis.range {
                DeclaredRange::Bipolar => AxisRange::Bipolar,
                DeclaredRange::Unit => AxisRange::Unit,
            },
            neutral: axis.neutral,
        });
        Self {
            port_id: port.port_id,
            controls: ControllerSchema {
                schema: port.schema.into(),
                buttons: port.buttons,
                axes: axes.collect(),
            },
        }
    }
}

impl From<DeclaredView> for ViewDescriptor {
    fn from(view: DeclaredView) -> Self {
        Self {
            view_id: view.view_id,
            width: view.width,
            height: view.height,
            pixel_aspect: view
                .pixel_aspect
                .map_or(PixelAspect::SQUARE, |aspect| PixelAspect {
                    numerator: aspect.numerator,
                    denominator: aspect.denominator,
                }),
            observation_delay_steps: view.observation_delay_steps,
            audience: match view.audience {
                DeclaredAudience::Sensory => ViewAudience::Sensory,
                DeclaredAudience::Spectator => ViewAudience::Spectator,
            },
        }
    }
}

impl From<DeclaredAudio> for AudioDescriptor {
    fn from(stream: DeclaredAudio) -> Self {
        Self {
            stream_id: stream.stream_id,
            sample_rate: stream.sample_rate,
            channels: stream.channels,
            format: AudioFormat::F32leInterleaved,
        }
    }
}

/// Digest of one part of what a participant that is known by name alone is.
fn digest_of(part: &str, name: &Id) -> Digest {
    Digest::blake3(format!("wellwritten-{part}-v1\n{name}\n").as_bytes())
}

impl WorldDeclaration {
    /// The descriptor of the world `worker_id`.
    pub fn describe(self, worker_id: Id) -> Result<EnvironmentDescriptor, ParticipantError> {
        let name = &self.name;
        Ok(EnvironmentDescriptor {
            worker_id,
            backend_digest: self
                .backend_digest
                .unwrap_or_else(|| digest_of("backend", name)),
            content_digest: self
                .content_digest
                .unwrap_or_else(|| digest_of("content", name)),
            patch_digest: self
                .patch_digest
                .unwrap_or_else(|| digest_of("patch", name)),
            parser_digest: self
                .parser_digest
                .unwrap_or_else(|| digest_of("parser", name)),
            state_format_id: self.state_format_id.unwrap_or_else(|| name.clone()),
            step_duration: self.step_duration.duration("stepDuration")?,
            ports: self.ports.into_iter().map(Into::into).collect(),
            inspection_schema: self.inspection_schema.into(),
            views: self.views.into_iter().map(Into::into).collect(),
            audio: self.audio.into_iter().map(Into::into).collect(),
        })
    }
}

impl AgentDeclaration {
    /// The profile of the agent `agent_id` with its seed.
    pub fn describe(self, agent_id: Id, seed: i32) -> Result<AgentProfile, ParticipantError> {
        let name = &self.name;
        Ok(AgentProfile {
            agent_id,
            profile_digest: self
                .profile_digest
                .unwrap_or_else(|| digest_of("profile", name)),
            dataset_digest: self
                .dataset_digest
                .unwrap_or_else(|| digest_of("dataset", name)),
            model_version: self.model_version.unwrap_or_else(|| name.clone()),
            plasticity_version: self
                .plasticity_version
                .unwrap_or_else(|| Id::parse("none").expect("a legal id")),
            seed,
            tick_duration: self.tick_duration.duration("tickDuration")?,
            decision_schema: self.decision_schema.into(),
            context_schema: self.context_schema.into(),
            graph: AgentGraph {
                neuron_count: U64(self.neuron_count),
                rate_roles: self.rate_roles,
                supported_stimuli: self.supported_stimuli,
            },
        })
    }
}
