//! Pages in host memory, and units of work that run on them.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use wellwritten_memory::{Failure, FailureKind};

use crate::backend::{CopyRequest, PageId};
use crate::batch::{BoundBytes, Work};
use crate::error::DeviceError;
use crate::host_kernel::{HostKernel, HostKernelError, HostLaunch, HostWords};
use crate::kernel::CompiledKernel;

const WORD: u64 = 4;

/// Pages as vectors of words.
pub(crate) struct HostPages {
    pages: HashMap<PageId, Vec<u32>>,
    /// The function in what a backend made of a kernel.
    function: fn(&CompiledKernel) -> &HostKernel,
}

impl HostPages {
    pub(crate) fn new(function: fn(&CompiledKernel) -> &HostKernel) -> Self {
        Self {
            pages: HashMap::new(),
            function,
        }
    }

    /// A page of zeroed words.
    pub(crate) fn create(&mut self, page: PageId, size_bytes: u64) -> Result<(), DeviceError> {
        let (_, length) = word_range(0, size_bytes.next_multiple_of(WORD));
        let mut words = Vec::new();
        words
            .try_reserve_exact(length)
            .map_err(|_| DeviceError::NoMemory { size_bytes })?;
        words.resize(length, 0);
        self.pages.insert(page, words);
        Ok(())
    }

    pub(crate) fn remove(&mut self, page: PageId) {
        self.pages.remove(&page);
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
    }

    pub(crate) fn bytes(&self, copy: &CopyRequest) -> Result<Vec<u8>, Failure> {
        let words = self.words(copy.page, copy.offset, copy.size_bytes);
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(words.len() * 4)
            .map_err(|_| Failure {
                kind: FailureKind::OutOfMemory,
                message: format!("no memory for a copy of {} bytes", copy.size_bytes),
            })?;
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        Ok(bytes)
    }

    /// Does one unit of work. A kernel that fails leaves no trace of itself.
    pub(crate) fn run(&mut self, work: &Work) -> Result<(), Failure> {
        match work {
            Work::Write {
                page,
                offset,
                bytes,
            } => {
                let words = self.words_mut(*page, *offset, bytes.len() as u64);
                for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                    *word = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
                }
                Ok(())
            }
            Work::Clear {
                page,
                offset,
                size_bytes,
            } => {
                self.words_mut(*page, *offset, *size_bytes).fill(0);
                Ok(())
            }
            Work::Copy {
                from,
                from_offset,
                to,
                to_offset,
                size_bytes,
            } => {
                let words = self.words(*from, *from_offset, *size_bytes).to_vec();
                self.words_mut(*to, *to_offset, *size_bytes)
                    .copy_from_slice(&words);
                Ok(())
            }
            Work::Launch {
                label,
                kernel,
                bindings,
                workgroups,
            } => self.launch(label, kernel, bindings, *workgroups),
            Work::Graph { units } => units.iter().try_for_each(|unit| self.run(unit)),
        }
    }

    fn launch(
        &mut self,
        label: &str,
        kernel: &CompiledKernel,
        bindings: &[BoundBytes],
        workgroups: [u32; 3],
    ) -> Result<(), Failure> {
        let function = (self.function)(kernel);
        // Bindings that write get their own words and are copied back only on success, so a kernel
        // that fails midway cannot leave half a result that looks like bytes someone wrote.
        let words = bindings.iter().enumerate().map(|(index, bound)| {
            let words = self.words(bound.page, bound.offset, bound.size_bytes);
            Ok(if bound.access.writes() {
                HostWords::Write {
                    words: Some(copied(words, index)?),
                    length: words.len(),
                }
            } else {
                HostWords::Read(words)
            })
        });
        let written = words
            .collect::<Result<Vec<_>, _>>()
            .and_then(|words| {
                let mut launch = HostLaunch::new(workgroups, words);
                // A panic is a failure of this launch alone: its words are dropped with it.
                catch_unwind(AssertUnwindSafe(|| function(&mut launch)))
                    .unwrap_or_else(|panic| Err(HostKernelError::Panicked(said(&*panic))))
                    .and_then(|()| launch.into_written())
            })
            .map_err(|error| Failure {
                kind: FailureKind::HostKernel,
                message: format!("kernel `{label}` failed on the CPU: {error}"),
            })?;
        for (index, words) in written {
            let bound = bindings[index];
            self.words_mut(bound.page, bound.offset, bound.size_bytes)
                .copy_from_slice(&words);
        }
        Ok(())
    }

    fn words(&self, page: PageId, offset: u64, size_bytes: u64) -> &[u32] {
        let (start, end) = word_range(offset, size_bytes);
        &self.pages[&page][start..end]
    }

    fn words_mut(&mut self, page: PageId, offset: u64, size_bytes: u64) -> &mut [u32] {
        let (start, end) = word_range(offset, size_bytes);
        let words = self
            .pages
            .get_mut(&page)
            .expect("the memory crate hands out pages it holds");
        &mut words[start..end]
    }
}

fn copied(words: &[u32], index: usize) -> Result<Vec<u32>, HostKernelError> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(words.len())
        .map_err(|_| HostKernelError::NoMemory {
            index,
            words: words.len(),
        })?;
    copy.extend_from_slice(words);
    Ok(copy)
}

/// What a panic said.
fn said(panic: &dyn Any) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without words").to_owned()
}

fn word_range(offset: u64, size_bytes: u64) -> (usize, usize) {
    let index = |bytes: u64| usize::try_from(bytes / WORD).expect("a page fits in memory");
    (index(offset), index(offset + size_bytes))
}
