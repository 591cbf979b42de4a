//! What the worker of a store runs: it opens the store and does what a session asks, one request after the other.

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{MessageEvent, MessagePort};
use wellwritten_store::store_wire::{decode_request, encode_reply};
use wellwritten_store::{
    MemoryMedium, OpenReport, OpenStore, Store, StoreConfig, StoreReader, serve_request,
};

use crate::convert::{from_js, to_js};
use crate::error::WebResult;
use crate::opfs::OpfsMedium;
use crate::store_medium::ChosenMedium;
use crate::store_message::{Received, post_message, post_problem, post_word, read_message};
use crate::store_start::{
    KEEP_GENERATIONS, StoreAccess, StoreChoice, StoreStart, default_session_id,
};

/// Opens a store and serves it over `port` from then on; gives what opening it found and removed. The store is given back,
/// with its lock, when the other end asks for that, or when the worker ends.
#[wasm_bindgen(js_name = serveStore, unchecked_return_type = "OpenReport")]
pub async fn serve_store(
    #[wasm_bindgen(unchecked_param_type = "StoreStart")] start: JsValue,
    port: MessagePort,
) -> WebResult<JsValue> {
    let (store, report) = open_store(from_js("store", start)?).await?;
    let (asks, asked) = unbounded();
    let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        // Refused once the loop has ended; nothing is answered any more then.
        let _ = asks.unbounded_send(read_message(&event.data()));
    });
    port.set_onmessage(Some(heard.as_ref().unchecked_ref()));
    spawn_local(async move {
        serve(store, asked, &port).await;
        port.set_onmessage(None);
        drop(heard);
        // Of a session that is gone nobody hears it.
        let _ = post_word(&port, "closed");
        port.close();
    });
    Ok(to_js(&report))
}

/// Opens the store that `start` describes.
pub(crate) async fn open_store(
    start: StoreStart,
) -> WebResult<(OpenStore<ChosenMedium>, OpenReport)> {
    let session_id = start.session_id.unwrap_or_else(default_session_id);
    let medium = match (start.store, start.access) {
        (StoreChoice::Memory, _) => ChosenMedium::Memory(MemoryMedium::new()),
        (StoreChoice::Opfs, StoreAccess::ReadWrite) => {
            ChosenMedium::Opfs(OpfsMedium::open(session_id.as_str()).await?)
        }
        (StoreChoice::Opfs, StoreAccess::ReadOnly) => {
            ChosenMedium::Opfs(OpfsMedium::open_to_look(session_id.as_str()).await?)
        }
    };
    if start.access == StoreAccess::ReadOnly {
        let reader = StoreReader::open(medium).await?;
        return Ok((reader.into(), OpenReport::default()));
    }
    let config = StoreConfig {
        keep_generations: start.keep_generations.unwrap_or(KEEP_GENERATIONS),
    };
    let (store, report) = Store::open(medium, config).await?;
    Ok((store.into(), report))
}

/// Answers until it is told to close, or hears what is no message of ours: whoever sent that cannot be relied on.
async fn serve(
    mut store: OpenStore<ChosenMedium>,
    mut asked: UnboundedReceiver<Option<Received>>,
    port: &MessagePort,
) {
    while let Some(Some(Received::Message {
        call,
        text,
        attachments,
    })) = asked.next().await
    {
        // What a port refuses goes to nobody: the session is gone.
        let _ = match decode_request(&text, attachments) {
            Ok(request) => {
                let reply = serve_request(&mut store, request).await;
                match encode_reply(reply) {
                    Ok(message) => post_message(port, call, &message),
                    Err(error) => post_problem(port, call, &error.to_string()),
                }
            }
            Err(error) => post_problem(port, call, &error.to_string()),
        };
    }
}
