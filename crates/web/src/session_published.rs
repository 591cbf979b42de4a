//! What a session shows to observers, and what it takes from outside: descriptor, snapshots, events, trace, admissions.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use futures::future::{Either, select};
use js_sys::{Array, Float32Array, Object, Reflect, Uint8Array};
use serde::{Deserialize, Serialize};
use tsify::Tsify;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wellwritten_envelope::{Id, to_json};
use wellwritten_session::{
    CommittedSnapshot, DispatchOrder, QueryError, SubscribeError, SubscribeOptions, Subscription,
    TraceExport,
};

use crate::convert::{from_js, to_js, unsigned};
use crate::error::{WebError, WebResult, WellwrittenErrorCode};
use crate::js_participant::json_to_js;
use crate::session::WasmSession;

/// Options of `reset`.
#[derive(Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ResetOptions {
    /// The episode to begin, of a name this session never used; the next number where absent.
    #[tsify(optional, type = "string")]
    pub episode_id: Option<Id>,
    /// The epoch to begin it under; the next unused one where absent.
    #[tsify(optional, type = "string")]
    pub epoch: Option<Id>,
}

/// A stimulus from outside the task.
#[derive(Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdmissionRequest {
    /// The agent.
    #[tsify(type = "string")]
    agent_id: Id,
    /// A kind it supports.
    #[tsify(type = "string")]
    kind_id: Id,
    /// In milliseconds, finite and above zero.
    duration_ms: f64,
}

/// What to be told.
#[derive(Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SubscriptionOptions {
    /// Committed snapshots, the latest only; default true.
    #[tsify(optional, type = "boolean")]
    snapshots: Option<bool>,
    /// What the task sees, event by event; default true.
    #[tsify(optional, type = "boolean")]
    task_events: Option<bool>,
    /// Changes of phase, boundaries, checkpoints, failures, restores; default false.
    #[tsify(optional, type = "boolean")]
    session_events: Option<bool>,
}

/// Types whose Rust forms hold bytes by handle; here they hold the bytes.
#[wasm_bindgen(typescript_custom_section)]
const PUBLISHED_TYPES: &str = r#"
/** A bounded JSON object under the schema it follows. */
export interface PublishedValue { schema: { id: string; version: number; digest: string }; value: Record<string, unknown>; }

/** One committed boundary, as it is shown to observers. Counters are decimal strings. */
export interface PublishedSnapshot {
    descriptorRevision: string;
    publisherIncarnation: string;
    scope: { sessionId: string; epoch: string; step: string };
    episodeId: string;
    sequence: string;
    worldTime: { numerator: string; denominator: string };
    /** By name; telemetry is absent right after a restore, decision and controls where no transition ended here. */
    agents: { agentId: string; telemetry: Record<string, unknown> | null; selectedDecision: PublishedValue | null; appliedControls: { portId: string; buttons: { id: string; down: boolean }[]; axes: { id: string; value: number }[] } | null }[];
    progress: PublishedValue;
    media: {
        /** RGBA8 from the top left. */
        views: { viewId: string; producedStep: string; pixels: Uint8Array }[];
        /** Interleaved samples. */
        audio: { streamId: string; firstSample: string; sampleFrames: number; samples: Float32Array; discontinuity: boolean }[];
    };
    eventIds: string[];
}

/** What a session is made of, as its participants attested it; snapshots refer to it by revision. */
export interface PublishedDescriptor {
    sessionId: string;
    revision: string;
    compositionDigest: string;
    schedulerId: string;
    environment: Record<string, unknown>;
    taskSchema: { id: string; version: number; digest: string };
    agents: { agentId: string; portId: string; profileDigest: string; datasetDigest: string; indexDigest: string | null; neuronCount: string; rateRoles: string[]; supportedStimuli: string[] }[];
}

/** What a subscription gives: the latest snapshot, or every event that waited. */
export type Published =
    | { kind: "snapshot"; snapshot: PublishedSnapshot; missedBefore: number }
    | { kind: "events"; events: Record<string, unknown>[]; droppedBefore: number };
