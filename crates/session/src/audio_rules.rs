//! What a transition must sound like, checked before anyone hears of the transition.

use wellwritten_envelope::Id;

use crate::coordinator::Fault;
use crate::{
    Artifact, AudioDescriptor, AudioPosition, AudioRef, AudioTimeline, EnvironmentDescriptor,
    ErrorCode,
};

/// One chunk of every declared stream, in order, of the declared shape, all finite, each where its stream goes on.
/// Returns where every stream is then; the timelines given do not move.
pub(crate) fn advanced_timelines(
    descriptor: &EnvironmentDescriptor,
    chunks: &[AudioRef],
    timelines: &[AudioTimeline],
) -> Result<Vec<AudioTimeline>, Fault> {
    let refuse = |message| Fault::broken(&descriptor.worker_id, ErrorCode::BufferInvalid, message);
    let given = chunks.iter().map(|chunk| &chunk.stream_id);
    let declared = descriptor.audio.iter().map(|stream| &stream.stream_id);
    if !given.clone().eq(declared.clone()) {
        let (given, declared): (Vec<&Id>, Vec<&Id>) = (given.collect(), declared.collect());
        let message = format!(
            "the transition sounds on streams {given:?}, one chunk each was due of {declared:?}"
        );
        return Err(refuse(message));
    }
    let streams = descriptor.audio.iter().zip(timelines);
    chunks
        .iter()
        .zip(streams)
        .map(|(chunk, (declared, timeline))| {
            check_samples(declared, chunk).map_err(refuse)?;
            let mut timeline = *timeline;
            timeline
                .accept(
                    chunk.first_sample.0,
                    chunk.sample_frames,
                    chunk.discontinuity,
                )
                .map_err(|error| refuse(format!("stream {}: {error}", chunk.stream_id)))?;
            Ok(timeline)
        })
        .collect()
}

/// As many samples as the chunk says, all of them finite.
fn check_samples(declared: &AudioDescriptor, chunk: &AudioRef) -> Result<(), String> {
    let stream = &chunk.stream_id;
    if chunk.sample_frames > AudioRef::MAX_SAMPLE_FRAMES {
        return Err(format!(
            "stream {stream} has a chunk of {} sample frames, the limit is {}",
            chunk.sample_frames,
            AudioRef::MAX_SAMPLE_FRAMES
        ));
    }
    let due = declared.byte_length(chunk.sample_frames);
    let samples = &chunk.samples;
    if samples.byte_length() != due || samples.content_type() != Artifact::F32LE {
        return Err(format!(
            "stream {stream} has {} bytes of {}, {} sample frames are {due} of {}",
            samples.byte_length(),
            samples.content_type(),
            chunk.sample_frames,
            Artifact::F32LE
        ));
    }
    let (samples, _) = samples.bytes().as_chunks::<4>();
    match samples
        .iter()
        .position(|bytes| !f32::from_le_bytes(*bytes).is_finite())
    {
        Some(index) => Err(format!(
            "stream {stream} has a value that is no number at sample {index} of its chunk"
        )),
        None => Ok(()),
    }
}

/// The timelines of an episode that begins.
pub(crate) fn fresh_timelines(descriptor: &EnvironmentDescriptor) -> Vec<AudioTimeline> {
    vec![AudioTimeline::fresh(); descriptor.audio.len()]
}

/// Where every stream is, by declared order.
pub(crate) fn positions(
    descriptor: &EnvironmentDescriptor,
    timelines: &[AudioTimeline],
) -> Vec<AudioPosition> {
    let streams = descriptor.audio.iter().zip(timelines);
    streams
        .map(|(stream, timeline)| AudioPosition {
            stream_id: stream.stream_id.clone(),
            next_sample: wellwritten_envelope::U64(timeline.position()),
        })
        .collect()
}
