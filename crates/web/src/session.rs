//! A session for JavaScript.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{BigInt, Function, Uint8Array};
use serde::{Deserialize, Serialize};
use tsify::Tsify;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wellwritten_envelope::Id;
use wellwritten_memory::BufferSummary;
use wellwritten_session::{
    PhaseEdge, RestoreRequest, RunOptions, TraceRecord, compare_traces, rebase_trace,
};

use crate::convert::{from_js, to_js, unsigned, whole_number};
use crate::error::{WebError, WebResult, WellwrittenErrorCode};
use crate::fault::FaultSpec;
use crate::launcher::Launcher;
use crate::session_config::SessionConfig;
use crate::session_event::EventSink;
use crate::session_host::{SessionHost, owner_of};
use crate::session_saves::{CheckpointOptions, SaveResolution};
use crate::store_calls;
use crate::store_link::StoreLink;

/// A buffer of the session and who owns it.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct SessionBuffer {
    /// The buffer.
    #[serde(flatten)]
    summary: BufferSummary,
    /// The participant whose state it holds.
    owner: String,
}

/// Options of `run`.
#[derive(Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SessionRunOptions {
    /// Steps in a second of wall time; as fast as possible where absent.
    #[tsify(optional, type = "number")]
    steps_per_second: Option<f64>,
    /// The boundary to stop at.
    #[tsify(optional, type = "bigint")]
    until: Option<u64>,
}

/// Options of `restore`.
#[derive(Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RestoreOptions {
    /// The generation; the newest that fits where absent.
    #[tsify(optional, type = "string")]
    checkpoint_id: Option<Id>,
    /// The epoch to go on under; the next unused one where absent.
    #[tsify(optional, type = "string")]
    epoch: Option<Id>,
    /// Whether an older generation may stand in for a damaged newest one.
    #[tsify(optional)]
    fallback: bool,
}

/// Options of `compareTrace`.
#[derive(Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CompareOptions {
    /// The epochs of this session whose records are carried over to the other trace's epoch first.
    #[tsify(optional, type = "string | string[]")]
    rebase_from: Option<EpochNames>,
}

/// One epoch, or several: a session that was restored twice ran under three.
#[derive(Deserialize)]
#[serde(untagged)]
enum EpochNames {
    One(Id),
    Several(Vec<Id>),
}

impl EpochNames {
    fn into_vec(self) -> Vec<Id> {
        match self {
            Self::One(epoch) => vec![epoch],
            Self::Several(epochs) => epochs,
        }
    }
}

/// A session. The package wraps it as `Session`; it lives in a worker.
#[wasm_bindgen]
pub struct WasmSession {
    session_id: String,
    /// Absent once the session is closed: dropping it gives device, store and lock back.
    host: RefCell<Option<Rc<SessionHost>>>,
}

impl WasmSession {
    pub(crate) fn host(&self) -> WebResult<Rc<SessionHost>> {
        self.host
            .borrow()
            .clone()
            .ok_or_else(|| WebError::new(WellwrittenErrorCode::Closed, "the session is closed"))
    }
}

#[wasm_bindgen]
impl WasmSession {
    /// Opens a session over the store at the other end of `store`; `on_event` is called with every [`WebSessionEvent`],
    /// and `launcher` starts and ends the programs of its participants, where they have any.
    ///
    /// [`WebSessionEvent`]: crate::session_event::WebSessionEvent
    pub async fn create(
        #[wasm_bindgen(unchecked_param_type = "SessionConfig")] config: JsValue,
        #[wasm_bindgen(unchecked_param_type = "(event: WebSessionEvent) => void")]
        on_event: Function,
        launcher: Launcher,
        store: &StoreLink,
    ) -> WebResult<WasmSession> {
        let config: SessionConfig = from_js("config", config)?;
        let events = EventSink::new(on_event);
        let host = SessionHost::open(config, events, launcher, store.clone()).await?;
        Ok(Self {
            session_id: host.session_id.to_string(),
            host: RefCell::new(Some(host)),
        })
    }

    /// The session's name.
    #[wasm_bindgen(getter, js_name = sessionId)]
    pub fn session_id(&self) -> String {
        self.session_id.clone()
    }

