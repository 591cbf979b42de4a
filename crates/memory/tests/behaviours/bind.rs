//! Binding a new allocation under an existing handle.

use crate::support::{
    buffer, enters, fails, failure, is_empty_when_swept, memory, part, pends, reads, refused,
    roots, skips, spans,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    BindError, BytesStorage, Failure, FailureKind, HandleError, MemoryConfiguration,
    MemoryManagement, ReadRefusal, ReserveError, SubmissionId, Uninitialized, Watched,
};

#[test]
fn binding_sheds_the_claims_of_the_old_allocation() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(&mut memory, "kernel", &[part(&field, 0, 8)], "root");
    skips(
        &mut memory,
        "kernel",
        &[field.binding()],
        &[part(&field, 8, 16)],
    );
    let before = field.binding();
    let recycled = memory.bind(&field).expect("room");
    assert!(
        !recycled,
        "the old page is given back only when the new one is there"
    );
    assert!(memory.graph().is_empty());
    reads(&mut memory, &before);
    assert_eq!(spans(&memory, &field), ["0..64 trusted"]);
    let (one, other) = (
        memory.locate(&field.binding()),
        memory.locate(&view.binding()),
    );
    assert_ne!(one.expect("placed").storage, other.expect("placed").storage);
    assert_eq!(memory.memory_usage().buffers, 2);
    let recycled = memory.bind(&field).expect("room");
    assert!(recycled, "the page that it had before");
    drop((field, view));
    is_empty_when_swept(&mut memory);
    assert_eq!(memory.storage().pages(), 0);
}

#[test]
fn binding_gives_bytes_to_a_buffer_whose_reservation_failed() {
    let mut memory = memory();
    let no_room = Failure::new(FailureKind::OutOfMemory, "no room");
    let field = memory.reserve_failed(64, "field", no_room);
    let watched = memory.watch(&field.binding());
    assert!(matches!(watched, Err(ReadRefusal::Unallocated { .. })));
    memory.bind(&field).expect("room");
    assert!(memory.graph().is_empty());
    reads(&mut memory, &field.binding());
    assert_eq!(
        memory.locate(&field.binding()).expect("placed").size_bytes,
        64
    );
}

#[test]
fn work_in_flight_does_not_own_the_new_bytes() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    pends(&mut memory, "kernel", &[], &[part(&field, 0, 32)], 1);
    let open = enters(&mut memory, "open", &[], &[part(&field, 32, 64)]);
    let read = memory.watch(&part(&field, 0, 32)).expect("pending");
    memory.bind(&field).expect("room");
    assert_eq!(spans(&memory, &field), ["0..64 trusted"]);
    memory.finish_failed(open, failure("open"));
    memory.settle(SubmissionId(1), Err(failure("late")));
    reads(&mut memory, &field.binding());
    let Ok(Watched::Unwritten(report)) = memory.resolve(&read) else {
        panic!("a read in flight keeps what it saw")
    };
    assert_eq!(roots(&report), ["late"]);
    drop((read, field));
    is_empty_when_swept(&mut memory);
}

#[test]
fn a_refused_binding_changes_nothing() {
    let storage = BytesStorage::new(16, 80);
    let configuration = MemoryConfiguration::ExclusivePages;
    let mut memory = MemoryManagement::new(storage, configuration, Uninitialized::Trust);
    let field = buffer(&mut memory, "field");
    fails(&mut memory, "kernel", &[part(&field, 0, 8)], "root");
    let place = memory.locate(&field.binding());
    let refused_for = memory.bind(&field).err();
    let no_room = matches!(
        refused_for,
        Some(BindError::Reserve(ReserveError::Storage { .. }))
    );
    assert!(no_room, "{refused_for:?}");
    assert_eq!(memory.locate(&field.binding()), place);
    assert_eq!(spans(&memory, &field), ["0..8 root", "8..64 trusted"]);

    let mut other = crate::support::memory();
    let foreign = buffer(&mut other, "foreign");
    let buffer = foreign.id();
    let refused_for = memory.bind(&foreign).err();
    assert_eq!(
        refused_for,
        Some(BindError::Handle(HandleError::Foreign { buffer }))
    );
    memory.lose(Failure::new(FailureKind::DeviceLost, "destroyed"));
    memory.storage_mut().clear();
    let refused_for = memory.bind(&field).err();
    let lost = matches!(
        refused_for,
        Some(BindError::Handle(HandleError::Lost { .. }))
    );
    assert!(lost, "{refused_for:?}");
}

#[test]
fn new_bytes_count_as_never_written_where_asked_for() {
    let mut memory = MemoryManagement::new(
        BytesStorage::default(),
        MemoryConfiguration::SubSlices,
        Uninitialized::Refuse,
    );
    let field = buffer(&mut memory, "field");
    crate::support::writes(&mut memory, &field.binding());
    memory.bind(&field).expect("room");
    let report = refused(&mut memory, &field.binding());
    assert_eq!(report.failures[0].kind, FailureKind::NeverWritten);
}
