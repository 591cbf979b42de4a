//! Oracle: a read returns bytes iff every byte it returns was last written by work that succeeded; and
//! the bytes are those of a device on which nothing ever fails.
//!
//! The model keeps, for every byte of every buffer, who wrote it last and which value it would have had
//! if all had gone well. It learns from the backend's log which units were dropped, and judges every read
//! once all verdicts are in. It knows nothing of claims, submissions or pending bytes.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::rc::Rc;

use crate::random::Random;
use crate::rig::{ReadResult, Rig, Under};
use wellwritten_device::fake::Encoded;
use wellwritten_device::{Access, Binding, GuardedBuffer, Kernel, KernelSource};

/// When verdicts are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdicts {
    /// After every operation.
    AtOnce,
    /// Now and then, in random order.
    Late,
}

/// What became of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// Recorded, not yet seen at the backend.
    Recorded,
    Succeeded,
    Failed,
    /// Never encoded; sound only if an input was not.
    Skipped,
}

struct Operation {
    fate: Fate,
    /// Who had last written the bytes it read, when it was asked for.
    inputs: BTreeSet<usize>,
}

struct ModelBuffer {
    buffer: GuardedBuffer,
    /// The operation that made it.
    created: usize,
    /// For every word: who wrote it last, and what it holds if all went well.
    words: Vec<(usize, u32)>,
}

struct ModelRead {
    result: Rc<RefCell<Option<ReadResult>>>,
    expected: Vec<(usize, u32)>,
    lost: bool,
    asked_at: usize,
}

/// What a run compared, so that a run that compared nothing is noticed.
#[derive(Debug, Default)]
struct Tally {
    returned: usize,
    refused: usize,
    skipped: usize,
    dropped: usize,
    lost: usize,
}

const MAX_BUFFERS: usize = 6;
const ALIGNMENT_WORDS: usize = 64;

struct Run {
    rig: Rig,
    under: Under,
    random: Random,
    verdicts: Verdicts,
    good: Vec<Kernel>,
    bad: Kernel,
    buffers: Vec<ModelBuffer>,
    operations: Vec<Operation>,
    /// Operations whose units have not been seen at the backend, in order.
    recorded: VecDeque<usize>,
    seen_submissions: usize,
    reads: Vec<ModelRead>,
    tally: Tally,
    log: String,
}

/// What the kernels of the oracle compute, for one written word.
fn mix(inputs: &[u32], operation: u32, index: usize) -> u32 {
    let index = u32::try_from(index).expect("small buffers");
    inputs
        .iter()
        .fold(operation.wrapping_mul(0x9e37_79b9) ^ index, |sum, input| {
            sum.rotate_left(5) ^ input.wrapping_mul(0x85eb_ca6b)
        })
}

/// Writes every writable binding from all readable ones: word `i` from their words `i % length`.
fn mixing_kernel(label: &str, on_cpu_fails: bool) -> KernelSource {
    KernelSource::host(
        label,
        Rc::new(move |launch| {
            if on_cpu_fails {
                return Err("broken".to_owned().into());
            }
            // The accesses of the bindings travel in the second workgroup count: the host form cannot
            // tell write from read-write.
            let [operation, accesses, _] = launch.workgroups();
            let mut read = Vec::new();
            let mut written = Vec::new();
            for index in 0..launch.binding_count() {
                let access = (accesses >> (2 * index)) & 3;
                if access & 1 != 0 {
                    read.push(launch.words(index)?.to_vec());
                }
                if access & 2 != 0 {
                    written.push(index);
                }
            }
            for index in written {
                let mut words = launch.take(index)?;
                for (at, word) in words.iter_mut().enumerate() {
                    let inputs: Vec<u32> =
                        read.iter().map(|words| words[at % words.len()]).collect();
                    *word = mix(&inputs, operation, at);
                }
                launch.put(index, words)?;
            }
            Ok(())
        }),
    )
}

