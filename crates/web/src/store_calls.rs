//! What is asked of a store through JavaScript, whoever holds it: a session, or a page on its own.

use std::sync::Arc;

use js_sys::Uint8Array;
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::JsValue;
use wellwritten_envelope::Id;
use wellwritten_store::{Certainty, GenerationInfo, StoreClient};

use crate::convert::{to_js, whole_number};
use crate::error::{WebError, WebResult, WellwrittenErrorCode};

/// A generation as it is listed.
#[derive(Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct StoredGeneration {
    /// Its record.
    #[serde(flatten)]
    record: GenerationInfo,
    /// Whether no rotation and no pruning drops it.
    pinned: bool,
    /// Whether it is in no part of the timeline: a future that a restore left behind, or an import. It is taken only by
    /// name, and rotated out first.
    abandoned: bool,
    /// Whether it is the one a restore takes where none is named.
    is_latest: bool,
}

/// How full the store's medium is, in bytes.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct StoreUsage {
    /// In use, for OPFS by the whole origin.
    #[tsify(type = "bigint")]
    used_bytes: u64,
    /// What may be in use at most, where it is known.
    #[tsify(type = "bigint | null")]
    quota_bytes: Option<u64>,
}

/// How a change of a store went.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct StoreChange {
    /// The generations that are no longer there, those that are worth least first.
    #[tsify(type = "string[]")]
    dropped: Vec<Id>,
    /// Why it is not certain that the change survives a crash of the machine; null where it is.
    uncertainty: Option<String>,
}

fn changed(dropped: Vec<Id>, certainty: Certainty) -> JsValue {
    let uncertainty = match certainty {
        Certainty::Durable => None,
        Certainty::NameUncertain { cause } => Some(cause.to_string()),
    };
    to_js(&StoreChange {
        dropped,
        uncertainty,
    })
}

/// Every generation, newest commit first.
pub async fn generations(store: &StoreClient) -> WebResult<JsValue> {
    let listed = store.generations().await?.generations.into_iter().rev();
    let generations: Vec<_> = listed
        .map(|one| StoredGeneration {
            record: one.info,
            pinned: one.pinned,
            abandoned: one.abandoned,
            is_latest: one.is_latest,
        })
        .collect();
    Ok(to_js(&generations))
}

/// How full the medium is.
pub async fn usage(store: &StoreClient) -> WebResult<JsValue> {
    let usage = store.usage().await?;
    Ok(to_js(&StoreUsage {
        used_bytes: usage.used_bytes,
        quota_bytes: usage.quota_bytes,
    }))
}

/// Whether a generation is whole.
pub async fn verify(store: &StoreClient, checkpoint_id: &str) -> WebResult<JsValue> {
    Ok(to_js(&store.verify(&parse_id(checkpoint_id)?).await?))
}

/// A generation's file.
pub async fn export_generation(store: &StoreClient, checkpoint_id: &str) -> WebResult<Uint8Array> {
    let bytes = store.read(&parse_id(checkpoint_id)?).await?;
    Ok(Uint8Array::from(bytes.as_slice()))
}

/// Commits a file from elsewhere; it is pinned, and taken only by name unless the store was empty.
pub async fn import_generation(store: &StoreClient, bytes: &Uint8Array) -> WebResult<JsValue> {
    let committed = store.import(Arc::new(bytes.to_vec())).await?;
    Ok(to_js(&committed.generation))
}

/// Pins a generation, or lets it go.
pub async fn set_pinned(
    store: &StoreClient,
    checkpoint_id: &str,
    pinned: bool,
) -> WebResult<JsValue> {
    let checkpoint_id = parse_id(checkpoint_id)?;
    let certainty = store.set_pinned(&checkpoint_id, pinned).await?;
    Ok(changed(Vec::new(), certainty))
}

/// Drops all but the `keep` generations that are worth most, and those that are pinned.
pub async fn prune(store: &StoreClient, keep: f64) -> WebResult<JsValue> {
    let keep = usize::try_from(whole_number("keep", keep)?).unwrap_or(usize::MAX);
    let pruned = store.prune(keep).await?;
    Ok(changed(pruned.dropped, pruned.certainty))
}

pub fn parse_id(text: &str) -> WebResult<Id> {
    Id::parse(text).map_err(|error| {
        WebError::new(
            WellwrittenErrorCode::InvalidArgument,
            format!("checkpointId: {error}"),
        )
    })
}
