//! What a driver of several streams does around launches: binds anew, claims, releases and asks.

use super::byte_model::{Bytes, Fate};
use super::{Run, Told, same};
use std::collections::BTreeSet;
use wellwritten_memory::{EnsureError, Failure, FailureKind, FailureStore, HandleError, Written};

impl Run<'_> {
    /// New bytes under an existing handle.
    pub(super) fn bind(&mut self) -> Told<()> {
        let Some(id) = self.any_usable() else {
            return Ok(());
        };
        let stream = self.some_stream();
        let recycled = self.memory.bind_on(stream, &self.handles[&id]);
        let recycled = recycled.map_err(|error| error.to_string())?;
        self.place_anew(id, recycled)
    }

    /// Claims bytes without a scope.
    pub(super) fn taint(&mut self) -> Told<()> {
        let (bindings, bytes) = self.bindings(2)?;
        let root = format!("tainted {}", self.number);
        let failure = Failure::new(FailureKind::HostWrite, root.clone());
        let id = self.memory.taint("taint", &bindings, failure);
        let id = id.map_err(|error| error.to_string())?;
        let claims =
            |&(buffer, start, end): &Bytes| start < end && !self.model.buffers[&buffer].unallocated;
        let claims = bytes.iter().any(claims);
        same!(id.is_some(), claims, "{root}");
        self.model.launch("taint", Fate::Failed(root), &[], &bytes);
        Ok(())
    }

    /// Releases bytes without a scope.
    pub(super) fn write(&mut self) -> Told<()> {
        let (bindings, bytes) = self.bindings(2)?;
        let written = self.memory.written(&bindings);
        let is_unallocated = |(buffer, ..): &Bytes| self.model.buffers[buffer].unallocated;
        if bytes.iter().any(is_unallocated) {
            let named = matches!(written, Err(HandleError::Unallocated { .. }));
            same!(named, true, "writing what is unallocated: {written:?}");
            return Ok(());
        }
        same!(written, Ok(()), "written");
        let value = (self.number % 200) as u8 + 1;
        for binding in bindings.iter().filter(|binding| binding.size_bytes() > 0) {
            self.scribble(binding, value)?;
        }
        self.model.launch("write", Fate::Clean, &[], &bytes);
        self.model.fill(&bytes, value);
        Ok(())
    }

    /// Whether several reads may go on, and the failure of each.
    pub(super) fn ask(&mut self) -> Told<()> {
        let (bindings, bytes) = self.bindings(3)?;
        let mut expected = BTreeSet::new();
        let mut unallocated = 0;
        let mut writers = BTreeSet::new();
        for (binding, bytes) in bindings.iter().zip(&bytes) {
            expected.extend(self.model.roots(bytes));
            unallocated += usize::from(self.model.buffers[&bytes.0].unallocated);
            writers.extend(self.model.writers(bytes));
            let told = self.memory.failure(binding);
            let told = told.map_err(|error| error.to_string())?;
            let told = told.and_then(|id| self.memory.graph().error(id));
            let told = told.map(|failure| failure.message.as_str());
            let mut writers = self.model.writers(bytes);
            let first = writers.find_map(|writer| self.model.fate(writer).root());
            // An empty view of what is unallocated names the failure of the reservation.
            if binding.size_bytes() > 0 {
                same!(told, first, "the failure of the first stale byte");
            }
        }
        match self.memory.ensure_written(&bindings) {
            Ok(Written::Trusted) => {
                let awaited = self.model.awaited(writers.into_iter());
                same!(
                    (0, 0, 0),
                    (expected.len(), unallocated, awaited.len()),
                    "trusted"
                );
            }
            Ok(Written::Pending(told)) => {
                same!((0, 0), (expected.len(), unallocated), "pending");
                let told: BTreeSet<u64> = told.iter().map(|id| id.0).collect();
                let awaited = self.model.awaited(writers.into_iter());
                same!(told, awaited, "what the reads wait for");
            }
            Err(EnsureError::Unwritten(report)) => {
                let missing = report.reads.iter().filter(|read| read.unallocated).count();
                same!(missing, unallocated, "unallocated reads");
                let failures = report.failures.iter();
                let told: BTreeSet<String> =
                    failures.map(|failure| failure.message.clone()).collect();
                // An empty view of what is unallocated names the failure of the reservation.
                same!(
                    told.is_superset(&expected),
                    true,
                    "{told:?}, not {expected:?}"
                );
                let refused = unallocated > 0 || !expected.is_empty();
                same!(true, refused, "several reads are refused");
                same!(
                    unallocated > 0 || told == expected,
                    true,
                    "{told:?} and {expected:?}"
                );
            }
            Err(other) => return Err(other.to_string()),
        }
        Ok(())
    }
}
