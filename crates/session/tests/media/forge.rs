//! A checkpoint in which the coordinator's record says something else, every digest right.

use std::sync::Arc;

use futures::executor::block_on;
use serde_json::Value;
use wellwritten_envelope::decode;
use wellwritten_session::{Phase, RestoreRequest, SessionError, StatePayload};
use wellwritten_store::{PayloadBytes, SaveRequest};

use crate::bench::{Rig, id};

/// Saves the session, fails it, and commits a newer checkpoint of the same boundary with a changed record.
pub fn forge(rig: &Rig, change: impl FnOnce(&mut Value)) {
    rig.save("good");
    rig.fail();
    let bytes = {
        let store = block_on(rig.store.lock());
        block_on(store.read(&id("good"))).unwrap()
    };
    let envelope = decode(&bytes).unwrap();
    let mut manifest = envelope.manifest.clone();
    manifest.checkpoint_id = id("forged");
    manifest.payloads.clear();
    let mut change = Some(change);
    let payloads = envelope.payloads.iter().map(|view| {
        let payload = StatePayload::decode(view.bytes).unwrap();
        let mut header = payload.header;
        header.checkpoint_id = id("forged");
        let mut body: Value = serde_json::from_slice(payload.body).unwrap();
        if view.name.as_str() == "coordinator-admission" {
            change.take().unwrap()(&mut body);
        }
        let body = serde_json::to_vec(&body).unwrap();
        let payload: PayloadBytes = Arc::new(StatePayload::encode(&header, &body).unwrap());
        (view.name.clone(), payload)
    });
    let payloads = payloads.collect();
    let mut store = block_on(rig.store.lock());
    block_on(store.save(&SaveRequest { manifest, payloads })).unwrap();
}

/// The refusal of a forged record: nobody is asked to stage, nobody is tainted.
pub fn refused_record(rig: &Rig, change: impl FnOnce(&mut Value)) -> SessionError {
    forge(rig, change);
    rig.bench.log.borrow_mut().clear();
    let error = block_on(rig.session.restore(RestoreRequest::default())).unwrap_err();
    assert!(
        matches!(error, SessionError::CoordinatorPayload { .. }),
        "{error}"
    );
    let log = rig.bench.log.borrow();
    assert!(log.is_empty(), "{log:?}");
    let status = rig.session.status();
    assert_eq!((status.phase, status.tainted.len()), (Phase::Failed, 0));
    error
}

/// The canary: a record that is forged into itself restores.
#[test]
fn an_unchanged_record_is_taken() {
    let rig = Rig::ready();
    rig.steps(2);
    forge(&rig, |_| {});
    let report = block_on(rig.session.restore(RestoreRequest::default())).unwrap();
    assert_eq!(report.checkpoint_id, id("forged"));
}
