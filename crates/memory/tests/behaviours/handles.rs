//! Handles: what frees a buffer, and which are refused by name.

use crate::support::{
    buffer, enters, fails, is_empty_when_swept, memory, memory_of, part, reads, refused,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    Failure, FailureKind, Handle, HandleError, MemoryConfiguration, ReadRefusal, Watched,
};

#[test]
fn a_handle_of_another_device_is_refused_by_name() {
    let (mut memory, mut other) = (memory(), memory());
    let (field, foreign) = (buffer(&mut memory, "field"), buffer(&mut other, "foreign"));
    let buffer = foreign.id();
    assert_eq!(
        buffer,
        field.id(),
        "the number alone does not tell them apart"
    );
    let refused = HandleError::Foreign { buffer };
    let binding = foreign.binding();
    let before = memory.revision();
    for (inputs, outputs) in [
        (
            vec![field.binding(), binding.clone()],
            vec![field.binding()],
        ),
        (vec![], vec![field.binding(), binding.clone()]),
    ] {
        let entry = memory.enter("kernel", &inputs, &outputs);
        assert_eq!(entry, Err(refused.clone().into()));
    }
    assert_eq!(memory.locate(&binding), Err(refused.clone()));
    assert_eq!(memory.spans(&binding), Err(refused.clone()));
    assert_eq!(memory.spans_limited(&binding, 4), Err(refused.clone()));
    let watched = memory.watch(&binding).err();
    assert_eq!(watched, Some(ReadRefusal::Handle(refused.clone())));
    assert!(!memory.owns(&binding));
    let watch = other.watch(&binding).expect("trusted");
    assert_eq!(memory.resolve(&watch), Err(HandleError::ForeignWatch));
    assert_eq!(refused.to_string(), "buffer 1 belongs to another device");
    // Nothing was claimed, here or there.
    assert_eq!((memory.revision(), memory.graph().len()), (before, 0));
    reads(&mut memory, &field.binding());
    reads(&mut other, &binding);
}

#[test]
fn a_freed_handle_is_refused_by_name() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    let (binding, buffer) = (view.binding(), view.id());
    assert!(memory.binding(buffer).is_some());
    drop(view);
    let refused = HandleError::Freed { buffer };
    // Before anything was swept, and after.
    for _ in 0..2 {
        assert_eq!(memory.locate(&binding), Err(refused.clone()));
        assert_eq!(memory.spans(&binding), Err(refused.clone()));
        assert!(memory.binding(buffer).is_none());
        let entry = memory.enter("kernel", &[field.binding()], std::slice::from_ref(&binding));
        assert_eq!(entry, Err(refused.clone().into()));
        let watched = memory.watch(&binding).err();
        assert_eq!(watched, Some(ReadRefusal::Handle(refused.clone())));
    }
    assert!(memory.owns(&binding));
    assert!(memory.graph().is_empty());
}

#[test]
fn a_handle_of_a_lost_device_is_refused_by_name() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    let watch = memory.watch(&field.binding()).expect("trusted");
    memory.lose(Failure::new(FailureKind::DeviceLost, "destroyed"));
    memory.storage_mut().clear();
    let lost = HandleError::Lost {
        buffer: field.id(),
        label: "field".into(),
    };
    let entry = memory.enter("kernel", &[], &[field.binding()]);
    assert_eq!(entry, Err(lost.clone().into()));
    assert_eq!(memory.locate(&field.binding()), Err(lost));
    let report = refused(&mut memory, &field.binding());
    assert_eq!(report.failures[0].kind, FailureKind::DeviceLost);
    assert!(matches!(memory.resolve(&watch), Ok(Watched::Unwritten(_))));
    let fresh = buffer(&mut memory, "fresh");
    reads(&mut memory, &fresh.binding());
    drop((watch, field, fresh));
    is_empty_when_swept(&mut memory);
}

#[test]
fn the_last_of_all_clones_frees_a_buffer_and_it_is_freed_once() {
    for configuration in [
        MemoryConfiguration::ExclusivePages,
        MemoryConfiguration::SubSlices,
    ] {
        let mut memory = memory_of(configuration);
        let first = buffer(&mut memory, "first");
        let clones: Vec<Handle> = (0..10).map(|_| first.clone()).collect();
        let id = first.id();
        drop(first);
        for clone in clones {
            memory.cleanup(false);
            reads(&mut memory, &clone.binding());
            assert_eq!(memory.memory_usage().buffers, 1);
            drop(clone);
        }
        // Its bytes go to another buffer, which no sweep takes for the one that was freed.
        let next = memory.reserve(64, "next").expect("room");
        assert!(next.recycled && next.handle.id() != id);
        fails(&mut memory, "kernel", &[part(&next.handle, 0, 8)], "next");
        memory.cleanup(true);
        assert_eq!(memory.memory_usage().buffers, 1);
        assert_eq!(memory.graph().len(), 1);
        reads(&mut memory, &part(&next.handle, 8, 64));
        drop(next);
        is_empty_when_swept(&mut memory);
    }
}

#[test]
fn identities_are_never_used_again() {
    let mut memory = memory();
    let mut last = 0;
    for round in 0..100 {
        let field = buffer(&mut memory, "field");
        assert!(field.id().get() > last, "in round {round}");
        last = field.id().get();
        if round % 10 == 0 {
            memory.lose(Failure::new(FailureKind::DeviceLost, "again"));
            memory.storage_mut().clear();
        }
    }
}

#[test]
fn a_handle_may_outlive_its_manager() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    let watch = memory.watch(&field.binding()).expect("trusted");
    drop(memory);
    assert_eq!((field.size_bytes(), field.label()), (64, "field"));
    let mut other = crate::support::memory();
    assert!(!other.owns(&field.binding()));
    drop((watch, field));
    buffer(&mut other, "unharmed");
}

#[test]
fn a_buffer_freed_while_its_unit_is_open_takes_its_claims_along() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    let unit = enters(
        &mut memory,
        "kernel",
        &[],
        &[field.binding(), view.binding()],
    );
    drop(field);
    memory.cleanup(true);
    memory.finish_failed(unit, crate::support::failure("late"));
    assert_eq!(memory.graph().len(), 1);
    drop(view);
    is_empty_when_swept(&mut memory);
}

#[test]
fn a_binding_does_not_keep_its_buffer_alive() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    let bindings = [field.binding(), part(&field, 8, 16)];
    drop(field);
    is_empty_when_swept(&mut memory);
    for binding in &bindings {
        assert!(memory.spans(binding).is_err());
    }
}
