//! Every scenario on the real thing.

use wasm_bindgen_test::wasm_bindgen_test;

use crate::in_browser::play;
use crate::scenarios::{self, scenarios};

macro_rules! play_all {
    (
        everywhere: $($module:ident::$name:ident),*;
        under_webgpus_rules: $($late_module:ident::$late_name:ident),*;
    ) => {
        $(
            #[wasm_bindgen_test]
            async fn $name() {
                play(scenarios::$module::$name).await;
            }
        )*
        $(
            #[wasm_bindgen_test]
            async fn $late_name() {
                play(scenarios::$late_module::$late_name).await;
            }
        )*
    };
}

scenarios!(play_all);
