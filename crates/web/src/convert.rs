//! Values across the boundary: Rust types to plain JavaScript values, and back.
//!
//! Both ways lead over a plain value, so that each type's `Serialize` and `Deserialize` is compiled once.

use std::fmt::Display;

use js_sys::{Array, BigInt, Number as JsNumber, Object, Reflect};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use wasm_bindgen::{JsCast as _, JsValue};
use wellwritten_envelope::{PlainValue, from_json};

use crate::error::{WebError, WebResult, WellwrittenErrorCode};

/// Deepest nesting of arrays and objects that is taken from JavaScript, where a value may hold itself.
const MAX_DEPTH: usize = 64;

/// A plain JavaScript value: objects rather than maps, `bigint` for 64-bit numbers, `null` for none.
pub fn to_js(value: &(impl Serialize + ?Sized)) -> JsValue {
    plain_to_js(
        PlainValue::of(value).expect("no type that crosses refuses, and all have string keys"),
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a small integer has at most 32 bits"
)]
fn plain_to_js(value: PlainValue) -> JsValue {
    match value {
        PlainValue::Bool(value) => value.into(),
        PlainValue::Small(value) => JsValue::from_f64(value as f64),
        PlainValue::Signed(value) => value.into(),
        PlainValue::Unsigned(value) => value.into(),
        PlainValue::Float(value) => value.into(),
        PlainValue::Text(text) => JsValue::from_str(&text),
        PlainValue::List(values) => {
            let array = Array::new();
            for value in values {
                array.push(&plain_to_js(value));
            }
            array.into()
        }
        PlainValue::Object(fields) => {
            let object = Object::new();
            for (key, value) in fields {
                Reflect::set(&object, &JsValue::from_str(&key), &plain_to_js(value))
                    .expect("a fresh object takes properties");
            }
            object.into()
        }
        _ => JsValue::NULL,
    }
}

/// A Rust value, or an error that says which field is wrong. A property that is `undefined` is as good as
/// absent.
pub fn from_js<T: DeserializeOwned>(what: &str, value: JsValue) -> WebResult<T> {
    from_json(read(what, value, Zeros::Alike)?).map_err(|error| refused(what, &error))
}

/// A JavaScript value as JSON, whatever its shape. What JSON cannot say is refused, by the field it is in, rather than
/// said otherwise.
#[cfg(feature = "page")]
pub fn json_from_js(what: &str, value: JsValue) -> WebResult<Value> {
    read(what, value, Zeros::Told)
}

fn read(what: &str, value: JsValue, zeros: Zeros) -> WebResult<Value> {
    js_to_json(value, MAX_DEPTH, zeros).map_err(|unfit| match unfit.path.as_str() {
        "" => refused(what, &unfit.problem),
        path => refused(what, &format_args!("{path}: {}", unfit.problem)),
    })
}

/// Whether -0 is as good as 0. To a setting it is; a document that is signed for by a digest says one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zeros {
    Alike,
    Told,
}

/// What has no JSON, and where in the value it is.
struct Unfit {
    path: String,
    problem: &'static str,
}

impl From<&'static str> for Unfit {
    fn from(problem: &'static str) -> Self {
        Self {
            path: String::new(),
            problem,
        }
    }
}

impl Unfit {
    /// The same, seen from the value that holds this one under `step`: a name, or `[index]`.
    fn under(mut self, step: &str) -> Self {
        if !self.path.is_empty() && !self.path.starts_with('[') {
            self.path.insert(0, '.');
        }
        self.path.insert_str(0, step);
        self
    }
}

/// An argument that is wrong, and how.
pub fn refused(what: &str, problem: &dyn Display) -> WebError {
    WebError::new(
        WellwrittenErrorCode::InvalidArgument,
        format!("{what}: {problem}"),
    )
}

