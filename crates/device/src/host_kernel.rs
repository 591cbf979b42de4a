//! A kernel as a function on the host: what a launch runs on the CPU backend.

use std::rc::Rc;

use thiserror::Error;

use crate::access::Access;

/// A kernel as a Rust function. It computes what the WGSL of the same kernel computes, word for
/// word. An error it returns fails the launch, as a shader error would.
pub type HostKernel = Rc<dyn Fn(&mut HostLaunch<'_>) -> Result<(), HostKernelError>>;

/// Why a host kernel did not finish. The launch's output bytes are claimed under it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostKernelError {
    /// The kernel itself gave up; the text says why.
    #[error("{0}")]
    Failed(String),
    /// The kernel panicked; the text is its message.
    #[error("it panicked: {0}")]
    Panicked(String),
    /// There was no memory to hand the kernel its words.
    #[error("no memory for the {words} words of binding {index}")]
    NoMemory {
        /// The binding's index, from 0.
        index: usize,
        /// How many words it holds.
        words: usize,
    },
    /// The kernel asked for a binding the launch does not have.
    #[error("binding {index} does not exist: the launch has {count}")]
    NoSuchBinding {
        /// The index asked for, from 0.
        index: usize,
        /// How many bindings the launch has.
        count: usize,
    },
    /// The kernel wanted to write a binding that was bound for reading.
    #[error("binding {index} was bound for reading and cannot be written")]
    ReadOnly {
        /// The binding's index, from 0.
        index: usize,
    },
    /// The kernel put back another number of words than the binding holds.
    #[error("binding {index} holds {expected} words, {found} were put back")]
    WrongLength {
        /// The binding's index, from 0.
        index: usize,
        /// Words the binding holds.
        expected: usize,
        /// Words put back.
        found: usize,
    },
    /// The kernel returned without putting back what it took.
    #[error("binding {index} was taken and not put back")]
    NotPutBack {
        /// The binding's index, from 0.
        index: usize,
    },
}

impl From<String> for HostKernelError {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// The words of one binding during a launch: borrowed for reading, or owned for writing and
/// copied back by the backend once the kernel has succeeded.
pub(crate) enum HostWords<'a> {
    /// Bound for reading.
    Read(&'a [u32]),
    /// Bound for writing; `None` while the kernel has taken them.
    Write {
        words: Option<Vec<u32>>,
        length: usize,
    },
}

/// One launch as a host kernel sees it: its workgroup counts and its bindings as 32-bit words.
pub struct HostLaunch<'a> {
    workgroups: [u32; 3],
    bindings: Vec<HostWords<'a>>,
}

impl<'a> HostLaunch<'a> {
    pub(crate) fn new(workgroups: [u32; 3], bindings: Vec<HostWords<'a>>) -> Self {
        Self {
            workgroups,
            bindings,
        }
    }

    /// How many workgroups were asked for in x, y and z.
    #[must_use]
    pub fn workgroups(&self) -> [u32; 3] {
        self.workgroups
    }

    /// How many bindings the launch has.
    #[must_use]
    pub fn binding_count(&self) -> usize {
        self.bindings.len()
    }

    /// What the kernel may do with binding `index`.
    pub fn access(&self, index: usize) -> Result<Access, HostKernelError> {
        Ok(match self.binding(index)? {
            HostWords::Read(_) => Access::Read,
            HostWords::Write { .. } => Access::ReadWrite,
        })
    }

    /// The words of binding `index`.
    pub fn words(&self, index: usize) -> Result<&[u32], HostKernelError> {
        match self.binding(index)? {
            HostWords::Read(words) => Ok(words),
            HostWords::Write { words, .. } => words
                .as_deref()
                .ok_or(HostKernelError::NotPutBack { index }),
        }
    }

    /// Moves the words of binding `index` out, so that others can be borrowed meanwhile; give them
    /// back with [`put`](Self::put).
    pub fn take(&mut self, index: usize) -> Result<Vec<u32>, HostKernelError> {
        let count = self.bindings.len();
        match self.bindings.get_mut(index) {
            None => Err(HostKernelError::NoSuchBinding { index, count }),
            Some(HostWords::Read(_)) => Err(HostKernelError::ReadOnly { index }),
            Some(HostWords::Write { words, .. }) => {
                words.take().ok_or(HostKernelError::NotPutBack { index })
            }
        }
    }

    /// Gives back the words of binding `index`. Their number must not have changed.
    pub fn put(&mut self, index: usize, new_words: Vec<u32>) -> Result<(), HostKernelError> {
        let count = self.bindings.len();
        match self.bindings.get_mut(index) {
            None => Err(HostKernelError::NoSuchBinding { index, count }),
            Some(HostWords::Read(_)) => Err(HostKernelError::ReadOnly { index }),
            Some(HostWords::Write { words, length }) => {
                if new_words.len() != *length {
                    return Err(HostKernelError::WrongLength {
                        index,
                        expected: *length,
                        found: new_words.len(),
                    });
                }
                *words = Some(new_words);
                Ok(())
            }
        }
    }

    /// The written words by binding index, once the kernel has returned.
    pub(crate) fn into_written(self) -> Result<Vec<(usize, Vec<u32>)>, HostKernelError> {
        let mut written = Vec::new();
        for (index, binding) in self.bindings.into_iter().enumerate() {
            if let HostWords::Write { words, .. } = binding {
                written.push((index, words.ok_or(HostKernelError::NotPutBack { index })?));
            }
        }
        Ok(written)
    }

    fn binding(&self, index: usize) -> Result<&HostWords<'a>, HostKernelError> {
        self.bindings
            .get(index)
            .ok_or(HostKernelError::NoSuchBinding {
                index,
                count: self.bindings.len(),
            })
    }
}
