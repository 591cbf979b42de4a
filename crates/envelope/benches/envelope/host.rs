//! What the bench asks of where it runs: a clock, a line of output, an exit status, and what machine it is.

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::sync::LazyLock;
    use std::time::Instant;

    /// Seconds since some moment.
    pub fn seconds() -> f64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed().as_secs_f64()
    }

    pub fn say(line: &str) {
        println!("{line}");
    }

    pub fn exit(status: i32) {
        std::process::exit(status);
    }

    pub fn machine() -> String {
        let processor = std::fs::read_to_string("/proc/cpuinfo")
            .ok()
            .and_then(|text| {
                text.lines()
                    .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
                    .map(|(_, model)| model.to_owned())
            })
            .unwrap_or_else(|| "an unknown processor".to_owned());
        format!("natively on {processor}, {}", std::env::consts::ARCH)
    }
}

#[cfg(target_arch = "wasm32")]
mod wasm {
    use wasm_bindgen::prelude::wasm_bindgen;

    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_namespace = performance, js_name = now)]
        fn milliseconds() -> f64;
        #[wasm_bindgen(js_namespace = console, js_name = log)]
        pub fn say(line: &str);
        #[wasm_bindgen(js_namespace = process)]
        pub fn exit(status: i32);
        #[wasm_bindgen(thread_local_v2, js_namespace = process, js_name = version)]
        static VERSION: String;
    }

    /// Seconds since some moment.
    pub fn seconds() -> f64 {
        milliseconds() / 1000.0
    }

    pub fn machine() -> String {
        let simd = if cfg!(target_feature = "simd128") {
            "with"
        } else {
            "without"
        };
        format!(
            "in wasm {simd} SIMD under Node.js {}",
            VERSION.with(Clone::clone)
        )
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub use native::{exit, machine, say, seconds};
#[cfg(target_arch = "wasm32")]
pub use wasm::{exit, machine, say, seconds};
