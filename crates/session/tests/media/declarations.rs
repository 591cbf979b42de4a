//! Every bound of a declaration, at the bound and one beyond it.

use std::rc::Rc;

use wellwritten_session::{
    AgentProfile, AxisRange, AxisSchema, Coordinator, DeclarationError, EnvironmentDescriptor,
    ErrorCode, RationalNs, SessionError, U64, ViewDescriptor,
};

use crate::bench::{Bench, compose, id};

fn composed_world(
    change: impl FnMut(&mut EnvironmentDescriptor) + 'static,
) -> Result<Coordinator, SessionError> {
    compose(&Bench::declaring(change), None)
}

fn composed_agent(
    change: impl FnMut(&mut AgentProfile) + 'static,
) -> Result<Coordinator, SessionError> {
    let bench = Rc::new(Bench::default());
    *bench.profile.borrow_mut() = Box::new(change);
    compose(&bench, None)
}

type World = fn(&mut EnvironmentDescriptor, u32);

/// What is counted or bounded, how to declare it, the least and the most there may be.
const WORLD_BOUNDS: [(&str, World, u32, u32); 9] = [
    ("views", |world, count| many_views(world, count), 0, 8),
    (
        "width",
        |world, value| world.views[0].width = value,
        1,
        4096,
    ),
    (
        "height",
        |world, value| world.views[1].height = value,
        1,
        4096,
    ),
    (
        "observation delay",
        |world, value| world.views[0].observation_delay_steps = small(value),
        0,
        8,
    ),
    ("streams", |world, count| many_streams(world, count), 0, 8),
    (
        "sample rate",
        |world, value| world.audio[1].sample_rate = value,
        8_000,
        192_000,
    ),
    (
        "channel count",
        |world, value| world.audio[0].channels = small(value),
        1,
        8,
    ),
    ("buttons", |world, count| many_buttons(world, count), 0, 32),
    ("axes", |world, count| many_axes(world, count), 0, 16),
];

fn small(value: u32) -> u8 {
    u8::try_from(value).unwrap()
}

fn many_views(world: &mut EnvironmentDescriptor, count: u32) {
    let view = world.views[0].clone();
    let named = |index| ViewDescriptor {
        view_id: id(&format!("view-{index}")),
        ..view.clone()
    };
    world.views = (0..count).map(named).collect();
}

fn many_streams(world: &mut EnvironmentDescriptor, count: u32) {
    let stream = world.audio[0].clone();
    world.audio = (0..count)
        .map(|index| {
            let mut stream = stream.clone();
            stream.stream_id = id(&format!("stream-{index}"));
            stream
        })
        .collect();
}

fn many_buttons(world: &mut EnvironmentDescriptor, count: u32) {
    world.ports[1].controls.buttons = (0..count).map(|it| id(&format!("b{it}"))).collect();
}

fn many_axes(world: &mut EnvironmentDescriptor, count: u32) {
    let axes = (0..count).map(|index| AxisSchema {
        id: id(&format!("a{index}")),
        range: AxisRange::Unit,
        neutral: 0.0,
    });
    world.ports[0].controls.axes = axes.collect();
}

#[test]
fn a_world_is_taken_at_each_bound_and_refused_beyond_it() {
    for (what, declare, least, most) in WORLD_BOUNDS {
        for value in [least, most] {
            let composed = composed_world(move |world| declare(world, value));
            assert!(composed.is_ok(), "{what} of {value}: {:?}", composed.err());
        }
        let beyond = [least.checked_sub(1), most.checked_add(1)];
        for value in beyond.into_iter().flatten() {
            let error = composed_world(move |world| declare(world, value))
                .err()
                .unwrap();
            assert!(
                matches!(&error, SessionError::Declaration { participant, .. } if *participant == id("world")),
                "{what} of {value}: {error}"
            );
            assert_eq!(error.code(), ErrorCode::InvalidArgument);
            assert!(error.to_string().contains(&value.to_string()), "{error}");
        }
    }
}

#[test]
fn what_is_no_bound_of_a_number_is_refused_by_name_too() {
    type Change = fn(&mut EnvironmentDescriptor);
    let refused: [(Change, &str); 8] = [
        (
            |world| world.views[0].pixel_aspect.numerator = 0,
            "the pixel aspect numerator of eye is 0, allowed are 1 to 65535",
        ),
        (
            |world| world.views[2].pixel_aspect.denominator = 0,
            "the pixel aspect denominator of plan is 0, allowed are 1 to 65535",
        ),
        (
            |world| world.views[1].view_id = id("eye"),
            "eye is declared twice among the views",
        ),
        (
            |world| world.audio[1].stream_id = id("room"),
            "room is declared twice among the streams of sound",
        ),
        (|world| world.ports.clear(), "0 ports, allowed are 1 to 4"),
        (
            |world| world.ports[1].port_id = id("p1"),
            "p1 is declared twice among the ports",
        ),
        (
            |world| world.step_duration = RationalNs::ZERO,
            "a step of world lasts no time",
        ),
        (
            |world| world.ports[0].controls.buttons = vec![id("go"), id("go")],
            "port p1: controller number.controls declares 2 buttons",
        ),
    ];
    for (change, said) in refused {
        let error = composed_world(change).err().unwrap();
        assert!(matches!(error, SessionError::Declaration { .. }), "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn an_agent_is_held_to_its_bounds_and_is_the_one_that_is_named() {
    let roles = |count: u32| {
        move |profile: &mut AgentProfile| {
            let names = (0..count).map(|index| id(&format!("r{index}")));
            profile.graph.rate_roles = names.collect();
        }
    };
    let stimuli = |count: u32| {
        move |profile: &mut AgentProfile| {
            let names = (0..count).map(|index| id(&format!("s{index}")));
            profile.graph.supported_stimuli = names.collect();
        }
    };
    assert!(composed_agent(roles(64)).is_ok() && composed_agent(stimuli(64)).is_ok());
    let of_last = |mut change: Box<dyn FnMut(&mut AgentProfile)>| {
        let composed = composed_agent(move |profile| {
            if profile.agent_id == id("fly-b") {
                change(profile);
            }
        });
        match composed.err().unwrap() {
            SessionError::Declaration {
                participant,
                source,
            } => {
                assert_eq!(participant, id("fly-b"));
                source
            }
            error => panic!("{error}"),
        }
    };
    let count = |what, count| DeclarationError::Count {
        what,
        count,
        least: 0,
        most: 64,
    };
    assert_eq!(of_last(Box::new(roles(65))), count("rate roles", 65));
    assert_eq!(
        of_last(Box::new(stimuli(65))),
        count("kinds of stimulus", 65)
    );
    let repeated = of_last(Box::new(|profile| {
        profile.graph.supported_stimuli = vec![id("spark"), id("spark")];
    }));
    assert_eq!(
        repeated.to_string(),
        "spark is declared twice among the kinds of stimulus"
    );
    let no_time = of_last(Box::new(|profile| {
        profile.tick_duration = RationalNs::ZERO;
        profile.graph.neuron_count = U64(2);
    }));
    assert_eq!(no_time.to_string(), "a tick of fly-b lasts no time");
}
