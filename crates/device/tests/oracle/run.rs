//! One random run over a device and the model, side by side.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;

use futures::FutureExt as _;
use wellwritten_device::{
    Access, Binding, BufferBinding, DeviceError, GuardedBuffer, Kernel, ReadError, SealedGraph,
    WindowError,
};

use super::mixing::{kernel, mix, salt, workgroups};
use super::model::{Act, Model, ModelBuffer, Place, Word};
use super::random::Random;
use super::stage::Stage;

/// What runs compared, so that runs that compared nothing are noticed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) operations: usize,
    pub(crate) returned: usize,
    pub(crate) refused: usize,
    pub(crate) failed_units: usize,
    pub(crate) failed_creations: usize,
    pub(crate) over_limit: usize,
    pub(crate) sealed: usize,
    pub(crate) doomed: usize,
    pub(crate) replayed: usize,
    pub(crate) lost: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.returned += other.returned;
        self.refused += other.refused;
        self.failed_units += other.failed_units;
        self.failed_creations += other.failed_creations;
        self.over_limit += other.over_limit;
        self.sealed += other.sealed;
        self.doomed += other.doomed;
        self.replayed += other.replayed;
        self.lost += other.lost;
    }
}

/// When a device was lost under a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    Never,
    /// Announced before the read ended: it must refuse.
    Announced,
    /// Unannounced: the read may have been quicker.
    Unannounced,
}

type ReadResult = Result<Vec<u8>, ReadError>;

struct Read {
    result: Rc<RefCell<Option<ReadResult>>>,
    expected: Vec<Word>,
    loss: Loss,
    asked_at: usize,
}

struct Graph {
    sealed: SealedGraph,
    acts: Vec<Act>,
    /// How often a device had been lost.
    losses: usize,
}

const MAX_BUFFERS: usize = 6;
const MAX_GRAPHS: usize = 4;
/// Words between places where a binding may begin.
const ALIGNMENT: usize = 64;

struct Run<'a, S> {
    stage: &'a S,
    random: Random,
    model: Model,
    /// The device's buffers, by the model's numbers.
    buffers: BTreeMap<usize, GuardedBuffer>,
    kernels: BTreeMap<(Vec<u8>, bool), Kernel>,
    graphs: Vec<Graph>,
    reads: Vec<Read>,
    tally: Tally,
    log: String,
}

/// Runs `steps` random operations and judges every read.
///
/// # Panics
/// When a read returned what it must not, or refused what it must return; the message has seed and log.
pub(crate) async fn run(stage: &impl Stage, seed: u64, steps: usize) -> Tally {
    let mut run = Run::new(stage, seed);
    let outcome = run.all(steps).await;
    if let Err(wrong) = outcome {
        panic!("seed {seed}, {steps} steps: {wrong}\n{}", run.log);
    }
    run.tally
}

/// A short run, then one launch that silently does nothing. Whether the judgement notices.
pub(crate) async fn canary(stage: &impl Stage, seed: u64) -> bool {
    let mut run = Run::new(stage, seed);
    for _ in 0..30 {
        run.step().await.expect("nothing is wrong yet");
    }
    run.recovered().await.expect("it recovers");
    run.judge().await.expect("nothing is wrong yet");
    while run.stage.next_creation_fails() {
        run.alloc();
        run.free().await;
    }
    let buffer = run.reserve(64);
    let place = Place {
        buffer,
        start: 0,
        end: 64,
    };
    let act = Act::Launch {
        bindings: vec![(place, Access::Write)],
        salt: [1, 1],
    };
    run.perform(&act, true).expect("a launch within the limits");
    run.stage.device().settled().await;
    let act = Act::Launch {
        bindings: vec![(place, Access::Write)],
        salt: [2, 1],
    };
    run.stage.drop_next_launch();
    run.perform(&act, true).expect("a launch within the limits");
    run.judge().await.is_err()
}

impl<'a, S: Stage> Run<'a, S> {
    fn new(stage: &'a S, seed: u64) -> Self {
        Self {
            stage,
            random: Random::new(seed),
            model: Model::default(),
            buffers: BTreeMap::new(),
            kernels: BTreeMap::new(),
            graphs: Vec::new(),
            reads: Vec::new(),
            tally: Tally::default(),
            log: String::new(),
        }
    }

