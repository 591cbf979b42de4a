//! What a run captures: windows that open and close on its streams, and what they must have recorded.

use super::byte_model::Bytes;
use super::{POOLED_STREAMS, Run, Sabotage, Told, same};
use std::collections::BTreeSet;
use wellwritten_memory::{BufferBinding, CaptureEnd, CaptureError, CapturePhase, StreamId};

/// The window of one pooled stream.
#[derive(Clone, Debug)]
pub struct ModelWindow {
    owner: StreamId,
    is_recording: bool,
    /// Every operation that was entered in it.
    pub entered: Vec<usize>,
    /// Something in it was skipped, or the device was lost.
    pub is_doomed: bool,
    /// Bytes that recorded work read and nothing recorded had written before.
    read: BTreeSet<(u64, usize)>,
    written: BTreeSet<(u64, usize)>,
    writes: BTreeSet<Bytes>,
}

fn pooled(stream: StreamId) -> u64 {
    stream.0 % u64::from(POOLED_STREAMS.get())
}

fn each_byte(bytes: &[Bytes]) -> impl Iterator<Item = (u64, usize)> {
    bytes
        .iter()
        .flat_map(|&(buffer, start, end)| (start..end).map(move |byte| (buffer, byte)))
}

fn bytes_of(bindings: &[BufferBinding]) -> Vec<Bytes> {
    let bytes = bindings.iter().map(|binding| {
        let range = binding.range();
        (
            binding.buffer().get(),
            range.start as usize,
            range.end as usize,
        )
    });
    bytes.collect()
}

impl Run<'_> {
    /// The window that records on the pooled stream of `stream`.
    pub(super) fn recording(&mut self, stream: StreamId) -> Option<&mut ModelWindow> {
        let window = self.windows.get_mut(&pooled(stream))?;
        window.is_recording.then_some(window)
    }

    /// Whether another logical stream than this records on its pooled one.
    pub(super) fn is_shut_out(&mut self, stream: StreamId) -> bool {
        let window = self.recording(stream);
        window.is_some_and(|window| window.owner != stream)
    }

    /// Work ended clean, or was handed to the device.
    pub(super) fn record(&mut self, stream: StreamId, reads: &[Bytes], writes: &[Bytes]) {
        let forgets = self.lies(Sabotage::ForgottenRecord);
        let Some(window) = self.recording(stream) else {
            return;
        };
        for byte in each_byte(reads) {
            if !window.written.contains(&byte) {
                window.read.insert(byte);
            }
        }
        window.written.extend(each_byte(writes));
        let some = writes.iter().filter(|(_, start, end)| start < end);
        if !forgets {
            window.writes.extend(some);
        }
    }

    /// The owner of a window more often than not, so that windows get on.
    fn some_owner(&mut self) -> StreamId {
        let owners: Vec<StreamId> = self.windows.values().map(|window| window.owner).collect();
        if owners.is_empty() || self.choices.once_in(4) {
            return self.some_stream();
        }
        owners[self.choices.below(owners.len())]
    }

    /// The device was lost.
    pub(super) fn doom_windows(&mut self) {
        for window in self.windows.values_mut() {
            window.is_doomed |= window.is_recording;
        }
    }

    pub(super) fn move_a_window(&mut self) -> Told<()> {
        let caller = self.some_owner();
        let known = self.windows.get(&pooled(caller)).cloned();
        let window = self.memory.capture(caller);
        // Usually what is next for it.
        let next = match &known {
            None => 0,
            Some(known) if known.is_recording => 2,
            Some(_) => 1,
        };
        let odd = self.choices.below(16);
        match if odd < 4 { odd } else { next } {
            0 => {
                let told = window.prepare(caller);
                let open = known.map(|known| CaptureError::Open { owner: known.owner });
                same!(told.err(), open, "prepare");
                if open.is_none() {
                    let prepared = ModelWindow {
                        owner: caller,
                        is_recording: false,
                        entered: Vec::new(),
                        is_doomed: false,
                        read: BTreeSet::new(),
                        written: BTreeSet::new(),
                        writes: BTreeSet::new(),
                    };
                    self.windows.insert(pooled(caller), prepared);
                }
            }
            1 => {
                let told = window.begin(caller).err();
                let refusal = match &known {
                    None => Some(CaptureError::NotPrepared),
                    Some(known) if known.is_recording => {
                        Some(CaptureError::Open { owner: known.owner })
                    }
                    Some(known) if known.owner != caller => Some(CaptureError::Foreign {
                        owner: known.owner,
                        caller,
                    }),
                    Some(_) => None,
                };
                same!(told, refusal, "begin");
                if let (None, Some(known)) = (refusal, self.windows.get_mut(&pooled(caller))) {
                    known.is_recording = true;
                }
            }
            2 => {
                let told = window.end(caller);
                let Some(known) = known.filter(|known| known.is_recording) else {
                    same!(told, Err(CaptureError::NotRecording), "end");
                    return Ok(());
                };
                self.windows.remove(&pooled(caller));
                let told = told.map_err(|error| error.to_string())?;
                self.compare_window(caller, &known, &told)?;
            }
            _ => {
                window.abort();
                same!(window.phase(), CapturePhase::Idle, "aborted");
                self.windows.remove(&pooled(caller));
            }
        }
        Ok(())
    }

    fn compare_window(
        &mut self,
        caller: StreamId,
        known: &ModelWindow,
        told: &CaptureEnd,
    ) -> Told<()> {
        let mut entered = known.entered.iter();
        let has_failed = entered.any(|&operation| self.model.fate(operation).root().is_some());
        let is_doomed = known.is_doomed || has_failed;
        let expected = match (known.owner == caller, is_doomed) {
            (false, _) => CaptureEnd::Abandoned { owner: known.owner },
            (true, true) => CaptureEnd::Doomed,
            (true, false) => CaptureEnd::Sealable,
        };
        same!(*told, expected, "the end of a window");
        let window = self.memory.capture(caller);
        same!(
            window.take_failure().is_some(),
            is_doomed,
            "what doomed a window"
        );
        let recorded = window.take_recorded();
        let writes: BTreeSet<Bytes> = bytes_of(recorded.writes()).into_iter().collect();
        same!(writes, known.writes, "the writes of a window");
        let reads: BTreeSet<(u64, usize)> = each_byte(&bytes_of(recorded.reads())).collect();
        same!(reads, known.read, "the reads of a window");
        self.compared.windows += 1;
        Ok(())
    }
}
