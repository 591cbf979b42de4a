//! [`ProgramStage`]: participants in the scenario's own program.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_counter::{CounterComposition, Faults};
use wellwritten_session::wire::{FrameChannel, MemoryChannel, Remote, serve};
use wellwritten_session::{BoxedFuture, Clock, Direct, Id, ParticipantError};

use crate::{Launched, Stage, VirtualTime};

/// How a participant in the same program is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By a call.
    Direct,
    /// Through encoded frames.
    Frames,
}

/// Participants in the scenario's own program, by a clock that takes no time.
pub struct ProgramStage {
    reach: Reach,
    time: VirtualTime,
}

impl ProgramStage {
    /// A stage by a clock.
    #[must_use]
    pub fn new(reach: Reach, time: VirtualTime) -> Rc<Self> {
        Rc::new(Self { reach, time })
    }
}

#[async_trait(?Send)]
impl Stage for ProgramStage {
    fn name(&self) -> String {
        match self.reach {
            Reach::Direct => "called, in process".to_owned(),
            Reach::Frames => "frames in memory, in process".to_owned(),
        }
    }

    async fn launch(
        &self,
        composition: &CounterComposition,
        worker_id: &Id,
        incarnation_id: &Id,
        life: u32,
    ) -> Result<Launched, ParticipantError> {
        let faults = Faults::new(&composition.faults, Some(self.clock()))?;
        let runtime = composition.participant(worker_id, incarnation_id.clone(), life, faults)?;
        match self.reach {
            Reach::Direct => {
                let route = Direct::new(runtime);
                let killed = route.clone();
                Ok(Launched {
                    route,
                    kill: Rc::new(move || killed.kill()),
                })
            }
            Reach::Frames => {
                let (near, far) = MemoryChannel::pair();
                let (route, driving) = Remote::new(near);
                self.spawn(Box::pin(driving));
                let served: Rc<dyn FrameChannel> = far.clone();
                self.spawn(Box::pin(async move {
                    serve(Rc::new(runtime), served).await;
                }));
                Ok(Launched {
                    route,
                    kill: Rc::new(move || far.close()),
                })
            }
        }
    }

    fn clock(&self) -> Rc<dyn Clock> {
        Rc::new(self.time.clone())
    }

    fn spawn(&self, future: BoxedFuture<'static, ()>) {
        self.time.spawn(future);
    }

    fn survives_panics(&self) -> bool {
        false
    }
}