    fn note(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.log, "{}: {text}", self.tally.operations).expect("a String takes it");
    }

    async fn all(&mut self, steps: usize) -> Result<(), String> {
        for _ in 0..steps {
            self.step().await?;
        }
        self.recovered().await?;
        self.judge().await?;
        self.graphs.clear();
        self.buffers.clear();
        self.stage.device().settled().await;
        // What dropped buffers leave is swept by the next call.
        for _ in 0..2 {
            drop(self.stage.device().alloc(4, "sweeps"));
            self.stage.device().settled().await;
        }
        let left = self.stage.device().failures();
        if left.failures.is_empty() {
            Ok(())
        } else {
            Err(format!("failures outlive every buffer: {left:?}"))
        }
    }

    async fn step(&mut self) -> Result<(), String> {
        self.tally.operations += 1;
        match self.random.below(1000) {
            0..110 => self.alloc(),
            110..150 => self.free().await,
            150..290 => self.some_act(0)?,
            290..370 => self.some_act(1)?,
            370..640 => self.some_act(2)?,
            640..660 => self.launch_over_the_limit()?,
            660..820 => self.read(),
            820..860 => self.replay()?,
            860..880 => self.window().await?,
            880..960 => self.stage.turn().await,
            960..990 => self.stage.device().settled().await,
            990..994 => self.lose().await?,
            994..997 => self.destroy().await?,
            _ => self.judge().await?,
        }
        Ok(())
    }

    /// Puts a fresh buffer into both.
    fn reserve(&mut self, words: usize) -> usize {
        let number = self.model.buffers.len();
        let label = format!("buffer {number}");
        let is_armed = self.stage.next_creation_fails();
        let buffer = self.stage.device().alloc(4 * words as u64, &label);
        let buffer = buffer.expect("an allocation within the limits");
        let exists = !is_armed || self.stage.next_creation_fails();
        self.tally.failed_creations += usize::from(!exists);
        self.note(format_args!(
            "buffer {number}, {words} words, exists: {exists}"
        ));
        let fresh = Word {
            value: 0,
            sound: exists,
        };
        self.model.buffers.push(Some(ModelBuffer {
            words: vec![fresh; words],
            exists,
        }));
        self.buffers.insert(number, buffer);
        number
    }

    fn alloc(&mut self) {
        if self.buffers.len() == MAX_BUFFERS {
            return;
        }
        let words = [64, 64, 128, 256][self.random.below(4)];
        if self.random.one_in(8) {
            self.stage.fail_next_creation();
        }
        self.reserve(words);
    }

    async fn free(&mut self) {
        let Some(number) = self.some_buffer() else {
            return;
        };
        if !self.model.buffers[number].as_ref().expect("live").exists {
            // Whoever took its page over before the verdict would share its fate.
            self.stage.device().settled().await;
        }
        self.note(format_args!("free {number}"));
        self.buffers.remove(&number);
        self.model.buffers[number] = None;
    }

    fn some_buffer(&mut self) -> Option<usize> {
        let count = self.buffers.len();
        if count == 0 {
            return None;
        }
        let which = self.random.below(count);
        self.buffers.keys().nth(which).copied()
    }

    fn some_place(&mut self, aligned: bool) -> Option<Place> {
        let buffer = self.some_buffer()?;
        let length = self.model.buffers[buffer]
            .as_ref()
            .expect("live")
            .words
            .len();
        let start = if aligned {
            self.random.below(length / ALIGNMENT) * ALIGNMENT
        } else {
            self.random.below(length)
        };
        let end = start + 1 + self.random.below(length - start);
        Some(Place { buffer, start, end })
    }

    fn binding(&self, place: Place) -> BufferBinding {
        self.buffers[&place.buffer]
            .slice(4 * place.start as u64, 4 * place.end as u64)
            .expect("in range")
    }

    /// A write, a copy or a launch.
    fn some_act_of(&mut self, kind: usize) -> Option<Act> {
        let number = self.tally.operations;
        match kind {
            0 => {
                let to = self.some_place(false)?;
                let words = (to.start..to.end).map(|index| mix(&[], salt(number), index));
                Some(Act::Write {
                    to,
                    words: words.collect(),
                })
            }
            1 => {
                let (mut from, mut to) = (self.some_place(false)?, self.some_place(false)?);
                let length = from.len().min(to.len());
                (from.end, to.end) = (from.start + length, to.start + length);
                (from.buffer != to.buffer).then_some(Act::Copy { from, to })
            }
            _ => {
                let mut bindings: Vec<(Place, Access)> = Vec::new();
                for _ in 0..=self.random.below(3) {
                    let place = self.some_place(true)?;
                    let access =
                        [Access::Read, Access::Write, Access::ReadWrite][self.random.below(3)];
                    if bindings
                        .iter()
                        .all(|(known, _)| known.buffer != place.buffer)
                    {
                        bindings.push((place, access));
                    }
                }
                let salt = salt(number);
                Some(Act::Launch { bindings, salt })
            }
        }
    }

    fn some_act(&mut self, kind: usize) -> Result<(), String> {
        let works = kind != 2 || !self.random.one_in(8);
        match self.some_act_of(kind) {
            Some(act) => self.perform(&act, works).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Does it on the device and in the model. Whether it was taken, and whether it succeeded.
    fn perform(&mut self, act: &Act, works: bool) -> Result<(bool, bool), String> {
        let device = self.stage.device().clone();
        let done = match act {
            Act::Write { to, words } => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                device.write(&self.binding(*to), &bytes)
            }
            Act::Copy { from, to } => device.copy(&self.binding(*from), &self.binding(*to)),
            Act::Launch { bindings, salt } => {
                let longest = bindings.iter().map(|(place, _)| place.len()).max();
                let workgroups = workgroups(longest.expect("at least one"), *salt);
                let kernel = self.kernel(bindings, works);
                let bound: Vec<Binding> = bindings
                    .iter()
                    .map(|(place, access)| Binding::new(self.binding(*place), *access))
                    .collect();
                device.launch(&kernel, &bound, workgroups)
            }
        };
        self.note(format_args!("{act:?}, works: {works}: {:?}", done.is_ok()));
        if let Err(refusal) = done {
            // Only what is known not to exist is refused; nothing changed then.
            let exists = |buffer: usize| {
                self.model.buffers[buffer]
                    .as_ref()
                    .is_some_and(|b| b.exists)
            };
            if act.buffers().into_iter().all(exists) {
                return Err(format!("{act:?} was refused: {refusal}"));
            }
            return Ok((false, false));
        }
        let succeeded = self.model.run(std::slice::from_ref(act), works);
        self.tally.failed_units += usize::from(!succeeded);
        Ok((true, succeeded))
    }

    fn kernel(&mut self, bindings: &[(Place, Access)], works: bool) -> Kernel {
        let accesses: Vec<Access> = bindings.iter().map(|(_, access)| *access).collect();
        let key = accesses.iter().map(|access| *access as u8).collect();
        let stage = self.stage;
        let made = self.kernels.entry((key, works)).or_insert_with(|| {
            let label = if works { "mix" } else { "broken" };
            let source = kernel(label, &accesses);
            stage.device().kernel(if works {
                stage.working(source)
            } else {
                stage.broken(source)
            })
        });
        made.clone()
    }

    fn launch_over_the_limit(&mut self) -> Result<(), String> {
        let Some(place) = self.some_place(true) else {
            return Ok(());
        };
        let kernel = self.kernel(&[(place, Access::Write)], true);
        let bound = [Binding::new(self.binding(place), Access::Write)];
        let refused = self.stage.device().launch(&kernel, &bound, [65_536, 1, 1]);
        self.note(format_args!("over the limit: {:?}", refused.is_err()));
        match refused {
            Err(DeviceError::Limit { .. } | DeviceError::Handle(_)) => {
                self.tally.over_limit += 1;
                Ok(())
            }
            other => Err(format!("65,536 workgroups: {other:?}")),
        }
    }

    fn read(&mut self) {
        if let Some(place) = self.some_place(false) {
            self.start_read(place);
        }
    }

    fn start_read(&mut self, place: Place) {
        let read = self.stage.device().read(&self.binding(place));
        let result = Rc::new(RefCell::new(None));
        let put = Rc::clone(&result);
        self.stage.spawn(
            async move {
                let outcome = read.await;
                *put.borrow_mut() = Some(outcome);
            }
            .boxed_local(),
        );
        self.note(format_args!("read {place:?}"));
        self.reads.push(Read {
            result,
            expected: self.model.words(place).to_vec(),
            loss: Loss::Never,
            asked_at: self.tally.operations,
        });
    }

    fn replay(&mut self) -> Result<(), String> {
        if self.graphs.is_empty() {
            return Ok(());
        }
        let which = self.random.below(self.graphs.len());
        let (graph, acts) = (&self.graphs[which].sealed, self.graphs[which].acts.clone());
        let replayed = graph.replay();
        let live = self.graphs[which].losses == self.tally.lost
            && acts
                .iter()
                .flat_map(Act::buffers)
                .all(|buffer| self.model.is_live(buffer));
        self.note(format_args!("replay {acts:?}: {replayed:?}"));
        match (replayed, live) {
            (Ok(()), true) => {
                self.tally.replayed += 1;
                let succeeded = self.model.run(&acts, true);
                self.tally.failed_units += usize::from(!succeeded);
            }
            (Err(_), false) => {
                self.graphs.swap_remove(which);
            }
            (replayed, _) => {
                return Err(format!("replay over live buffers ({live}): {replayed:?}"));
            }
        }
        Ok(())
    }

    async fn window(&mut self) -> Result<(), String> {
        let window = self.stage.device().window("window");
        let window = window.map_err(|error| format!("no window: {error}"))?;
        let (mut acts, mut all_succeeded) = (Vec::new(), true);
        for _ in 0..=self.random.below(5) {
            let kind = self.random.below(3);
            let works = kind != 2 || !self.random.one_in(12);
            let Some(act) = self.some_act_of(kind) else {
                continue;
            };
            let (taken, succeeded) = self.perform(&act, works)?;
            if taken {
                all_succeeded &= succeeded;
                acts.push(act);
            }
        }
        let sealed = window.seal().await;
        self.note(format_args!("sealed: {}", sealed.is_ok()));
        match (sealed, all_succeeded) {
            (Ok(graph), true) => {
                self.tally.sealed += 1;
                if self.graphs.len() == MAX_GRAPHS {
                    self.graphs.remove(0);
                }
                let losses = self.tally.lost;
                self.graphs.push(Graph {
                    sealed: graph,
                    acts,
                    losses,
                });
                Ok(())
            }
            (Err(WindowError::Doomed { .. }), false) => {
                self.tally.doomed += 1;
                Ok(())
            }
            (sealed, _) => Err(format!(
                "everything in the window succeeded: {all_succeeded}, but: {sealed:?}"
            )),
        }
    }

    async fn lose(&mut self) -> Result<(), String> {
        self.note(format_args!("lose"));
        self.stage.device().lose();
        self.forget(Loss::Announced);
        self.recovered().await
    }

    async fn destroy(&mut self) -> Result<(), String> {
        if !self.stage.destroy_behind_its_back() {
            return Ok(());
        }
        self.note(format_args!("destroyed"));
        for _ in 0..self.random.below(3) {
            self.read();
        }
        self.forget(Loss::Unannounced);
        while self.stage.device().lost().is_none() {
            self.stage.turn().await;
        }
        self.recovered().await
    }

    /// Every buffer is gone with the device.
    fn forget(&mut self, loss: Loss) {
        self.tally.lost += 1;
        for read in &mut self.reads {
            if read.result.borrow().is_none() && read.loss == Loss::Never {
                read.loss = loss;
            }
        }
        self.buffers.clear();
        self.model
            .buffers
            .iter_mut()
            .for_each(|buffer| *buffer = None);
    }

    async fn recovered(&mut self) -> Result<(), String> {
        let recovered = self.stage.device().recover().await;
        recovered.map_err(|error| format!("no new generation: {error}"))
    }

    /// Reads every buffer whole, then judges every read so far.
    async fn judge(&mut self) -> Result<(), String> {
        for buffer in self.buffers.keys().copied().collect::<Vec<_>>() {
            let end = self.model.buffers[buffer]
                .as_ref()
                .expect("live")
                .words
                .len();
            let start = 0;
            self.start_read(Place { buffer, start, end });
        }
        self.stage.device().settled().await;
        for read in std::mem::take(&mut self.reads) {
            while read.result.borrow().is_none() {
                self.stage.turn().await;
            }
            let result = read.result.take().expect("it has just ended");
            self.judge_read(&read, &result)
                .map_err(|wrong| format!("the read of operation {}: {wrong}", read.asked_at))?;
        }
        Ok(())
    }

    fn judge_read(&mut self, read: &Read, result: &ReadResult) -> Result<(), String> {
        let sound = read.expected.iter().all(|word| word.sound);
        match result {
            Ok(_) if !sound => Err("returned bytes of work that did not succeed".to_owned()),
            Ok(_) if read.loss == Loss::Announced => {
                Err("returned bytes of a device that was lost".to_owned())
            }
            Ok(bytes) => {
                let expected = read
                    .expected
                    .iter()
                    .flat_map(|word| word.value.to_le_bytes());
                if !expected.eq(bytes.iter().copied()) {
                    return Err("returned other bytes than were written".to_owned());
                }
                self.tally.returned += 1;
                Ok(())
            }
            Err(refusal) if sound && read.loss == Loss::Never => {
                Err(format!("refused sound bytes: {refusal}"))
            }
            Err(ReadError::Transfer { reason, .. }) if read.loss == Loss::Never => {
                Err(format!("could not copy: {reason}"))
            }
            Err(_) => {
                self.tally.refused += 1;
                Ok(())
            }
        }
    }
}
