//! What a run reads: bytes at once, and what became of them at every operation since.

use super::byte_model::{Fate, stretches};
use super::{Run, Sabotage, Told, fate_of, same};
use std::collections::BTreeSet;
use wellwritten_memory::{
    BufferBinding, FailureId, HandleError, ReadRefusal, UnwrittenRange, UnwrittenReport, Watch,
    Watched,
};

const MOST_FLIGHTS: usize = 6;

/// A read in flight: what it saw when it began.
pub struct Flight {
    watch: Watch,
    buffer: u64,
    start: usize,
    pub writers: Vec<usize>,
    values: Vec<u8>,
}

impl Run<'_> {
    /// The bytes of these reads in flight are gone, by this operation.
    pub(super) fn fail_flights(&mut self, failed: usize, is_gone: impl Fn(u64) -> bool) {
        let Self { flights, model, .. } = self;
        for flight in flights.iter_mut().filter(|flight| is_gone(flight.buffer)) {
            for writer in &mut flight.writers {
                if model.fate(*writer).root().is_none() {
                    *writer = failed;
                }
            }
        }
    }

    pub(super) fn read(&mut self) -> Told<()> {
        let ids: Vec<u64> = self.handles.keys().copied().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let buffer = ids[self.choices.below(ids.len())];
        let (start, end) = self.some_range(buffer);
        let what = format!("a read of {buffer} [{start}, {end})");
        let binding = self.handles[&buffer].slice(start as u64, end as u64);
        let binding = binding.map_err(|error| error.to_string())?;
        let model = &self.model.buffers[&buffer];
        let writers = model.writer[start..end].to_vec();
        let unallocated = model.unallocated;
        let root = |&writer: &usize| self.model.fate(writer).root().is_some();
        let stale = unallocated || writers.iter().any(root);
        match self.memory.watch(&binding) {
            Ok(watch) => {
                same!(false, stale, "{what} began");
                if self.lies(Sabotage::KeptRead) {
                    self.kept.0.extend(self.memory.watch(&binding));
                }
                let values = self.copied(&binding)?;
                let expected = self.model.buffers[&buffer].value[start..end].to_vec();
                same!(values, expected, "values of {what}");
                self.flights.push(Flight {
                    watch,
                    buffer,
                    start,
                    writers,
                    values,
                });
            }
            Err(ReadRefusal::Unwritten(mut report)) => {
                same!(true, stale, "{what} was refused");
                if self.lies(Sabotage::ShortPath) {
                    for range in &mut report.ranges {
                        let parent = range.step.map(|step| report.steps[step as usize].parent);
                        range.step = parent.flatten();
                    }
                }
                self.compare_report(&report, start, &writers)?;
                self.compared.refused_reads += 1;
            }
            Err(ReadRefusal::Unallocated { .. }) => {
                same!(true, unallocated, "{what} is unallocated");
            }
            // Its bytes have failed; a view of none of them is refused for the device.
            Err(ReadRefusal::Handle(HandleError::Lost { .. })) => {
                let lost = self.model.buffers[&buffer].lost;
                same!((start, true), (end, lost), "{what} is of a lost device");
            }
            Err(other) => return Err(other.to_string()),
        }
        if self.flights.len() > MOST_FLIGHTS {
            self.flights.remove(0);
        }
        Ok(())
    }

    fn copied(&self, binding: &BufferBinding) -> Told<Vec<u8>> {
        if binding.size_bytes() == 0 {
            return Ok(Vec::new());
        }
        let location = self.memory.locate(binding);
        let location = location.map_err(|error| error.to_string())?;
        let (at, len) = (location.offset as usize, location.size_bytes as usize);
        let page = self.memory.storage().page(location.storage);
        let mut values = page.ok_or("no such page")?[at..at + len].to_vec();
        if self.lies(Sabotage::WrongValue) {
            for value in &mut values {
                *value = value.wrapping_add(1);
            }
        }
        Ok(values)
    }

    pub(super) fn end_a_read(&mut self) {
        if !self.flights.is_empty() {
            let index = self.choices.below(self.flights.len());
            self.flights.swap_remove(index);
        }
    }

    /// The failures that the reads in flight carry; `None` where some of them still wait, and may carry
    /// some that they do not tell.
    pub(super) fn compare_flights(&mut self) -> Told<Option<BTreeSet<FailureId>>> {
        let flights = std::mem::take(&mut self.flights);
        let mut carried = Some(BTreeSet::new());
        for flight in &flights {
            match (self.compare_flight(flight)?, &mut carried) {
                (Some(told), Some(carried)) => carried.extend(told),
                _ => carried = None,
            }
        }
        self.flights = flights;
        Ok(carried)
    }

    fn compare_flight(&mut self, flight: &Flight) -> Told<Option<Vec<FailureId>>> {
        let writers: BTreeSet<usize> = stretches(&flight.writers)
            .into_iter()
            .map(|(_, writer)| writer)
            .collect();
        let fates = writers.iter().map(|&writer| self.model.fate(writer));
        let pending = fates.clone().any(|fate| *fate == Fate::Pending);
        let stale = fates.clone().any(|fate| fate.root().is_some());
        let what = format!("a read of {}", flight.buffer);
        let watched = self.memory.resolve(&flight.watch);
        match watched.map_err(|error| error.to_string())? {
            Watched::Pending(mut submissions) => {
                if self.lies(Sabotage::ForgottenWait) {
                    submissions.pop();
                }
                same!(true, pending, "{what} waits");
                let awaited = self.model.awaited(writers.iter().copied());
                let told: BTreeSet<u64> = submissions.iter().map(|id| id.0).collect();
                same!(told, awaited, "what {what} waits for");
                Ok(None)
            }
            Watched::Trusted => {
                same!((false, false), (pending, stale), "{what} is trusted");
                self.compared.trusted_reads += 1;
                self.compared.bytes += flight.values.len();
                Ok(Some(Vec::new()))
            }
            Watched::Unwritten(report) => {
                same!((false, true), (pending, stale), "{what} is refused");
                self.compare_report(&report, flight.start, &flight.writers)?;
                self.compared.late_refusals += 1;
                let failures = report.failures.iter();
                Ok(Some(failures.map(|failure| failure.id).collect()))
            }
        }
    }

    fn compare_report(
        &self,
        report: &UnwrittenReport,
        start: usize,
        writers: &[usize],
    ) -> Told<()> {
        let mut at = start as u64;
        for (bytes, writer) in stretches(writers) {
            let end = at + bytes as u64;
            let fate = self.model.fate(writer);
            let mut reached = at;
            for range in &report.ranges {
                if range.end <= at || end <= range.start {
                    continue;
                }
                let mut failures = report.failures.iter();
                let named = failures.find(|failure| failure.id == range.failure_id);
                let root = named.map(|failure| failure.message.as_str());
                let what = format!("bytes {at}..{end} in the report");
                same!(fate_of(range.state, root), *fate, "{what}");
                same!(range.start <= reached, true, "{what}: no gap");
                reached = range.end.min(end);
                self.compare_path(range, report, writer)?;
            }
            let stale = fate.root().is_some();
            same!(
                reached,
                if stale { end } else { at },
                "what of {at}..{end} is in the report"
            );
            at = end;
        }
        let text = report.to_string();
        same!(
            text.starts_with(&report.failures[0].work),
            true,
            "first line"
        );
        Ok(())
    }

    /// The path to a range leads, each step reading what the one before left, from the failure to the range;
    /// its last step is the work that was to write the range.
    fn compare_path(
        &self,
        range: &UnwrittenRange,
        report: &UnwrittenReport,
        writer: usize,
    ) -> Told<()> {
        let path = report.path(range);
        let what = format!("the path to [{}, {})", range.start, range.end);
        let skipped = matches!(self.model.fate(writer), Fate::Skipped(_));
        let end = path.last().map(|step| step.work.as_str());
        let expected = skipped.then(|| self.model.work(writer));
        same!(end, expected, "the last step of {what}");
        for pair in path.windows(2) {
            let (left, needed) = (&pair[0].produced, &pair[1].needed);
            let reads_it = left.start < needed.end && needed.start < left.end;
            same!((&left.label, true), (&needed.label, reads_it), "{what}");
        }
        if let Some(last) = path.last() {
            let place = &last.produced;
            let leads_here = place.start <= range.start && range.end <= place.end;
            same!(
                (&place.label, leads_here),
                (&report.label, true),
                "the end of {what}"
            );
        }
        Ok(())
    }
}
