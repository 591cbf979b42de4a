//! [`TraceInput`]: a trace on disk, read a batch at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use wellwritten_session::{TraceLines, TraceRecord};

use super::compare_error::CompareError;

/// Bytes read at once.
const PIECE: usize = 1 << 16;

/// A trace of any length, of which a batch is in memory. It may come from a pipe.
pub struct TraceInput {
    path: PathBuf,
    source: Box<dyn io::Read>,
    lines: TraceLines,
    read: VecDeque<TraceRecord>,
    is_at_end: bool,
}

impl TraceInput {
    /// Opens a trace; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, CompareError> {
        let source: Box<dyn io::Read> = if path.as_os_str() == "-" {
            Box::new(io::stdin())
        } else {
            let opened = File::open(path);
            Box::new(opened.map_err(|source| CompareError::Open {
                path: path.to_owned(),
                source,
            })?)
        };
        Ok(Self {
            path: path.to_owned(),
            source,
            lines: TraceLines::default(),
            read: VecDeque::new(),
            is_at_end: false,
        })
    }

    /// The next records, `count` of them unless the trace ends before.
    pub fn next_batch(&mut self, count: usize) -> Result<Vec<TraceRecord>, CompareError> {
        while self.read.len() < count && !self.is_at_end {
            self.read_piece()?;
        }
        let count = count.min(self.read.len());
        Ok(self.read.drain(..count).collect())
    }

    fn read_piece(&mut self) -> Result<(), CompareError> {
        let mut piece = Vec::with_capacity(PIECE);
        let limit = PIECE as u64;
        let count = self.source.by_ref().take(limit).read_to_end(&mut piece);
        let count = count.map_err(|source| CompareError::Read {
            path: self.path.clone(),
            source,
        })?;
        let read = &mut self.read;
        let taken = if count == 0 {
            self.is_at_end = true;
            std::mem::take(&mut self.lines).finish()
        } else {
            self.lines.read(&piece, |record| read.push_back(record))
        };
        taken.map_err(|problem| CompareError::NoTrace {
            path: self.path.clone(),
            problem,
        })
    }
}