    /// The session at a glance; answers during a step.
    #[wasm_bindgen(unchecked_return_type = "SessionStatus")]
    pub fn status(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.host()?.status()))
    }

    /// Starts a fresh run in a session that waits to be told whether to resume.
    #[wasm_bindgen(unchecked_return_type = "SessionStatus")]
    pub async fn begin(&self) -> WebResult<JsValue> {
        let host = self.host()?;
        host.begin().await?;
        Ok(to_js(&host.status()))
    }

    /// Takes `count` transitions.
    #[wasm_bindgen(unchecked_return_type = "SessionStatus")]
    pub async fn step(&self, count: f64) -> WebResult<JsValue> {
        let count = whole_number("count", count)?;
        let host = self.host()?;
        host.step(count).await?;
        Ok(to_js(&host.status()))
    }

    /// Steps until paused, until a boundary, or until something refuses.
    #[wasm_bindgen(unchecked_return_type = "SessionStatus")]
    pub async fn run(
        &self,
        #[wasm_bindgen(unchecked_param_type = "SessionRunOptions")] options: JsValue,
    ) -> WebResult<JsValue> {
        let options: SessionRunOptions = from_js("options", options)?;
        if let Some(rate) = options.steps_per_second
            && !(rate.is_finite() && rate > 0.0)
        {
            return Err(WebError::new(
                WellwrittenErrorCode::InvalidArgument,
                format!(
                    "stepsPerSecond is {}; it must be a finite number above zero",
                    ryu_js::Buffer::new().format(rate)
                ),
            ));
        }
        let host = self.host()?;
        host.run(RunOptions {
            steps_per_second: options.steps_per_second,
            until: options.until,
        })
        .await?;
        Ok(to_js(&host.status()))
    }

    /// Pauses at the next committed boundary.
    #[wasm_bindgen(unchecked_return_type = "SessionStatus")]
    pub async fn pause(&self) -> WebResult<JsValue> {
        let host = self.host()?;
        host.pause().await?;
        Ok(to_js(&host.status()))
    }

    /// Goes from paused to ready.
    #[wasm_bindgen(unchecked_return_type = "SessionStatus")]
    pub async fn resume(&self) -> WebResult<JsValue> {
        let host = self.host()?;
        host.resume().await?;
        Ok(to_js(&host.status()))
    }

    /// Every legal edge between phases, with what it needs.
    #[wasm_bindgen(js_name = phaseEdges, unchecked_return_type = "PhaseEdge[]")]
    pub fn phase_edges(&self) -> JsValue {
        to_js(&PhaseEdge::all())
    }

    /// Every live buffer.
    #[wasm_bindgen(unchecked_return_type = "SessionBuffer[]")]
    pub fn buffers(&self) -> WebResult<JsValue> {
        let buffers: Vec<SessionBuffer> = self
            .host()?
            .device
            .buffers()
            .into_iter()
            .map(|summary| SessionBuffer {
                owner: owner_of(&summary.label).to_owned(),
                summary,
            })
            .collect();
        Ok(to_js(&buffers))
    }

    /// The state of the bytes from `start` to `end` (all of the buffer where absent), in at most
    /// `spans` spans.
    #[wasm_bindgen(unchecked_return_type = "TaintSpan[]")]
    pub fn taint(
        &self,
        buffer_id: BigInt,
        start: Option<BigInt>,
        end: Option<BigInt>,
        spans: Option<f64>,
    ) -> WebResult<JsValue> {
        let buffer_id = unsigned("bufferId", buffer_id)?;
        let start = start.map(|start| unsigned("start", start)).transpose()?;
        let end = end.map(|end| unsigned("end", end)).transpose()?;
        let spans = spans
            .map(|spans| whole_number("spans", spans))
            .transpose()?;
        let whole = self.host()?.binding(buffer_id)?;
        let end = end.unwrap_or(whole.size_bytes());
        let range = slice(&whole, start.unwrap_or(0), end)?;
        Ok(to_js(&match spans {
            Some(spans) => self
                .host()?
                .device
                .taint_limited(&range, usize::try_from(spans).unwrap_or(usize::MAX))?,
            None => self.host()?.device.taint(&range)?,
        }))
    }

    /// The bytes from `start` to `end`, or an error `UNWRITTEN` whose context is the report.
    pub async fn read(
        &self,
        buffer_id: BigInt,
        start: BigInt,
        end: BigInt,
    ) -> WebResult<Uint8Array> {
        let buffer_id = unsigned("bufferId", buffer_id)?;
        let (start, end) = (unsigned("start", start)?, unsigned("end", end)?);
        let range = slice(&self.host()?.binding(buffer_id)?, start, end)?;
        let bytes = self.host()?.device.read(&range).await?;
        Ok(Uint8Array::from(bytes.as_slice()))
    }

    /// Asks the owner of a buffer to do the work that wrote it again.
    pub async fn rewrite(&self, buffer_id: BigInt) -> WebResult<()> {
        let buffer_id = unsigned("bufferId", buffer_id)?;
        self.host()?.rewrite(buffer_id).await
    }

    /// Failures, what carries them, and the skipped work between.
    #[wasm_bindgen(unchecked_return_type = "FailureGraph")]
    pub fn failures(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.host()?.device.failures()))
    }

    /// Takes a checkpoint, and says what became of it.
    #[wasm_bindgen(unchecked_return_type = "SaveOutcome")]
    pub async fn checkpoint(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CheckpointOptions")] options: JsValue,
    ) -> WebResult<JsValue> {
        let options: CheckpointOptions = from_js("options", options)?;
        Ok(to_js(&self.host()?.checkpoint(options).await?))
    }

    /// What was saved by this session, and what is on its way.
    #[wasm_bindgen(unchecked_return_type = "WriterStatistics")]
    pub fn saves(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.host()?.coordinator.save_statistics()?))
    }

    /// What became of a save, as the store has it. Never saves again.
    #[wasm_bindgen(js_name = resolveSave, unchecked_return_type = "SaveResolution")]
    pub async fn resolve_save(&self, checkpoint_id: &str) -> WebResult<JsValue> {
        let checkpoint_id = store_calls::parse_id(checkpoint_id)?;
        let host = self.host()?;
        let resolution = host.coordinator.resolve_save(&checkpoint_id).await?;
        Ok(to_js(&SaveResolution::from(resolution)))
    }

    /// Goes to another boundary of the recorded run: restores the nearest checkpoint where it has to, and repeats what was
    /// recorded.
    #[wasm_bindgen(unchecked_return_type = "SoughtStatus")]
    pub async fn seek(&self, boundary: BigInt) -> WebResult<JsValue> {
        let boundary = unsigned("boundary", boundary)?;
        Ok(to_js(&self.host()?.seek(boundary).await?))
    }

    /// Stops every seek that was asked for, at the next committed boundary.
    #[wasm_bindgen(js_name = cancelSeeks)]
    pub fn cancel_seeks(&self) -> WebResult<()> {
        self.host()?.cancel_seeks();
        Ok(())
    }

    /// The boundaries that can be gone to.
    #[wasm_bindgen(unchecked_return_type = "RecordedSpan")]
    pub fn recorded(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.host()?.coordinator.recorded()))
    }

    /// Every generation of the store, newest first.
    #[wasm_bindgen(unchecked_return_type = "StoredGeneration[]")]
    pub async fn generations(&self) -> WebResult<JsValue> {
        store_calls::generations(&self.host()?.store()).await
    }

    /// How full the store's medium is.
    #[wasm_bindgen(js_name = storeUsage, unchecked_return_type = "StoreUsage")]
    pub async fn store_usage(&self) -> WebResult<JsValue> {
        store_calls::usage(&self.host()?.store()).await
    }

    /// Reads a generation's file and says whether it is whole.
    #[wasm_bindgen(unchecked_return_type = "VerifyReport")]
    pub async fn verify(&self, checkpoint_id: &str) -> WebResult<JsValue> {
        store_calls::verify(&self.host()?.store(), checkpoint_id).await
    }

    /// A generation's file.
    #[wasm_bindgen(js_name = exportGeneration)]
    pub async fn export_generation(&self, checkpoint_id: &str) -> WebResult<Uint8Array> {
        store_calls::export_generation(&self.host()?.store(), checkpoint_id).await
    }

    /// Commits a generation's file from elsewhere.
    #[wasm_bindgen(js_name = importGeneration, unchecked_return_type = "GenerationInfo")]
    pub async fn import_generation(&self, bytes: &Uint8Array) -> WebResult<JsValue> {
        store_calls::import_generation(&self.host()?.store(), bytes).await
    }

    /// Keeps a generation from being dropped.
    #[wasm_bindgen(unchecked_return_type = "StoreChange")]
    pub async fn pin(&self, checkpoint_id: &str) -> WebResult<JsValue> {
        store_calls::set_pinned(&self.host()?.store(), checkpoint_id, true).await
    }

    /// Lets a generation be dropped again.
    #[wasm_bindgen(unchecked_return_type = "StoreChange")]
    pub async fn unpin(&self, checkpoint_id: &str) -> WebResult<JsValue> {
        store_calls::set_pinned(&self.host()?.store(), checkpoint_id, false).await
    }

    /// Drops all but the `keep` generations that are worth most, and those that are pinned.
    #[wasm_bindgen(unchecked_return_type = "StoreChange")]
    pub async fn prune(&self, keep: f64) -> WebResult<JsValue> {
        store_calls::prune(&self.host()?.store(), keep).await
    }

    /// Restores the whole group under a new epoch.
    #[wasm_bindgen(unchecked_return_type = "RestoreReport")]
    pub async fn restore(
        &self,
        #[wasm_bindgen(unchecked_param_type = "RestoreOptions")] options: JsValue,
    ) -> WebResult<JsValue> {
        let options: RestoreOptions = from_js("options", options)?;
        let report = self
            .host()?
            .restore(RestoreRequest {
                checkpoint_id: options.checkpoint_id,
                epoch: options.epoch,
                fallback: options.fallback,
            })
            .await?;
        Ok(to_js(&report))
    }

    /// Builds every participant anew, on a recovered device if it was lost.
    #[wasm_bindgen(js_name = replaceParticipants, unchecked_return_type = "SessionStatus")]
    pub async fn replace_participants(&self) -> WebResult<JsValue> {
        let host = self.host()?;
        host.replace_participants().await?;
        Ok(to_js(&host.status()))
    }

    /// Every fault that can be injected; those of a GPU only where the participants compute on one.
    #[wasm_bindgen(unchecked_return_type = "FaultInfo[]")]
    pub fn faults(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.host()?.faults()))
    }

    /// Arms a fault; `device-loss` and `kill-participant` act at once.
    pub fn arm(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FaultSpec")] fault: JsValue,
    ) -> WebResult<()> {
        let fault: FaultSpec = from_js("fault", fault)?;
        self.host()?.arm(fault)
    }

    /// Disarms the faults of a name, or all.
    pub fn disarm(&self, name: Option<String>) -> WebResult<()> {
        self.host()?.disarm(name.as_deref());
        Ok(())
    }

    /// The transitions that lead to the present, oldest first, by the boundary they began at.
    #[wasm_bindgen(unchecked_return_type = "TraceRecord[]")]
    pub fn trace(&self, from: Option<BigInt>, to: Option<BigInt>) -> WebResult<JsValue> {
        let from = from.map(|from| unsigned("from", from)).transpose()?;
        let to = to.map(|to| unsigned("to", to)).transpose()?;
        let (records, _) = self.host()?.coordinator.trace();
        let range = from.unwrap_or(0)..to.unwrap_or(u64::MAX);
        let wanted: Vec<TraceRecord> = records
            .into_iter()
            .filter(|record| range.contains(&record.behaviour.scope.step.0))
            .collect();
        Ok(to_js(&wanted))
    }

    /// Compares this session's behaviour with another's, transition by transition.
    #[wasm_bindgen(js_name = compareTrace, unchecked_return_type = "TraceDiff")]
    pub fn compare_trace(
        &self,
        #[wasm_bindgen(unchecked_param_type = "TraceRecord[]")] other: JsValue,
        #[wasm_bindgen(unchecked_param_type = "CompareOptions")] options: JsValue,
    ) -> WebResult<JsValue> {
        let other: Vec<TraceRecord> = from_js("other", other)?;
        let options: CompareOptions = from_js("options", options)?;
        let (mut own, _) = self.host()?.coordinator.trace();
        if let (Some(from), Some(first)) = (options.rebase_from, other.first()) {
            let to = &first.behaviour.scope.epoch;
            let ids = self.host()?.coordinator.rebase_ids(to);
            own = rebase_trace(&own, &from.into_vec(), to, &ids).map_err(|error| {
                WebError::new(WellwrittenErrorCode::InvalidArgument, error.to_string())
            })?;
        }
        Ok(to_js(&compare_traces(&own, &other)))
    }

    /// Waits for what is under way, then gives the device and the store back. Closing again does nothing. An error names
    /// saves that were lost; the session is closed all the same.
    pub async fn close(&self) -> WebResult<()> {
        let host = self.host.borrow_mut().take();
        match host {
            Some(host) => host.close().await,
            None => Ok(()),
        }
    }
}

fn slice(
    whole: &wellwritten_device::BufferBinding,
    start: u64,
    end: u64,
) -> WebResult<wellwritten_device::BufferBinding> {
    whole
        .slice(start, end)
        .map_err(|error| WebError::new(WellwrittenErrorCode::BadHandle, error.to_string()))
}
