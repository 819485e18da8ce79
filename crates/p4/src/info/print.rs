//! Text and JSON of protocol buffers.

use super::Info;
use super::message::{Node, tree};
use alloc::string::String;
use core::fmt::Write;

impl Info {
    /// As protocol buffers' text, in the form that p4c writes and controllers read.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::from(
            "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n",
        );
        if let Node::Message(fields) = tree(self) {
            for (name, node) in &fields {
                text(&mut out, name, node, 0);
            }
        }
        out
    }

    /// As protocol buffers' JSON, on one line.
    #[must_use]
    pub fn json(&self) -> String {
        let mut out = String::new();
        json(&mut out, &tree(self));
        out
    }
}

fn text(out: &mut String, name: &str, node: &Node, depth: usize) {
    let indent = depth * 2;
    let _ = match node {
        Node::Number(value) | Node::Long(value) => writeln!(out, "{:indent$}{name}: {value}", ""),
        Node::Bool(value) => writeln!(out, "{:indent$}{name}: {value}", ""),
        Node::Member(value) => writeln!(out, "{:indent$}{name}: {value}", ""),
        Node::Text(value) => {
            let _ = write!(out, "{:indent$}{name}: ", "");
            escape(out, value.as_bytes());
            writeln!(out)
        }
        Node::Bytes(value) => {
            let _ = write!(out, "{:indent$}{name}: ", "");
            escape(out, value);
            writeln!(out)
        }
        Node::List(values) => {
            for value in values {
                text(out, name, value, depth);
            }
            Ok(())
        }
        Node::Message(fields) => {
            let _ = writeln!(out, "{:indent$}{name} {{", "");
            for (name, node) in fields {
                text(out, name, node, depth + 1);
            }
            writeln!(out, "{:indent$}}}", "")
        }
        Node::Map(entries) => {
            for (key, value) in entries {
                let _ = writeln!(out, "{:indent$}{name} {{", "");
                let _ = write!(out, "{:indent$}  key: ", "");
                escape(out, key.as_bytes());
                let _ = writeln!(out);
                text(out, "value", value, depth + 1);
                let _ = writeln!(out, "{:indent$}}}", "");
            }
            Ok(())
        }
    };
}

fn escape(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for byte in bytes {
        let _ = match byte {
            b'\n' => write!(out, "\\n"),
            b'\r' => write!(out, "\\r"),
            b'\t' => write!(out, "\\t"),
            b'"' => write!(out, "\\\""),
            b'\'' => write!(out, "\\'"),
            b'\\' => write!(out, "\\\\"),
            b' '..=b'~' => write!(out, "{}", char::from(*byte)),
            _ => write!(out, "\\{byte:03o}"),
        };
    }
    out.push('"');
}

fn json(out: &mut String, node: &Node) {
    let _ = match node {
        Node::Number(value) => write!(out, "{value}"),
        Node::Long(value) => write!(out, "\"{value}\""),
        Node::Bool(value) => write!(out, "{value}"),
        Node::Member(value) => write!(out, "\"{value}\""),
        Node::Text(value) => {
            quote(out, value);
            Ok(())
        }
        Node::Bytes(value) => {
            out.push('"');
            base64(out, value);
            write!(out, "\"")
        }
        Node::List(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                json(out, value);
            }
            write!(out, "]")
        }
        Node::Message(fields) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push('"');
                camel(out, name);
                out.push_str("\":");
                json(out, value);
            }
            write!(out, "}}")
        }
        Node::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote(out, key);
                out.push(':');
                json(out, value);
            }
            write!(out, "}}")
        }
    };
}

/// `match_fields` is `matchFields` in JSON.
fn camel(out: &mut String, name: &str) {
    let mut upper = false;
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if core::mem::take(&mut upper) {
            out.push(c.to_ascii_uppercase());
        } else {
            out.push(c);
        }
    }
}

fn quote(out: &mut String, value: &str) {
    out.push('"');
    for c in value.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
}

fn base64(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let number = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for index in 0..4 {
            if index <= chunk.len() {
                let digit = number >> (18 - 6 * index) & 63;
                out.push(char::from(DIGITS[digit as usize]));
            } else {
                out.push('=');
            }
        }
    }
}
