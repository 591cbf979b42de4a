//! [`OpenStore`]: a store as its owner serves it, for writing or only to look.

use crate::commit::CommitError;
use crate::store::Store;
use crate::store_error::ReadError;
use crate::store_medium::StoreMedium;
use crate::store_reader::StoreReader;

/// A store that is open: owned, with the lock, or read-only, without one. What would change a read-only one is
/// refused as [`CommitError::ReadOnly`].
pub enum OpenStore<M: StoreMedium> {
    /// Everything works.
    Owned(Store<M>),
    /// Looking works, while somebody else may own and change it: the manifest is read anew for every request.
    ReadOnly(StoreReader<M>),
}

impl<M: StoreMedium> OpenStore<M> {
    /// To change it.
    pub fn owned(&mut self) -> Result<&mut Store<M>, CommitError> {
        match self {
            Self::Owned(store) => Ok(store),
            Self::ReadOnly(_) => Err(CommitError::ReadOnly),
        }
    }

    /// To look at it as it is now.
    pub async fn view(&mut self) -> Result<&StoreReader<M>, ReadError> {
        match self {
            Self::Owned(store) => Ok(store),
            Self::ReadOnly(reader) => {
                let refreshed = reader.refresh().await;
                refreshed.map_err(|source| ReadError::View { source })?;
                Ok(reader)
            }
        }
    }

    /// Whether the owner of a read-only store has changed it since it was last looked at: then a file that is gone was
    /// rotated out, and nothing is damaged. What is owned changes by nobody else.
    pub(crate) async fn has_changed(&mut self) -> Result<bool, ReadError> {
        match self {
            Self::Owned(_) => Ok(false),
            Self::ReadOnly(reader) => {
                let before = reader.manifest.clone();
                let refreshed = reader.refresh().await;
                refreshed.map_err(|source| ReadError::View { source })?;
                Ok(reader.manifest != before)
            }
        }
    }
}

impl<M: StoreMedium> From<Store<M>> for OpenStore<M> {
    fn from(store: Store<M>) -> Self {
        Self::Owned(store)
    }
}

impl<M: StoreMedium> From<StoreReader<M>> for OpenStore<M> {
    fn from(reader: StoreReader<M>) -> Self {
        Self::ReadOnly(reader)
    }
}