"#;

/// The subscriptions of one session, by number.
#[derive(Default)]
pub struct Subscriptions {
    next: Cell<u32>,
    open: RefCell<BTreeMap<u32, Rc<Subscription>>>,
}

/// Plain JSON, as JavaScript has it.
fn json(value: &impl Serialize) -> JsValue {
    json_to_js(&to_json(value).expect("what is published has string keys and finite numbers"))
}

/// A snapshot with its bytes.
fn snapshot_to_js(snapshot: &CommittedSnapshot) -> JsValue {
    let shown = json(snapshot);
    let field =
        |value: &JsValue, key: &str| Reflect::get(value, &key.into()).unwrap_or(JsValue::UNDEFINED);
    let media = field(&shown, "media");
    let put = |list: &str, index: usize, key: &str, bytes: JsValue| {
        let entries: Array = field(&media, list).unchecked_into();
        let entry = entries.get(u32::try_from(index).unwrap_or(u32::MAX));
        Reflect::set(&entry, &key.into(), &bytes).expect("a fresh object takes properties");
    };
    for (index, view) in snapshot.media.views.iter().enumerate() {
        put(
            "views",
            index,
            "pixels",
            Uint8Array::from(view.pixels.bytes()).into(),
        );
    }
    for (index, chunk) in snapshot.media.audio.iter().enumerate() {
        let bytes = Uint8Array::from(chunk.samples.bytes());
        put(
            "audio",
            index,
            "samples",
            Float32Array::new(&bytes.buffer()).into(),
        );
    }
    shown
}

fn tagged(kind: &str, fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    let kind = ("kind", JsValue::from_str(kind));
    for (key, value) in [&kind].into_iter().chain(fields) {
        Reflect::set(&object, &(*key).into(), value).expect("a fresh object takes properties");
    }
    object.into()
}

#[expect(clippy::cast_precision_loss, reason = "nobody misses 2^53 of them")]
fn count(value: u64) -> JsValue {
    JsValue::from_f64(value as f64)
}

#[wasm_bindgen]
impl WasmSession {
    /// Ends the episode and begins another at boundary 0, all participants built anew.
    #[wasm_bindgen(unchecked_return_type = "SessionStatus")]
    pub async fn reset(
        &self,
        #[wasm_bindgen(unchecked_param_type = "ResetOptions")] options: JsValue,
    ) -> WebResult<JsValue> {
        let options: ResetOptions = from_js("options", options)?;
        let host = self.host()?;
        host.reset(options).await?;
        Ok(to_js(&host.status()))
    }

    /// What the session is made of; the present revision where none is named.
    #[wasm_bindgen(unchecked_return_type = "PublishedDescriptor")]
    pub fn descriptor(&self, revision: Option<js_sys::BigInt>) -> WebResult<JsValue> {
        let revision = revision
            .map(|revision| unsigned("revision", revision))
            .transpose()?;
        Ok(json(&*self.host()?.coordinator.descriptor(revision)?))
    }

    /// The last committed boundary that was published.
    #[wasm_bindgen(unchecked_return_type = "PublishedSnapshot")]
    pub fn snapshot(&self) -> WebResult<JsValue> {
        Ok(snapshot_to_js(&*self.host()?.coordinator.snapshot()?))
    }

    /// Begins a subscription and gives its number.
    pub fn subscribe(
        &self,
        #[wasm_bindgen(unchecked_param_type = "SubscriptionOptions")] options: JsValue,
    ) -> WebResult<u32> {
        let options: SubscriptionOptions = from_js("options", options)?;
        let usual = SubscribeOptions::default();
        let host = self.host()?;
        let subscription = host.coordinator.subscribe(SubscribeOptions {
            snapshots: options.snapshots.unwrap_or(usual.snapshots),
            task_events: options.task_events.unwrap_or(usual.task_events),
            session_events: options.session_events.unwrap_or(usual.session_events),
        })?;
        let subscriptions = &host.subscriptions;
        let number = subscriptions.next.replace(subscriptions.next.get() + 1);
        subscriptions
            .open
            .borrow_mut()
            .insert(number, Rc::new(subscription));
        Ok(number)
    }

