//! Steps of a session while its store saves, in turns with steps while it does not.

use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::time::Instant;

use futures::poll;
use tokio::task::LocalSet;
use wellwritten_counter::{CounterComposition, Faults, WORLD};
use wellwritten_native::{
    Incarnation, Launcher, Made, Participant, Recipe, StoreThread, ThreadBudget, TokioClock,
};
use wellwritten_session::{
    CallBudgets, Coordinator, DispatchOrder, Host, Id, RunOptions, WriterConfig,
};
use wellwritten_store::StoreConfig;

use crate::checkpoint::{checkpoint, payload};
use crate::measured::{Measured, median, verdict};

/// How many times as long a step may take while a save is in flight.
const GOAL: f64 = 1.1;
const ROUNDS: u64 = 21;
const SAVED_BYTES: usize = 64 << 20;
/// Steps between two looks at the save.
const STRIDE: u64 = 100;
/// Steps before anything is measured.
const WARM_UP: u64 = 1_000;

/// Whether the goal is met.
pub fn measure(folder: &Path) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let measured = LocalSet::new().block_on(&runtime, measure_steps(folder));
    let of_floor = measured.of_floor();
    println!(
        "\nSteps of the counter composition, 2 agents, in process, while the store's thread saves 64 MiB"
    );
    println!("goal: a step takes {GOAL} times as long at most as without a save in flight\n");
    println!("    with us  without us  of it  goal");
    println!(
        "  {:>9.2}{:>12.2}{of_floor:>6.2}x  {}",
        median(&measured.seconds) * 1e6,
        median(&measured.floor) * 1e6,
        verdict(of_floor <= GOAL)
    );
    of_floor <= GOAL
}

async fn measure_steps(folder: &Path) -> Measured {
    let opened = StoreThread::open(&folder.join("steps"), StoreConfig::default()).await;
    let StoreThread { client, end, .. } = opened.expect("a new store");
    let world = payload(SAVED_BYTES);
    let (launcher, session) = session().await;
    step(&session, WARM_UP).await;
    let mut measured = Measured::default();
    for number in 0..ROUNDS {
        let mut saving = pin!(client.save(checkpoint(number, &world)));
        let (began, mut steps) = (Instant::now(), 0);
        let saved = loop {
            // Asked at the first look, and answered at the last.
            if let std::task::Poll::Ready(saved) = poll!(saving.as_mut()) {
                break saved;
            }
            step(&session, STRIDE).await;
            steps += STRIDE;
        };
        measured.seconds.push(each(began, steps));
        saved.expect("it is saved");
        let began = Instant::now();
        step(&session, steps).await;
        measured.floor.push(each(began, steps));
    }
    drop((client, session));
    launcher.shutdown().await;
    end.wait().await.expect("it ends");
    measured
}

/// Seconds a step.
#[expect(clippy::cast_precision_loss, reason = "a count of steps, for a rate")]
fn each(began: Instant, steps: u64) -> f64 {
    began.elapsed().as_secs_f64() / steps as f64
}

fn participant(counter: &CounterComposition, incarnation: &Incarnation) -> Made {
    let runtime = counter.participant(
        &incarnation.participant_id,
        incarnation.incarnation_id.clone(),
        incarnation.life,
        Faults::none(),
    )?;
    Ok(Participant::from(runtime))
}

async fn session() -> (Rc<Launcher>, Rc<Coordinator>) {
    let counter = CounterComposition::default();
    let budget = ThreadBudget::new(2 + counter.agents, 1).expect("one is not above it");
    let launcher = Launcher::new(counter.session_id.clone(), budget);
    let recipe = |counter: &CounterComposition| {
        let of = counter.clone();
        Recipe::direct(move |incarnation| participant(&of, incarnation))
    };
    launcher.set_environment(Id::parse(WORLD).expect("a legal id"), recipe(&counter));
    for agent in counter.agent_ids() {
        launcher.set_agent(agent, recipe(&counter));
    }
    let composition = counter.composition(DispatchOrder::Concurrent, Faults::none());
    let host = Host {
        factory: launcher.clone(),
        clock: Rc::new(TokioClock::new()),
        budgets: CallBudgets::default(),
        store: None,
        saves: WriterConfig::default(),
        observer: None,
    };
    let session = Coordinator::new(composition.expect("it is legal"), host).await;
    let session = Rc::new(session.expect("every participant starts"));
    session.bootstrap().await.expect("every participant starts");
    (launcher, session)
}

async fn step(session: &Coordinator, count: u64) {
    let options = RunOptions {
        until: Some(session.status().boundary + count),
        ..RunOptions::default()
    };
    session.run(options).await.expect("nothing goes wrong");
}
