//! What a switch's sX-runtime.json installs, as words of the control plane.

use super::form::{Entry, Replica, Runtime};
use ::pipeline::control::{Control, program};
use ::pipeline::environment::{Environment, Options};
use p4::compile::Compiled;
use p4::ir::{MatchKind, Program, Table};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The words, each of which the program has taken. An error begins with the place in the file.
pub fn words(runtime: &Runtime, compiled: &Compiled) -> Result<Vec<String>, String> {
    if runtime.target != "bmv2" {
        let target = &runtime.target;
        return Err(format!("target: `{target}` is not `bmv2`"));
    }
    let stem = |file: &str, end: &str| {
        let name = Path::new(file).file_name()?.to_str()?;
        name.strip_suffix(end).map(str::to_string)
    };
    let names = [
        stem(&runtime.bmv2_json, ".json"),
        stem(&runtime.p4info, ".p4.p4info.txtpb"),
    ];
    if names[0] != names[1] {
        return Err(format!(
            "p4info: `{}` is not that of bmv2_json, `{}`",
            runtime.p4info, runtime.bmv2_json
        ));
    }
    let Some(program) = &compiled.program else {
        return Ok(Vec::new());
    };
    let environment = Environment::new(Arc::new(program.clone()), Options::default());
    let environment = environment.map_err(|error| error.to_string())?;
    let control = Control::new(Arc::new(environment));
    let mut all = Vec::new();
    let mut say = |list: &str, index: usize, words: Result<String, String>| {
        let said = words.and_then(|words| match control.say(&words) {
            Ok(_) => Ok(words),
            Err(error) => Err(format!(": {error}")),
        });
        all.push(said.map_err(|error| format!("{list}[{index}]{error}"))?);
        Ok::<_, String>(())
    };
    for (index, entry) in runtime.table_entries.iter().enumerate() {
        say("table_entries", index, table_entry(entry, program))?;
    }
    for (index, group) in runtime.multicast_group_entries.iter().enumerate() {
        let (id, copies) = (group.multicast_group_id, replicas(&group.replicas));
        let words = format!("group add {id}{copies}");
        say("multicast_group_entries", index, Ok(words))?;
    }
    for (index, session) in runtime.clone_session_entries.iter().enumerate() {
        let (id, copies) = (session.clone_session_id, replicas(&session.replicas));
        let truncate = match session.packet_length_bytes {
            0 => String::new(),
            bytes => format!(" truncate {bytes}"),
        };
        let words = format!("mirror add {id}{copies}{truncate}");
        say("clone_session_entries", index, Ok(words))?;
    }
    Ok(all)
}

fn replicas(replicas: &[Replica]) -> String {
    let words = replicas.iter().map(|replica| {
        let Replica {
            egress_port,
            instance,
        } = replica;
        format!(" {egress_port}:{instance}")
    });
    words.collect()
}

/// Errors begin with the place behind `table_entries[N]`.
fn table_entry(entry: &Entry, of: &Program) -> Result<String, String> {
    let id = program::table(of, &entry.table).map_err(|error| format!(".table: {error}"))?;
    let table = &of.tables[id.index()];
    let name = word(&entry.table)?;
    let matches = entry.keys.as_ref().map_or(&[][..], |keys| &keys.0);
    let keys = match entry.default_action {
        true if matches.is_empty() => " default".to_string(),
        true => return Err(".match: a default action matches nothing; leave this out".into()),
        false => keys(matches, table)?,
    };
    let priority = match entry.priority {
        None | Some(0) => String::new(),
        Some(priority) => format!(" priority {priority}"),
    };
    let chosen = matches.iter().find(|(name, _)| {
        let key = table.keys.iter().find(|key| *key.name == **name);
        key.is_some_and(|key| {
            matches!(
                key.match_kind,
                MatchKind::Ternary | MatchKind::Range | MatchKind::Optional
            )
        })
    });
    if let (Some((key, _)), true) = (chosen, priority.is_empty()) {
        return Err(format!(
            ".priority: `{key}` of `{}` may match beside other entries, so that a priority above 0 is needed",
            entry.table
        ));
    }
    let verb = match entry.default_action {
        true => "set",
        false => "add",
    };
    let action = word(&entry.action_name)?;
    let arguments = arguments(entry, table, of)?;
    Ok(format!(
        "table {verb} {name}{keys}{priority} do {action}{arguments}"
    ))
}