    /// Waits for what a subscription has to tell; undefined once there will be no more.
    #[wasm_bindgen(js_name = nextPublished, unchecked_return_type = "Published | undefined")]
    pub async fn next_published(&self, number: u32) -> WebResult<JsValue> {
        let open = self
            .host()?
            .subscriptions
            .open
            .borrow()
            .get(&number)
            .cloned();
        let Some(subscription) = open else {
            return Ok(JsValue::UNDEFINED);
        };
        // Events first: a snapshot can be replaced while it waits, an event is lost.
        let events = pin!(subscription.next_events());
        let snapshot = pin!(subscription.next_snapshot());
        Ok(match select(events, snapshot).await {
            Either::Left((Some(batch), _)) => tagged(
                "events",
                &[
                    ("events", json(&batch.events)),
                    ("droppedBefore", count(batch.dropped_before)),
                ],
            ),
            Either::Right((Some(delivery), _)) => tagged(
                "snapshot",
                &[
                    ("snapshot", snapshot_to_js(&delivery)),
                    ("missedBefore", count(delivery.missed_before())),
                ],
            ),
            Either::Left((None, _)) | Either::Right((None, _)) => JsValue::UNDEFINED,
        })
    }

    /// Ends a subscription; whoever waits on it gets what comes next, or nothing.
    pub fn unsubscribe(&self, number: u32) -> WebResult<()> {
        self.host()?.subscriptions.open.borrow_mut().remove(&number);
        Ok(())
    }

    /// Accepts a stimulus from outside the task, to be applied before the ticks of the next step.
    #[wasm_bindgen(unchecked_return_type = "Admitted")]
    pub fn admit(
        &self,
        #[wasm_bindgen(unchecked_param_type = "AdmissionRequest")] request: JsValue,
    ) -> WebResult<JsValue> {
        let request: AdmissionRequest = from_js("request", request)?;
        let AdmissionRequest {
            agent_id,
            kind_id,
            duration_ms,
        } = request;
        let coordinator = &self.host()?.coordinator;
        Ok(to_js(&coordinator.admit(
            &agent_id,
            &kind_id,
            duration_ms,
        )?))
    }

    /// In which order agents are asked from the next step on. Behaviour is the same in each.
    #[wasm_bindgen(js_name = setDispatch)]
    pub fn set_dispatch(
        &self,
        #[wasm_bindgen(unchecked_param_type = "DispatchOrder")] order: JsValue,
    ) -> WebResult<()> {
        let order: DispatchOrder = from_js("order", order)?;
        self.host()?.coordinator.set_dispatch(order);
        Ok(())
    }

    /// The trace as JSON Lines: one canonical record a line, those that are still kept, oldest first.
    #[wasm_bindgen(js_name = exportTrace)]
    pub fn export_trace(&self) -> WebResult<String> {
        let (records, _) = self.host()?.coordinator.trace();
        let lines = TraceExport::new(records).to_json_lines();
        Ok(String::from_utf8(lines).expect("JSON is UTF-8"))
    }

    /// The digest of the behaviour of the present timeline, records that are no longer kept included.
    #[wasm_bindgen(js_name = behaviourDigest, unchecked_return_type = "BehaviourDigest")]
    pub fn behaviour_digest(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.host()?.coordinator.behaviour_digest()))
    }
}

impl From<QueryError> for WebError {
    fn from(error: QueryError) -> Self {
        let code = match error {
            QueryError::NothingPublished => WellwrittenErrorCode::InvalidPhase,
            _ => WellwrittenErrorCode::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}

impl From<SubscribeError> for WebError {
    fn from(error: SubscribeError) -> Self {
        Self::new(WellwrittenErrorCode::Busy, error.to_string())
    }
}
