//! A session against the slow model.

use std::rc::Rc;

use futures::executor::block_on;
use wellwritten_counter::{CounterComposition, DirectCounters, Faults};
use wellwritten_session::{CallBudgets, Coordinator, DispatchOrder, Host};

use crate::still_clock::StillClock;

/// What is seen of one boundary: the counter, and each brain's rate.
type Seen = (i64, Vec<f64>);

const WIDTH: u128 = 1 << 64;
const FACTOR: u128 = 6_364_136_223_846_793_005;
const ADDEND: u128 = 1_442_695_040_888_963_407;

/// A brain that is everything that was ever mixed into it.
struct Brain {
    seed: u128,
    mixed: Vec<u64>,
}

impl Brain {
    fn integer(&self, factor: u128) -> u128 {
        let mix = |integer: u128, with: &u64| {
            // What 128 bits do not hold is a multiple of the width, which is taken out in two halves.
            let mixed = integer ^ u128::from(*with);
            let (high, low) = (factor / (1 << 32), factor % (1 << 32));
            let product = (mixed * high % WIDTH * (1 << 32) + mixed * low) % WIDTH;
            (product + ADDEND) % WIDTH
        };
        self.mixed.iter().fold(self.seed, mix)
    }
}

/// Boundaries 0 to `steps`, by hand.
fn by_hand(agents: usize, steps: u64, factor: u128) -> Vec<Seen> {
    let seeds = [7, 11, 13, 17];
    let mut brains: Vec<Brain> = seeds[..agents]
        .iter()
        .map(|seed| Brain {
            seed: *seed,
            mixed: [vec![0], vec![1; 10]].concat(),
        })
        .collect();
    let mut counter = 0_i64;
    let rates = |brains: &[Brain]| -> Vec<f64> {
        let rate = |brain: &Brain| brain.integer(factor) / (1 << 48);
        brains
            .iter()
            .map(|brain| f64::from(u16::try_from(rate(brain)).unwrap()))
            .collect()
    };
    let mut seen = vec![(counter, rates(&brains))];
    for step in 1..=steps {
        // A step of 50/3 ms: so many whole milliseconds in all, less those before.
        let ticks = step * 50 / 3 - (step - 1) * 50 / 3;
        let mut worths = Vec::new();
        for brain in &mut brains {
            brain.mixed.extend((0..ticks).map(|_| 1));
            let roll = brain.integer(factor) / (1 << 33);
            worths.push(i8::from(roll % 3 != 0) - i8::from(roll % 5 == 0));
        }
        counter += worths.iter().map(|worth| i64::from(*worth)).sum::<i64>();
        for (brain, worth) in brains.iter_mut().zip(worths) {
            brain
                .mixed
                .push(u64::try_from(counter.rem_euclid(256)).unwrap());
            if counter.rem_euclid(5) == 0 && worth != 0 {
                brain.mixed.push(20.0_f64.to_bits());
            }
            brain.mixed.push(f64::from(worth).to_bits());
        }
        seen.push((counter, rates(&brains)));
    }
    seen
}

/// Boundaries 0 to `steps`, as a session shows them.
fn by_session(agents: usize, steps: u64) -> Vec<Seen> {
    let composition = CounterComposition {
        agents,
        ..CounterComposition::default()
    };
    let faults = Faults::none();
    let host = Host {
        factory: DirectCounters::new(composition.clone(), faults.clone()),
        clock: Rc::new(StillClock),
        budgets: CallBudgets::default(),
        store: None,
        saves: wellwritten_session::WriterConfig::default(),
        observer: None,
    };
    let parts = composition
        .composition(DispatchOrder::Concurrent, faults)
        .unwrap();
    block_on(async {
        let session = Coordinator::new(parts, host).await.unwrap();
        session.bootstrap().await.unwrap();
        let mut seen = Vec::new();
        for boundary in 0..=steps {
            let snapshot = session.snapshot().unwrap();
            let counter = snapshot.progress.value()["counter"].as_i64().unwrap();
            let agents = snapshot.agents.iter();
            let rates = agents.map(|agent| agent.telemetry.as_ref().unwrap().population_rate_hz);
            seen.push((counter, rates.collect()));
            if boundary < steps {
                session.step().await.unwrap();
            }
        }
        seen
    })
}

#[test]
fn a_session_does_what_is_computed_by_hand() {
    for agents in 1..=4 {
        let (session, hand) = (by_session(agents, 40), by_hand(agents, 40, FACTOR));
        assert_eq!(session, hand, "{agents} agents");
        let mut counters: Vec<i64> = hand.iter().map(|(counter, _)| *counter).collect();
        counters.sort_unstable();
        counters.dedup();
        assert!(
            counters.len() > 5,
            "a counter that hardly moves proves little"
        );
    }
}

/// The canary: another factor is another session.
#[test]
fn another_arithmetic_shows() {
    assert_ne!(by_session(2, 10), by_hand(2, 10, FACTOR + 2));
}
