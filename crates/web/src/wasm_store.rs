//! A store for JavaScript, without a session: to look at one that another tab owns, or to look after one that nobody does.

use std::cell::RefCell;

use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wellwritten_store::StoreClient;

use crate::convert::from_js;
use crate::error::{WebError, WebResult, WellwrittenErrorCode};
use crate::store_calls;
use crate::store_program::open_store;

/// A store. The package wraps it as `Store`; it lives in a worker.
#[wasm_bindgen]
pub struct WasmStore {
    /// Absent once it is closed: dropping it gives the lock back.
    client: RefCell<Option<StoreClient>>,
}

impl WasmStore {
    fn client(&self) -> WebResult<StoreClient> {
        let client = self.client.borrow().clone();
        client.ok_or_else(|| WebError::new(WellwrittenErrorCode::Closed, "the store is closed"))
    }
}

#[wasm_bindgen]
impl WasmStore {
    /// Opens a store.
    pub async fn open(
        #[wasm_bindgen(unchecked_param_type = "StoreStart")] start: JsValue,
    ) -> WebResult<WasmStore> {
        let (store, _) = open_store(from_js("options", start)?).await?;
        Ok(Self {
            client: RefCell::new(Some(StoreClient::local(store))),
        })
    }

    /// Every generation, newest first.
    #[wasm_bindgen(unchecked_return_type = "StoredGeneration[]")]
    pub async fn generations(&self) -> WebResult<JsValue> {
        store_calls::generations(&self.client()?).await
    }

    /// How full the store's medium is.
    #[wasm_bindgen(unchecked_return_type = "StoreUsage")]
    pub async fn usage(&self) -> WebResult<JsValue> {
        store_calls::usage(&self.client()?).await
    }

    /// Reads a generation's file and says whether it is whole.
    #[wasm_bindgen(unchecked_return_type = "VerifyReport")]
    pub async fn verify(&self, checkpoint_id: &str) -> WebResult<JsValue> {
        store_calls::verify(&self.client()?, checkpoint_id).await
    }

    /// A generation's file.
    #[wasm_bindgen(js_name = exportGeneration)]
    pub async fn export_generation(&self, checkpoint_id: &str) -> WebResult<Uint8Array> {
        store_calls::export_generation(&self.client()?, checkpoint_id).await
    }

    /// Commits a generation's file from elsewhere.
    #[wasm_bindgen(js_name = importGeneration, unchecked_return_type = "GenerationInfo")]
    pub async fn import_generation(&self, bytes: &Uint8Array) -> WebResult<JsValue> {
        store_calls::import_generation(&self.client()?, bytes).await
    }

    /// Keeps a generation from being dropped.
    #[wasm_bindgen(unchecked_return_type = "StoreChange")]
    pub async fn pin(&self, checkpoint_id: &str) -> WebResult<JsValue> {
        store_calls::set_pinned(&self.client()?, checkpoint_id, true).await
    }

    /// Lets a generation be dropped again.
    #[wasm_bindgen(unchecked_return_type = "StoreChange")]
    pub async fn unpin(&self, checkpoint_id: &str) -> WebResult<JsValue> {
        store_calls::set_pinned(&self.client()?, checkpoint_id, false).await
    }

    /// Drops all but the `keep` generations that are worth most, and those that are pinned.
    #[wasm_bindgen(unchecked_return_type = "StoreChange")]
    pub async fn prune(&self, keep: f64) -> WebResult<JsValue> {
        store_calls::prune(&self.client()?, keep).await
    }

    /// Gives the store back. Closing again does nothing.
    pub fn close(&self) {
        self.client.borrow_mut().take();
    }
}
