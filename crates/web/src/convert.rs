//! Values across the boundary: Rust types to plain JavaScript values, and back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;

use crate::error::{WebError, WebResult, WellwrittenErrorCode};

/// A plain JavaScript value: objects rather than maps, `bigint` for 64-bit numbers, `null` for none.
pub fn to_js(value: &impl Serialize) -> JsValue {
    let serializer = Serializer::new()
        .serialize_maps_as_objects(true)
        .serialize_missing_as_null(true)
        .serialize_large_number_types_as_bigints(true);
    value
        .serialize(&serializer)
        .expect("every type that crosses has string keys and finite depth")
}

/// A Rust value, or an error that says which field is wrong.
pub fn from_js<T: DeserializeOwned>(what: &str, value: JsValue) -> WebResult<T> {
    serde_wasm_bindgen::from_value(value).map_err(|error| {
        WebError::new(
            WellwrittenErrorCode::InvalidArgument,
            format!("{what}: {error}"),
        )
    })
}
