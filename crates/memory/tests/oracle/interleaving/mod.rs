//! One random run: the same operations on the manager and on the model, compared after each.
//!
//! The folder stands alone, so that a fuzzer can include it: [`run`] takes its decisions from any
//! [`Choices`].

mod byte_model;
mod choices;
mod comparison;
mod driver;
mod launches;
mod mirror;
mod operations;
mod plan;
mod reads;
mod sabotage;
mod settlements;
mod windows;

pub use choices::{Choices, Seeded, Spelled};
pub use plan::{Plan, small_sub_slices};
pub use sabotage::Sabotage;

use byte_model::{ByteModel, Bytes, Fate};
use mirror::Mirror;
use reads::Flight;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::AddAssign;
use wellwritten_memory::{
    BufferBinding, BytesStorage, Handle, MemoryManagement, StreamId, TaintState, UnitId, Watch,
};
use windows::ModelWindow;

/// `Err` says where manager and model first differed.
pub type Told<T> = Result<T, String>;

/// How much was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    pub operations: usize,
    pub trusted_reads: usize,
    pub refused_reads: usize,
    pub late_refusals: usize,
    pub skips: usize,
    pub settlements: usize,
    pub windows: usize,
    pub recycled: usize,
    pub bytes: usize,
}

impl AddAssign for Compared {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.trusted_reads += other.trusted_reads;
        self.refused_reads += other.refused_reads;
        self.late_refusals += other.late_refusals;
        self.skips += other.skips;
        self.settlements += other.settlements;
        self.windows += other.windows;
        self.recycled += other.recycled;
        self.bytes += other.bytes;
    }
}

/// Returns from the caller where manager (left) and model (right) differ.
macro_rules! same {
    ($left:expr, $right:expr, $($what:tt)+) => {{
        let (left, right) = (&$left, &$right);
        if left != right {
            return Err(format!("{}: manager {left:?}, model {right:?}", format!($($what)+)));
        }
    }};
}
use same;

/// Every run has more logical streams than pooled ones.
const LOGICAL_STREAMS: usize = 8;
const POOLED_STREAMS: NonZeroU32 = NonZeroU32::new(4).expect("not zero");

struct Run<'run> {
    plan: &'run Plan,
    choices: &'run mut dyn Choices,
    memory: MemoryManagement<BytesStorage>,
    model: ByteModel,
    handles: BTreeMap<u64, Handle>,
    /// The units that wait for each submission, and what they are to the model.
    open: BTreeMap<u64, Vec<(UnitId, usize)>>,
    next_submission: u64,
    /// By pooled stream.
    windows: BTreeMap<u64, ModelWindow>,
    flights: Vec<Flight>,
    mirror: Mirror,
    compared: Compared,
    number: usize,
    /// What a sabotage keeps from everybody.
    kept: (Vec<Watch>, Vec<Handle>),
}

/// Runs the plan.
pub fn run(plan: &Plan, choices: &mut dyn Choices) -> Told<Compared> {
    let storage = BytesStorage::new(16, u64::MAX);
    let mut run = Run {
        plan,
        choices,
        memory: MemoryManagement::with_streams(
            storage,
            plan.configuration.clone(),
            plan.uninitialized,
            POOLED_STREAMS,
        ),
        model: ByteModel::default(),
        handles: BTreeMap::new(),
        open: BTreeMap::new(),
        next_submission: 0,
        windows: BTreeMap::new(),
        flights: Vec::new(),
        mirror: Mirror::default(),
        compared: Compared::default(),
        number: 0,
        kept: (Vec::new(), Vec::new()),
    };
    while run.number < plan.operations && !run.choices.is_spent() {
        run.step()
            .and_then(|()| run.compare())
            .and_then(|()| run.look())
            .map_err(|what| format!("operation {} of {plan:?}: {what}", run.number))?;
        run.number += 1;
        if run.number.is_multiple_of(32) {
            run.forget();
        }
    }
    run.finish()?;
    run.compared.operations = run.number;
    Ok(run.compared)
}

