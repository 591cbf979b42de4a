//! What a run reads: bytes at once, and what became of them at every operation since.

use super::byte_model::Fate;
use super::{Run, Sabotage, Told, fate_of, same};
use std::collections::BTreeSet;
use wellwritten_memory::{BufferBinding, ReadRefusal, UnwrittenReport, Watch, Watched};

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
            Err(ReadRefusal::Unwritten(report)) => {
                same!(true, stale, "{what} was refused");
                self.compare_report(&report, start, &writers)?;
                self.compared.refused_reads += 1;
            }
            Err(ReadRefusal::Unallocated { .. }) => {
                same!(true, unallocated, "{what} is unallocated");
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

    pub(super) fn compare_flights(&mut self) -> Told<()> {
        let flights = std::mem::take(&mut self.flights);
        for flight in &flights {
            self.compare_flight(flight)?;
        }
        self.flights = flights;
        Ok(())
    }

    fn compare_flight(&mut self, flight: &Flight) -> Told<()> {
        let writers: BTreeSet<usize> = flight.writers.iter().copied().collect();
        let fates = writers.iter().map(|&writer| self.model.fate(writer));
        let pending = fates.clone().any(|fate| *fate == Fate::Pending);
        let stale = fates.clone().any(|fate| fate.root().is_some());
        let what = format!("a read of {}", flight.buffer);
        let watched = self.memory.resolve(&flight.watch);
        match watched.map_err(|error| error.to_string())? {
            Watched::Pending(submissions) => {
                same!(true, pending, "{what} waits");
                let mut awaited = BTreeSet::new();
                for &writer in &writers {
                    self.model.awaited(writer, &mut awaited);
                }
                let told: BTreeSet<u64> = submissions.iter().map(|id| id.0).collect();
                same!(told, awaited, "what {what} waits for");
            }
            Watched::Trusted => {
                same!((false, false), (pending, stale), "{what} is trusted");
                self.compared.trusted_reads += 1;
                self.compared.bytes += flight.values.len();
            }
            Watched::Unwritten(report) => {
                same!((false, true), (pending, stale), "{what} is refused");
                self.compare_report(&report, flight.start, &flight.writers)?;
                self.compared.late_refusals += 1;
            }
        }
        Ok(())
    }

    fn compare_report(
        &self,
        report: &UnwrittenReport,
        start: usize,
        writers: &[usize],
    ) -> Told<()> {
        for (index, &writer) in writers.iter().enumerate() {
            let byte = (start + index) as u64;
            let mut ranges = report.ranges.iter();
            let found = ranges.find(|range| range.start <= byte && byte < range.end);
            let told = found.map(|range| {
                let mut failures = report.failures.iter();
                let named = failures.find(|failure| failure.id == range.failure_id);
                fate_of(range.state, named.map(|failure| failure.message.as_str()))
            });
            let fate = self.model.fate(writer).clone();
            let expected = Some(fate).filter(|fate| fate.root().is_some());
            same!(told, expected, "byte {byte} in the report");
        }
        for failure in &report.failures {
            let what = &failure.message;
            for pair in failure.path.windows(2) {
                let (produced, needed) = (&pair[0].produced.label, &pair[1].needed.label);
                same!(produced, needed, "path of {what}");
            }
            if let Some(last) = failure.path.last() {
                same!(
                    last.produced.label,
                    report.label,
                    "end of the path of {what}"
                );
            }
        }
        let text = report.to_string();
        same!(
            text.starts_with(&report.failures[0].work),
            true,
            "first line"
        );
        Ok(())
    }
}
