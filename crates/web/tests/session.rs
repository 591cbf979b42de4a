//! The whole session in a real browser's worker: real WebGPU, real OPFS, through the exports that the
//! package calls. Oracle: whatever was broken, lost and restored in between, a session's bytes and trace are
//! those of a session on the CPU that was never broken.

#![cfg(target_arch = "wasm32")]

use std::collections::BTreeMap;
use std::sync::Arc;

use js_sys::{Array, ArrayBuffer, BigInt, Function, Promise, Reflect};
use serde_json::json;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::{MessageChannel, MessagePort};
use wellwritten_store::{LockError, MediumError, StoreMedium as _};
use wellwritten_web::envelope::{decode_envelope, describe_envelope};
use wellwritten_web::error::{WebError, WebResult};
use wellwritten_web::launcher::Launcher;
use wellwritten_web::opfs::OpfsMedium;
use wellwritten_web::session::WasmSession;
use wellwritten_web::store_link::StoreLink;
use wellwritten_web::store_program::serve_store;

wasm_bindgen_test_configure!(run_in_dedicated_worker);

fn js(value: &serde_json::Value) -> JsValue {
    js_sys::JSON::parse(&value.to_string()).expect("JSON")
}

/// The arena's participants live in the session's own program: nothing is launched.
fn no_launcher() -> Launcher {
    JsValue::UNDEFINED.unchecked_into()
}

fn get(value: &JsValue, path: &str) -> JsValue {
    path.split('.').fold(value.clone(), |value, key| {
        Reflect::get(&value, &key.into()).expect("an object")
    })
}

fn text(value: &JsValue, path: &str) -> String {
    get(value, path)
        .as_string()
        .unwrap_or_else(|| panic!("{path} is not a string"))
}

fn integer(value: &JsValue, path: &str) -> u64 {
    u64::try_from(get(value, path).unchecked_into::<BigInt>()).expect("a bigint")
}

fn code(error: WebError) -> String {
    text(&JsValue::from(error), "code")
}

fn refused<T>(result: WebResult<T>) -> WebError {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error,
    }
}

/// The way to a store that this program serves as well, over a port as between two.
async fn link(id: &str, store: &str) -> WebResult<StoreLink> {
    let channel = MessageChannel::new().expect("every browser has message channels");
    let start = js(&json!({ "sessionId": id, "store": store }));
    let report = serve_store(start, channel.port2()).await?;
    StoreLink::new(channel.port1(), report)
}

async fn create(config: serde_json::Value) -> WebResult<WasmSession> {
    let text = |key: &str, usual: &str| config[key].as_str().unwrap_or(usual).to_owned();
    let store = link(&text("sessionId", "demo"), &text("store", "opfs")).await?;
    let on_event = Function::new_no_args("");
    WasmSession::create(js(&config), on_event, no_launcher(), &store).await
}

async fn open(backend: &str, store: &str, id: &str) -> WasmSession {
    create(json!({ "sessionId": id, "backend": backend, "store": store }))
        .await
        .expect("the session opens")
}

fn empty() -> JsValue {
    js(&json!({}))
}

/// The id and size of every buffer by label.
fn buffers(session: &WasmSession) -> BTreeMap<String, (u64, u64, String)> {
    Array::from(&session.buffers().expect("open"))
        .iter()
        .map(|buffer| {
            (
                text(&buffer, "label"),
                (
                    integer(&buffer, "bufferId"),
                    integer(&buffer, "sizeBytes"),
                    text(&buffer, "state"),
                ),
            )
        })
        .collect()
}

/// Every byte of a session's state, by label.
async fn all_bytes(session: &WasmSession) -> BTreeMap<String, Vec<u8>> {
    let mut bytes = BTreeMap::new();
    for (label, (id, size, _)) in buffers(session) {
        let read = session
            .read(id.into(), 0.into(), size.into())
            .await
            .expect("state reads");
        bytes.insert(label, read.to_vec());
    }
    bytes
}

