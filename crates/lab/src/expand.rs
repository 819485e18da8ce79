//! Sections that stand for many: `each = 64`, and `{n}` in their names and texts.
//!
//! | written | with n = 10 |
//! |---|---|
//! | `{n}` | `10` |
//! | `{n+1}`, `{n-1}` | `11`, `9` |
//! | `{n+1%11}` | `0`: the sum, modulo 11 |
//! | `{n:02x}`, `{n+1:04}` | `0a`, `0011` |
//!
//! A text that is nothing but one of these, without a `:` part, becomes a number.

use crate::fault::Fault;
use crate::fields::Fields;
use crate::tree::{Entry, Value, What};
use std::ops::Range;
use std::str::FromStr;

/// Maximum number of copies of a section.
const MAX_COPIES: u64 = 65_536;
/// Maximum total length of all copies of a section, bytes of text.
const MAX_COPIES_LEN: usize = 8 << 20;

/// Maximum number of nodes of a lab, and of links.
pub const MAX_NODES: usize = 100_000;

/// The sections of a `[[name]]`, each repeated as often as it says.
pub(crate) fn list(value: Option<&Value>, name: &str, faults: &mut Vec<Fault>) -> Vec<Value> {
    let Some(value) = value else {
        return Vec::new();
    };
    let What::List(sections) = &value.what else {
        let fault = Fault::new(value.span.clone(), "this section may appear several times");
        faults.push(fault.help(format!("write {name} with double brackets")));
        return Vec::new();
    };
    let mut all = Vec::new();
    for section in sections {
        for (number, mut copy) in copies(section, faults) {
            if number.is_some() {
                copy.take("each");
            }
            all.push(copy);
        }
        if !limit(all.len(), &section.span, "sections", faults) {
            return Vec::new();
        }
    }
    all
}

/// Whether there are still not too many.
pub(crate) fn limit(
    count: usize,
    span: &Range<usize>,
    what: &str,
    faults: &mut Vec<Fault>,
) -> bool {
    if count > MAX_NODES {
        let message = format!("a lab has at most {MAX_NODES} {what}");
        let fault = Fault::new(span.clone(), message);
        faults.push(fault.help("make `each` smaller"));
    }
    count <= MAX_NODES
}

/// The copies of a section, each with its number; one without a number if it does not say `each`.
pub(crate) fn copies(section: &Value, faults: &mut Vec<Fault>) -> Vec<(Option<u64>, Value)> {
    let mut fields = match &section.what {
        What::Table(_) => Fields::of(section, "a table", faults),
        _ => return vec![(None, section.clone())],
    };
    let Some(each) = fields.value("each") else {
        return vec![(None, section.clone())];
    };
    let range = match &each.what {
        What::Integer(count) => u64::try_from(*count).ok().map(|count| 0..count),
        _ => each.read().ok().map(|Numbers(range)| range),
    };
    let Some(range) = range.filter(|range| (1..=MAX_COPIES).contains(&(range.end - range.start)))
    else {
        let fault = Fault::new(each.span.clone(), "not a number of copies");
        faults.push(fault.help(format!(
            "write a number, such as `each = 64`, or a range, such as `each = \"1..65\"`, of 1 to {MAX_COPIES}"
        )));
        return Vec::new();
    };
    if weight(section).saturating_mul((range.end - range.start) as usize) > MAX_COPIES_LEN {
        let fault = Fault::new(each.span.clone(), "too many copies of so large a section");
        faults.push(fault.help("make `each` smaller"));
        return Vec::new();
    }
    let mut copies = Vec::new();
    for n in range {
        match substitute(section, n) {
            Ok(copy) => copies.push((Some(n), copy)),
            Err(fault) => {
                // The next copies have the same fault.
                faults.push(fault);
                break;
            }
        }
    }
    copies
}

/// About how many bytes a copy takes.
fn weight(value: &Value) -> usize {
    match &value.what {
        What::Text(text) => 16 + text.len(),
        What::List(list) => list.iter().map(weight).sum(),
        What::Table(entries) => {
            let of_entry = |entry: &Entry| entry.key.len() + weight(&entry.value);
            entries.iter().map(of_entry).sum()
        }
        _ => 16,
    }
}

struct Numbers(Range<u64>);

