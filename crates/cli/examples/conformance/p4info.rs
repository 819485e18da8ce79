//! P4Info against what p4c writes for the same program: read as protocol buffers' text, compared
//! whatever the order of the lists.

use std::collections::BTreeMap;

/// Programs whose P4Info differs from p4c's, with the reason.
pub const DIFFERENT: &[(&str, &str)] = &[(
    "issue2735-bmv2.p4",
    "p4c leaves out a register that nothing reads when a typedef names its type, and keeps it otherwise",
)];

/// A field's value.
enum Value {
    /// A number, name or string, as written.
    Scalar(String),
    Message(Vec<(String, Value)>),
}

/// Differences, a line for each object; nothing when both say the same.
pub fn differences(theirs: &str, ours: &str) -> Vec<String> {
    let (theirs, ours) = (objects(theirs), objects(ours));
    let mut lines = Vec::new();
    for (name, object) in &theirs {
        match ours.get(name) {
            None => lines.push(format!("only p4c has {name}")),
            Some(own) if own != object => {
                let missing: Vec<_> = object.iter().filter(|part| !own.contains(part)).collect();
                let added: Vec<_> = own.iter().filter(|part| !object.contains(part)).collect();
                lines.push(format!("{name}: p4c has {missing:?}, we have {added:?}"));
            }
            Some(_) => {}
        }
    }
    let own = ours.keys().filter(|name| !theirs.contains_key(*name));
    lines.extend(own.map(|name| format!("only we have {name}")));
    lines
}

/// The objects of a P4Info by kind and name, each as the sorted texts of its fields.
fn objects(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut tokens = tokens(text).into_iter().peekable();
    let mut objects = BTreeMap::new();
    for (field, value) in message(&mut tokens) {
        let Value::Message(parts) = value else {
            continue;
        };
        let name = parts.iter().find_map(|(name, value)| match value {
            Value::Message(preamble) if name == "preamble" => {
                preamble.iter().find_map(|(name, value)| match value {
                    Value::Scalar(text) if name == "name" => Some(text.clone()),
                    _ => None,
                })
            }
            _ => None,
        });
        let key = format!("{field} {}", name.unwrap_or_default());
        let mut parts: Vec<String> = parts
            .iter()
            // p4c's tests give every program an architecture by an option, those with packages of
            // their own too.
            .filter(|(name, _)| !(field == "pkg_info" && name == "arch"))
            .map(|(name, value)| format!("{name}: {}", canonical(value)))
            .collect();
        parts.sort();
        let known: &mut Vec<String> = objects.entry(key).or_default();
        known.extend(parts);
    }
    objects.retain(|_, parts| !parts.is_empty());
    objects
}

/// The same text for the same content: the fields of messages sorted.
fn canonical(value: &Value) -> String {
    match value {
        Value::Scalar(text) => text.clone(),
        Value::Message(fields) => {
            let fields = fields.iter();
            let mut fields: Vec<String> = fields
                .map(|(name, value)| format!("{name}: {}", canonical(value)))
                .collect();
            fields.sort();
            format!("{{{}}}", fields.join(" "))
        }
    }
}

type Tokens = std::iter::Peekable<std::vec::IntoIter<String>>;

/// Fields up to the closing brace or the end.
fn message(tokens: &mut Tokens) -> Vec<(String, Value)> {
    let mut fields = Vec::new();
    while let Some(name) = tokens.next().filter(|token| token != "}") {
        let value = match tokens.next().as_deref() {
            Some(":") => Value::Scalar(tokens.next().unwrap_or_default()),
            Some("{") => Value::Message(message(tokens)),
            other => panic!("{name} is followed by {other:?}"),
        };
        fields.push((name, value));
    }
    fields
}

/// Names, numbers, strings with their quotes, colons and braces.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        let mut token = String::from(first);
        match first {
            '#' => {
                let _comment = rest.by_ref().find(|c| *c == '\n');
                continue;
            }
            '"' => {
                while let Some(c) = rest.next() {
                    token.push(c);
                    match c {
                        '\\' => token.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ':' | '{' | '}' => {}
            c if c.is_whitespace() => continue,
            _ => {
                while let Some(c) =
                    rest.next_if(|c| !c.is_whitespace() && !matches!(c, ':' | '{' | '}'))
                {
                    token.push(c);
                }
            }
        }
        tokens.push(token);
    }
    tokens
}
