//! Every scenario on the fake, under every plan of delivery, and on the CPU where it can be. To replay a failure,
//! look for its plan, and seed, in the output.

use futures::FutureExt as _;

use crate::on_host::{On, plans, succeeds};
use crate::scenarios::{self, scenarios};

macro_rules! play {
    (
        everywhere: $($module:ident::$name:ident),*;
        under_webgpus_rules: $($late_module:ident::$late_name:ident),*;
    ) => {
        mod on_the_cpu {
            use super::*;
            $(
                #[test]
                fn $name() {
                    succeeds(|stage| scenarios::$module::$name(stage).boxed_local(), On::Cpu);
                }
            )*
        }

        mod on_the_fake {
            use super::*;
            $(
                #[test]
                fn $name() {
                    for on in plans() {
                        succeeds(|stage| scenarios::$module::$name(stage).boxed_local(), on);
                    }
                }
            )*
            $(
                #[test]
                fn $late_name() {
                    for on in plans() {
                        let play = |stage| scenarios::$late_module::$late_name(stage).boxed_local();
                        succeeds(play, on);
                    }
                }
            )*
        }
    };
}

scenarios!(play);