fn fate_of(state: TaintState, root: Option<&str>) -> Fate {
    let root = || String::from(root.unwrap_or("no root"));
    match state {
        TaintState::Trusted => Fate::Clean,
        TaintState::Pending => Fate::Pending,
        TaintState::Failed | TaintState::NeverWritten => Fate::Failed(root()),
        TaintState::Skipped => Fate::Skipped(root()),
    }
}

impl Run<'_> {
    fn lies(&self, sabotage: Sabotage) -> bool {
        self.plan.sabotage == Some(sabotage) && self.number > 20
    }

    fn step(&mut self) -> Told<()> {
        match self.choices.below(100) {
            0..14 => self.reserve(),
            14..20 => self.free(),
            20..32 => self.read(),
            32..38 => {
                let explicit = self.choices.once_in(2);
                self.memory.cleanup(explicit);
                Ok(())
            }
            38..50 if self.plan.late => self.settle(),
            50..52 if self.plan.late => {
                self.blame();
                Ok(())
            }
            52 if self.choices.once_in(8) => self.lose(),
            53 if self.choices.once_in(3) => {
                self.fail_page();
                Ok(())
            }
            54 => self.reserve_failed(),
            55 => {
                self.end_a_read();
                Ok(())
            }
            56 => self.misuse(),
            57..59 => self.bind(),
            59 => self.taint(),
            60..62 => self.write(),
            62..64 => self.ask(),
            64..70 => self.move_a_window(),
            _ => self.launch(),
        }
    }

    fn some_stream(&mut self) -> StreamId {
        StreamId(self.choices.below(LOGICAL_STREAMS) as u64)
    }

    /// A buffer that still has bytes, or never had any.
    fn any_usable(&mut self) -> Option<u64> {
        let ids: Vec<u64> = self
            .model
            .buffers
            .iter()
            .filter(|(_, buffer)| !buffer.lost)
            .map(|(id, _)| *id)
            .collect();
        (!ids.is_empty()).then(|| ids[self.choices.below(ids.len())])
    }

    /// Up to `most` bindings of usable buffers. They may overlap, and be empty.
    fn bindings(&mut self, most: usize) -> Told<(Vec<BufferBinding>, Vec<Bytes>)> {
        let mut bindings = Vec::new();
        let mut bytes = Vec::new();
        for _ in 0..self.choices.below(most + 1) {
            let Some(id) = self.any_usable() else { break };
            let (start, end) = self.some_range(id);
            let slice = self.handles[&id].slice(start as u64, end as u64);
            bindings.push(slice.map_err(|error| error.to_string())?);
            bytes.push((id, start, end));
        }
        Ok((bindings, bytes))
    }

    fn some_range(&mut self, id: u64) -> (usize, usize) {
        let size = self.model.buffers[&id].writer.len();
        if self.plan.whole || self.choices.once_in(3) {
            return (0, size);
        }
        let (one, other) = (self.choices.below(size + 1), self.choices.below(size + 1));
        (one.min(other), one.max(other))
    }

    fn scribble(&mut self, binding: &BufferBinding, value: u8) -> Told<()> {
        let location = self.memory.locate(binding);
        let location = location.map_err(|error| error.to_string())?;
        let (start, len) = (location.offset as usize, location.size_bytes as usize);
        let page = self.memory.storage_mut().page_mut(location.storage);
        page.ok_or("no such page")?[start..start + len].fill(value);
        Ok(())
    }

    /// Lets the model forget what nothing will ask about again.
    fn forget(&mut self) {
        let flights = self.flights.iter().flat_map(|flight| &flight.writers);
        let open = self.open.values().flatten().map(|(_, operation)| operation);
        let windows = self.windows.values().flat_map(|window| &window.entered);
        self.model
            .forget_all_but(flights.chain(open).chain(windows).copied());
    }
}
