//! What crosses between a session and the worker of its store: plain objects over a `MessagePort`.
//!
//! A request is `{call, text, attachments}`, and so is its reply, by the same number. A request that cannot be read is
//! answered by `{call, problem}`. `{close: true}` asks the owner to give the store back, once everything before it is
//! answered; it says `{closed: true}` when it has, and nothing after that.
//!
//! Attachments are `ArrayBuffer`s that are transferred: the browser copies none. Bytes are copied out of the memory of one
//! wasm module once, and into that of the other once, which is as few as two memories allow.

use js_sys::{Array, ArrayBuffer, Object, Reflect, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::MessagePort;
use wellwritten_store::store_wire::WireMessage;

/// Something that came over the port.
pub enum Received {
    /// A request, or the reply to one.
    Message {
        /// By which a reply is known.
        call: f64,
        /// What it says.
        text: String,
        /// Its long parts.
        attachments: Vec<Vec<u8>>,
    },
    /// The request of that number could not be read.
    #[cfg(feature = "session")]
    Problem {
        /// The request.
        call: f64,
        /// What was wrong with it.
        problem: String,
    },
    /// Give the store back.
    Close,
    /// It was given back.
    Closed,
}

/// Sends a request or a reply.
pub fn post_message(port: &MessagePort, call: f64, message: &WireMessage) -> Result<(), JsValue> {
    let buffers: Array = message
        .attachments
        .iter()
        .map(|bytes| Uint8Array::from((**bytes).as_ref()).buffer())
        .collect();
    let data = object(&[
        ("call", &call.into()),
        ("text", &JsValue::from_str(&message.text)),
        ("attachments", &buffers),
    ]);
    port.post_message_with_transferable(&data, &buffers)
}

/// Says that a request could not be read.
#[cfg(feature = "store")]
pub fn post_problem(port: &MessagePort, call: f64, problem: &str) -> Result<(), JsValue> {
    let data = object(&[("call", &call.into()), ("problem", &problem.into())]);
    port.post_message(&data)
}

/// Says `close` or `closed`.
pub fn post_word(port: &MessagePort, word: &str) -> Result<(), JsValue> {
    port.post_message(&object(&[(word, &true.into())]))
}

/// What a port brought, if it is one of the above.
pub fn read_message(data: &JsValue) -> Option<Received> {
    let field = |key: &str| {
        let value = Reflect::get(data, &key.into()).ok()?;
        (!value.is_undefined()).then_some(value)
    };
    if field("close").is_some() {
        return Some(Received::Close);
    }
    if field("closed").is_some() {
        return Some(Received::Closed);
    }
    let call = field("call")?.as_f64()?;
    #[cfg(feature = "session")]
    if let Some(problem) = field("problem") {
        let problem = problem.as_string()?;
        return Some(Received::Problem { call, problem });
    }
    let text = field("text")?.as_string()?;
    let attachments = field("attachments")?.dyn_into::<Array>().ok()?;
    let attachments = attachments.iter().map(|bytes| {
        let bytes = bytes.dyn_into::<ArrayBuffer>().ok()?;
        Some(Uint8Array::new(&bytes).to_vec())
    });
    Some(Received::Message {
        call,
        text,
        attachments: attachments.collect::<Option<_>>()?,
    })
}

fn object(fields: &[(&str, &JsValue)]) -> Object {
    let object = Object::new();
    for (key, value) in fields {
        Reflect::set(&object, &(*key).into(), value).expect("a fresh object takes properties");
    }
    object
}
