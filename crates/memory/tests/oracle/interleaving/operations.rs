//! What a run does to buffers: reserve, free, fail a page, and misuse.

use super::byte_model::{Fate, ModelBuffer};
use super::{Run, Told, same};
use wellwritten_memory::{
    Failure, FailureKind, FailureStore, Handle, HandleError, MemoryManagement, ReadRefusal,
    ReserveError, Uninitialized,
};

const LARGEST_BUFFER: usize = 96;
const MOST_BUFFERS: usize = 9;

impl Run<'_> {
    pub(super) fn reserve(&mut self) -> Told<()> {
        if self.handles.len() >= MOST_BUFFERS {
            return self.free();
        }
        let size = 1 + self.choices.below(LARGEST_BUFFER);
        let label = self.label();
        let stream = self.some_stream();
        let made = self.memory.reserve_on(stream, size as u64, &label);
        let made = made.map_err(|error| error.to_string())?;
        let id = made.handle.id().get();
        let buffer = ModelBuffer::new(&label, size);
        self.model.buffers.insert(id, buffer);
        self.handles.insert(id, made.handle);
        self.place_anew(id, made.recycled)
    }

    /// A buffer has new bytes: fresh ones, or old ones that are filled at once.
    pub(super) fn place_anew(&mut self, id: u64, recycled: bool) -> Told<()> {
        let fresh = match self.plan.uninitialized {
            Uninitialized::Refuse if !recycled => Fate::Failed(
                "nothing has written these bytes since they were allocated".to_string(),
            ),
            _ => Fate::Clean,
        };
        let buffer = self.model.buffers.get_mut(&id).expect("a live buffer");
        buffer.unallocated = false;
        buffer.value.fill(0);
        let label = buffer.label.clone();
        self.model.write_all(id, &label, fresh);
        if recycled {
            self.compared.recycled += 1;
            let binding = self.handles[&id].binding();
            self.scribble(&binding, 0)?;
            let filled = self.memory.written(&[binding]);
            same!(filled, Ok(()), "a fill");
        }
        Ok(())
    }

    pub(super) fn reserve_failed(&mut self) -> Told<()> {
        if self.handles.len() >= MOST_BUFFERS {
            return self.free();
        }
        let size = 1 + self.choices.below(LARGEST_BUFFER);
        let label = self.label();
        let root = format!("no room {}", self.number);
        let failure = Failure::new(FailureKind::OutOfMemory, root.clone());
        let handle = self.memory.reserve_failed(size as u64, &label, failure);
        let id = handle.id().get();
        let buffer = ModelBuffer {
            unallocated: true,
            ..ModelBuffer::new(&label, size)
        };
        self.model.buffers.insert(id, buffer);
        self.model.write_all(id, &label, Fate::Failed(root));
        self.handles.insert(id, handle);
        Ok(())
    }

    /// One of a few, so that buffers come and go under the same label.
    fn label(&self) -> String {
        format!("label {}", self.number % 5)
    }

    pub(super) fn fail_page(&mut self) {
        let Some(id) = self.any_usable() else {
            return;
        };
        let Ok(location) = self.memory.locate(&self.handles[&id].binding()) else {
            return;
        };
        let on_page = |handle: &Handle| {
            let other = self.memory.locate(&handle.binding());
            other.is_ok_and(|other| other.storage == location.storage)
        };
        let buffers = self.handles.iter().filter(|(_, handle)| on_page(handle));
        let buffers: Vec<u64> = buffers.map(|(id, _)| *id).collect();
        let root = format!("page failed {}", self.number);
        let failure = Failure::new(FailureKind::OutOfMemory, root.clone());
        self.memory.fail_page(location.storage, "page", failure);
        let failed = self.model.fail_page(&buffers, &root);
        self.fail_flights(failed, |buffer| buffers.contains(&buffer));
    }

    pub(super) fn free(&mut self) -> Told<()> {
        let ids: Vec<u64> = self.handles.keys().copied().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let id = ids[self.choices.below(ids.len())];
        let binding = self.handles[&id].binding();
        let clone = self.handles[&id].clone();
        self.handles.remove(&id);
        let alive = self.memory.spans(&binding).is_ok();
        same!(alive, true, "a clone keeps {id} alive");
        drop(clone);
        self.model.buffers.remove(&id);
        let buffer = binding.buffer();
        let freed = Some(HandleError::Freed { buffer });
        same!(self.memory.spans(&binding).err(), freed, "freed {id}");
        Ok(())
    }

    /// What must be refused, among bindings that are fine: it changes nothing, as the comparison after
    /// every operation shows.
    pub(super) fn misuse(&mut self) -> Told<()> {
        let (reads, _) = self.bindings(1)?;
        let (mut writes, _) = self.bindings(2)?;
        let storage = wellwritten_memory::BytesStorage::default();
        let mut other = MemoryManagement::new(
            storage,
            self.plan.configuration.clone(),
            Uninitialized::Trust,
        );
        let foreign = other.reserve(8, "foreign");
        let foreign = foreign.map_err(|error| error.to_string())?.handle;
        let buffer = foreign.id();
        let refused = HandleError::Foreign { buffer };
        writes.push(foreign.binding());
        let entry = self.memory.enter("misuse", &reads, &writes);
        same!(entry, Err(refused.clone().into()), "a foreign binding");
        let watch = self.memory.watch(&foreign.binding()).err();
        let refused = Some(ReadRefusal::Handle(refused));
        same!(watch, refused, "a read of a foreign binding");
        let zero = self.memory.reserve(0, "misuse").err();
        same!(zero, Some(ReserveError::ZeroSize), "zero bytes");
        Ok(())
    }
}
