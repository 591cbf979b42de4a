//! Reads a stream of bytes as frames, and each frame as a message of every method.

use serde_json::Value;
use wellwritten_session::testing::live_artifacts;
use wellwritten_session::wire::{
    Frame, FrameDecoder, Inbox, ReceivedFrame, WireError, reply_frame, request_frame,
};
use wellwritten_session::{Call, ErrorCode, MutationCertainty};

/// The first byte says how the rest is cut: into pieces of so many bytes. One that is odd puts the length of the message in front
/// by itself, so that few choices make a frame.
pub fn check_stream(bytes: &[u8]) -> Result<usize, String> {
    let before = live_artifacts();
    let Some((first, rest)) = bytes.split_first() else {
        return Ok(0);
    };
    let mut stream = Vec::new();
    if first % 2 == 1 {
        let length = u32::try_from(rest.len()).map_err(|error| error.to_string())?;
        stream.extend(length.to_le_bytes());
        stream.extend(0_u32.to_le_bytes());
    }
    stream.extend(rest);
    let whole = decoded(&stream, stream.len())?;
    let pieces = decoded(&stream, usize::from(first / 2) + 1)?;
    if whole != pieces {
        return Err(format!("{whole:?} at once, {pieces:?} in pieces"));
    }
    let mut accepted = 0;
    for frame in whole.0 {
        accepted += check_frame(&frame)?;
    }
    match live_artifacts() - before {
        0 => Ok(accepted),
        left => Err(format!(
            "{left} artifacts have an owner when nobody is left"
        )),
    }
}

/// Frames of a stream, and what ended it before its end.
fn decoded(stream: &[u8], size: usize) -> Result<(Vec<ReceivedFrame>, Option<WireError>), String> {
    let mut decoder = FrameDecoder::new();
    let mut frames = Vec::new();
    let mut kept = 0;
    for mut piece in stream.chunks(size.max(1)) {
        kept += piece.len();
        loop {
            match decoder.take(&mut piece) {
                Ok(Some(frame)) => {
                    let parts = frame.attachments.iter().map(Vec::len);
                    let (sum, count) = (parts.sum::<usize>(), frame.attachments.len());
                    // Exactly what came, and not a byte that was only promised.
                    let taken = 8 + 8 * count + frame.message.len() + sum;
                    kept = (kept.checked_sub(taken))
                        .ok_or_else(|| format!("a frame of {taken} bytes out of {kept}"))?;
                    frames.push(frame);
                }
                Ok(None) if piece.is_empty() => break,
                Ok(None) => return Err("a decoder that takes nothing".to_owned()),
                Err(error) => {
                    let again = decoder.take(&mut piece);
                    return if again.as_ref() == Err(&error) {
                        Ok((frames, Some(error)))
                    } else {
                        Err(format!("{again:?} after {error}"))
                    };
                }
            }
        }
    }
    Ok((frames, None))
}

/// Reads a frame as a request and as a reply to every method; how many of these it is.
pub fn check_frame(frame: &ReceivedFrame) -> Result<usize, String> {
    let open = || Inbox::new().open(frame.clone());
    let call_id = match open() {
        Ok(incoming) => incoming.call_id(),
        Err(error) => {
            let code = error.code();
            let may = [ErrorCode::InvalidArgument, ErrorCode::BufferInvalid];
            return if may.contains(&code) {
                Ok(0)
            } else {
                Err(format!("{code} for {error}"))
            };
        }
    };
    let mut accepted = 0;
    match open().map_err(|error| error.to_string())?.into_request() {
        Ok(request) => {
            accepted += 1;
            let again = request_frame(call_id, &request).map_err(|error| error.to_string())?;
            is_again(frame, &again, |again| {
                let read = Inbox::new().open(again).ok()?.into_request().ok()?;
                (read == request).then(|| request_frame(call_id, &read).ok())?
            })?;
        }
        Err(refused) => {
            let may = [
                ErrorCode::InvalidArgument,
                ErrorCode::BufferInvalid,
                ErrorCode::Unsupported,
            ];
            let error = &refused.error;
            if !may.contains(&error.code) || error.mutation != MutationCertainty::None {
                return Err(format!("{error} for what is no request"));
            }
        }
    }
    for method in Call::METHODS {
        let incoming = open().map_err(|error| error.to_string())?;
        if let Ok(reply) = incoming.into_reply(method) {
            accepted += 1;
            let again = reply_frame(call_id, &reply).map_err(|error| error.to_string())?;
            is_again(frame, &again, |again| {
                let read = Inbox::new().open(again).ok()?.into_reply(method).ok()?;
                reply_frame(call_id, &read).ok()
            })?;
        }
    }
    Ok(accepted)
}

/// What was read is written as the same message, and reads and writes that way for ever.
fn is_again(
    frame: &ReceivedFrame,
    again: &Frame,
    round: impl Fn(ReceivedFrame) -> Option<Frame>,
) -> Result<(), String> {
    let again = again.received();
    let (came, written) = (normal(frame)?, normal(&again)?);
    if came != written {
        return Err(format!("{came} was read, {written} is written"));
    }
    let third = round(again.clone())
        .ok_or("what was written does not read")?
        .received();
    if normal(&third)? == written && third.attachments == again.attachments {
        Ok(())
    } else {
        Err(format!("{written} once, {} again", normal(&third)?))
    }
}

/// The message but for what belongs to its sender: names of artifacts, a digest stated or not, the spelling of numbers, and the
/// order in which attachments are listed.
fn normal(frame: &ReceivedFrame) -> Result<Value, String> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if fields.remove("artifactId").is_some() {
                    fields.remove("digest");
                }
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Number(number) => {
                // 1, 1.0 and 1e0 are one number, and so are 0 and -0.
                let spelled = number.as_f64().unwrap_or(0.0) + 0.0;
                *value = Value::from(format!("{spelled:?}"));
            }
            _ => {}
        }
    }
    let mut value = serde_json::from_slice(&frame.message).map_err(|error| error.to_string())?;
    strip(&mut value);
    if let Some(listed) = value.get_mut("attachments").and_then(Value::as_array_mut) {
        listed.sort_by_key(ToString::to_string);
    }
    Ok(value)
}
