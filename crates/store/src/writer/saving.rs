//! One save, from the request to its outcome.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use wellwritten_envelope::{Id, Manifest, U64};

use crate::commit::{Certainty, CommitError, Committed};
use crate::generation_info::GenerationInfo;
use crate::save_outcome::SaveOutcome;
use crate::save_request::SaveRequest;
use crate::store_client::StoreClient;
use crate::store_reader::Resolution;

/// Saves once. Whatever the store does, there is an outcome; where the store panics, that is this save's alone.
pub(super) fn saving(
    client: StoreClient,
    request: SaveRequest,
) -> LocalBoxFuture<'static, SaveOutcome> {
    let names = Names::of(&request.manifest);
    async move {
        let saved = AssertUnwindSafe(client.save(request)).catch_unwind().await;
        match saved {
            Ok(Ok(committed)) => names.committed(committed),
            Ok(Err(error)) if may_have_happened(&error) => names.reply_lost(error.to_string()),
            Ok(Err(error)) => names.failed(error.to_string()),
            Err(panic) => after_panic(&client, names, &panic_text(&*panic)).await,
        }
    }
    .boxed_local()
}

/// A save that panicked has most likely failed; but only the store knows.
async fn after_panic(client: &StoreClient, names: Names, panic: &str) -> SaveOutcome {
    let asked = AssertUnwindSafe(client.resolve(&names.checkpoint_id));
    match asked.catch_unwind().await {
        Ok(Ok(Resolution::NotCommitted)) => names.failed(format!("the save panicked: {panic}")),
        Ok(Ok(Resolution::Committed(generation))) => names.named(
            &generation,
            Some(format!("the save panicked after it was listed: {panic}")),
            Vec::new(),
        ),
        // Another checkpoint has that name.
        Ok(Ok(Resolution::RotatedOut | Resolution::Unlisted)) => names.failed(format!(
            "the save panicked: {panic}; the id was used before"
        )),
        Ok(Err(error)) => names.reply_lost(format!("the save panicked: {panic}; {error}")),
        Err(again) => names.reply_lost(format!(
            "the save panicked: {panic}; asking about it did too: {}",
            panic_text(&*again)
        )),
    }
}

fn may_have_happened(error: &CommitError) -> bool {
    matches!(
        error,
        CommitError::OutcomeUnknown { .. } | CommitError::Gone(_)
    )
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a text".to_owned())
}

/// What an outcome says of the save that it is of.
struct Names {
    checkpoint_id: Id,
    epoch: Id,
    boundary: u64,
}

impl Names {
    fn of(manifest: &Manifest) -> Self {
        Self {
            checkpoint_id: manifest.checkpoint_id.clone(),
            epoch: manifest.source_scope.epoch.clone(),
            boundary: manifest.source_scope.step.get(),
        }
    }

    fn committed(self, committed: Committed) -> SaveOutcome {
        let uncertainty = match committed.certainty {
            Certainty::Durable => None,
            Certainty::NameUncertain { cause } => Some(cause.to_string()),
        };
        self.named(&committed.generation, uncertainty, committed.rotated_out)
    }

    /// Committed, if it is this save of which the store says so.
    fn named(
        self,
        generation: &GenerationInfo,
        uncertainty: Option<String>,
        rotated_out: Vec<Id>,
    ) -> SaveOutcome {
        let GenerationInfo {
            checkpoint_id,
            epoch,
            boundary,
            ..
        } = generation;
        if (checkpoint_id, epoch, *boundary)
            != (&self.checkpoint_id, &self.epoch, U64(self.boundary))
        {
            return self.reply_lost(format!(
                "the store answered about `{checkpoint_id}` of epoch `{epoch}` at {boundary}"
            ));
        }
        SaveOutcome::Committed {
            checkpoint_id: self.checkpoint_id,
            epoch: self.epoch,
            boundary: self.boundary,
            byte_length: generation.byte_length,
            uncertainty,
            rotated_out,
        }
    }

    fn failed(self, message: String) -> SaveOutcome {
        SaveOutcome::Failed {
            checkpoint_id: self.checkpoint_id,
            boundary: self.boundary,
            message,
        }
    }

    fn reply_lost(self, message: String) -> SaveOutcome {
        SaveOutcome::ReplyLost {
            checkpoint_id: self.checkpoint_id,
            boundary: self.boundary,
            message,
        }
    }
}
