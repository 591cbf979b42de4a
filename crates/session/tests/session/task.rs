//! The counter task, watched: what it judges is logged.

use std::collections::BTreeMap;
use std::rc::Rc;

use wellwritten_counter::{CounterComposition, CounterTask as Counted, Terminal};
use wellwritten_session::{
    Evaluation, Id, PortBinding, RestoredTask, Task, TaskBootstrap, TaskError, Transition,
    TypedValue,
};

use crate::rig::Bench;

pub struct CounterTask {
    bench: Rc<Bench>,
    task: Box<dyn Task>,
}

impl CounterTask {
    pub fn new(bench: Rc<Bench>, terminal_after: Option<u32>) -> Self {
        let composition = CounterComposition {
            terminal: terminal_after.map_or(Terminal::Never, Terminal::After),
            ..CounterComposition::default()
        };
        let task = Box::new(Counted::new(&composition, bench.planned.clone()));
        Self { bench, task }
    }

    fn log(&self, point: &str) {
        self.bench.log.borrow_mut().push(point.to_owned());
    }
}

impl Task for CounterTask {
    fn bootstrap(
        &mut self,
        epoch: &Id,
        inspection: &TypedValue,
        bindings: &[PortBinding],
    ) -> Result<TaskBootstrap, TaskError> {
        self.log("task.bootstrap");
        self.task.bootstrap(epoch, inspection, bindings)
    }

    fn evaluate_transition(
        &mut self,
        transition: &Transition<'_>,
    ) -> Result<Evaluation, TaskError> {
        self.log("task.evaluate");
        self.task.evaluate_transition(transition)
    }

    fn capture(&self) -> Result<TypedValue, TaskError> {
        self.task.capture()
    }

    fn restored(
        &self,
        new_epoch: &Id,
        step: u64,
        ledger: &TypedValue,
        inspection: &TypedValue,
    ) -> Result<RestoredTask, TaskError> {
        let restored = self.task.restored(new_epoch, step, ledger, inspection)?;
        let task = Self {
            bench: self.bench.clone(),
            task: restored.task,
        };
        Ok(RestoredTask {
            task: Box::new(task),
            ..restored
        })
    }

    fn rebase_ids(&self, to_epoch: &Id) -> BTreeMap<Id, Id> {
        self.task.rebase_ids(to_epoch)
    }
}