fn js_to_json(value: JsValue, depth: usize, zeros: Zeros) -> Result<Value, Unfit> {
    if value.is_null() || value.is_undefined() {
        return Ok(Value::Null);
    }
    if let Some(value) = value.as_bool() {
        return Ok(Value::Bool(value));
    }
    if value.is_string() {
        return Ok(Value::String(text(&value)?));
    }
    if let Some(number) = value.as_f64() {
        if zeros == Zeros::Told && number == 0.0 && number.is_sign_negative() {
            return Err("a number is -0, which JSON says as 0".into());
        }
        return whole_or_float(&value, number).ok_or_else(|| "a number is not finite".into());
    }
    if value.is_bigint() {
        return whole(value.unchecked_into())
            .ok_or_else(|| "a bigint has more than 64 bits".into());
    }
    if depth == 0 {
        return Err("it is nested too deeply".into());
    }
    if let Some(array) = value.dyn_ref::<Array>() {
        let elements = array.iter().enumerate().map(|(index, element)| {
            js_to_json(element, depth - 1, zeros)
                .map_err(|unfit| unfit.under(&format!("[{index}]")))
        });
        return Ok(Value::Array(elements.collect::<Result<_, _>>()?));
    }
    if !value.is_object() {
        return Err("it holds a function or a symbol".into());
    }
    if !is_plain(&value) {
        return Err(
            "it is an object of a class, such as a Date or a Map, and not a plain one".into(),
        );
    }
    let mut object = Map::new();
    for entry in Object::entries(value.unchecked_ref()).iter() {
        let entry: Array = entry.unchecked_into();
        let value = entry.get(1);
        if !value.is_undefined() {
            let key = text(&entry.get(0))?;
            let value = js_to_json(value, depth - 1, zeros).map_err(|unfit| unfit.under(&key))?;
            object.insert(key, value);
        }
    }
    Ok(Value::Object(object))
}

/// A string or a key as UTF-8, which cannot spell half a surrogate pair: two keys could become one.
fn text(value: &JsValue) -> Result<String, &'static str> {
    let text = value.as_string().unwrap_or_default();
    // What UTF-8 cannot spell was replaced on the way.
    if JsValue::from_str(&text) == *value {
        Ok(text)
    } else {
        Err("a string holds half a surrogate pair")
    }
}

/// Whether all that an object says is in its entries: its prototype is none, or that of plain objects, in any realm.
fn is_plain(value: &JsValue) -> bool {
    let prototype = Object::get_prototype_of(value);
    prototype.is_null() || Object::get_prototype_of(&prototype).is_null()
}

/// A number without a fraction is an integer, as far as doubles can tell integers apart.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a safe integer is whole and has at most 53 bits"
)]
fn whole_or_float(value: &JsValue, number: f64) -> Option<Value> {
    if JsNumber::is_safe_integer(value) {
        let whole = number as i64;
        return Some(Value::Number(
            u64::try_from(whole).map_or_else(|_| whole.into(), Number::from),
        ));
    }
    Number::from_f64(number).map(Value::Number)
}

fn whole(value: BigInt) -> Option<Value> {
    u64::try_from(value.clone())
        .map(Number::from)
        .or_else(|_| i64::try_from(value).map(Number::from))
        .ok()
        .map(Value::Number)
}

/// A JavaScript number that must be a whole one, from 0 to 2^53 - 1. Left to wasm-bindgen, 1.9 would
/// become 1, and NaN and 2^32 would become 0, without a word.
#[cfg(any(feature = "page", feature = "session", feature = "store"))]
pub fn whole_number(what: &str, value: f64) -> WebResult<u64> {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && (0.0..=LARGEST).contains(&value) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be whole and in range"
        )]
        return Ok(value as u64);
    }
    Err(WebError::new(
        WellwrittenErrorCode::InvalidArgument,
        format!(
            "{what} is {}; it must be a whole number from 0 to 2^53 - 1",
            ryu_js::Buffer::new().format(value)
        ),
    ))
}

/// A `bigint` that must fit 64 bits. Left to wasm-bindgen, 2^64 would become 0.
#[cfg(feature = "session")]
pub fn unsigned(what: &str, value: BigInt) -> WebResult<u64> {
    u64::try_from(value).map_err(|value| {
        WebError::new(
            WellwrittenErrorCode::InvalidArgument,
            format!(
                "{what} is {}; it must be a bigint from 0 to 2^64 - 1",
                String::from(value.to_string(10).unwrap_or_default())
            ),
        )
    })
}
