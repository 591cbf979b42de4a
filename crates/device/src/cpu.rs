//! The CPU backend: pages are vectors of words, kernels are functions, verdicts are immediate.

use std::collections::HashMap;
use std::rc::Rc;

use futures::FutureExt as _;
use wellwritten_memory::{Failure, FailureKind, Storage};

use crate::access::Access;
use crate::backend::{
    Backend, BackendInfo, BackendKind, Copied, CopyForm, CopyOut, KernelState, PageId, Settlement,
    Verdict,
};
use crate::batch::{BoundBytes, Work};
use crate::error::DeviceError;
use crate::host_kernel::{HostKernel, HostLaunch, HostWords};
use crate::kernel::{CompiledKernel, KernelSource};
use crate::limits::DeviceLimits;

const WORD: u64 = 4;

/// Pages in host memory.
pub(crate) struct CpuBackend {
    pages: HashMap<PageId, Vec<u32>>,
    next_page: u64,
    reason: Option<String>,
    destroyed: bool,
}

impl CpuBackend {
    /// `reason` says why the CPU was taken, when WebGPU was hoped for.
    pub(crate) fn new(reason: Option<String>) -> Self {
        Self {
            pages: HashMap::new(),
            next_page: 1,
            reason,
            destroyed: false,
        }
    }

    fn run(&mut self, work: &Work) -> Result<(), Failure> {
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
        let host = kernel
            .downcast_ref::<HostKernel>()
            .expect("a kernel compiled by this backend");
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
        let written = host(&mut launch)
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

impl Storage for CpuBackend {
    type Id = PageId;
    type Error = DeviceError;

    fn alloc(&mut self, size_bytes: u64) -> Result<PageId, DeviceError> {
        let page = PageId(self.next_page);
        self.next_page += 1;
        let (_, words) = word_range(0, size_bytes.next_multiple_of(WORD));
        self.pages.insert(page, vec![0; words]);
        Ok(page)
    }

    fn dealloc(&mut self, id: PageId) {
        self.pages.remove(&id);
    }

    fn alignment(&self) -> u64 {
        u64::from(self.limits().min_storage_buffer_offset_alignment)
    }
}

impl Backend for CpuBackend {
    fn info(&self) -> BackendInfo {
        BackendInfo {
            kind: BackendKind::Cpu,
            adapter: "CPU (Rust kernels)".to_owned(),
            software: true,
            reason: self.reason.clone(),
        }
    }

    fn limits(&self) -> DeviceLimits {
        DeviceLimits::WEBGPU_DEFAULT
    }

    fn batches(&self) -> bool {
        false
    }

    fn take_creations(&mut self) -> Vec<(PageId, Verdict)> {
        Vec::new()
    }

    fn compile(&mut self, source: &KernelSource) -> Result<CompiledKernel, DeviceError> {
        let host = source.host.clone().ok_or_else(|| DeviceError::KernelForm {
            kernel: source.label.clone(),
            missing: "host function",
            backend: "CPU",
        })?;
        Ok(Rc::new(host))
    }

    fn state(&mut self, _kernel: &CompiledKernel, _accesses: &[Access]) -> KernelState {
        KernelState::Proven
    }

    fn submit(&mut self, work: Vec<Work>) -> Settlement {
        assert!(
            work.len() <= 1,
            "the CPU backend runs one unit a submission"
        );
        Settlement::Now(work.iter().try_for_each(|unit| self.run(unit)))
    }

    fn read_back(
        &mut self,
        page: PageId,
        offset: u64,
        size_bytes: u64,
        _form: CopyForm,
    ) -> CopyOut {
        let bytes = if self.destroyed {
            Err(Failure {
                kind: FailureKind::DeviceLost,
                message: "the device was lost".to_owned(),
            })
        } else {
            let words = self.words(page, offset, size_bytes).iter();
            Ok(Copied::Bytes(
                words.flat_map(|word| word.to_le_bytes()).collect(),
            ))
        };
        futures::future::ready(bytes).boxed_local()
    }

    fn destroy(&mut self) {
        self.destroyed = true;
        self.pages.clear();
    }
}