#[wasm_bindgen_test]
async fn every_byte_of_state_is_the_same_on_webgpu_and_on_the_cpu() {
    let gpu = open("webgpu", "memory", "on-gpu").await;
    let cpu = open("cpu", "memory", "on-cpu").await;
    assert_eq!(text(&gpu.status().expect("open"), "backend.kind"), "webgpu");
    assert_eq!(text(&cpu.status().expect("open"), "backend.kind"), "cpu");
    for (steps, boundary) in [(0.0, 0), (1.0, 1), (2.0, 3), (17.0, 20)] {
        gpu.step(steps).await.expect("steps on WebGPU");
        cpu.step(steps).await.expect("steps on the CPU");
        let (left, right) = (all_bytes(&gpu).await, all_bytes(&cpu).await);
        assert!(left.len() >= 10, "state is many buffers");
        for (label, bytes) in &left {
            assert!(!bytes.is_empty());
            assert!(
                bytes == &right[label],
                "{label} differs at boundary {boundary}"
            );
        }
        assert_eq!(left.len(), right.len());
    }
    // Canary: one more step is other bytes, and the comparison above would have noticed.
    gpu.step(1.0).await.expect("steps");
    assert!(all_bytes(&gpu).await != all_bytes(&cpu).await);
    gpu.close().await.expect("closes");
    cpu.close().await.expect("closes");
}

#[wasm_bindgen_test]
async fn broken_rewritten_saved_lost_and_restored_equals_never_broken() {
    let session = open("webgpu", "memory", "broken").await;
    session.step(10.0).await.expect("steps");
    session
        .arm(js(&json!({ "name": "invalid-shader", "kernel": "field" })))
        .expect("arms");
    session.step(1.0).await.expect("the broken step commits");
    let error = JsValue::from(refused(session.step(1.0).await));
    assert_eq!(text(&error, "code"), "UNWRITTEN");
    assert!(text(&error, "message").contains("shader `field` failed to compile"));
    assert_eq!(integer(&session.status().expect("open"), "boundary"), 11);

    let spoiled: Vec<_> = buffers(&session)
        .into_iter()
        .filter(|(_, (_, _, state))| state != "trusted")
        .collect();
    let [(label, (id, size, state))] = &spoiled[..] else {
        panic!("exactly one buffer is spoiled: {spoiled:?}");
    };
    assert!(label.starts_with("world/field-"));
    assert_eq!(state, "failed");
    assert_eq!(
        code(refused(
            session.read((*id).into(), 0.into(), (*size).into()).await
        )),
        "UNWRITTEN"
    );
    assert_eq!(
        code(refused(session.checkpoint(empty()).await)),
        "UNWRITTEN"
    );
    session
        .rewrite((*id).into())
        .await
        .expect("the world can redo it");
    session
        .read((*id).into(), 0.into(), (*size).into())
        .await
        .expect("and it reads");

    let outcome = session.checkpoint(empty()).await.expect("saves");
    assert_eq!(text(&outcome, "kind"), "committed");
    session
        .arm(js(&json!({ "name": "device-loss" })))
        .expect("loses the device");
    assert_eq!(
        text(&session.status().expect("open"), "phase.kind"),
        "failed"
    );
    assert_eq!(code(refused(session.step(1.0).await)), "INVALID_PHASE");
    session.replace_participants().await.expect("replaced");
    let report = session.restore(empty()).await.expect("restored");
    assert_eq!(text(&report, "toEpoch"), "e2");
    session.step(4.0).await.expect("steps on");

    let unbroken = open("cpu", "memory", "broken").await;
    unbroken.step(15.0).await.expect("steps");
    let records = unbroken.trace(None, None).expect("open");
    let carried = session
        .compare_trace(records.clone(), js(&json!({ "rebaseFrom": "e2" })))
        .expect("comparable");
    assert_eq!(text(&carried, "verdict"), "equal");
    assert_eq!(integer(&carried, "compared"), 15);
    let raw = session.compare_trace(records, empty()).expect("comparable");
    assert_eq!(
        text(&raw, "verdict"),
        "different",
        "raw traces name their epochs"
    );
    assert!(all_bytes(&session).await == all_bytes(&unbroken).await);
    session.close().await.expect("closes");
    unbroken.close().await.expect("closes");
}

