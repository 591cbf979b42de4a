//! Every scenario notices a wrong answer: each read of it, distorted in each way that applies, and a fake that calls
//! every dropped submission clean.

use std::rc::Rc;

use futures::FutureExt as _;
use wellwritten_device::fake::Delivery;

use crate::on_host::{On, Scenario, play, play_quietly};
use crate::scenarios::stage::{Distortion, Reads};
use crate::scenarios::{self, scenarios};

const ON: On = On::Fake(Delivery::OldestFirst);

macro_rules! list {
    (
        everywhere: $($module:ident::$name:ident),*;
        under_webgpus_rules: $($late_module:ident::$late_name:ident),*;
    ) => {
        const ALL: &[(&str, Scenario)] = &[
            $((stringify!($name), |stage| scenarios::$module::$name(stage).boxed_local()),)*
            $((stringify!($late_name), |stage| {
                scenarios::$late_module::$late_name(stage).boxed_local()
            }),)*
        ];
    };
}

scenarios!(list);

/// All reads of a scenario; of one that reads again and again some, unless in a long run.
fn sample(count: usize) -> impl Iterator<Item = usize> {
    let step = match std::env::var_os("WELLWRITTEN_LONG") {
        Some(_) => 1,
        None => count.div_ceil(20).max(1),
    };
    (0..count).step_by(step)
}

#[test]
fn a_read_that_is_distorted_is_noticed() {
    let mut tried = 0;
    for (name, scenario) in ALL {
        let reads: Rc<Reads> = Rc::default();
        play(*scenario, ON, &reads, 0).result.expect("as it is");
        for read in sample(reads.asked()) {
            for distortion in [Distortion::Refuse, Distortion::Accept, Distortion::Corrupt] {
                let reads = Reads::distorting(read, distortion);
                let played = play_quietly(*scenario, ON, &reads, 0);
                if !reads.is_distorted() {
                    continue;
                }
                tried += 1;
                assert!(
                    played.result.is_err(),
                    "{name} does not notice that read {read} is distorted: {distortion:?}"
                );
            }
        }
    }
    println!("{tried} distorted reads");
    assert!(tried > 250, "{tried}");
}

#[test]
fn a_fake_that_calls_dropped_submissions_clean_is_noticed() {
    let mut lied_to = 0;
    for (name, scenario) in ALL {
        let played = play_quietly(*scenario, ON, &Rc::default(), u32::MAX);
        if played.lies == 0 {
            played.result.expect("as it is");
            continue;
        }
        lied_to += 1;
        assert!(played.result.is_err(), "{name} believes every lie");
    }
    println!("{lied_to} scenarios");
    assert!(lied_to > 15, "{lied_to}");
}
