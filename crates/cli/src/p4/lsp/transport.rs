//! Messages of JSON-RPC with a header before each.

use anyhow::Context;
use node::budget::{Account, Exhausted};
use serde_json::Value;
use std::io::{BufRead, Read, Write};

/// Longest body of a message, in bytes.
const MAX_BODY: usize = 16 << 20;
/// Memory of a value of JSON with its key, in bytes; lists and objects grow by doubling.
const VALUE: usize = 256;

/// Body of a message that is not a request object.
#[derive(Debug, thiserror::Error)]
pub enum BadMessage {
    /// JSON-RPC 2.0, section 5.1: parse error.
    #[error("the message is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// Its values would take more memory than there is for messages.
    #[error("{0}")]
    TooLarge(#[from] Exhausted),
    /// JSON-RPC 2.0, section 5.1: invalid request. The Language Server Protocol has no batches.
    #[error("the message is not a JSON object")]
    NotAnObject,
}

impl BadMessage {
    /// Error code of the answer.
    pub fn code(&self) -> i32 {
        match self {
            BadMessage::NotJson(_) => -32700,
            BadMessage::NotAnObject | BadMessage::TooLarge(_) => -32600,
        }
    }
}

/// The next message; `None` at the end of the input.
///
/// # Errors
/// When the stream cannot be read further: there is no usable header, or the input ends early. A
/// body that is no request leaves the stream in step, so it is a value.
pub fn read_message(
    input: &mut impl BufRead,
    account: &Account,
) -> anyhow::Result<Option<Result<Value, BadMessage>>> {
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
    Ok(Some(parse(&body, account)))
}

fn parse(body: &[u8], account: &Account) -> Result<Value, BadMessage> {
    // Nothing of a message is kept when the next one is read.
    account.hold(memory(body))?;
    match serde_json::from_slice(body)? {
        message @ Value::Object(_) => Ok(message),
        _ => Err(BadMessage::NotAnObject),
    }
}

/// Memory that a text of JSON takes as values, an upper bound: each begins with a bracket, or after a comma or a colon.
fn memory(body: &[u8]) -> usize {
    let (mut values, mut in_text, mut escaped) = (1usize, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' | b',' | b':' if !in_text => values += 1,
            _ => {}
        }
    }
    body.len() + values * VALUE
}

/// Writes a message.
pub fn write_message(output: &mut impl Write, message: &Value) -> anyhow::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    Ok(output.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::budget::{Budget, Limits};

    #[test]
    fn many_small_values_are_refused_before_they_are_made_and_a_long_text_is_not() {
        let limits = Limits {
            each: 1 << 20,
            reserved: 0,
            all: 1 << 20,
        };
        let budget = Budget::new(limits);
        let account = budget.account();
        let read = |body: String| {
            let message = format!("Content-Length: {}\r\n\r\n{body}", body.len());
            read_message(&mut message.as_bytes(), &account)
                .unwrap()
                .unwrap()
        };
        let zeros = vec!["0"; 10_000].join(",");
        for body in [
            format!("{{\"a\":[{zeros}]}}"),
            "[".repeat(10_000),
            "{".repeat(10_000),
        ] {
            let refused = read(body).unwrap_err();
            assert!(matches!(refused, BadMessage::TooLarge(_)), "{refused}");
        }
        let text = "[,{:".repeat(50_000);
        let message = read(format!(r#"{{"text": "\"\\{text}"}}"#)).unwrap();
        assert_eq!(message["text"].as_str().map(str::len), Some(2 + text.len()));
        assert_eq!(budget.used(), 0);
    }
}
