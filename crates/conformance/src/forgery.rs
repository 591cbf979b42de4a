//! [`Forgery`]: a copy of a checkpoint that is changed in one place, with every digest made anew, so that nobody can notice
//! but whoever reads that place.

use serde_json::Value;
use std::sync::Arc;
use wellwritten_envelope::{Manifest, canonical_json, decode, encode};
use wellwritten_session::{Id, PayloadHeader, StatePayload};
use wellwritten_store::StoreClient;

use crate::ScenarioFailure;
use crate::play::id;

/// A change of what is inside a payload's frame.
pub(crate) type BodyChange<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<u8>, ScenarioFailure>;
/// A change of a payload's frame when it is finished.
pub(crate) type FrameChange<'a> = &'a dyn Fn(&mut Vec<u8>);
/// A change of what a payload says of itself.
pub(crate) type HeaderChange<'a> = &'a dyn Fn(&mut PayloadHeader);
/// A change of the manifest.
pub(crate) type ManifestChange<'a> = &'a dyn Fn(&mut Manifest);

/// What is changed in a copy, and nothing where none says so.
#[derive(Clone, Copy, Default)]
pub(crate) struct Forgery<'a> {
    /// The payload that the next three change.
    pub payload: &'a str,
    pub body: Option<BodyChange<'a>>,
    pub header: Option<HeaderChange<'a>>,
    pub frame: Option<FrameChange<'a>>,
    pub manifest: Option<ManifestChange<'a>>,
}

fn broken(what: &str, error: &impl ToString) -> ScenarioFailure {
    ScenarioFailure::new(what, error.to_string())
}

impl Forgery<'_> {
    /// The copy of `source` called `name`, as the bytes of an envelope.
    pub(crate) fn of(&self, source: &[u8], name: &str) -> Result<Vec<u8>, ScenarioFailure> {
        let envelope =
            decode(source).map_err(|error| broken("a checkpoint that decodes", &error))?;
        let mut payloads = Vec::new();
        for view in &envelope.payloads {
            let it = view.name.as_str() == self.payload;
            payloads.push((view.name.clone(), self.payload_of(view.bytes, it, name)?));
        }
        let mut manifest = Manifest {
            checkpoint_id: id(name),
            payloads: Vec::new(),
            ..envelope.manifest.clone()
        };
        if let Some(change) = self.manifest {
            change(&mut manifest);
        }
        let views: Vec<(Id, &[u8])> = payloads
            .iter()
            .map(|(name, bytes)| (name.clone(), bytes.as_slice()))
            .collect();
        encode(&manifest, &views).map_err(|error| broken("a forgery that encodes", &error))
    }

    /// One payload of the copy; changed if it is the one.
    fn payload_of(
        &self,
        source: &[u8],
        is_it: bool,
        name: &str,
    ) -> Result<Vec<u8>, ScenarioFailure> {
        let good = StatePayload::decode(source)
            .map_err(|error| broken("a payload that decodes", &error))?;
        let mut header = good.header.clone();
        header.checkpoint_id = id(name);
        let mut body = good.body.to_vec();
        if is_it {
            if let Some(change) = self.body {
                body = change(&body)?;
            }
            if let Some(change) = self.header {
                change(&mut header);
            }
        }
        let mut framed = StatePayload::encode(&header, &body)
            .map_err(|error| broken("a payload that encodes", &error))?;
        if let (true, Some(change)) = (is_it, self.frame) {
            change(&mut framed);
        }
        Ok(framed)
    }

    /// Puts the copy of the generation `source` into the store as `name`, where it can be restored by name.
    pub(crate) async fn commit(
        &self,
        store: &StoreClient,
        source: &str,
        name: &str,
    ) -> Result<(), ScenarioFailure> {
        let bytes = store.read(&id(source)).await;
        let bytes = bytes.map_err(|error| broken("a generation to copy", &error))?;
        let forged = self.of(&bytes, name)?;
        let imported = store.import(Arc::new(forged)).await;
        imported.map_err(|error| broken("a forgery that can be committed", &error))?;
        Ok(())
    }
}

/// The body of a payload with other values at these places, which must be there.
pub(crate) fn with_values(
    body: &[u8],
    changes: &[(&str, Value)],
) -> Result<Vec<u8>, ScenarioFailure> {
    let mut value: Value =
        serde_json::from_slice(body).map_err(|error| broken("a body that is JSON", &error))?;
    for (place, changed) in changes {
        let found = value.pointer_mut(place);
        let found =
            found.ok_or_else(|| ScenarioFailure::new(format!("{place} in a body"), body))?;
        if found == changed {
            return Err(ScenarioFailure::new(
                format!("another value at {place}"),
                changed,
            ));
        }
        *found = changed.clone();
    }
    canonical_json(&value).map_err(|error| broken("a changed body that can be written", &error))
}