impl Run {
    fn new(seed: u64, under: Under, verdicts: Verdicts) -> Self {
        let rig = Rig::new(under);
        if under == Under::Late {
            rig.control().break_shader("bad", "broken");
        }
        let good = ["k0", "k1", "k2"]
            .map(|label| rig.device.kernel(mixing_kernel(label, false)))
            .to_vec();
        let bad = rig.device.kernel(mixing_kernel("bad", under == Under::Cpu));
        Self {
            rig,
            under,
            random: Random::new(seed),
            verdicts,
            good,
            bad,
            buffers: Vec::new(),
            operations: Vec::new(),
            recorded: VecDeque::new(),
            seen_submissions: 0,
            reads: Vec::new(),
            tally: Tally::default(),
            log: String::new(),
        }
    }

    fn begin(&mut self, inputs: BTreeSet<usize>) -> usize {
        self.operations.push(Operation {
            fate: Fate::Recorded,
            inputs,
        });
        self.operations.len() - 1
    }

    /// A unit that was recorded; on the CPU it has already succeeded.
    fn record(&mut self, operation: usize) {
        if self.under == Under::Cpu {
            self.operations[operation].fate = Fate::Succeeded;
        } else {
            self.recorded.push_back(operation);
        }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..12 => self.alloc(),
            12..17 => self.free(),
            17..35 => self.write(),
            35..65 => self.launch(),
            65..82 => self.read(),
            82..98 => self.deliver(),
            98 => self.cleanup_turn(),
            _ => self.lose(),
        }
        if self.verdicts == Verdicts::AtOnce {
            self.rig.settle();
        }
        self.follow_backend();
    }

    fn alloc(&mut self) {
        if self.buffers.len() == MAX_BUFFERS {
            return;
        }
        let words = [64, 64, 128, 256][self.random.below(4)];
        let late = self.under == Under::Late;
        if late && self.random.one_in(8) {
            self.rig.control().fail_creation_after(0);
        }
        let fails = late && self.rig.control().next_creation_fails();
        let created = if late {
            self.rig.control().pages_created()
        } else {
            0
        };
        let label = format!("buffer {}", self.operations.len());
        let buffer = self.rig.alloc(words, &label);
        let operation = self.begin(BTreeSet::new());
        writeln!(self.log, "{operation}: alloc {words} words, fails: {fails}").unwrap();
        if late && self.rig.control().pages_created() == created {
            // Recycled: zeroing it is a unit of work. The armed failure waits for the next creation.
            self.record(operation);
        } else if fails {
            self.operations[operation].fate = Fate::Failed;
        } else {
            self.operations[operation].fate = Fate::Succeeded;
        }
        self.buffers.push(ModelBuffer {
            buffer,
            created: operation,
            words: vec![(operation, 0); words],
        });
    }

    /// Whether a buffer is not known to have failed at its creation.
    fn exists(&self, buffer: usize) -> bool {
        self.operations[self.buffers[buffer].created].fate != Fate::Failed
    }

    fn free(&mut self) {
        if !self.buffers.is_empty() {
            let index = self.random.below(self.buffers.len());
            self.buffers.swap_remove(index);
        }
    }

    /// A buffer and a range of its words, beginning where a binding may.
    fn place(&mut self, aligned: bool) -> Option<(usize, usize, usize)> {
        let buffer = self.random.below(self.buffers.len().max(1));
        let length = self.buffers.get(buffer)?.words.len();
        let start = if aligned {
            self.random.below(length / ALIGNMENT_WORDS) * ALIGNMENT_WORDS
        } else {
            self.random.below(length)
        };
        let end = start + 1 + self.random.below(length - start);
        Some((buffer, start, end))
    }

    fn binding(
        &self,
        (buffer, start, end): (usize, usize, usize),
    ) -> wellwritten_device::BufferBinding {
        self.buffers[buffer]
            .buffer
            .slice(4 * start as u64, 4 * end as u64)
            .expect("in range")
    }

    fn write(&mut self) {
        let Some(place) = self.place(false) else {
            return;
        };
        let operation = self.begin(BTreeSet::new());
        let (buffer, start, end) = place;
        let words: Vec<u32> = (start..end)
            .map(|index| {
                mix(
                    &[],
                    u32::try_from(operation).expect("few operations"),
                    index,
                )
            })
            .collect();
        let skipped = self.rig.device.counters().skipped_units;
        let written = self
            .rig
            .device
            .write(&self.binding(place), &crate::rig::bytes(&words));
        writeln!(
            self.log,
            "{operation}: write {place:?}: {}",
            written.is_ok()
        )
        .unwrap();
        written.expect("a write within the buffer");
        if self.rig.device.counters().skipped_units > skipped {
            // The buffer is known not to exist: nothing was done.
            assert!(!self.exists(buffer), "{}", self.log);
            self.operations[operation].fate = Fate::Failed;
        } else {
            self.record(operation);
        }
        for (slot, word) in self.buffers[buffer].words[start..end].iter_mut().zip(words) {
            *slot = (operation, word);
        }
    }

    fn launch(&mut self) {
        let mut places: Vec<((usize, usize, usize), Access)> = Vec::new();
        for _ in 0..=self.random.below(3) {
            let Some(place) = self.place(true) else {
                return;
            };
            let access = [Access::Read, Access::Write, Access::ReadWrite][self.random.below(3)];
            if places.iter().all(|(other, _)| other.0 != place.0) {
                places.push((place, access));
            }
        }
        let mut inputs = BTreeSet::new();
        let mut read: Vec<Vec<u32>> = Vec::new();
        let mut accesses = 0;
        for (index, ((buffer, start, end), access)) in places.iter().enumerate() {
            let words = &self.buffers[*buffer].words[*start..*end];
            if access.reads() {
                inputs.extend(words.iter().map(|(writer, _)| *writer));
                read.push(words.iter().map(|(_, word)| *word).collect());
            }
            accesses |=
                (u32::from(access.reads()) | u32::from(access.writes()) << 1) << (2 * index);
        }
        let operation = self.begin(inputs);
        let (bad, turns_bad) = (self.random.one_in(8), self.random.one_in(10));
        let kernel = if bad {
            self.bad.clone()
        } else {
            let which = self.random.below(self.good.len());
            self.good[which].clone()
        };
        if turns_bad && self.under == Under::Late {
            self.rig.control().fail_dispatch(kernel.label());
        }
        let bindings: Vec<Binding> = places
            .iter()
            .map(|(place, access)| Binding::new(self.binding(*place), *access))
            .collect();
        let before = self.rig.device.counters();
        let number = u32::try_from(operation).expect("few operations");
        let launched = self
            .rig
            .device
            .launch(&kernel, &bindings, [number, accesses, 1]);
        let after = self.rig.device.counters();
        let text = kernel.label();
        writeln!(
            self.log,
            "{operation}: launch {text} {places:?}: {}",
            launched.is_ok()
        )
        .unwrap();
        launched.expect("a launch within the limits");
        if after.skipped_units > before.skipped_units {
            let exist = places.iter().all(|(place, _)| self.exists(place.0));
            self.operations[operation].fate = if exist { Fate::Skipped } else { Fate::Failed };
            self.tally.skipped += 1;
        } else if bad && (after.failed_units > before.failed_units || self.under == Under::Cpu) {
            self.operations[operation].fate = Fate::Failed;
        } else {
            self.record(operation);
        }
        for ((buffer, start, end), access) in places {
            if access.writes() {
                for (at, slot) in self.buffers[buffer].words[start..end]
                    .iter_mut()
                    .enumerate()
                {
                    let inputs: Vec<u32> =
                        read.iter().map(|words| words[at % words.len()]).collect();
                    *slot = (operation, mix(&inputs, number, at));
                }
            }
        }
    }

    fn read(&mut self) {
        let Some(place) = self.place(false) else {
            return;
        };
        let result = self.rig.start_read(&self.binding(place));
        let (buffer, start, end) = place;
        writeln!(self.log, "read {place:?}").unwrap();
        self.reads.push(ModelRead {
            result,
            expected: self.buffers[buffer].words[start..end].to_vec(),
            lost: false,
            asked_at: self.operations.len(),
        });
    }

    fn deliver(&mut self) {
        if self.under == Under::Cpu {
            return;
        }
        let control = self.rig.control();
        let held = control.held().len();
        if held > 0 {
            control.deliver(self.random.below(held));
        }
        self.rig.turn();
    }

    /// Lets the background submit what is recorded.
    fn cleanup_turn(&mut self) {
        self.rig.turn();
    }

    fn lose(&mut self) {
        writeln!(self.log, "lose").unwrap();
        self.rig.device.lose();
        for read in &mut self.reads {
            read.lost |= read.result.borrow().is_none();
        }
        self.buffers.clear();
        self.recorded.clear();
        self.seen_submissions = 0;
        self.tally.lost += 1;
        self.rig.turn();
        self.rig.recover().expect("a new generation");
    }

    /// Learns from the backend's log what became of the units it has seen.
    fn follow_backend(&mut self) {
        if self.under == Under::Cpu {
            return;
        }
        let submitted = self.rig.control().submitted_after(self.seen_submissions);
        for submission in &submitted {
            for unit in &submission.units {
                let operation = self.recorded.pop_front().expect("a unit that was recorded");
                if let Encoded::Launch { workgroups_x, .. } = unit {
                    assert_eq!(
                        usize::try_from(*workgroups_x),
                        Ok(operation),
                        "units arrive in order"
                    );
                }
                self.operations[operation].fate = if submission.applied {
                    Fate::Succeeded
                } else {
                    self.tally.dropped += 1;
                    Fate::Failed
                };
            }
        }
        self.seen_submissions += submitted.len();
    }

    /// Whether an operation and everything it was made from succeeded; operations only read from
    /// earlier ones.
    fn soundness(&self) -> Result<Vec<bool>, String> {
        let mut sound: Vec<bool> = Vec::new();
        for (index, operation) in self.operations.iter().enumerate() {
            let inputs = operation.inputs.iter().all(|input| sound[*input]);
            if operation.fate == Fate::Skipped && inputs {
                return Err(format!("operation {index} was skipped without cause"));
            }
            sound.push(operation.fate == Fate::Succeeded && inputs);
        }
        Ok(sound)
    }

    fn judge(&mut self) -> Result<(), String> {
        for index in 0..self.buffers.len() {
            let end = self.buffers[index].words.len();
            let result = self.rig.start_read(&self.binding((index, 0, end)));
            self.reads.push(ModelRead {
                result,
                expected: self.buffers[index].words.clone(),
                lost: false,
                asked_at: self.operations.len(),
            });
        }
        self.rig.settle();
        self.follow_backend();
        let sound = self.soundness()?;
        for (number, read) in self.reads.iter().enumerate() {
            let result = read.result.take().ok_or(format!("read {number} hangs"))?;
            let may_return = !read.lost && read.expected.iter().all(|(writer, _)| sound[*writer]);
            let at = format!("read {number}, asked before operation {}", read.asked_at);
            match result {
                Ok(bytes) => {
                    let expected: Vec<u32> = read.expected.iter().map(|(_, word)| *word).collect();
                    if !may_return {
                        return Err(format!("{at}: returned bytes of work that did not succeed"));
                    }
                    if crate::rig::words(&bytes) != expected {
                        return Err(format!("{at}: returned other bytes than were written"));
                    }
                    self.tally.returned += 1;
                }
                Err(error) => {
                    if may_return {
                        return Err(format!("{at}: refused sound bytes: {error}"));
                    }
                    self.tally.refused += 1;
                }
            }
        }
        self.buffers.clear();
        drop(self.rig.alloc(1, "sweeps"));
        self.rig.settle();
        drop(self.rig.alloc(1, "sweeps"));
        let left = self.rig.device.failures();
        if left.failures.is_empty() {
            Ok(())
        } else {
            Err(format!("failures outlive every buffer: {left:?}"))
        }
    }
}

