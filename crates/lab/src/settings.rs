//! Keys of a lab file that are given another value before it is read: `link.0.rate` for the rate of the first link.

use crate::fault::{Fault, nearest};
use crate::tree::{Entry, Value, What};
use std::ops::Range;

/// Gives a key another value, in the type that it has in the file.
///
/// # Errors
/// What is wrong, at the place in the file at which the way to the key ends.
pub(crate) fn set(root: &mut Value, key: &str, text: &str) -> Result<(), Fault> {
    if let (Some(kind), What::Table(entries)) = (key.strip_prefix("plot."), &mut root.what)
        && kind.chars().all(|letter| letter.is_ascii_alphabetic())
    {
        add_plot(entries, &root.span, [("kind", kind), ("file", text)]);
        return Ok(());
    }
    let mut at = root;
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let span = at.span.clone();
        let kind = at.kind();
        at = match &mut at.what {
            What::List(list) => {
                let count = list.len();
                let index = part.parse::<usize>().ok();
                let item = index.and_then(|index| list.get_mut(index));
                item.ok_or_else(|| {
                    let message = format!("there is no `{part}` in `{key}`: there are {count}");
                    Fault::new(span, message)
                        .help("they are counted from 0, in the order of the file")
                })?
            }
            What::Table(entries) => {
                let found = entries.iter().position(|entry| entry.key == part);
                let index = match found {
                    Some(index) => index,
                    None if last => {
                        let value = Value {
                            span: span.clone(),
                            what: guess(text),
                        };
                        entries.push(Entry {
                            key: part.into(),
                            key_span: span,
                            value,
                        });
                        return Ok(());
                    }
                    None if part.parse::<usize>().is_ok()
                        || span.start == span.end && !SECTIONS.contains(&part) =>
                    {
                        let keys = entries.iter().map(|entry| &entry.key[..]);
                        let keys: Vec<&str> = keys.collect();
                        let message = format!("there is no `{part}` in `{key}`");
                        return Err(Fault::new(span, message).help(
                            nearest(part, keys.iter().copied()).map_or_else(
                                || format!("there are {}", keys.join(", ")),
                                |near| format!("did you mean `{near}`?"),
                            ),
                        ));
                    }
                    None => {
                        // A section that the file does not have, of a node that a topology makes perhaps.
                        entries.push(Entry {
                            key: part.into(),
                            key_span: span.clone(),
                            value: Value {
                                span,
                                what: What::Table(Vec::new()),
                            },
                        });
                        entries.len() - 1
                    }
                };
                &mut entries[index].value
            }
            _ => {
                let message = format!("`{key}` goes on behind {kind}");
                return Err(Fault::new(span, message));
            }
        };
    }
    at.what = match &at.what {
        What::Text(_) => What::Text(text.into()),
        What::List(_) | What::Table(_) => {
            let message = format!("`{key}` is {}, which no single value stands for", at.kind());
            return Err(Fault::new(at.span.clone(), message).help("name a key in it"));
        }
        _ => guess(text),
    };
    Ok(())
}

/// Adds a section `[[plot]]`: the key `plot.rtt` has the file of one of that kind.
fn add_plot(entries: &mut Vec<Entry>, span: &Range<usize>, keys: [(&str, &str); 2]) {
    let entry = |key: &str, what| Entry {
        key: key.into(),
        key_span: span.clone(),
        value: Value {
            span: span.clone(),
            what,
        },
    };
    let section = keys.map(|(key, text)| entry(key, What::Text(text.into())));
    let section = Value {
        span: span.clone(),
        what: What::Table(section.into()),
    };
    match entries.iter_mut().find(|entry| entry.key == "plot") {
        Some(Entry {
            value: Value {
                what: What::List(plots),
                ..
            },
            ..
        }) => plots.push(section),
        _ => entries.push(entry("plot", What::List(vec![section]))),
    }
}

/// Sections that a file may be without.
const SECTIONS: [&str; 5] = ["lab", "default", "node", "queues", "topology"];

/// A value of the type that it looks like.
fn guess(text: &str) -> What {
    let plain = text.replace('_', "");
    match text {
        "true" => What::Flag(true),
        "false" => What::Flag(false),
        _ => match (plain.parse::<i64>(), plain.parse::<f64>()) {
            (Ok(number), _) => What::Integer(number),
            (_, Ok(number)) => What::Float(number),
            _ => What::Text(text.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(key: &str, text: &str) -> Result<String, Fault> {
        let file = "[lab]\nseed = 1\n[node.a]\nrate = '1 Gb/s'\n[[link]]\nends = ['a.0', 'b.0']\n";
        let mut root = Value {
            span: file.len()..file.len(),
            what: What::Table(crate::tree::parse(file, &mut Vec::new())),
        };
        set(&mut root, key, text)?;
        let mut at = &root;
        for part in key.split('.') {
            at = match &at.what {
                What::List(list) => &list[part.parse::<usize>().unwrap()],
                _ => at.get(part).unwrap(),
            };
        }
        Ok(format!("{:?}", at.what))
    }

    #[test]
    fn a_key_is_set_in_the_type_that_it_has_or_looks_like() {
        for (key, text, what) in [
            ("lab.seed", "7", "Integer(7)"),
            ("node.a.rate", "5", "Text(\"5\")"),
            ("link.0.delay", "5 us", "Text(\"5 us\")"),
            ("link.0.loss", "0.1", "Float(0.1)"),
            ("link.0.ends.1", "c.0", "Text(\"c.0\")"),
            ("node.h1.count", "1_000", "Integer(1000)"),
            ("topology.k", "4", "Integer(4)"),
        ] {
            assert_eq!(with(key, text).unwrap(), what, "{key}");
        }
    }

    #[test]
    fn a_way_that_leads_nowhere_is_told() {
        for (key, wanted) in [
            ("link.1.rate", "there is no `1`"),
            ("links.0.rate", "there is no `links`"),
            ("node.a.rate.x", "goes on behind a text"),
            ("link.0.ends", "is a list"),
        ] {
            let error = with(key, "1").unwrap_err().message;
            assert!(error.contains(wanted), "{key}: {error}");
        }
    }
}
