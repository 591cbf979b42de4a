//! [`Handlers`]: the functions of a participant in JavaScript, called as the traits call.

use js_sys::{Error, Function, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use wellwritten_envelope::Digest;
use wellwritten_session::{ErrorCode, MutationCertainty, ParticipantError, Progress};

use super::typed_json::{malformed, set};

/// The functions a participant is made of. Each is called with its arguments in one object, and the context: an object
/// with `progress()`.
pub struct Handlers {
    object: JsValue,
    context: Object,
    /// What `progress()` of the context calls.
    raise: Closure<dyn Fn()>,
}

impl Handlers {
    /// The functions of `object`.
    pub fn new(object: JsValue) -> Self {
        let mut handlers = Self {
            object,
            context: Object::new(),
            raise: Closure::new(|| {}),
        };
        handlers.attach_progress(Progress::new());
        handlers
    }

    /// What `progress()` raises from now on.
    pub fn attach_progress(&mut self, progress: Progress) {
        self.raise = Closure::new(move || progress.raise(1));
        set(&self.context, "progress", self.raise.as_ref());
    }

    /// Calls one and waits for what it gives. What it throws becomes the error it is, or a fault that names it.
    pub async fn call(
        &self,
        name: &'static str,
        arguments: &JsValue,
    ) -> Result<JsValue, ParticipantError> {
        let handler = Reflect::get(&self.object, &name.into())
            .ok()
            .and_then(|handler| handler.dyn_into::<Function>().ok())
            .ok_or_else(|| {
                ParticipantError::refused(
                    ErrorCode::Unsupported,
                    format!("the participant has no function {name}"),
                )
            })?;
        let given = handler
            .call2(&self.object, arguments, &self.context)
            .map_err(|error| thrown(name, &error))?;
        if !is_thenable(&given) {
            return Ok(given);
        }
        JsFuture::from(Promise::resolve(&given))
            .await
            .map_err(|error| thrown(name, &error))
    }

    /// Calls one that gives bytes.
    pub async fn bytes(
        &self,
        name: &'static str,
        arguments: &JsValue,
    ) -> Result<Vec<u8>, ParticipantError> {
        let given = self.call(name, arguments).await?;
        bytes_of(name, &given)
    }
}

/// The bytes of a `Uint8Array`.
pub fn bytes_of(what: &str, value: &JsValue) -> Result<Vec<u8>, ParticipantError> {
    value
        .dyn_ref::<Uint8Array>()
        .map(Uint8Array::to_vec)
        .ok_or_else(|| malformed(format!("{what} gave no Uint8Array")))
}

/// Takes `state` out of what a handler gave: bytes whose digest stands for the whole state in the trace. Copied out of it,
/// since what a handler gave is the handler's own.
pub fn take_state(given: &JsValue) -> Result<(JsValue, Option<Digest>), ParticipantError> {
    let Some(given) = given.dyn_ref::<Object>() else {
        return Ok((given.clone(), None));
    };
    let state = Reflect::get(given, &"state".into()).unwrap_or(JsValue::UNDEFINED);
    if state.is_undefined() {
        return Ok((given.into(), None));
    }
    let digest = Digest::blake3(&bytes_of("state", &state)?);
    let rest = Object::assign(&Object::new(), given);
    set(&rest, "state", &JsValue::UNDEFINED);
    Ok((rest.into(), Some(digest)))
}

fn is_thenable(value: &JsValue) -> bool {
    value.is_object() && Reflect::get(value, &"then".into()).is_ok_and(|then| then.is_function())
}

/// An error with a `code` of the protocol keeps it, and its `mutation`; anything else is a fault of which it is not known
/// what it changed.
fn thrown(name: &str, error: &JsValue) -> ParticipantError {
    let field = |key: &str| {
        Reflect::get(error, &key.into())
            .ok()
            .and_then(|value| value.as_string())
    };
    let text = || match error.dyn_ref::<Error>() {
        Some(error) => String::from(error.to_string()),
        None => field("message")
            .or_else(|| error.as_string())
            .unwrap_or_else(|| format!("{error:?}")),
    };
    let code = field("code").and_then(|code| {
        ErrorCode::ALL
            .into_iter()
            .find(|known| known.name() == code)
    });
    let mutation = match field("mutation").as_deref() {
        Some("none") => MutationCertainty::None,
        Some("applied") => MutationCertainty::Applied,
        _ => MutationCertainty::Unknown,
    };
    match code {
        Some(code) => {
            let message = field("message").unwrap_or_else(text);
            ParticipantError::new(code, mutation, message)
        }
        None => ParticipantError::uncertain(
            ErrorCode::BackendFailure,
            format!("{name} threw: {}", text()),
        ),
    }
}
