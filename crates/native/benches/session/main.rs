//! What a transition costs: the counter composition with 1, 2 and 4 agents, its participants in process, on threads and in
//! processes, beside a floor that is measured in turns with it.
//!
//! The floor of participants that are reached without a copy is their own work: the same calls, made directly. The floor of
//! participants that are reached over sockets is the sockets: the same bytes in the same rounds, with nobody reading a message.
//!
//! `--growth` steps a million times instead, and looks whether anything grows.

mod bare;
mod counter_host;
mod counting_allocator;
mod echo;
mod growth;
mod script;

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::task::LocalSet;
use wellwritten_native::serve_either;

use crate::bare::Bare;
use crate::counter_host::{PARTICIPANT, Way, counter, launcher, participant, session, step};
use crate::counting_allocator::CountingAllocator;
use crate::echo::{ECHO, EchoPlace, Echoes};
use crate::script::{Log, Recorded, RoundTrip};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Rounds of a case: session and floor in turns.
const ROUNDS: usize = 9;
/// How long a round of a session takes, about.
const ROUND: Duration = Duration::from_millis(150);
/// Steps before anything is measured.
const WARM_UP: u64 = 300;
/// Transitions that are recorded for a floor in process.
const RECORDED: u64 = 500;
/// Transitions in a second that are the goal, for two agents.
const GOAL_DIRECT: f64 = 20_000.0;
const GOAL_SOCKETS: f64 = 2_000.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name| arguments.iter().any(|argument| argument == name);
    if has(ECHO) {
        echo::echo_on_standard_input();
        return ExitCode::SUCCESS;
    }
    if let [name, agents] = &arguments[..]
        && name == PARTICIPANT
    {
        let counter = counter(agents.parse().expect("a number of agents"));
        let served = serve_either(|incarnation| participant(&counter, incarnation));
        return ExitCode::from(u8::from(served.is_err()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let met = LocalSet::new().block_on(&runtime, async {
        if has("--growth") {
            // One after the other: each looks at the whole program.
            return growth::is_flat(Way::Direct).await;
        }
        measure_all().await
    });
    ExitCode::from(u8::from(!met))
}

/// What a case came to, in seconds a transition.
struct Measured {
    session: Vec<f64>,
    /// Of which this process computed, and did not wait for its turn.
    computed: Vec<f64>,
    floor: Vec<f64>,
}

async fn measure_all() -> bool {
    println!("Counter composition; medians of {ROUNDS} rounds, session and floor in turns");
    println!(
        "cpu: what this process computed a transition; where that is far below the whole, it waited:"
    );
    println!("in process for its turn on a busy machine, otherwise for its participants");
    println!(
        "goals, with 2 agents: {GOAL_DIRECT} transitions/s direct, {GOAL_SOCKETS} over sockets\n"
    );
    println!(
        "                      agents  transitions/s  us each  floor us  of floor  best us  cpu us  goal"
    );
    let mut met = true;
    for way in Way::ALL {
        for agents in [1, 2, 4] {
            let measured = measure(way, agents).await;
            let each = median(&measured.session);
            let ratios: Vec<f64> = measured
                .session
                .iter()
                .zip(&measured.floor)
                .map(|(session, floor)| session / floor)
                .collect();
            let best = measured
                .session
                .iter()
                .copied()
                .fold(f64::INFINITY, f64::min);
            let goal = if way == Way::Direct {
                GOAL_DIRECT
            } else {
                GOAL_SOCKETS
            };
            let verdict = match (agents, 1.0 / each >= goal) {
                (2, true) => "met",
                (2, false) => "MISSED",
                _ => "-",
            };
            met &= verdict != "MISSED";
            println!(
                "  {:<20}{agents:>6}{:>15.0}{:>9.1}{:>10.2}{:>9.1}x{:>9.1}{:>8.1}  {verdict}",
                way.name(),
                1.0 / each,
                each * 1e6,
                median(&measured.floor) * 1e6,
                median(&ratios),
                best * 1e6,
                median(&measured.computed) * 1e6,
            );
        }
    }
    met
}

async fn measure(way: Way, agents: usize) -> Measured {
    let counter = counter(agents);
    let mut floor = Floor::of(way, agents).await;
    let launcher = launcher(way, &counter);
    let session = session(launcher.clone(), &counter).await;
    let began = Instant::now();
    step(&session, WARM_UP).await;
    let each = began.elapsed() / u32::try_from(WARM_UP).expect("it is small");
    let count = u32::try_from(ROUND.as_nanos() / each.as_nanos().max(1)).expect("it is small");
    let mut measured = Measured {
        session: Vec::new(),
        computed: Vec::new(),
        floor: Vec::new(),
    };
    for _ in 0..ROUNDS {
        let (began, computed) = (Instant::now(), computed_seconds());
        step(&session, count.into()).await;
        let seconds = began.elapsed().as_secs_f64();
        measured.session.push(seconds / f64::from(count));
        measured
            .computed
            .push((computed_seconds() - computed) / f64::from(count));
        measured.floor.push(floor.seconds_a_transition(count).await);
    }
    drop(session);
    launcher.shutdown().await;
    measured
}

/// What cannot be done faster.
enum Floor {
    /// The participants' own calls, recorded from a session.
    Bare {
        agents: usize,
        log: Log,
        before: usize,
    },
    /// The bytes alone.
    Sockets {
        echoes: Echoes,
        rounds: Vec<Vec<RoundTrip>>,
    },
}

impl Floor {
    async fn of(way: Way, agents: usize) -> Self {
        let place = match way {
            Way::Direct => {
                let (log, before) = record(Way::Direct, agents, RECORDED).await;
                return Self::Bare {
                    agents,
                    log,
                    before,
                };
            }
            Way::SocketPair => EchoPlace::Here,
            Way::Thread => EchoPlace::Thread,
            Way::Process => EchoPlace::Process,
        };
        let (log, _) = record(Way::SocketPair, agents, 1).await;
        Self::Sockets {
            echoes: Echoes::start(place, agents + 1),
            rounds: log.rounds,
        }
    }

    async fn seconds_a_transition(&mut self, count: u32) -> f64 {
        match self {
            Self::Bare {
                agents,
                log,
                before,
            } => {
                let mut bare = Bare::new(&counter(*agents));
                bare.replay(&log.requests[..*before]).await;
                let began = Instant::now();
                bare.replay(&log.requests[*before..]).await;
                let transitions = f64::from(u32::try_from(RECORDED).expect("it is small"));
                began.elapsed().as_secs_f64() / transitions
            }
            Self::Sockets { echoes, rounds } => {
                let began = Instant::now();
                for _ in 0..count {
                    echoes.transition(rounds).await;
                }
                began.elapsed().as_secs_f64() / f64::from(count)
            }
        }
    }
}

/// What a session asks of its participants in so many transitions. Of participants that are reached directly also all
/// that went before; then the number of those requests is not 0.
async fn record(way: Way, agents: usize, transitions: u64) -> (Log, usize) {
    let counter = counter(agents);
    let launcher = launcher(way, &counter);
    let log: Rc<RefCell<Log>> = Rc::default();
    let recorded = Recorded {
        factory: launcher.clone(),
        log: log.clone(),
        made: RefCell::new(0),
    };
    let session = session(Rc::new(recorded), &counter).await;
    if way != Way::Direct {
        step(&session, 20).await;
        log.take();
    }
    let before = log.borrow().requests.len();
    step(&session, transitions).await;
    drop(session);
    let log = log.take();
    launcher.shutdown().await;
    (log, before)
}

/// Seconds that this process has computed, all its threads together.
fn computed_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u32::try_from(time.tv_sec).expect("no bench takes so long");
    let nanoseconds = u32::try_from(time.tv_nsec).expect("below a second");
    f64::from(seconds) + f64::from(nanoseconds) / 1e9
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
