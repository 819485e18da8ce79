//! Messages of JSON-RPC with a header before each.

use anyhow::Context;
use serde_json::Value;
use std::io::{BufRead, Read, Write};

/// No message of an editor is longer.
const MOST: usize = 64 << 20;

/// The next message; `None` at the end of the input.
pub fn read_message(input: &mut impl BufRead) -> anyhow::Result<Option<Value>> {
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
            length = value.trim().parse().ok().filter(|n| *n <= MOST);
            anyhow::ensure!(length.is_some(), "a message of {} bytes", value.trim());
        }
    }
    let length = length.context("a message without Content-Length")?;
    let mut body = Vec::new();
    input.by_ref().take(length as u64).read_to_end(&mut body)?;
    anyhow::ensure!(body.len() == length, "the input ends inside a message");
    serde_json::from_slice(&body)
        .map(Some)
        .context("a message is no JSON")
}

/// Writes a message.
pub fn write_message(output: &mut impl Write, message: &Value) -> anyhow::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    Ok(output.flush()?)
}
