//! A trace for people.

use super::{Event, Trace};
use crate::cause::Cause;
use alloc::format;
use alloc::string::String;
use core::fmt::Write;
use p4::ir::{Program, SectionKind, SlotId, Ty};
use p4::source::{Sources, Span};
use p4::value::Bits;

/// A value as a person reads it: by the name it has in its enumeration, true or false, small ones in decimal, wide ones in hexadecimal.
#[must_use]
pub(super) fn shown(program: &Program, slot: Option<SlotId>, value: &Bits) -> String {
    if let Some(slot) = slot.map(|slot| &program.slots[slot.index()]) {
        if let Some(name) = name_of(program, slot.enumeration, value) {
            return name.into();
        }
        match slot.ty {
            Ty::Bool => return format!("{}", value.is_true()),
            Ty::Signed(_) => return format!("{}", value.signed()),
            _ => {}
        }
    }
    number(value)
}

pub(super) fn name_of<'a>(
    program: &'a Program,
    enumeration: Option<p4::ir::EnumId>,
    value: &Bits,
) -> Option<&'a str> {
    let members = &program.enumerations.get(enumeration?.index())?.members;
    let mut members = members.iter();
    let member = members.find(|(_, code)| code.unsigned() == value.unsigned());
    member.map(|(name, _)| &**name)
}

/// Up to 16 bits in decimal, wider in hexadecimal with all its digits.
pub(super) fn number(value: &Bits) -> String {
    match value.width() {
        0..=16 => format!("{}", value.unsigned()),
        width => format!(
            "0x{:0digits$x}",
            value.unsigned(),
            digits = width.div_ceil(4) as usize
        ),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The last part of a name: `hdr.ipv4.ttl` is `ttl` in the header `hdr.ipv4`.
fn within<'a>(header: &str, field: &'a str) -> &'a str {
    field
        .strip_prefix(header)
        .map_or(field, |rest| rest.trim_start_matches('.'))
}

/// The events as text, a line for each. With `sources` each line that stands for a place in the program names it.
#[must_use]
pub fn text(trace: &Trace, program: &Program, sources: Option<&Sources>) -> String {
    let mut text = String::new();
    for event in &trace.events {
        line(&mut text, event, program, sources);
    }
    if trace.lost > 0 {
        let _ = writeln!(text, "... and {} more", trace.lost);
    }
    text
}

fn place(span: Span, sources: Option<&Sources>) -> String {
    match sources.and_then(|sources| sources.location(span.start)) {
        Some(place) if span != Span::default() => format!("    [{}:{}]", place.file, place.line),
        _ => String::new(),
    }
}

