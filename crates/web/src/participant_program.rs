//! What a participant's program runs.

use std::rc::Rc;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::MessagePort;
use wellwritten_session::wire::serve;

use crate::convert::from_js;
use crate::error::{WebError, WebResult, WellwrittenErrorCode};
use crate::message_port_channel::MessagePortChannel;
use crate::participant_start::{JsDefinition, ParticipantStart};

/// Builds one participant and serves it over `port`: the one that is built in, or what a module defined by `declaration`
/// and `handlers`. Gives a promise of the end: when the participant was told to stop, or its coordinator went away.
#[wasm_bindgen(js_name = serveParticipant)]
pub fn serve_participant(
    #[wasm_bindgen(unchecked_param_type = "ParticipantStart")] start: JsValue,
    port: MessagePort,
    declaration: JsValue,
    handlers: JsValue,
) -> WebResult<js_sys::Promise> {
    let start: ParticipantStart = from_js("start", start)?;
    let definition = (!handlers.is_undefined()).then_some(JsDefinition {
        declaration,
        handlers,
    });
    let runtime = start
        .build(definition)
        .map_err(|error| WebError::new(WellwrittenErrorCode::InvalidArgument, error.message))?;
    let channel = MessagePortChannel::new(port);
    Ok(wasm_bindgen_futures::future_to_promise(async move {
        serve(Rc::new(runtime), channel).await;
        Ok(JsValue::UNDEFINED)
    }))
}
