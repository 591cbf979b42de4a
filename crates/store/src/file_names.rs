//! [`FileNames`]: a handful of file names, each once.

/// File names in order, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileNames {
    names: Vec<String>,
}

impl FileNames {
    fn find(&self, name: &str) -> Result<usize, usize> {
        self.names
            .binary_search_by(|other| other.as_str().cmp(name))
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    pub(crate) fn insert(&mut self, name: String) {
        if let Err(at) = self.find(&name) {
            self.names.insert(at, name);
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let Ok(at) = self.find(name) {
            self.names.remove(at);
        }
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&String) -> bool) {
        self.names.retain(keep);
    }
}

impl IntoIterator for FileNames {
    type Item = String;
    type IntoIter = std::vec::IntoIter<String>;

    fn into_iter(self) -> Self::IntoIter {
        self.names.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::FileNames;

    #[test]
    fn each_name_is_there_once_in_order() {
        let mut names = FileNames::default();
        for name in ["b", "a", "c", "b"] {
            names.insert(name.to_owned());
        }
        names.remove("c");
        names.remove("d");
        assert!(names.contains("a") && !names.contains("c"));
        assert_eq!(names.len(), 2);
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}
