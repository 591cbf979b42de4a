//! Whoever is told of a panic. The trap that follows it says only "unreachable", and to one caller at most: a call that
//! waits for a future which panicked would wait for ever.

use std::cell::RefCell;
use std::panic;

use js_sys::Function;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static LISTENER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Calls `listener(message)` at each panic from now on, before the trap; one listener, the last.
#[wasm_bindgen(js_name = onPanic)]
pub fn on_panic(listener: Function) {
    LISTENER.set(Some(listener));
}

/// Tells the listener of panics, after the hook that is there has been told.
pub(crate) fn listen() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        before(panic);
        LISTENER.with_borrow(|listener| {
            if let Some(listener) = listener {
                // What it throws would hide what the panic says.
                let _ = listener.call1(&JsValue::UNDEFINED, &panic.to_string().into());
            }
        });
    }));
}
