//! A read-only view while the owner rotates: what is gone was rotated out, and is not called damaged.

use std::cell::RefCell;
use std::rc::Rc;

use async_trait::async_trait;
use futures::FutureExt;
use futures::executor::block_on;
use wellwritten_store::testing::{SimulatedLock, SimulatedMedium};
use wellwritten_store::{
    Damage, DamageKind, FileEntry, LockError, MediumError, ReadError, SelectError, Selection,
    Store, StoreClient, StoreMedium, StoreReader, Usage, file_name,
};

use crate::sample_store::{id, sample, store_with};

/// A view of a disk whose owner saves one more just before each of the first readings of a generation.
struct Overtaken {
    disk: SimulatedMedium,
    owner: Rc<RefCell<Store<SimulatedMedium>>>,
    saves_left: RefCell<Vec<&'static str>>,
}

#[async_trait(?Send)]
impl StoreMedium for Overtaken {
    type Lock = SimulatedLock;

    async fn lock(&self) -> Result<SimulatedLock, LockError> {
        self.disk.lock().await
    }

    async fn write_new(&self, name: &str, _parts: &[&[u8]]) -> Result<(), MediumError> {
        panic!("a view writes `{name}`")
    }

    async fn sync(&self, name: &str) -> Result<(), MediumError> {
        panic!("a view syncs `{name}`")
    }

    async fn rename_over(&self, from: &str, _to: &str) -> Result<(), MediumError> {
        panic!("a view renames `{from}`")
    }

    async fn sync_dir(&self) -> Result<(), MediumError> {
        panic!("a view syncs the folder")
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError> {
        let is_generation = name != file_name::MANIFEST;
        let next = is_generation.then(|| self.saves_left.borrow_mut().pop());
        if let Some(next) = next.flatten() {
            let mut owner = self.owner.borrow_mut();
            let saved = owner.save(&sample(next).to_save()).now_or_never();
            saved.unwrap().unwrap();
        }
        self.disk.read(name).await
    }

    async fn list(&self) -> Result<Vec<FileEntry>, MediumError> {
        self.disk.list().await
    }

    async fn remove(&self, name: &str) -> Result<(), MediumError> {
        panic!("a view removes `{name}`")
    }

    async fn usage(&self) -> Result<Usage, MediumError> {
        self.disk.usage().await
    }
}

/// A view of a store that holds `a`, keeps one, and is to save these, the last first.
fn view(saves: &[&'static str]) -> (StoreClient, SimulatedMedium) {
    let disk = SimulatedMedium::new();
    let owner = Rc::new(RefCell::new(store_with(&disk, 1, &["a"])));
    let medium = Overtaken {
        disk: disk.clone(),
        owner,
        saves_left: RefCell::new(saves.to_vec()),
    };
    let reader = block_on(StoreReader::open(medium)).unwrap();
    (StoreClient::local(reader), disk)
}

#[test]
fn what_was_rotated_out_meanwhile_is_said_to_be() {
    let rotated_out = ReadError::RotatedOut {
        checkpoint_id: id("a"),
    };
    let (client, _) = view(&["b"]);
    assert_eq!(block_on(client.read(&id("a"))), Err(rotated_out.clone()));
    let (client, _) = view(&["b"]);
    assert_eq!(block_on(client.verify(&id("a"))), Err(rotated_out));
    let (client, _) = view(&["c", "b"]);
    let selected = block_on(client.select(Selection::default())).unwrap();
    assert_eq!(selected.bytes, sample("c").bytes);
    assert_eq!(selected.damaged, []);
    let (client, _) = view(&["c", "b"]);
    let with_fallback = Selection {
        fallback: true,
        ..Selection::default()
    };
    let selected = block_on(client.select(with_fallback)).unwrap();
    assert_eq!(selected.bytes, sample("c").bytes);
}

#[test]
fn what_is_gone_while_nobody_changes_anything_is_damaged() {
    let (client, disk) = view(&[]);
    disk.tamper("a.flysess", None);
    let gone = Damage::Missing {
        file: "a.flysess".to_owned(),
    };
    assert_eq!(
        block_on(client.read(&id("a"))),
        Err(ReadError::Damaged {
            checkpoint_id: id("a"),
            damage: gone.clone()
        })
    );
    let report = block_on(client.verify(&id("a"))).unwrap();
    assert_eq!(report.damage.unwrap().kind, DamageKind::Missing);
    assert_eq!(
        block_on(client.select(Selection::default())),
        Err(SelectError::Damaged {
            checkpoint_id: id("a"),
            damage: gone,
            older: None
        })
    );
}

#[test]
fn an_owner_that_is_always_faster_is_not_waited_for() {
    let (client, _) = view(&["g", "f", "e", "d", "c", "b"]);
    let refused = block_on(client.select(Selection::default())).unwrap_err();
    assert!(
        matches!(&refused, SelectError::Damaged { damage, .. } if damage.is_missing()),
        "{refused}"
    );
}
