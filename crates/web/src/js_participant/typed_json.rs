//! Typed values across the boundary: the object in them, as JavaScript has objects.

use js_sys::{Array, Object, Reflect};
use serde_json::{Map, Value};
use wasm_bindgen::JsValue;
use wellwritten_session::{ErrorCode, ParticipantError, SchemaRef, TypedValue};

use crate::convert::from_js;

/// JSON as JavaScript has it: every number a `number`, as `JSON.parse` would give it.
pub fn json_to_js(value: &Value) -> JsValue {
    match value {
        Value::Null => JsValue::NULL,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => JsValue::from_f64(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => JsValue::from_str(text),
        Value::Array(values) => values.iter().map(json_to_js).collect::<Array>().into(),
        Value::Object(fields) => object_to_js(fields),
    }
}

fn object_to_js(fields: &Map<String, Value>) -> JsValue {
    let object = Object::new();
    for (key, value) in fields {
        set(&object, key, &json_to_js(value));
    }
    object.into()
}

/// The object of a typed value.
pub fn typed_to_js(value: &TypedValue) -> JsValue {
    object_to_js(value.value())
}

/// An object from JavaScript, as JSON.
fn object_from_js(what: &str, value: JsValue) -> Result<Map<String, Value>, ParticipantError> {
    from_js(what, value).map_err(|error| malformed(error.message()))
}

/// An object from JavaScript as a value of a schema.
pub fn typed_from_js(
    what: &str,
    schema: &SchemaRef,
    value: JsValue,
) -> Result<TypedValue, ParticipantError> {
    TypedValue::new(schema.clone(), object_from_js(what, value)?)
        .map_err(|error| malformed(format!("{what}: {error}")))
}

/// What a handler gave is not what was asked for. It ran, so something may have changed.
pub fn malformed(message: impl Into<String>) -> ParticipantError {
    ParticipantError::uncertain(ErrorCode::BackendFailure, message)
}

/// Sets a property of an object that was made here.
pub fn set(object: &Object, key: &str, value: &JsValue) {
    Reflect::set(object, &JsValue::from_str(key), value).expect("a fresh object takes properties");
}
