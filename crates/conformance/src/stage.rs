//! [`Stage`]: what a scenario is played on.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_counter::CounterComposition;
use wellwritten_session::{BoxedFuture, Clock, Id, ParticipantError, Transport};
use wellwritten_store::StoreRoute;

/// One participant that was started.
pub struct Launched {
    /// The way to it.
    pub route: Rc<dyn Transport>,
    /// Ends it without a word, from outside: the process is killed, the worker terminated, the frame removed.
    pub kill: Rc<dyn Fn()>,
}

/// What a scenario is played on: how participants are started, and by which clock time passes.
///
/// A stage starts participants of a [`CounterComposition`] and of nothing else, each as often as it is asked to. Written
/// in another language, or tampered with on the way, they must behave the same.
#[async_trait(?Send)]
pub trait Stage {
    /// Transport and mode, for a person.
    fn name(&self) -> String;

    /// Starts a worker of the composition: the world or one of its agents, under this incarnation, in its `life`th life.
    /// It has the faults of that life from the composition's plan.
    async fn launch(
        &self,
        composition: &CounterComposition,
        worker_id: &Id,
        incarnation_id: &Id,
        life: u32,
    ) -> Result<Launched, ParticipantError>;

    /// The clock the session goes by. A participant's own clock may be another one, at the same pace.
    fn clock(&self) -> Rc<dyn Clock>;

    /// Runs something beside the scenario.
    fn spawn(&self, future: BoxedFuture<'static, ()>);

    /// The way to the store, as it is on this stage: that which is given, unless something is wrong with it on purpose.
    fn store_route(&self, route: Rc<dyn StoreRoute>) -> Rc<dyn StoreRoute> {
        route
    }

    /// Whether a panic of a participant ends that participant and nothing else.
    fn survives_panics(&self) -> bool;
}
