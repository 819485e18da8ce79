//! Names as people write them: all of it, or as much of its end as is needed.

use super::Error;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// Which of `names` is meant: the same name (a leading dot does not count), or the only one that ends in `.given`. A name may stand several
/// times in the list; its first index is the answer. `what` is the kind of thing for messages: `table`.
pub fn resolve<'a>(
    what: &str,
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<usize, Error> {
    let names: Vec<String> = names.into_iter().map(plain).collect();
    let wanted = plain(given);
    if let Some(index) = names.iter().position(|name| *name == wanted) {
        return Ok(index);
    }
    let mut found: Vec<usize> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if ends_in(name, &wanted) && !found.iter().any(|other| names[*other] == *name) {
            found.push(index);
        }
    }
    match found[..] {
        [index] => Ok(index),
        [] => Err(unknown(what, given, &wanted, &names)),
        _ => Err(Error::name(format!(
            "{what} `{given}` may be {}: write more of the name",
            list(found.iter().map(|index| names[*index].as_str()))
        ))),
    }
}

/// Without the leading dot of a global name and the spaces of an expression, and with `isValid()`
/// as P4_14 and test files write it.
fn plain(name: &str) -> String {
    name.strip_prefix('.')
        .unwrap_or(name)
        .replace(' ', "")
        .replace(".isValid()", ".$valid$")
}

fn ends_in(name: &str, end: &str) -> bool {
    !end.is_empty()
        && name
            .strip_suffix(end)
            .is_some_and(|before| before.ends_with('.'))
}

fn unknown(what: &str, given: &str, wanted: &str, names: &[String]) -> Error {
    if names.is_empty() {
        return Error::name(format!(
            "there is no {what} `{given}`: there is none at all"
        ));
    }
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_string();
    let length = wanted.chars().count();
    let allowed = if length < 4 { 1 } else { (length / 3).max(2) };
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .map(|name| {
            let whole = distance(name, wanted);
            (whole.min(distance(&last(name), &last(wanted))), name)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    near.sort();
    near.dedup();
    let hint = match near.first() {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None if names.len() <= 8 => format!("there is {}", list(names.iter().map(String::as_str))),
        None => format!(
            "there are {} and {} more",
            list(names[..6].iter().map(String::as_str)),
            names.len() - 6
        ),
    };
    Error::name(format!("there is no {what} `{given}`: {hint}"))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// How many letters must be put in, left out or changed; long names are told apart by their first hundred letters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(100).enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = row[j] + usize::from(x != *y);
            next.push(change.min(row[j + 1] + 1).min(next[j] + 1));
        }
        row = next;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["ingress.ipv4_lpm", "ingress.acl", "egress.acl", "NoAction"];

    #[test]
    fn a_name_is_found_by_all_of_it_or_by_its_end() {
        for (given, index) in [
            ("ingress.ipv4_lpm", 0),
            ("ipv4_lpm", 0),
            (".ipv4_lpm", 0),
            ("egress.acl", 2),
            (".NoAction", 3),
        ] {
            assert_eq!(resolve("table", given, NAMES), Ok(index), "{given}");
        }
        assert_eq!(resolve("key", "h.isValid()", ["hdr.h.$valid$"]), Ok(0));
        assert_eq!(resolve("table", "a", ["c.a", "c.a"]), Ok(0));
    }

    #[test]
    fn a_name_that_is_not_there_or_not_enough_says_what_is_there() {
        for (given, says) in [
            ("acl", "may be `ingress.acl`, `egress.acl`"),
            ("ipv4_lmp", "did you mean `ingress.ipv4_lpm`?"),
            ("pv4_lpm", "did you mean `ingress.ipv4_lpm`?"),
            ("something", "there is `ingress.ipv4_lpm`"),
            ("", "there is no table"),
        ] {
            let error = resolve("table", given, NAMES).unwrap_err().to_string();
            assert!(error.contains(says), "{given}: {error}");
        }
    }
}