#[wasm_bindgen_test]
async fn a_checkpoint_in_opfs_outlives_its_session_and_opens_as_an_envelope() {
    let id = "outlives";
    let session = open("auto", "opfs", id).await;
    session.step(2.0).await.expect("steps");
    let outcome = session.checkpoint(empty()).await.expect("saves");
    let checkpoint = text(&outcome, "checkpointId");
    let second = create(json!({ "sessionId": id })).await;
    assert_eq!(code(refused(second)), "STORE_LOCKED");
    session.close().await.expect("closes");
    assert_eq!(code(refused(session.step(1.0).await)), "CLOSED");
    assert_eq!(code(refused(session.status())), "CLOSED");

    let resumed = create(json!({ "sessionId": id, "resume": "latest" }))
        .await
        .expect("the lock is free again");
    assert_eq!(integer(&resumed.status().expect("open"), "boundary"), 2);
    resumed.step(1.0).await.expect("goes on");

    let file = resumed
        .export_generation(&checkpoint)
        .await
        .expect("exports");
    let mut bytes = file.to_vec();
    let envelope = decode_envelope(&bytes).expect("decodes");
    let manifest = js_sys::JSON::parse(&text(&envelope, "manifestJson")).expect("JSON");
    assert_eq!(text(&manifest, "checkpointId"), checkpoint);
    assert_eq!(text(&manifest, "sourceScope.step"), "2");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let error = JsValue::from(refused(decode_envelope(&bytes)));
    assert_eq!(text(&error, "code"), "ENVELOPE_INVALID");
    assert!(!text(&error, "context.rule").is_empty());
    assert_eq!(
        text(&describe_envelope(&bytes), "refusal.rule"),
        text(&error, "context.rule")
    );
    resumed.close().await.expect("closes");
}

/// Has a port write down how many bytes each message of its hands over, and how many are left of them here afterwards.
fn watch(port: &MessagePort, log: &Array) {
    let body = "
        const send = port.postMessage.bind(port);
        port.postMessage = (message, handedOver = []) => {
            const before = handedOver.map(({ byteLength }) => byteLength);
            send(message, handedOver);
            log.push({ before, after: handedOver.map(({ byteLength }) => byteLength) });
        };";
    Function::new_with_args("port, log", body)
        .call2(&JsValue::NULL, port, log)
        .expect("a port can be watched");
}

#[wasm_bindgen_test]
async fn bytes_are_handed_over_between_a_session_and_its_store_and_not_cloned() {
    let session = open("cpu", "memory", "handed").await;
    session.step(1.0).await.expect("steps");
    let outcome = session.checkpoint(empty()).await.expect("saves");
    let checkpoint = text(&outcome, "checkpointId");
    let bytes = session
        .export_generation(&checkpoint)
        .await
        .expect("exports")
        .to_vec();
    session.close().await.expect("closes");

    let channel = MessageChannel::new().expect("every browser has message channels");
    let (asked, answered) = (Array::new(), Array::new());
    watch(&channel.port1(), &asked);
    watch(&channel.port2(), &answered);
    let start = js(&json!({ "sessionId": "elsewhere", "store": "memory" }));
    let report = serve_store(start, channel.port2()).await.expect("opens");
    let link = StoreLink::new(channel.port1(), report).expect("links");
    let client = link.client();
    client
        .import(Arc::new(bytes.clone()))
        .await
        .expect("imports");
    let id = checkpoint.parse().expect("an id");
    assert_eq!(client.read(&id).await.expect("reads"), bytes);
    for (log, position) in [(&asked, 0), (&answered, 1)] {
        let handed_over = Array::from(&get(&log.get(position), "before"));
        assert_eq!(handed_over.length(), 1);
        assert_eq!(handed_over.get(0), JsValue::from(bytes.len()));
        let left = Array::from(&get(&log.get(position), "after"));
        assert_eq!(left.get(0).as_f64(), Some(0.0), "nothing is left here");
    }
    link.close().await;
    let gone = client.generations().await.expect_err("it was closed");
    assert!(gone.to_string().contains("closed"), "{gone}");
}

