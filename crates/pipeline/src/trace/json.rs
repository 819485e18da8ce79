//! A trace for programs: JSON Lines, an object for each event.

use super::text::{hex, name_of};
use super::{Event, Trace};
use crate::cause::Cause;
use alloc::format;
use alloc::string::String;
use core::fmt::Write;
use p4::ir::{Program, SlotId};
use p4::source::{Sources, Span};
use p4::value::Bits;

/// The events as JSON Lines. Values are strings of hexadecimal digits, and where they have a name in the program, that.
#[must_use]
pub fn json(trace: &Trace, program: &Program, sources: Option<&Sources>) -> String {
    let mut text = String::new();
    for event in &trace.events {
        let mut object = Object::new();
        fill(&mut object, event, program, sources);
        text.push_str(&object.end());
        text.push('\n');
    }
    text
}

struct Object(String);

impl Object {
    fn new() -> Self {
        Object(format!(
            "{{\"schema\":\"{}\"",
            packet::json::schema("p4-trace")
        ))
    }

    fn raw(&mut self, name: &str, value: &str) {
        let _ = write!(self.0, ",\"{name}\":{value}");
    }

    fn text(&mut self, name: &str, value: &str) {
        self.raw(name, &quoted(value));
    }

    fn number(&mut self, name: &str, value: impl Into<u64>) {
        self.raw(name, &format!("{}", value.into()));
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let _ = match c {
            '"' => out.write_str("\\\""),
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            c if (c as u32) < 0x20 => write!(out, "\\u{:04x}", c as u32),
            c => out.write_char(c),
        };
    }
    out.push('"');
    out
}

fn value(program: &Program, slot: Option<SlotId>, bits: &Bits) -> String {
    let enumeration = slot.and_then(|slot| program.slots[slot.index()].enumeration);
    match name_of(program, enumeration, bits) {
        Some(name) => quoted(name),
        None => format!("\"0x{:x}\"", bits.unsigned()),
    }
}

fn list(parts: impl Iterator<Item = String>) -> String {
    let mut out = String::from("[");
    for (index, part) in parts.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&part);
    }
    out.push(']');
    out
}

fn map(parts: impl Iterator<Item = (String, String)>) -> String {
    let mut out = String::from("{");
    for (index, (name, value)) in parts.enumerate() {
        if index > 0 {
            out.push(',');
        }
        let _ = write!(out, "{}:{value}", quoted(&name));
    }
    out.push('}');
    out
}

fn place(object: &mut Object, span: Span, sources: Option<&Sources>) {
    if span != Span::default()
        && let Some(place) = sources.and_then(|sources| sources.location(span.start))
    {
        object.text("file", &place.file);
        object.number("line", place.line);
    }
}

fn fill(object: &mut Object, event: &Event, program: &Program, sources: Option<&Sources>) {
    match event {
        Event::Pass { cause, port, bytes } => {
            object.text("type", "pass");
            let (cause, egress) = match cause {
                Cause::Arrival => ("arrival", None),
                Cause::Resubmit => ("resubmit", None),
                Cause::Recirculate => ("recirculate", None),
                Cause::Loopback => ("loopback", None),
                Cause::Egress(egress, instance) => ("egress", Some((*egress, *instance))),
            };
            object.text("cause", cause);
            object.number("ingress_port", *port);
            if let Some((port, instance)) = egress {
                object.number("egress_port", port);
                object.number("instance", instance);
            }
            object.text("bytes", &hex(bytes));
        }
        Event::Section(section) => {
            let section = &program.sections[section.index()];
            object.text("type", "section");
            object.text("name", &section.name);
            object.text("role", section.role.parameter(&program.architecture));
        }
        Event::State(name) => {
            object.text("type", "state");
            object.text("name", name);
        }
        Event::Extract {
            header,
            values,
            span,
        } => {
            let header = &program.headers[header.index()];
            object.text("type", "extract");
            object.text("header", &header.name);
            let fields = header.fields.iter().zip(values).map(|(slot, bits)| {
                let name = &program.slots[slot.index()].name;
                (String::from(&**name), value(program, Some(*slot), bits))
            });
            object.raw("fields", &map(fields));
            place(object, *span, sources);
        }
        Event::Error { error, stack, span } => {
            object.text("type", "error");
            object.text("error", error.name());
            if let Some(stack) = stack {
                object.text("stack", &program.stacks[stack.index()].name);
            }
            place(object, *span, sources);
        }
        Event::Select { keys, case } => {
            object.text("type", "select");
            object.raw(
                "keys",
                &list(keys.iter().map(|bits| value(program, None, bits))),
            );
            match case {
                Some(case) => object.number("case", *case as u64),
                None => object.raw("case", "null"),
            }
        }
        Event::Branch { condition, taken } => {
            object.text("type", "branch");
            object.text("condition", condition);
            object.raw("taken", if *taken { "true" } else { "false" });
        }
        Event::Table {
            table,
            keys,
            entry,
            member,
            action,
        } => {
            let table = &program.tables[table.index()];
            object.text("type", "table");
            object.text("table", &table.name);
            let keys = table.keys.iter().zip(keys);
            let keys =
                keys.map(|(key, bits)| (String::from(&*key.name), value(program, None, bits)));
            object.raw("keys", &map(keys));
            object.raw("hit", if entry.is_some() { "true" } else { "false" });
            if let Some(handle) = entry {
                object.number("entry", *handle);
            }
            if let Some(member) = member {
                object.number("member", *member);
            }
            if let Some((action, arguments)) = action {
                let action = &program.actions[action.index()];
                object.text("action", &action.name);
                let arguments = action.parameters.iter().zip(arguments);
                let arguments = arguments.map(|((name, slot, _), bits)| {
                    (String::from(&**name), value(program, Some(*slot), bits))
                });
                object.raw("arguments", &map(arguments));
            }
        }
        Event::Assign {
            slot,
            old,
            new,
            span,
        } => {
            object.text("type", "assign");
            object.text("field", &program.slots[slot.index()].name);
            object.raw("old", &value(program, Some(*slot), old));
            object.raw("new", &value(program, Some(*slot), new));
            place(object, *span, sources);
        }
        Event::Call {
            name,
            inputs,
            text,
            span,
        } => {
            object.text("type", "call");
            object.text("name", name);
            object.raw(
                "inputs",
                &list(inputs.iter().map(|bits| value(program, None, bits))),
            );
            if let Some(text) = text {
                object.text("text", text);
            }
            place(object, *span, sources);
        }
        Event::Emit { header, valid } => {
            object.text("type", "emit");
            object.text("header", &program.headers[header.index()].name);
            object.raw("valid", if *valid { "true" } else { "false" });
        }
        Event::Clone { session, count } => {
            object.text("type", "clone");
            object.number("session", *session);
            match count {
                Some(count) => object.number("copies", *count as u64),
                None => object.raw("copies", "null"),
            }
        }
        Event::Multicast { group, count } => {
            object.text("type", "multicast");
            object.number("group", *group);
            object.number("copies", *count as u64);
        }
        Event::Drop { reason } => {
            object.text("type", "drop");
            object.text("reason", reason.reason());
        }
        Event::Send { port, bytes } => {
            object.text("type", "send");
            object.number("port", *port);
            object.text("bytes", &hex(bytes));
        }
    }
}
