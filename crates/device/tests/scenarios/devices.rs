//! Two devices at once, and two programs on one. Oracle: each as if it were alone.

use futures::future::join;
use wellwritten_device::{Access, DeviceError, ReadError};

use super::stage::{DUE, SAID, Stage};

pub(crate) async fn two_devices_do_not_hear_each_other(one: Stage) {
    let two = one.forcing.another().await;
    let (a, b) = (one.alloc(64, "a"), two.alloc(64, "b"));
    let shared = one.fill("shared");
    one.launch(&one.broken("diffuse"), &[(&a, Access::Write)]);
    two.launch(&shared, &[(&b, Access::Write)]);
    one.refused(&a, &[SAID]).await;
    two.holds(&b, DUE).await;
    one.launch(&shared, &[(&a, Access::Write)]);
    one.holds(&a, DUE).await;

    // A handle of the other is refused by name.
    let refused = one.try_launch(&shared, &[(&b, Access::Write)]).unwrap_err();
    assert!(matches!(refused, DeviceError::Handle(_)), "{refused}");
    let foreign = one.read(&b.binding()).await.unwrap_err();
    assert!(matches!(foreign, ReadError::Device(_)), "{foreign}");
    assert!(foreign.to_string().contains('b'), "{foreign}");

    one.device.lose();
    one.refused(&a, &["device generation 1 was lost"]).await;
    two.launch(&shared, &[(&b, Access::Write)]);
    two.holds(&b, DUE).await;
    one.device.recover().await.unwrap();
    let fresh = one.alloc(64, "fresh");
    one.launch(&shared, &[(&fresh, Access::Write)]);
    one.holds(&fresh, DUE).await;
    one.device.close();
    two.launch(&shared, &[(&b, Access::Write)]);
    two.holds(&b, DUE).await;
    assert_eq!((one.device.generation(), two.device.generation()), (2, 1));
}

/// The stack of error scopes is one for the whole device.
pub(crate) async fn two_programs_on_one_device_do_not_take_each_others_errors(stage: Stage) {
    let sound = async {
        let fill = stage.fill("sound");
        let a = stage.alloc(64, "a");
        for round in 0..5 {
            stage.write(&a, round);
            stage.holds(&a, round).await;
            stage.launch(&fill, &[(&a, Access::Write)]);
            stage.holds(&a, DUE).await;
        }
    };
    let unsound = async {
        let b = stage.alloc(64, "b");
        for round in 0..5 {
            // Not known to be broken before: each goes through the scopes.
            let bad = stage.broken(&format!("diffuse {round}"));
            stage.launch(&bad, &[(&b, Access::Write)]);
            let work = format!("kernel diffuse {round}");
            stage.refused(&b, &[&work, SAID]).await;
            stage.write(&b, round);
            stage.holds(&b, round).await;
        }
    };
    join(sound, unsound).await;
}
