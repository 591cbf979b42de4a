//! Envelopes without a session.

use js_sys::{Map, Uint8Array};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wellwritten_envelope::{Digest, EnvelopeVersion, Id, Manifest, decode, describe, encode};

use crate::convert::{from_js, to_js};
use crate::error::{WebError, WebResult, WellwrittenErrorCode};

/// One payload of a verified envelope: where its bytes lie in the file.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct DecodedPayload {
    /// Its name.
    #[tsify(type = "string")]
    name: Id,
    /// Where it begins in the file, in bytes.
    #[tsify(type = "bigint")]
    offset: u64,
    /// Its length in bytes.
    #[tsify(type = "bigint")]
    byte_length: u64,
    /// Its digest, lowercase hexadecimal.
    #[tsify(type = "string")]
    digest: Digest,
}

/// A verified envelope. The payloads are places in the bytes that were given, not copies.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct DecodedEnvelope {
    /// Version of the file.
    #[tsify(type = "1 | 2")]
    version: EnvelopeVersion,
    /// What the checkpoint says of itself.
    manifest: Manifest,
    /// The payloads in file order.
    payloads: Vec<DecodedPayload>,
}

/// Decodes and verifies a whole envelope of either version.
#[wasm_bindgen(js_name = decodeEnvelope, unchecked_return_type = "DecodedEnvelope")]
pub fn decode_envelope(bytes: &[u8]) -> WebResult<JsValue> {
    let envelope = decode(bytes)?;
    Ok(to_js(&DecodedEnvelope {
        version: envelope.version,
        payloads: envelope
            .payloads
            .iter()
            .map(|payload| DecodedPayload {
                name: payload.name.clone(),
                offset: payload.offset,
                byte_length: payload.bytes.len() as u64,
                digest: payload.digest,
            })
            .collect(),
        manifest: envelope.manifest,
    }))
}

/// Says what every part of a file is and, for a broken one, which rule failed. Never throws.
#[wasm_bindgen(js_name = describeEnvelope, unchecked_return_type = "EnvelopeLayout")]
pub fn describe_envelope(bytes: &[u8]) -> JsValue {
    to_js(&describe(bytes))
}

/// Encodes a manifest and the payloads it names; `version` 1 or 2 overrides the manifest's own.
#[wasm_bindgen(js_name = encodeEnvelope)]
pub fn encode_envelope(
    #[wasm_bindgen(unchecked_param_type = "Manifest")] manifest: JsValue,
    #[wasm_bindgen(unchecked_param_type = "Map<string, Uint8Array>")] payloads: &Map,
    #[wasm_bindgen(unchecked_param_type = "1 | 2 | undefined")] version: JsValue,
) -> WebResult<Uint8Array> {
    let mut manifest: Manifest = from_js("manifest", manifest)?;
    if !version.is_undefined() {
        manifest.envelope_version = from_js("version", version)?;
    }
    let mut owned = Vec::new();
    let mut refused = None;
    payloads.for_each(&mut |bytes, name| match payload(&name, bytes) {
        Ok(payload) => owned.push(payload),
        Err(error) => refused = Some(error),
    });
    if let Some(error) = refused {
        return Err(error);
    }
    let payloads: Vec<(Id, &[u8])> = owned
        .iter()
        .map(|(name, bytes)| (name.clone(), bytes.as_slice()))
        .collect();
    let bytes = encode(&manifest, &payloads)?;
    Ok(Uint8Array::from(bytes.as_slice()))
}

fn payload(name: &JsValue, bytes: JsValue) -> WebResult<(Id, Vec<u8>)> {
    let refuse = |message: String| WebError::new(WellwrittenErrorCode::InvalidArgument, message);
    let text = name
        .as_string()
        .ok_or_else(|| refuse(format!("payload name {name:?} is not a string")))?;
    let name = Id::parse(&text).map_err(|error| refuse(format!("payload name: {error}")))?;
    let bytes = bytes
        .dyn_into::<Uint8Array>()
        .map_err(|_| refuse(format!("payload {name} is not a Uint8Array")))?;
    Ok((name, bytes.to_vec()))
}