node::deserialize_from_str!(Numbers: "numbers, such as \"0..8\"");

impl FromStr for Numbers {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Numbers, &'static str> {
        let (from, to) = text.split_once("..").ok_or("no range")?;
        match (from.trim().parse(), to.trim().parse()) {
            (Ok(from), Ok(to)) if from < to => Ok(Numbers(from..to)),
            _ => Err("no range"),
        }
    }
}

/// A copy in which the places for `n` are filled.
pub(crate) fn substitute(value: &Value, n: u64) -> Result<Value, Fault> {
    let mut copy = value.clone();
    match &mut copy.what {
        What::Text(text) if text.contains('{') => {
            let filled = fill(text, n).map_err(|error| {
                let fault = Fault::new(value.span.clone(), error.to_string());
                fault.help(
                    "in a section with `each`, `{n}`, `{n+1}`, `{n+1%64}` and `{n:02x}` are known",
                )
            })?;
            let whole = text.starts_with('{') && text.find('}') == Some(text.len() - 1);
            let number = filled.parse().ok().filter(|_| whole && !text.contains(':'));
            copy.what = number.map_or(What::Text(filled), What::Integer);
        }
        What::List(list) => {
            for item in list {
                *item = substitute(item, n)?;
            }
        }
        What::Table(entries) => {
            for entry in entries {
                entry.value = substitute(&entry.value, n)?;
            }
        }
        _ => {}
    }
    Ok(copy)
}

/// What braces in a text cannot mean.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExpandError {
    #[error("a `{{` without its `}}` in \"{0}\"")]
    Unclosed(String),
    #[error("`{{{0}}}` is not known")]
    Unknown(String),
}

/// Puts `n` into the places of a text that are for it.
pub(crate) fn fill(text: &str, n: u64) -> Result<String, ExpandError> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (place, behind) = after
            .split_once('}')
            .ok_or_else(|| ExpandError::Unclosed(text.into()))?;
        let number = one(place, n).ok_or_else(|| ExpandError::Unknown(place.into()))?;
        filled.push_str(&number);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// What stands between the braces, without its meaning's spelling: `n+1%64:02x`.
fn one(place: &str, n: u64) -> Option<String> {
    let (sum, format) = match place.split_once(':') {
        Some((sum, format)) => (sum, Some(format)),
        None => (place, None),
    };
    let (sum, modulus) = match sum.split_once('%') {
        Some((sum, modulus)) => (sum, Some(modulus.trim().parse::<u64>().ok()?)),
        None => (sum, None),
    };
    let sum = sum.trim().strip_prefix('n')?.trim();
    let term = |digits: &str| digits.trim().parse::<u64>().ok();
    let value = match (sum.strip_prefix('+'), sum.strip_prefix('-')) {
        (Some(plus), _) => n.checked_add(term(plus)?)?,
        (_, Some(minus)) => n.checked_sub(term(minus)?)?,
        _ if sum.is_empty() => n,
        _ => return None,
    };
    let value = match modulus {
        Some(modulus) => value.checked_rem(modulus)?,
        None => value,
    };
    let Some(format) = format else {
        return Some(value.to_string());
    };
    let (width, hex) = match format.strip_suffix('x') {
        Some(width) => (width, true),
        None => (format, false),
    };
    let width = match width.strip_prefix('0') {
        Some(width) => width.parse::<usize>().ok().filter(|width| *width <= 20)?,
        None if width.is_empty() => 0,
        None => return None,
    };
    Some(match hex {
        true => format!("{value:0width$x}"),
        false => format!("{value:0width$}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_as_the_table_says() {
        for (text, filled) in [
            ("h{n}", "h10"),
            ("{n+1}.{n-1}", "11.9"),
            ("{n+1%11}", "0"),
            ("02:{n:02x}", "02:0a"),
            ("{n+1:04}", "0011"),
            ("none", "none"),
        ] {
            assert_eq!(fill(text, 10).as_deref(), Ok(filled));
        }
    }

    #[test]
    fn what_is_not_known_in_braces_is_refused() {
        for text in [
            "{", "{m}", "{n*2}", "{n%0}", "{n-11}", "{n:999x}", "{n:2}", "{}",
        ] {
            assert!(fill(text, 10).is_err(), "{text}");
        }
    }
}