fn run(seed: u64, steps: usize, under: Under, verdicts: Verdicts) -> Tally {
    let mut run = Run::new(seed, under, verdicts);
    for _ in 0..steps {
        run.step();
    }
    if let Err(wrong) = run.judge() {
        panic!(
            "seed {seed}, {steps} steps, {under:?}, {verdicts:?}: {wrong}\n{}",
            run.log
        );
    }
    run.tally
}

/// To replay a failure, put its seed into the range below.
fn run_many(under: Under, verdicts: Verdicts) {
    let long = std::env::var_os("WELLWRITTEN_LONG").is_some();
    let (seeds, steps) = if long { (400, 600) } else { (40, 300) };
    println!("seeds 0..{seeds}, {steps} steps each; WELLWRITTEN_LONG=1 runs more");
    let mut total = Tally::default();
    for seed in 0..seeds {
        let tally = run(seed, steps, under, verdicts);
        total.returned += tally.returned;
        total.refused += tally.refused;
        total.skipped += tally.skipped;
        total.dropped += tally.dropped;
        total.lost += tally.lost;
    }
    println!("{total:?}");
    assert!(total.returned > 200 && total.refused > 200, "{total:?}");
    assert!(total.skipped > 50 && total.lost > 10, "{total:?}");
    assert!(under == Under::Cpu || total.dropped > 100, "{total:?}");
}

