//! Every disk that a crash may leave behind.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::simulated_medium::{Content, Snapshot};

/// The content a name has after a crash, if it stands for anything.
type Outcome = Option<Rc<[u8]>>;

/// What is on the disk after a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiskImage {
    /// Content by name.
    pub files: BTreeMap<String, Rc<[u8]>>,
}

impl Snapshot {
    /// Every disk that a crash at this moment may leave: each name stands, independently of the others,
    /// for what it stood for at the last `sync_dir` or at any moment since; and each content that was not
    /// synced is whole, or empty, or cut in the middle, or zeros of its full length.
    ///
    /// That is more than any file system does (it allows a rename to lose the file under both names), so
    /// it covers every order in which the operations since a sync may reach the disk.
    #[must_use]
    pub fn crash_images(&self) -> BTreeSet<DiskImage> {
        let mut images = vec![DiskImage::default()];
        for (name, outcomes) in self.outcomes_by_name() {
            images = images
                .iter()
                .flat_map(|image| {
                    outcomes
                        .iter()
                        .map(|outcome| with_file(image, name, outcome.as_ref()))
                })
                .collect();
        }
        images.into_iter().collect()
    }

    /// One of the [`crash_images`](Self::crash_images). `choose` is given a number of outcomes, at least
    /// 1, and picks one by its index.
    pub fn crash_image(&self, mut choose: impl FnMut(usize) -> usize) -> DiskImage {
        let mut image = DiskImage::default();
        for (name, outcomes) in self.outcomes_by_name() {
            let outcomes: Vec<_> = outcomes.into_iter().collect();
            image = with_file(&image, name, outcomes[choose(outcomes.len())].as_ref());
        }
        image
    }

    fn outcomes_by_name(&self) -> impl Iterator<Item = (&String, BTreeSet<Outcome>)> {
        self.names.iter().map(|(name, history)| {
            let outcomes = history.iter().flat_map(|number| match number {
                None => vec![None],
                Some(number) => contents_after_crash(&self.contents[*number]),
            });
            (name, outcomes.collect())
        })
    }
}

fn with_file(image: &DiskImage, name: &str, bytes: Option<&Rc<[u8]>>) -> DiskImage {
    let mut image = image.clone();
    if let Some(bytes) = bytes {
        image.files.insert(name.to_owned(), Rc::clone(bytes));
    }
    image
}

fn contents_after_crash(content: &Content) -> Vec<Outcome> {
    let whole = Rc::clone(&content.bytes);
    if content.synced {
        return vec![Some(whole)];
    }
    let half = &whole[..whole.len() / 2];
    let half = Rc::from(half);
    let zeros = Rc::from(vec![0; whole.len()]);
    vec![Some(whole), Some(Rc::from([])), Some(half), Some(zeros)]
}
