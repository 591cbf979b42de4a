//! Envelopes without a session.

use js_sys::{Map, Uint8Array};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wellwritten_envelope::{
    Compatibility, Digest, DigestAlgorithm, EncodeError, EnvelopeError, EnvelopeVersion, Id,
    Manifest, canonical_json, check_stated_rows, compare_compatibility, decode, describe, encode,
};

use crate::convert::{from_js, json_from_js, refused, to_js};
use crate::error::{WebError, WebResult, WellwrittenErrorCode};

/// One payload of a verified envelope: where its bytes lie in the file.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct PayloadPlace {
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
pub struct VerifiedEnvelope {
    /// Version of the file.
    #[tsify(type = "1 | 2")]
    version: EnvelopeVersion,
    /// What the checkpoint says of itself, as canonical JSON: in fields that this library does not know, a number is a
    /// JSON number.
    manifest_json: String,
    /// The payloads in file order.
    payloads: Vec<PayloadPlace>,
}

/// Decodes and verifies a whole envelope of either version.
#[wasm_bindgen(js_name = decodeEnvelope, unchecked_return_type = "VerifiedEnvelope")]
pub fn decode_envelope(bytes: &[u8]) -> WebResult<JsValue> {
    let envelope = decode(bytes)?;
    let manifest = canonical_json(&envelope.manifest).expect("it was read from JSON");
    Ok(to_js(&VerifiedEnvelope {
        version: envelope.version,
        payloads: envelope
            .payloads
            .iter()
            .map(|payload| PayloadPlace {
                name: payload.name.clone(),
                offset: payload.offset,
                byte_length: payload.bytes.len() as u64,
                digest: payload.digest,
            })
            .collect(),
        manifest_json: String::from_utf8(manifest).expect("JSON is UTF-8"),
    }))
}

/// Says what every part of a file is and, for a broken one, which rule failed. Never throws.
#[wasm_bindgen(js_name = describeEnvelope, unchecked_return_type = "EnvelopeLayout")]
pub fn describe_envelope(bytes: &[u8]) -> JsValue {
    to_js(&describe(bytes))
}

/// Encodes a manifest and the payloads it names, in the order of the map; `version` 1 or 2 overrides the manifest's
/// own.
#[wasm_bindgen(js_name = encodeEnvelope)]
pub fn encode_envelope(
    #[wasm_bindgen(unchecked_param_type = "Manifest")] manifest: JsValue,
    #[wasm_bindgen(unchecked_param_type = "Map<string, Uint8Array>")] payloads: JsValue,
    #[wasm_bindgen(unchecked_param_type = "1 | 2 | undefined")] version: JsValue,
) -> WebResult<Uint8Array> {
    let mut manifest = manifest_from_js(manifest)?;
    let version = if version.is_undefined() {
        manifest.envelope_version
    } else {
        from_js("version", version)?
    };
    let payloads: Map = payloads
        .dyn_into()
        .map_err(|_| invalid("payloads must be a Map".to_owned()))?;
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
    if manifest.envelope_version != version {
        // The digests that the rows state are of this version, and are gone with it.
        check_stated_rows(&manifest, &payloads)?;
        become_version(&mut manifest, version);
    }
    let bytes = encode(&manifest, &payloads)?;
    Ok(Uint8Array::from(bytes.as_slice()))
}

/// Every field in which what a checkpoint needs and what a session has differ, with both values.
#[wasm_bindgen(js_name = compareCompatibility, unchecked_return_type = "CompatibilityDifference[]")]
pub fn compare_compatibilities(
    #[wasm_bindgen(unchecked_param_type = "Compatibility")] stored: JsValue,
    #[wasm_bindgen(unchecked_param_type = "Compatibility")] running: JsValue,
) -> WebResult<JsValue> {
    let read = |what, value| {
        Compatibility::from_json(json_from_js(what, value)?).map_err(|error| refused(what, &error))
    };
    let (stored, running) = (read("stored", stored)?, read("running", running)?);
    Ok(to_js(&compare_compatibility(&stored, &running)))
}

/// A manifest of the wrong shape breaks the rule that a reader would name.
fn manifest_from_js(value: JsValue) -> WebResult<Manifest> {
    Manifest::from_json(json_from_js("manifest", value)?)
        .map_err(|error| EncodeError::Manifest(EnvelopeError::from(error)).into())
}

/// Payloads have other digests in another version, so rows are made anew; not where that would lose a field.
fn become_version(manifest: &mut Manifest, version: EnvelopeVersion) {
    manifest.envelope_version = version;
    manifest.digest_algorithm = match version {
        EnvelopeVersion::One => None,
        // One that is stated is left to be refused: version 2 could not say it.
        EnvelopeVersion::Two => manifest.digest_algorithm.or(Some(DigestAlgorithm::Blake3)),
    };
    if manifest.payloads.iter().all(|row| row.unknown.0.is_empty()) {
        manifest.payloads.clear();
    }
}

fn invalid(message: String) -> WebError {
    WebError::new(WellwrittenErrorCode::InvalidArgument, message)
}

fn payload(name: &JsValue, bytes: JsValue) -> WebResult<(Id, Vec<u8>)> {
    let text = name
        .as_string()
        .ok_or_else(|| invalid(format!("payload name {name:?} is not a string")))?;
    let name = Id::parse(&text).map_err(|error| invalid(format!("payload name: {error}")))?;
    let bytes = bytes
        .dyn_into::<Uint8Array>()
        .map_err(|_| invalid(format!("payload {name} is not a Uint8Array")))?;
    Ok((name, bytes.to_vec()))
}
