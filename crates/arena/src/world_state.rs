//! The world's buffers, and which of them holds what at a boundary.
//!
//! At boundary `k` the field of `k` is in one field buffer and the field of `k - 1` in the other;
//! the view of `k` was rendered from the field of `k - 1` and the flies and food of `k`. So the view
//! of a boundary never depends on the field launch of the same step, and what either launch read is
//! still there to launch it again.

use wellwritten_device::{BufferBinding, GuardedBuffer, GuardedDevice, ReadError};
use wellwritten_envelope::Id;
use wellwritten_session::ParticipantError;

use crate::fault_board::KernelName;
use crate::food::Food;
use crate::geometry::CELLS;
use crate::guarded_words::{device_failed, read, reserve, reserve_with, write};
use crate::kernels::field::FOOD_BUFFER_WORDS;
use crate::kernels::view::FLIES_BUFFER_WORDS;
use crate::launcher::Launcher;
use crate::physics::Flies;

/// Labels of the field buffers, by parity.
pub const FIELD_LABELS: [&str; 2] = ["world/field-a", "world/field-b"];
/// Label of the food buffer.
pub const FOOD_LABEL: &str = "world/food";
/// Label of the flies buffer.
pub const FLIES_LABEL: &str = "world/flies";
/// Label of the view buffer.
pub const VIEW_LABEL: &str = "world/view";

/// Words of the captured buffers: both fields (the present one first), food, flies, view.
pub(crate) const CAPTURED_WORDS: [u32; 5] =
    [CELLS, CELLS, FOOD_BUFFER_WORDS, FLIES_BUFFER_WORDS, CELLS];

/// A world that has been initialized.
pub(crate) struct WorldState {
    /// The boundary it is at.
    pub(crate) boundary: u64,
    /// The episode.
    pub(crate) episode_id: Id,
    fields: [GuardedBuffer; 2],
    food: GuardedBuffer,
    flies: GuardedBuffer,
    view: GuardedBuffer,
}

impl WorldState {
    /// Reserves the buffers of a fresh world and does the launches of boundary 0.
    pub(crate) fn begin(
        launcher: &Launcher,
        episode_id: Id,
        flies: &Flies,
        food: &Food,
    ) -> Result<Self, ParticipantError> {
        let device = launcher.device();
        let state = Self {
            boundary: 0,
            episode_id,
            fields: [
                reserve_with(device, &food.plume(), FIELD_LABELS[0])?,
                reserve(device, CELLS as usize, FIELD_LABELS[1])?,
            ],
            food: reserve_with(device, food.words(), FOOD_LABEL)?,
            flies: reserve_with(device, &flies.words(), FLIES_LABEL)?,
            view: reserve(device, CELLS as usize, VIEW_LABEL)?,
        };
        // The first plume counts as the field before boundary 0, so that the start keeps the rule
        // every other boundary keeps.
        state.launch_view(launcher)?;
        state.launch_field(launcher)?;
        Ok(state)
    }

    /// Reserves the buffers of a captured world and writes what it held.
    pub(crate) fn restore(
        device: &GuardedDevice,
        boundary: u64,
        episode_id: Id,
        captured: &[Vec<u32>; 5],
    ) -> Result<Self, ParticipantError> {
        let [present, before, food, flies, view] = captured;
        let mut fields = [before, present];
        if present_index(boundary) == 0 {
            fields.reverse();
        }
        Ok(Self {
            boundary,
            episode_id,
            fields: [
                reserve_with(device, fields[0], FIELD_LABELS[0])?,
                reserve_with(device, fields[1], FIELD_LABELS[1])?,
            ],
            food: reserve_with(device, food, FOOD_LABEL)?,
            flies: reserve_with(device, flies, FLIES_LABEL)?,
            view: reserve_with(device, view, VIEW_LABEL)?,
        })
    }

    /// The field of this boundary.
    pub(crate) fn present_field(&self) -> &GuardedBuffer {
        &self.fields[present_index(self.boundary)]
    }

    /// The field of the boundary before.
    pub(crate) fn previous_field(&self) -> &GuardedBuffer {
        &self.fields[1 - present_index(self.boundary)]
    }

    /// The view of this boundary.
    pub(crate) fn view(&self) -> &GuardedBuffer {
        &self.view
    }

    /// Every buffer, in the order of [`CAPTURED_WORDS`].
    pub(crate) fn buffers(&self) -> [&GuardedBuffer; 5] {
        [
            self.present_field(),
            self.previous_field(),
            &self.food,
            &self.flies,
            &self.view,
        ]
    }

    /// Every buffer, to verify.
    pub(crate) fn bindings(&self) -> Vec<BufferBinding> {
        self.buffers().map(GuardedBuffer::binding).to_vec()
    }

    /// Reads flies and food through the guard, in one go.
    pub(crate) async fn read_bodies(
        &self,
        device: &GuardedDevice,
    ) -> Result<(Vec<u32>, Vec<u32>), ReadError> {
        let (flies, food) = futures::join!(read(device, &self.flies), read(device, &self.food));
        Ok((flies?, food?))
    }

    /// Writes flies and food.
    pub(crate) fn write_bodies(
        &self,
        device: &GuardedDevice,
        flies: &Flies,
        food: &Food,
    ) -> Result<(), ParticipantError> {
        write(device, &self.flies.binding(), &flies.words())?;
        write(device, &self.food.binding(), food.words())
    }

    /// Moves to the next boundary, once flies and food of it are written.
    ///
    /// The order matters. The view is launched first, from the field that is already there; the
    /// field is launched last and nothing of this boundary depends on it. If that launch turns out
    /// broken, it is found when the next step asks whether the world reads cleanly: this boundary
    /// stands, its observation is sound, and what the launch read (the field before, the food) is
    /// untouched, so that it can be launched again. The other order would be as correct, and would
    /// throw a good step away for a field that nobody has looked at yet.
    pub(crate) fn launch_step(&mut self, launcher: &Launcher) -> Result<(), ParticipantError> {
        self.boundary += 1;
        self.launch_view(launcher)?;
        self.launch_field(launcher)
    }

    /// Launches the view of this boundary. A fault may strike.
    pub(crate) fn launch_view(&self, launcher: &Launcher) -> Result<(), ParticipantError> {
        launcher
            .launch(KernelName::View, &self.view_bindings())
            .map_err(|error| device_failed(&error, "the view could not be launched"))
    }

    fn launch_field(&self, launcher: &Launcher) -> Result<(), ParticipantError> {
        launcher
            .launch(KernelName::Field, &self.field_bindings())
            .map_err(|error| device_failed(&error, "the field could not be launched"))
    }

    /// Bindings of the launch that made this boundary's view.
    pub(crate) fn view_bindings(&self) -> [BufferBinding; 4] {
        [
            &self.fields[1 - present_index(self.boundary)],
            &self.food,
            &self.flies,
            &self.view,
        ]
        .map(GuardedBuffer::binding)
    }

    /// Bindings of the launch that made this boundary's field.
    pub(crate) fn field_bindings(&self) -> [BufferBinding; 3] {
        [self.previous_field(), &self.food, self.present_field()].map(GuardedBuffer::binding)
    }
}

/// Which field buffer holds the field of a boundary.
fn present_index(boundary: u64) -> usize {
    usize::from(boundary.is_multiple_of(2))
}
