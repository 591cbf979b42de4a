//! The counter composition, started as the command line says.

use std::rc::Rc;

use wellwritten_counter::{CounterComposition, CounterError, Faults, WORLD};
use wellwritten_native::{
    Incarnation, Launcher, Made, Participant, Program, Recipe, ThreadBudget, TokioClock,
};
use wellwritten_session::{Composition, DispatchOrder, Id};

use crate::arguments::{DispatchArgument, ModeArgument, RunArguments, TransportArgument};
use crate::run_error::RunError;

/// What takes part.
pub fn counter(arguments: &RunArguments) -> CounterComposition {
    CounterComposition {
        agents: arguments.agents.into(),
        ..CounterComposition::default()
    }
}

/// What the coordinator is made from.
pub fn composition(arguments: &RunArguments) -> Result<Composition, CounterError> {
    let order = match arguments.dispatch {
        DispatchArgument::Concurrent => DispatchOrder::Concurrent,
        DispatchArgument::Sequential => DispatchOrder::Sequential,
        DispatchArgument::Reversed => DispatchOrder::Reversed,
    };
    counter(arguments).composition(order, Faults::none())
}

/// Makes one of its participants.
pub fn participant(counter: &CounterComposition, incarnation: &Incarnation) -> Made {
    let faults = Faults::new(&counter.faults, Some(Rc::new(TokioClock::new())))?;
    let runtime = counter.participant(
        &incarnation.participant_id,
        incarnation.incarnation_id.clone(),
        incarnation.life,
        faults,
    )?;
    Ok(Participant::from(runtime))
}

/// A launcher that knows a recipe for each participant.
pub fn launcher(
    arguments: &RunArguments,
    transport: TransportArgument,
) -> Result<Rc<Launcher>, RunError> {
    let counter = counter(arguments);
    let recipe = recipe(arguments.mode, transport, &counter)?;
    let agents = counter.agent_ids();
    // One thread each, whether it is one of its own or not.
    let budget = ThreadBudget::new(2 + agents.len(), 1).expect("one is not above it");
    let launcher = Launcher::new(counter.session_id, budget);
    launcher.set_environment(Id::parse(WORLD).expect("a legal id"), recipe.clone());
    for agent in agents {
        launcher.set_agent(agent, recipe.clone());
    }
    Ok(launcher)
}

fn recipe(
    mode: ModeArgument,
    transport: TransportArgument,
    counter: &CounterComposition,
) -> Result<Recipe, RunError> {
    let of = counter.clone();
    Ok(match (mode, transport) {
        (ModeArgument::InProcess, TransportArgument::Direct) => {
            Recipe::direct(move |incarnation| participant(&of, incarnation))
        }
        (ModeArgument::InProcess, TransportArgument::Unix) => {
            Recipe::socket_pair(move |incarnation| participant(&of, incarnation))
        }
        (ModeArgument::Thread, _) => {
            Recipe::thread(move |incarnation| participant(&of, incarnation))
        }
        (ModeArgument::Process, _) => {
            let this = std::env::current_exe().map_err(|source| RunError::System {
                what: "this program's own file",
                source,
            })?;
            let counter = serde_json::to_string(counter).expect("strings and numbers");
            let arguments = ["session", "participant", "--counter", &counter];
            Recipe::process(
                arguments
                    .into_iter()
                    .fold(Program::new(this), Program::argument),
            )
        }
    })
}
