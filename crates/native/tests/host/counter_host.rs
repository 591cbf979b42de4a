//! A counter session on a native host.

use std::rc::Rc;
use std::time::Duration;

use wellwritten_counter::{CounterComposition, Faults, WORLD};
use wellwritten_native::{
    Incarnation, LaunchDeadlines, Launcher, Made, Participant, Program, Recipe, ThreadBudget,
    TokioClock,
};
use wellwritten_session::{CallBudgets, Coordinator, DispatchOrder, Host, Id, SessionError};

/// Every way of running a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Direct,
    SocketPair,
    Thread,
    Process,
}

impl Way {
    pub const ALL: [Self; 4] = [Self::Direct, Self::SocketPair, Self::Thread, Self::Process];
}

pub fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

/// Makes one participant of a counter session.
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

/// How to run a participant of this composition.
pub fn recipe(way: Way, counter: &CounterComposition) -> Recipe {
    let of = counter.clone();
    match way {
        Way::Direct => Recipe::direct(move |incarnation| participant(&of, incarnation)),
        Way::SocketPair => Recipe::socket_pair(move |incarnation| participant(&of, incarnation)),
        Way::Thread => Recipe::thread(move |incarnation| participant(&of, incarnation)),
        Way::Process => {
            let counter = serde_json::to_string(counter).unwrap();
            let program = Program::new(env!("CARGO_BIN_EXE_wellwritten"));
            let arguments = ["session", "participant", "--counter", &counter];
            Recipe::process(arguments.into_iter().fold(program, Program::argument))
        }
    }
}

/// Short enough for a test, long enough for a busy machine.
pub const DEADLINES: LaunchDeadlines = LaunchDeadlines {
    boot: Duration::from_secs(20),
    stop: Duration::from_secs(2),
};

/// A launcher with a recipe for each participant and a thread for each.
pub fn launcher(way: Way, counter: &CounterComposition) -> Rc<Launcher> {
    let budget = ThreadBudget::new(2 + counter.agents, 1).unwrap();
    let launcher = Launcher::with_deadlines(counter.session_id.clone(), budget, DEADLINES);
    launcher.set_environment(id(WORLD), recipe(way, counter));
    for agent in counter.agent_ids() {
        launcher.set_agent(agent, recipe(way, counter));
    }
    launcher
}

/// Budgets of a session that finds out within seconds.
pub fn budgets() -> CallBudgets {
    CallBudgets {
        probe_ns: 500_000_000,
        resolve_ns: 1_500_000_000,
        ..CallBudgets::default()
    }
}

/// A session at its start.
pub async fn session(
    launcher: &Rc<Launcher>,
    counter: &CounterComposition,
) -> Result<Rc<Coordinator>, SessionError> {
    let composition = counter.composition(DispatchOrder::Concurrent, Faults::none());
    let host = Host {
        factory: launcher.clone(),
        clock: Rc::new(TokioClock::new()),
        budgets: budgets(),
        store: None,
        saves: wellwritten_session::WriterConfig::default(),
        observer: None,
    };
    let session = Rc::new(Coordinator::new(composition.unwrap(), host).await?);
    launcher.watch(&session);
    session.bootstrap().await?;
    Ok(session)
}