fn keys(given: &[(String, Value)], table: &Table) -> Result<String, String> {
    let mut words = String::new();
    for (name, value) in given {
        let at = |error: String| format!(".match[\"{name}\"]: {error}");
        let key = table.keys.iter().find(|key| *key.name == **name);
        let Some(key) = key else {
            let names: Vec<&str> = table.keys.iter().map(|key| &*key.name).collect();
            let names = names.join(", ");
            return Err(at(format!("table `{}` has the keys {names}", table.name)));
        };
        let kind = &key.match_kind;
        let between = match kind {
            MatchKind::Lpm => Some("/"),
            MatchKind::Ternary => Some("&&&"),
            MatchKind::Range => Some(".."),
            _ => None,
        };
        let pair = match value {
            Value::Array(list) => &list[..],
            one => std::slice::from_ref(one),
        };
        let text = match (between, pair) {
            (None, [one]) => number(one, key.ty.width()).map_err(at)?,
            (Some(between), [first, second]) => {
                let width = key.ty.width();
                let first = number(first, width).map_err(at)?;
                let second = number(second, width).map_err(at)?;
                format!("{first}{between}{second}")
            }
            (None, _) => return Err(at(format!("the key is {kind}: write one value"))),
            (Some(_), _) => {
                let what = match kind {
                    MatchKind::Lpm => "[VALUE, LENGTH]",
                    MatchKind::Ternary => "[VALUE, MASK]",
                    _ => "[FROM, TO]",
                };
                return Err(at(format!("the key is {kind}: write {what}")));
            }
        };
        words += &format!(" {}={text}", word(name).map_err(at)?);
    }
    Ok(words)
}

fn arguments(entry: &Entry, table: &Table, of: &Program) -> Result<String, String> {
    let mut words = String::new();
    let index = program::action(of, table, &entry.action_name);
    let index = index.map_err(|error| format!(".action_name: {error}"))?;
    let listed = &table.actions[index as usize];
    let parameters = &of.actions[listed.action.index()].parameters;
    for (name, value) in &entry.action_params.0 {
        let at = |error: String| format!(".action_params[\"{name}\"]: {error}");
        let Some((_, slot, _)) = parameters.iter().find(|(other, ..)| **other == **name) else {
            let names: Vec<&str> = parameters.iter().map(|(name, ..)| &**name).collect();
            let (action, names) = (&entry.action_name, names.join(", "));
            return Err(at(match names.is_empty() {
                true => format!("action `{action}` takes nothing"),
                false => format!("action `{action}` takes {names}"),
            }));
        };
        let width = of.slots[slot.index()].ty.width();
        let name = word(name).map_err(at)?;
        let value = number(value, width).map_err(at)?;
        words += &format!(" {name}={value}");
    }
    Ok(words)
}

/// A number, or an address in quotes. One that is negative stands for its two's complement in `width` bits.
fn number(value: &Value, width: u32) -> Result<String, String> {
    let wrong = || {
        format!(
            "{value} is neither a number from 0 nor an IPv4, IPv6 or Ethernet address in quotes"
        )
    };
    match value {
        Value::Array(list) if list.len() == 1 => number(&list[0], width),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Ok(number.to_string()),
            (None, Some(negative)) if (1..=64).contains(&width) => {
                let least = i128::from(negative) + (1 << width);
                match least >= 1 << (width - 1) {
                    true => Ok(least.to_string()),
                    false => Err(format!("{negative} does not fit in {width} bits")),
                }
            }
            _ => Err(wrong()),
        },
        Value::String(text) => {
            let address = text.parse::<std::net::IpAddr>().is_ok();
            let mac = text.parse::<packet::ethernet::Mac>().is_ok();
            match address || mac {
                true => Ok(text.clone()),
                false => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

/// A name as one word.
fn word(name: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.$[]".contains(c);
    match name.chars().all(plain) && !name.is_empty() {
        true => Ok(name.into()),
        false if name.contains(['"', '\n', '\r']) => {
            Err(format!(": {name:?} cannot be the name of anything"))
        }
        false => Ok(format!("\"{name}\"")),
    }
}
