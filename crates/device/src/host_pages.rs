//! Pages in host memory, and units of work that run on them.

use std::collections::HashMap;

use wellwritten_memory::{Failure, FailureKind};

use crate::backend::PageId;
use crate::batch::{BoundBytes, Work};
use crate::host_kernel::{HostKernel, HostLaunch, HostWords};
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
    pub(crate) fn create(&mut self, page: PageId, size_bytes: u64) {
        let (_, words) = word_range(0, size_bytes.next_multiple_of(WORD));
        self.pages.insert(page, vec![0; words]);
    }

    pub(crate) fn remove(&mut self, page: PageId) {
        self.pages.remove(&page);
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
    }

    pub(crate) fn bytes(&self, page: PageId, offset: u64, size_bytes: u64) -> Vec<u8> {
        let words = self.words(page, offset, size_bytes).iter();
        words.flat_map(|word| word.to_le_bytes()).collect()
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
        let words = bindings
            .iter()
            .map(|bound| {
                let words = self.words(bound.page, bound.offset, bound.size_bytes);
                if bound.access.writes() {
                    HostWords::Write {
                        words: Some(words.to_vec()),
                        length: words.len(),
                    }
                } else {
                    HostWords::Read(words)
                }
            })
            .collect();
        let mut launch = HostLaunch::new(workgroups, words);
        let written = function(&mut launch)
            .and_then(|()| launch.into_written())
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

fn word_range(offset: u64, size_bytes: u64) -> (usize, usize) {
    let index = |bytes: u64| usize::try_from(bytes / WORD).expect("a page fits in memory");
    (index(offset), index(offset + size_bytes))
}