fn line(text: &mut String, event: &Event, program: &Program, sources: Option<&Sources>) {
    let show = |slot, value: &Bits| shown(program, slot, value);
    let at = |span| place(span, sources);
    let _ = match event {
        Event::Pass { cause, port, bytes } => {
            let what = match cause {
                Cause::Arrival => format!("in by port {port}"),
                Cause::Resubmit => format!("resubmitted, from port {port}"),
                Cause::Recirculate => format!("recirculated, from port {port}"),
                Cause::Loopback => format!("looped back, from port {port}"),
                Cause::Egress(egress, 0) => format!("to port {egress}"),
                Cause::Egress(egress, instance) => format!("to port {egress}, copy {instance}"),
            };
            match cause {
                Cause::Egress(..) => writeln!(text, "{what}"),
                _ => writeln!(text, "packet {what}, {} bytes: {}", bytes.len(), hex(bytes)),
            }
        }
        Event::Section(section) => {
            let section = &program.sections[section.index()];
            let kind = match section.kind {
                SectionKind::Parser => "parser",
                SectionKind::Control => "control",
            };
            writeln!(text, "  {kind} {}", section.name)
        }
        Event::State(name) => writeln!(text, "    state {name}"),
        Event::Extract {
            header,
            values,
            span,
        } => {
            let header = &program.headers[header.index()];
            let _ = write!(text, "      extract {}", header.name);
            for (index, (slot, value)) in header.fields.iter().zip(values).enumerate() {
                let name = &program.slots[slot.index()].name;
                let separator = if index == 0 { ":" } else { "," };
                let _ = write!(
                    text,
                    "{separator} {} = {}",
                    within(&header.name, name),
                    show(Some(*slot), value)
                );
            }
            writeln!(text, "{}", at(*span))
        }
        Event::Error { error, stack, span } => {
            let stack = stack.map(|stack| &program.stacks[stack.index()].name);
            match stack {
                Some(stack) => writeln!(text, "      error {error}: {stack} is full{}", at(*span)),
                None => writeln!(text, "      error {error}{}", at(*span)),
            }
        }
        Event::Select { keys, case } => {
            let keys: String = join(keys.iter().map(number));
            match case {
                Some(case) => writeln!(text, "      select ({keys}): case {}", case + 1),
                None => writeln!(text, "      select ({keys}): default"),
            }
        }
        Event::Branch { condition, taken } => {
            writeln!(text, "    if ({condition}): {taken}")
        }
        Event::Table {
            table,
            keys,
            entry,
            member,
            action,
        } => {
            let table = &program.tables[table.index()];
            let keys = table.keys.iter().zip(keys).map(|(key, value)| {
                let slot = match key.value {
                    p4::ir::Expr::Slot(slot) => Some(slot),
                    _ => None,
                };
                format!("{} = {}", key.name, show(slot, value))
            });
            let keys = join(keys);
            let _ = write!(text, "    table {} ({keys}): ", table.name);
            let _ = match entry {
                Some(handle) => write!(text, "hit entry {handle}"),
                None => write!(text, "miss"),
            };
            if let Some(member) = member {
                let _ = write!(text, ", member {member}");
            }
            match action {
                Some((action, arguments)) => {
                    let action = &program.actions[action.index()];
                    let arguments = action.parameters.iter().zip(arguments);
                    let arguments = join(arguments.map(|((name, slot, _), value)| {
                        format!("{name} = {}", show(Some(*slot), value))
                    }));
                    writeln!(text, " -> {}({arguments})", action.name)
                }
                None => writeln!(text, ", no action"),
            }
        }
        Event::Assign {
            slot,
            old,
            new,
            span,
        } => {
            let name = &program.slots[slot.index()].name;
            let (old, new) = (show(Some(*slot), old), show(Some(*slot), new));
            match name.strip_suffix(".$valid") {
                Some(header) if new == "true" => {
                    writeln!(text, "      {header} becomes valid{}", at(*span))
                }
                Some(header) => writeln!(text, "      {header} becomes invalid{}", at(*span)),
                None => writeln!(text, "      {name}: {old} -> {new}{}", at(*span)),
            }
        }
        Event::Call {
            name,
            inputs,
            text: message,
            span,
        } => match message {
            Some(message) => writeln!(text, "      log: {message}{}", at(*span)),
            None => {
                let inputs = join(inputs.iter().map(number));
                writeln!(text, "      {name}({inputs}){}", at(*span))
            }
        },
        Event::Emit { header, valid } => {
            let name = &program.headers[header.index()].name;
            match valid {
                true => writeln!(text, "    emit {name}"),
                false => writeln!(text, "    emit {name}: invalid, nothing"),
            }
        }
        Event::Clone { session, count } => match count {
            Some(count) => writeln!(text, "  clone session {session}: copies: {count}"),
            None => writeln!(text, "  clone session {session} is not there: no copy"),
        },
        Event::Multicast { group, count } => {
            writeln!(text, "  multicast group {group}: copies: {count}")
        }
        Event::Drop { reason } => writeln!(text, "  dropped: {reason}"),
        Event::Send { port, bytes } => {
            writeln!(
                text,
                "out by port {port}, {} bytes: {}",
                bytes.len(),
                hex(bytes)
            )
        }
    };
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.fold(String::new(), |mut all, part| {
        if !all.is_empty() {
            all.push_str(", ");
        }
        all.push_str(&part);
        all
    })
}