#[wasm_bindgen_test]
async fn a_store_answers_a_request_that_it_cannot_read_and_goes_on() {
    let channel = MessageChannel::new().expect("every browser has message channels");
    let start = js(&json!({ "sessionId": "strict", "store": "memory" }));
    serve_store(start, channel.port2()).await.expect("opens");
    let ask = Function::new_with_args(
        "port, text, attachments",
        "return new Promise((resolve) => {
            port.onmessage = ({ data }) => resolve(data);
            port.postMessage({ call: 7, text, attachments });
        });",
    );
    let ask = async |text: &str, attachments: Array| {
        let promise = ask
            .call3(&JsValue::NULL, &channel.port1(), &text.into(), &attachments)
            .expect("asks");
        JsFuture::from(Promise::from(promise))
            .await
            .expect("answers")
    };
    let usage = r#"{"Usage":{}}"#;
    for unreadable in ["", "{}", r#"{"Usage":{"extra":1}}"#, r#"{"Destroy":{}}"#] {
        let answer = ask(unreadable, Array::new()).await;
        assert_eq!(get(&answer, "call").as_f64(), Some(7.0));
        assert!(!text(&answer, "problem").is_empty(), "{unreadable}");
    }
    let too_many = Array::of1(&ArrayBuffer::new(1));
    let answer = ask(usage, too_many).await;
    assert!(text(&answer, "problem").contains("attachments"));
    let answer = ask(usage, Array::new()).await;
    assert!(text(&answer, "text").contains("usedBytes"), "canary");
}

#[wasm_bindgen_test]
async fn opfs_keeps_the_promises_of_a_medium() {
    let medium = OpfsMedium::open("medium").await.expect("opens");
    for entry in medium.list().await.expect("lists") {
        medium.remove(&entry.name).await.expect("removes");
    }
    medium
        .write_new("a", &[b"fir", b"st"])
        .await
        .expect("writes");
    assert!(matches!(
        medium.write_new("a", &[b"again"]).await,
        Err(MediumError::AlreadyExists { .. })
    ));
    assert_eq!(medium.read("a").await.expect("reads"), b"first");
    medium.write_new("b", &[b"second"]).await.expect("writes");
    medium.rename_over("b", "a").await.expect("replaces");
    assert_eq!(medium.read("a").await.expect("reads"), b"second");
    assert!(
        medium
            .read("b")
            .await
            .is_err_and(|error| error.is_not_found())
    );
    let names: Vec<_> = medium.list().await.expect("lists");
    assert_eq!(names.len(), 1);
    assert_eq!((names[0].name.as_str(), names[0].byte_length), ("a", 6));
    medium.remove("a").await.expect("removes");
    assert!(
        medium
            .remove("a")
            .await
            .is_err_and(|error| error.is_not_found())
    );
    let usage = medium.usage().await.expect("knows its quota");
    assert!(usage.quota_bytes.is_some_and(|quota| quota > 0));

    let held = medium.lock().await.expect("takes the lock");
    assert!(matches!(medium.lock().await, Err(LockError::Held { .. })));
    drop(held);
    drop(medium.lock().await.expect("and takes it again"));
}

#[wasm_bindgen_test]
fn what_is_no_envelope_says_which_rule_it_breaks() {
    for (bytes, rule) in [(&b""[..], "length"), (&[0_u8; 200][..], "magic")] {
        let error = JsValue::from(refused(decode_envelope(bytes)));
        let named = text(&error, "context.rule");
        assert!(named.contains(rule), "{named} names {rule}");
    }
}
