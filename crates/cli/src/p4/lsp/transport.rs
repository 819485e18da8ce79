//! Messages of JSON-RPC with a header before each.

use anyhow::Context;
use serde_json::Value;
use std::io::{BufRead, Read, Write};

/// Longest body of a message, in bytes.
const MAX_BODY: usize = 64 << 20;

/// Body of a message that is not a request object.
#[derive(Debug, thiserror::Error)]
pub enum BadMessage {
    /// JSON-RPC 2.0, section 5.1: parse error.
    #[error("the message is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// JSON-RPC 2.0, section 5.1: invalid request. The Language Server Protocol has no batches.
    #[error("the message is not a JSON object")]
    NotAnObject,
}

impl BadMessage {
    /// Error code of the answer.
    pub fn code(&self) -> i32 {
        match self {
            BadMessage::NotJson(_) => -32700,
            BadMessage::NotAnObject => -32600,
        }
    }
}

/// The next message; `None` at the end of the input.
///
/// # Errors
/// When the stream cannot be read further: there is no usable header, or the input ends early. A
/// body that is no request leaves the stream in step, so it is a value.
pub fn read_message(input: &mut impl BufRead) -> anyhow::Result<Option<Result<Value, BadMessage>>> {
    let mut length: Option<usize> = None;
    loop {
        let mut line = String::new();
        if input.by_ref().take(4096).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok().filter(|n| *n <= MAX_BODY);
            anyhow::ensure!(length.is_some(), "a message of {} bytes", value.trim());
        }
    }
    let length = length.context("a message without Content-Length")?;
    let mut body = Vec::new();
    input.by_ref().take(length as u64).read_to_end(&mut body)?;
    anyhow::ensure!(body.len() == length, "the input ends inside a message");
    Ok(Some(match serde_json::from_slice(&body) {
        Ok(message @ Value::Object(_)) => Ok(message),
        Ok(_) => Err(BadMessage::NotAnObject),
        Err(error) => Err(error.into()),
    }))
}

/// Writes a message.
pub fn write_message(output: &mut impl Write, message: &Value) -> anyhow::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    Ok(output.flush()?)
}
