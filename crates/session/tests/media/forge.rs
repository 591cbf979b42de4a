//! A checkpoint in which the coordinator's record says something else, every digest right.

use futures::executor::block_on;
use serde_json::Value;
use wellwritten_envelope::{decode, encode};
use wellwritten_session::{Id, Phase, RestoreRequest, SessionError, StatePayload};
use wellwritten_store::{GenerationBytes, compatibility_digest};

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
        (
            view.name.clone(),
            StatePayload::encode(&header, &body).unwrap(),
        )
    });
    let payloads: Vec<(Id, Vec<u8>)> = payloads.collect();
    let borrowed: Vec<(Id, &[u8])> = payloads
        .iter()
        .map(|(name, bytes)| (name.clone(), bytes.as_slice()))
        .collect();
    let bytes = encode(&manifest, &borrowed).unwrap();
    let mut store = block_on(rig.store.lock());
    block_on(store.commit(GenerationBytes {
        checkpoint_id: id("forged"),
        session_id: manifest.source_scope.session_id.clone(),
        epoch: manifest.source_scope.epoch.clone(),
        episode_id: manifest.episode_id.clone(),
        boundary: manifest.source_scope.step.0,
        compatibility_digest: compatibility_digest(&manifest.compatibility),
        bytes: &bytes,
    }))
    .unwrap();
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
