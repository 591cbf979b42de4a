//! The counter world, watched: what it is asked is logged, and a test may kill it or tell it to lie.

use std::rc::Rc;

use async_trait::async_trait;
pub use wellwritten_counter::controls;
use wellwritten_counter::{
    CounterComposition, CounterWorld as World, FaultKind, FaultPoint, Lie, WORLD,
};
use wellwritten_session::{
    Advance, Environment, EnvironmentDescriptor, EnvironmentInitialize, Id, ParticipantError,
    Progress, Scope, StagedWorld, StepResult, WorldObservation,
};

use crate::rig::{Bench, digest_of, id};

pub struct CounterWorld {
    bench: Rc<Bench>,
    world: World,
}

impl CounterWorld {
    pub fn new(bench: Rc<Bench>, ports: &[Id]) -> Self {
        let composition = CounterComposition {
            agents: ports.len(),
            view_delay_steps: bench.view_delay.get(),
            ..CounterComposition::default()
        };
        let world = World::new(&composition, 1, bench.planned.clone()).unwrap();
        Self { bench, world }
    }

    fn reach(&self, at: FaultPoint, point: &str) {
        let lie = lies(&self.bench.lie.borrow());
        if let Some((lies_at, lie)) = lie
            && lies_at == at
        {
            self.bench.plan(WORLD, at, FaultKind::Lie(lie));
        }
        self.bench.reach(WORLD, point);
    }
}

/// What a world lies about, and when, by the name a test gives it.
fn lies(name: &str) -> Option<(FaultPoint, Lie)> {
    use FaultPoint::{Activate, Advance};
    Some(match name {
        "batchId" => (Advance, Lie::Batch),
        "appliedFromStep" => (Advance, Lie::AppliedFromStep),
        "nextStep" => (Advance, Lie::NextStep),
        "controls" => (Advance, Lie::Controls),
        "boundary" => (Advance, Lie::Boundary),
        "worldTime" => (Advance, Lie::WorldTime),
        "engineFrame" => (Advance, Lie::EngineFrame),
        "inspectionSchema" => (Advance, Lie::InspectionSchema),
        "viewRerendered" => (Advance, Lie::ViewRerendered),
        "viewMissing" => (Advance, Lie::ViewMissing),
        "viewStale" => (Advance, Lie::ViewStale),
        "viewFromTheFuture" => (Advance, Lie::ViewFromTheFuture),
        "viewTruncated" => (Advance, Lie::ViewTruncated),
        "viewTwice" => (Advance, Lie::ViewTwice),
        "cheat" => (Advance, Lie::Cheat),
        "restoredInspection" => (Activate, Lie::Inspection),
        "restoredBoundary" => (Activate, Lie::Boundary),
        "restoredTime" => (Activate, Lie::WorldTime),
        "restoredView" => (Activate, Lie::ViewMissing),
        "" => return None,
        other => panic!("no lie is called {other}"),
    })
}

#[async_trait(?Send)]
impl Environment for CounterWorld {
    fn descriptor(&self) -> EnvironmentDescriptor {
        let mut descriptor = self.world.descriptor();
        match self.bench.other_field.borrow().as_str() {
            "backend" => descriptor.backend_digest = digest_of("other"),
            "content" => descriptor.content_digest = digest_of("other"),
            "patch" => descriptor.patch_digest = digest_of("other"),
            "format" => descriptor.state_format_id = id("counter-0"),
            _ => {}
        }
        let is_other = self.bench.other_parser.get();
        descriptor.parser_digest = digest_of(if is_other { "other parser" } else { "parser" });
        descriptor
    }

    fn attach_progress(&mut self, progress: Progress) {
        self.world.attach_progress(progress);
    }

    async fn initialize(
        &mut self,
        parameters: &EnvironmentInitialize,
    ) -> Result<WorldObservation, ParticipantError> {
        self.reach(FaultPoint::Initialize, "initialize");
        self.world.initialize(parameters).await
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        self.reach(FaultPoint::Verify, "verify");
        self.world.verify().await
    }

    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        self.world.rewrite(buffer_label).await
    }

    async fn advance(
        &mut self,
        scope: &Scope,
        batch: &Advance,
    ) -> Result<StepResult, ParticipantError> {
        self.reach(FaultPoint::Advance, "advance");
        self.world.advance(scope, batch).await
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        self.reach(FaultPoint::Capture, "capture");
        self.world.capture().await
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedWorld, ParticipantError> {
        self.reach(FaultPoint::Stage, "stage");
        self.world.stage_restore(payload).await
    }

    async fn activate_restore(&mut self) -> Result<WorldObservation, ParticipantError> {
        self.reach(FaultPoint::Activate, "activate");
        self.world.activate_restore().await
    }
}
