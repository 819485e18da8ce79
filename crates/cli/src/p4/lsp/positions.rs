//! Places as the protocol counts them: lines from 0, characters in units of UTF-16; and files as URIs.

use p4::source::{Sources, Span};
use serde_json::{Value, json};

/// The byte of a position.
pub fn offset(text: &str, position: &Value) -> usize {
    let line = position["line"].as_u64().unwrap_or(0) as usize;
    let character = position["character"].as_u64().unwrap_or(0) as usize;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text[start..].split('\n').next().unwrap_or("");
    let mut units = 0;
    for (at, c) in rest.char_indices() {
        if units >= character {
            return start + at;
        }
        units += c.len_utf16();
    }
    start + rest.trim_end_matches('\r').len()
}

/// The position of a byte.
fn position(text: &str, offset: usize) -> Value {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    let character: usize = before[start..].chars().map(char::len_utf16).sum();
    json!({ "line": line, "character": character })
}

/// The file and range of a span.
pub fn range(sources: &Sources, span: Span) -> Option<(String, Value)> {
    let file = sources.file(span.start)?;
    let at = |place: u32| position(&file.text, place.saturating_sub(file.start) as usize);
    let end = span.end.max(span.start);
    Some((
        file.name.to_string(),
        json!({ "start": at(span.start), "end": at(end) }),
    ))
}

/// The range of a whole text.
pub fn whole(text: &str) -> Value {
    json!({ "start": position(text, 0), "end": position(text, text.len()) })
}

/// The path that a URI names.
pub fn path_of(uri: &str) -> String {
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The URI of a path.
pub fn uri_of(path: &str) -> String {
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_in_units_of_utf_16() {
        let text = "a\u{1F600}b\nc\u{e4}d\r\n";
        for (line, character, byte) in [
            (0, 0, 0),
            (0, 1, 1),
            (0, 3, 5),
            (1, 0, 7),
            (1, 2, 10),
            (1, 9, 11),
        ] {
            let at = json!({ "line": line, "character": character });
            assert_eq!(offset(text, &at), byte, "{at}");
        }
        assert_eq!(position(text, 5), json!({ "line": 0, "character": 3 }));
        assert_eq!(
            offset(text, &json!({ "line": 99, "character": 0 })),
            text.len()
        );
    }

    #[test]
    fn paths_and_uris_are_each_others_opposite() {
        let path = "/tmp/a b/\u{e4}.p4";
        assert_eq!(uri_of(path), "file:///tmp/a%20b/%C3%A4.p4");
        assert_eq!(path_of(&uri_of(path)), path);
    }
}
