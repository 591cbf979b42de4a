//! A bare lockstep loop over the participants of an arena, without coordinator or transport: what a
//! session does in a step, and nothing else.

use std::collections::BTreeMap;

use wellwritten_arena::{
    Arena, ArenaConfig, ArenaWorld, FaultBoard, FlyAgent, Foraging, step_duration,
};
use wellwritten_device::GuardedDevice;
use wellwritten_envelope::Digest;
use wellwritten_session::{
    Advance, Agent, AgentInitialize, Commit, ControllerIntent, Environment, EnvironmentInitialize,
    Id, ParticipantError, PortBinding, Prepare, Scope, SensoryInput, Task, Transition, TypedValue,
    U64, WorldObservation,
};

pub fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

pub struct Session {
    pub arena: Arena,
    pub faults: FaultBoard,
    pub world: ArenaWorld,
    pub flies: Vec<FlyAgent>,
    pub task: Box<dyn Task>,
    pub contexts: BTreeMap<Id, TypedValue>,
    pub observation: WorldObservation,
    pub epoch: Id,
    /// One line a transition: everything that behaviour is.
    pub trace: Vec<String>,
}

fn input(observation: &WorldObservation) -> SensoryInput {
    SensoryInput {
        boundary: observation.boundary,
        views: observation.sensory_views.clone(),
        structured: None,
    }
}

pub async fn begin(config: ArenaConfig) -> Session {
    let faults = FaultBoard::new();
    let arena = Arena::new(config, GuardedDevice::cpu(), faults.clone()).unwrap();
    let mut world = arena.world();
    let parameters = EnvironmentInitialize {
        episode_id: id("ep1"),
        port_bindings: arena.bindings().to_vec(),
    };
    let observation = world.initialize(&parameters).await.unwrap();
    let mut task: Foraging = arena.task();
    let start = task
        .bootstrap(&id("e1"), &observation.inspection, arena.bindings())
        .unwrap();
    let mut flies = Vec::new();
    for binding in arena.bindings() {
        let mut fly = arena.fly(&binding.agent_id).unwrap();
        let parameters = AgentInitialize {
            agent_id: binding.agent_id.clone(),
            seed: fly.profile().seed,
            initial_input: input(&observation),
            initial_decision_context: start.contexts[&binding.agent_id].clone(),
        };
        fly.initialize(&parameters).await.unwrap();
        flies.push(fly);
    }
    Session {
        arena,
        faults,
        world,
        flies,
        task: Box::new(task),
        contexts: start.contexts,
        observation,
        epoch: id("e1"),
        trace: Vec::new(),
    }
}

impl Session {
    pub fn bindings(&self) -> Vec<PortBinding> {
        self.arena.bindings().to_vec()
    }

    /// One step, with the agents in the order given by `reversed`.
    pub async fn step(&mut self, reversed: bool) -> Result<(), ParticipantError> {
        self.world.verify().await?;
        for fly in &mut self.flies {
            fly.verify().await?;
        }
        let scope = Scope {
            session_id: id("demo"),
            epoch: self.epoch.clone(),
            step: self.observation.boundary,
        };
        let bindings = self.bindings();
        let mut order: Vec<usize> = (0..bindings.len()).collect();
        if reversed {
            order.reverse();
        }
        let mut controls = vec![None; bindings.len()];
        let mut line = format!("{}", scope.step);
        for slot in &order {
            let prepare = Prepare {
                interval: step_duration(),
                decision_context_digest: self.contexts[&bindings[*slot].agent_id].digest(),
                pre_step_stimulations: Vec::new(),
            };
            let prepared = self.flies[*slot].prepare(&scope, &prepare).await?;
            let intent: ControllerIntent = prepared.decision.read().unwrap();
            controls[*slot] = Some((prepared, intent.on_port(bindings[*slot].port_id.clone())));
        }
        let mut batch = Advance {
            batch_id: id(&format!("batch-{}", scope.step)),
            controls: Vec::new(),
        };
        for (prepared, control) in controls.into_iter().flatten() {
            let digest = prepared.decision.digest();
            line = format!(
                "{line} {} {:?} {digest}",
                prepared.ticks_advanced, prepared.remainder
            );
            batch.controls.push(control);
        }
        let result = self.world.advance(&scope, &batch).await?;
        let next = result.observation;
        let evaluation = self
            .task
            .evaluate_transition(&Transition {
                scope: &scope,
                old_inspection: &self.observation.inspection,
                new_inspection: &next.inspection,
                world_time: next.world_time,
                controls: &batch.controls,
                bindings: &bindings,
            })
            .unwrap();
        for slot in &order {
            let agent_id = &bindings[*slot].agent_id;
            let outcome = evaluation.outcomes[agent_id].clone();
            let commit = Commit {
                prepared_request_id: "req-1".to_owned(),
                next_input: input(&next),
                next_decision_context: evaluation.contexts[agent_id].clone(),
                rewards: outcome.rewards,
                task_stimulations: outcome.stimulations,
            };
            self.flies[*slot].commit(&scope, &commit).await?;
        }
        let kinds: Vec<String> = evaluation
            .events
            .iter()
            .map(|event| event.kind_id.to_string())
            .collect();
        let controls = result.applied_controls_digest;
        let inspection = next.inspection.digest();
        let view = next.sensory_views[0].pixels.digest();
        line = format!("{line} {controls} {inspection} {view} {kinds:?}");
        self.trace.push(line);
        self.contexts = evaluation.contexts;
        self.observation = next;
        Ok(())
    }

    /// What the coordinator keeps of a boundary beside the payloads: the ledger and the contexts.
    pub fn record(&self) -> (TypedValue, BTreeMap<Id, TypedValue>) {
        (self.task.capture().unwrap(), self.contexts.clone())
    }

    /// Captures everyone: the world, then the flies.
    pub async fn capture(&mut self) -> Result<Vec<Vec<u8>>, ParticipantError> {
        let mut payloads = vec![self.world.capture().await?];
        for fly in &mut self.flies {
            payloads.push(fly.capture().await?);
        }
        Ok(payloads)
    }

    /// A digest of every byte of state.
    pub async fn digest(&mut self) -> Digest {
        Digest::blake3(&self.capture().await.unwrap().concat())
    }

    /// Replaces every participant by a fresh one that takes the captured state, under a new epoch.
    pub async fn restore(
        &mut self,
        payloads: &[Vec<u8>],
        record: &(TypedValue, BTreeMap<Id, TypedValue>),
    ) {
        self.world = self.arena.world();
        self.world.stage_restore(&payloads[0]).await.unwrap();
        let bindings = self.bindings();
        self.flies = bindings
            .iter()
            .map(|binding| self.arena.fly(&binding.agent_id).unwrap())
            .collect();
        for (fly, payload) in self.flies.iter_mut().zip(&payloads[1..]) {
            fly.stage_restore(payload).await.unwrap();
        }
        self.observation = self.world.activate_restore().await.unwrap();
        for fly in &mut self.flies {
            fly.activate_restore().await.unwrap();
        }
        let (ledger, contexts) = record;
        self.contexts = contexts.clone();
        self.epoch = id("e2");
        let U64(step) = self.observation.boundary;
        self.task = self
            .task
            .restored(&self.epoch, step, ledger, &self.observation.inspection)
            .unwrap()
            .task;
    }
}