#[test]
fn reads_over_late_verdicts_in_random_order() {
    run_many(Under::Late, Verdicts::Late);
}

#[test]
fn reads_over_verdicts_at_once() {
    run_many(Under::Late, Verdicts::AtOnce);
}

#[test]
fn reads_on_the_cpu_backend() {
    run_many(Under::Cpu, Verdicts::AtOnce);
}

#[test]
fn the_oracle_notices_a_backend_that_lies_once() {
    let (mut told, mut noticed) = (0, 0);
    for seed in 0..20 {
        let mut run = Run::new(seed, Under::Late, Verdicts::Late);
        for _ in 0..60 {
            run.step();
        }
        // The lie concerns a whole buffer that nothing overwrites before it is read.
        run.rig.settle();
        run.follow_backend();
        let buffer = run.rig.alloc(64, "lied about");
        run.rig.settle();
        let created = run.begin(BTreeSet::new());
        run.operations[created].fate = Fate::Succeeded;
        let submitted = run.rig.control().submitted().len();
        run.seen_submissions = submitted;
        run.buffers.push(ModelBuffer {
            buffer: buffer.clone(),
            created,
            words: vec![(created, 0); 64],
        });
        let operation = run.begin(BTreeSet::new());
        let number = u32::try_from(operation).expect("few operations");
        run.rig.control().lie_once();
        run.rig.control().fail_dispatch("k0");
        let bindings = [Binding::new(buffer.binding(), Access::Write)];
        run.rig
            .device
            .launch(&run.good[0], &bindings, [number, 2, 1])
            .unwrap();
        run.record(operation);
        let last = run.buffers.last_mut().expect("just pushed");
        for (at, slot) in last.words.iter_mut().enumerate() {
            *slot = (operation, mix(&[], number, at));
        }
        let verdict = run.judge();
        told += run.rig.control().lies_told();
        noticed += u32::from(verdict.is_err());
    }
    assert_eq!((told, noticed), (20, 20));
}
