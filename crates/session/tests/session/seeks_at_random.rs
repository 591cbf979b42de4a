//! Oracle: a model that knows the inputs of every step of the timeline and nothing else, and answers every question by
//! running them from the start.

use std::rc::Rc;

use futures::executor::block_on;
use wellwritten_counter::{AGENTS, SPARK};
use wellwritten_session::{Behaviour, Phase, RestoreRequest, SeekError};

use crate::rig::{Rig, id};
use crate::seeks::{behaviours, keeping, seek};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A stimulus from outside: its name, for whom, how long.
#[derive(Clone, Debug, PartialEq)]
struct Input {
    name: String,
    agent: usize,
    duration_ms: f64,
}

#[derive(Clone, Debug)]
struct Saved {
    name: String,
    boundary: usize,
    waiting: Vec<Input>,
}

/// The timeline as far as anyone knows it, and where on it the session stands.
#[derive(Default)]
struct Model {
    steps: Vec<Vec<Input>>,
    at: usize,
    waiting: Vec<Input>,
    saved: Vec<Saved>,
}

impl Model {
    fn step(&mut self) {
        let inputs = std::mem::take(&mut self.waiting);
        if self.steps.get(self.at) != Some(&inputs) {
            self.steps.truncate(self.at);
            self.steps.push(inputs);
            let at = self.at;
            self.saved.retain(|saved| saved.boundary <= at);
        }
        self.at += 1;
    }

    fn restore(&mut self, saved: &Saved) {
        self.at = saved.boundary;
        self.waiting.clone_from(&saved.waiting);
    }

    /// Goes there, or says why not.
    fn seek(&mut self, to: usize) -> Result<(), &'static str> {
        if to >= self.at && to <= self.steps.len() {
            let fits = to == self.at || self.steps[self.at].starts_with(&self.waiting);
            return if fits {
                self.arrive(to);
                Ok(())
            } else {
                Err("inputs wait")
            };
        }
        let before = self.saved.iter().filter(|saved| saved.boundary <= to);
        let nearest = before.max_by_key(|saved| saved.boundary).cloned();
        match nearest {
            None => Err("no generation"),
            Some(_) if to > self.steps.len() => Err("not recorded"),
            Some(saved) => {
                self.restore(&saved);
                self.arrive(to);
                Ok(())
            }
        }
    }

    fn arrive(&mut self, to: usize) {
        if to > self.at {
            self.waiting.clear();
        }
        self.at = to;
    }
}

/// A session that runs from the start, and what it was given.
struct Straight {
    rig: Rig,
    steps: Vec<Vec<Input>>,
}

impl Straight {
    fn new() -> Self {
        Self {
            rig: Rig::ready(),
            steps: Vec::new(),
        }
    }

    /// The behaviour of every step up to where the model is. Begun again where it went another way.
    fn behaviours(&mut self, model: &Model) -> Vec<Behaviour> {
        if !model.steps.starts_with(&self.steps) {
            *self = Self::new();
        }
        for inputs in &model.steps[self.steps.len()..] {
            for input in inputs {
                let agent = id(AGENTS[input.agent].0);
                let admitted = self
                    .rig
                    .session
                    .admit(&agent, &id(SPARK), input.duration_ms);
                admitted.unwrap();
            }
            self.rig.steps(1);
            self.steps.push(inputs.clone());
        }
        behaviours(&self.rig.session)[..model.at].to_vec()
    }
}

/// Where it is known, the session is where the model is and did what the model did.
fn check(rig: &Rig, model: &Model, straight: &mut Straight, what: &str) {
    let status = rig.session.status();
    assert_eq!(status.boundary, model.at as u64, "{what}");
    let names: Vec<String> = rig
        .session
        .admissions()
        .iter()
        .map(|waiting| waiting.admission_id.to_string())
        .collect();
    let expected: Vec<&String> = model.waiting.iter().map(|input| &input.name).collect();
    assert_eq!(names.iter().collect::<Vec<_>>(), expected, "{what}");
    let all = straight.behaviours(model);
    let kept = behaviours(&rig.session);
    let first = kept.first().map_or(model.at as u64, |it| it.scope.step.0);
    let first = usize::try_from(first).unwrap();
    assert_eq!(kept, all[first..], "{what}");
    assert_eq!(
        rig.session.recorded().to,
        model.steps.len() as u64,
        "{what}"
    );
}

#[test]
fn whatever_is_done_a_seek_arrives_where_a_run_from_the_start_does() {
    let (mut back, mut ahead, mut refused, mut branches) = (0, 0, 0, 0);
    for seed in 1..=10_u64 {
        println!("seed {seed}");
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let rig = Rig::ready_with(keeping(200), Rc::default());
        let mut model = Model::default();
        let mut straight = Straight::new();
        for turn in 0..50 {
            let what = format!("seed {seed}, turn {turn}");
            match random.below(10) {
                0..=3 => {
                    let recorded = model.steps.len();
                    for _ in 0..=random.below(2) {
                        if matches!(rig.session.phase(), Phase::Paused { .. }) {
                            rig.session.resume().unwrap();
                        }
                        rig.steps(1);
                        model.step();
                    }
                    branches += usize::from(model.steps.len() < recorded);
                }
                4 => {
                    let agent = usize::try_from(random.below(2)).unwrap();
                    #[expect(clippy::cast_precision_loss, reason = "a small number")]
                    let duration_ms = random.below(4) as f64 + 1.0;
                    let admitted = rig
                        .session
                        .admit(&id(AGENTS[agent].0), &id(SPARK), duration_ms)
                        .unwrap();
                    model.waiting.push(Input {
                        name: admitted.admission.admission_id.to_string(),
                        agent,
                        duration_ms,
                    });
                }
                5 | 6 => {
                    let name = format!("c-{turn}");
                    rig.save(&name);
                    model.saved.push(Saved {
                        name,
                        boundary: model.at,
                        waiting: model.waiting.clone(),
                    });
                }
                7 if !model.saved.is_empty() => {
                    rig.fail();
                    let among = random.below(model.saved.len() as u64);
                    let saved = model.saved[usize::try_from(among).unwrap()].clone();
                    let request = RestoreRequest {
                        checkpoint_id: Some(id(&saved.name)),
                        ..RestoreRequest::default()
                    };
                    block_on(rig.session.restore(request)).unwrap();
                    model.restore(&saved);
                }
                _ => {
                    let to = random.below(model.steps.len() as u64 + 2);
                    let was_at = model.at;
                    let expected = model.seek(usize::try_from(to).unwrap());
                    let found = match seek(&rig.session, to) {
                        Ok(report) => {
                            assert_eq!(report.boundary, to, "{what}");
                            Ok(())
                        }
                        Err(SeekError::InputsWait { .. }) => Err("inputs wait"),
                        Err(SeekError::NoGeneration { .. }) => Err("no generation"),
                        Err(SeekError::NotRecorded { .. }) => Err("not recorded"),
                        Err(other) => panic!("{what}: {other}"),
                    };
                    assert_eq!(found, expected, "{what}");
                    match found {
                        Ok(()) if to < was_at as u64 => back += 1,
                        Ok(()) => ahead += 1,
                        Err(_) => refused += 1,
                    }
                }
            }
            check(&rig, &model, &mut straight, &what);
        }
    }
    assert!(
        back > 20 && ahead > 10 && refused > 5 && branches > 5,
        "{back} back, {ahead} ahead, {refused} refused, {branches} branches"
    );
}
