//! What a participant may declare ([`DeclarationError`]): every bound of the protocol, checked when it is connected.

use wellwritten_envelope::Id;

use crate::{
    AgentProfile, AudioDescriptor, Composition, ControlError, EnvironmentDescriptor, ViewDescriptor,
};

/// Most rate roles of one agent.
const MAX_RATE_ROLES: usize = 64;
/// Most kinds of stimulus one agent supports.
const MAX_SUPPORTED_STIMULI: usize = 64;

/// A declaration out of its bounds. The participant is not connected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// More of something than there may be, or none of what there must be.
    #[error("{count} {what}, allowed are {least} to {most}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many are declared.
        count: usize,
        /// The fewest there may be.
        least: usize,
        /// The most there may be.
        most: usize,
    },
    /// A number outside its bounds.
    #[error("the {field} of {owner} is {value}, allowed are {least} to {most}")]
    Bound {
        /// What declares it.
        owner: Id,
        /// The field.
        field: &'static str,
        /// The value found.
        value: u32,
        /// The least it may be.
        least: u32,
        /// The most it may be.
        most: u32,
    },
    /// One name, declared twice.
    #[error("{name} is declared twice among the {what}")]
    Repeated {
        /// What is declared.
        what: &'static str,
        /// The name.
        name: Id,
    },
    /// A step or a tick that lasts no time.
    #[error("a {what} of {owner} lasts no time")]
    NoTime {
        /// Who declares it.
        owner: Id,
        /// `step` or `tick`.
        what: &'static str,
    },
    /// A port's controller.
    #[error("port {port}: {source}")]
    Controller {
        /// The port.
        port: Id,
        /// What is wrong with it.
        source: ControlError,
    },
}

type Checked = Result<(), DeclarationError>;

/// Ports, views, streams and the step.
pub(crate) fn check_environment(descriptor: &EnvironmentDescriptor) -> Checked {
    if descriptor.step_duration.is_zero() {
        return Err(DeclarationError::NoTime {
            owner: descriptor.worker_id.clone(),
            what: "step",
        });
    }
    let (ports, views, audio) = (&descriptor.ports, &descriptor.views, &descriptor.audio);
    check_count("ports", ports.len(), 1, Composition::MAX_AGENTS)?;
    check_unique("ports", ports.iter().map(|port| &port.port_id))?;
    for port in ports {
        port.controls
            .check_declaration()
            .map_err(|source| DeclarationError::Controller {
                port: port.port_id.clone(),
                source,
            })?;
    }
    check_count("views", views.len(), 0, EnvironmentDescriptor::MAX_VIEWS)?;
    check_unique("views", views.iter().map(|view| &view.view_id))?;
    views.iter().try_for_each(check_view)?;
    check_count(
        "streams of sound",
        audio.len(),
        0,
        EnvironmentDescriptor::MAX_AUDIO,
    )?;
    check_unique(
        "streams of sound",
        audio.iter().map(|stream| &stream.stream_id),
    )?;
    audio.iter().try_for_each(check_stream)
}

/// The tick, the rate roles and the kinds of stimulus.
pub(crate) fn check_agent(profile: &AgentProfile) -> Checked {
    if profile.tick_duration.is_zero() {
        return Err(DeclarationError::NoTime {
            owner: profile.agent_id.clone(),
            what: "tick",
        });
    }
    let graph = &profile.graph;
    let lists = [
        ("rate roles", &graph.rate_roles, MAX_RATE_ROLES),
        (
            "kinds of stimulus",
            &graph.supported_stimuli,
            MAX_SUPPORTED_STIMULI,
        ),
    ];
    for (what, names, most) in lists {
        check_count(what, names.len(), 0, most)?;
        check_unique(what, names)?;
    }
    Ok(())
}

fn check_view(view: &ViewDescriptor) -> Checked {
    let (aspect, largest) = (view.pixel_aspect, ViewDescriptor::MAX_DIMENSION);
    let delay = u32::from(view.observation_delay_steps);
    for (field, value, least, most) in [
        ("width", view.width, 1, largest),
        ("height", view.height, 1, largest),
        (
            "pixel aspect numerator",
            aspect.numerator.into(),
            1,
            u16::MAX.into(),
        ),
        (
            "pixel aspect denominator",
            aspect.denominator.into(),
            1,
            u16::MAX.into(),
        ),
        (
            "observation delay",
            delay,
            0,
            ViewDescriptor::MAX_DELAY_STEPS.into(),
        ),
    ] {
        check_bound(&view.view_id, field, value, least, most)?;
    }
    Ok(())
}

fn check_stream(stream: &AudioDescriptor) -> Checked {
    let (lowest, highest) = (
        AudioDescriptor::MIN_SAMPLE_RATE,
        AudioDescriptor::MAX_SAMPLE_RATE,
    );
    let channels = (stream.channels.into(), AudioDescriptor::MAX_CHANNELS.into());
    check_bound(
        &stream.stream_id,
        "sample rate",
        stream.sample_rate,
        lowest,
        highest,
    )?;
    check_bound(
        &stream.stream_id,
        "channel count",
        channels.0,
        1,
        channels.1,
    )
}

fn check_count(what: &'static str, count: usize, least: usize, most: usize) -> Checked {
    if (least..=most).contains(&count) {
        return Ok(());
    }
    Err(DeclarationError::Count {
        what,
        count,
        least,
        most,
    })
}

fn check_bound(owner: &Id, field: &'static str, value: u32, least: u32, most: u32) -> Checked {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(DeclarationError::Bound {
        owner: owner.clone(),
        field,
        value,
        least,
        most,
    })
}

/// Every pair is looked at: the counts were checked, there are few.
fn check_unique<'a>(what: &'static str, names: impl IntoIterator<Item = &'a Id>) -> Checked {
    let mut seen: Vec<&Id> = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(DeclarationError::Repeated {
                what,
                name: name.clone(),
            });
        }
        seen.push(name);
    }
    Ok(())
}
