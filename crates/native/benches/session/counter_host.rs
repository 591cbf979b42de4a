//! A counter session, its participants wherever a case wants them.

use std::rc::Rc;

use wellwritten_counter::{CounterComposition, Faults, WORLD};
use wellwritten_native::{
    Incarnation, Launcher, Made, Participant, Program, Recipe, ThreadBudget, TokioClock,
};
use wellwritten_session::{
    CallBudgets, Coordinator, DispatchOrder, Host, Id, ParticipantFactory, RunOptions,
};

/// The argument under which this bench is a participant in another process.
pub const PARTICIPANT: &str = "--participant";

/// Where participants are, and how they are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Direct,
    SocketPair,
    Thread,
    Process,
}

impl Way {
    pub const ALL: [Self; 4] = [Self::Direct, Self::SocketPair, Self::Thread, Self::Process];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "in process, direct",
            Self::SocketPair => "in process, sockets",
            Self::Thread => "threads, sockets",
            Self::Process => "processes, sockets",
        }
    }
}

pub fn counter(agents: usize) -> CounterComposition {
    CounterComposition {
        agents,
        ..CounterComposition::default()
    }
}

pub fn participant(counter: &CounterComposition, incarnation: &Incarnation) -> Made {
    let runtime = counter.participant(
        &incarnation.participant_id,
        incarnation.incarnation_id.clone(),
        incarnation.life,
        Faults::none(),
    )?;
    Ok(Participant::from(runtime))
}

fn recipe(way: Way, counter: &CounterComposition) -> Recipe {
    let of = counter.clone();
    let make = move |incarnation: &Incarnation| participant(&of, incarnation);
    match way {
        Way::Direct => Recipe::direct(make),
        Way::SocketPair => Recipe::socket_pair(make),
        Way::Thread => Recipe::thread(make),
        Way::Process => {
            let this = std::env::current_exe().expect("this program has a path");
            let agents = counter.agents.to_string();
            Recipe::process(Program::new(this).argument(PARTICIPANT).argument(agents))
        }
    }
}

pub fn launcher(way: Way, counter: &CounterComposition) -> Rc<Launcher> {
    let budget = ThreadBudget::new(2 + counter.agents, 1).expect("one is not above it");
    let launcher = Launcher::new(counter.session_id.clone(), budget);
    let world = Id::parse(WORLD).expect("a legal id");
    launcher.set_environment(world, recipe(way, counter));
    for agent in counter.agent_ids() {
        launcher.set_agent(agent, recipe(way, counter));
    }
    launcher
}

/// A session at its first boundary.
pub async fn session(
    factory: Rc<dyn ParticipantFactory>,
    counter: &CounterComposition,
) -> Rc<Coordinator> {
    let composition = counter.composition(DispatchOrder::Concurrent, Faults::none());
    let host = Host {
        factory,
        clock: Rc::new(TokioClock::new()),
        budgets: CallBudgets::default(),
        store: None,
        saves: wellwritten_session::WriterConfig::default(),
        observer: None,
    };
    let session = Coordinator::new(composition.expect("it is legal"), host).await;
    let session = session.expect("every participant starts");
    session.bootstrap().await.expect("every participant starts");
    Rc::new(session)
}

/// Takes so many steps.
pub async fn step(session: &Coordinator, count: u64) {
    let options = RunOptions {
        until: Some(session.status().boundary + count),
        ..RunOptions::default()
    };
    session.run(options).await.expect("nothing goes wrong");
}
