//! Scripts as packetdrill reads them: events in their order, each with its time.

use super::call::Call;
use super::packet::Packet;
use super::reader::{Reader, Stop};
use node::Time;
use std::string::{String, ToString};
use std::vec::Vec;

/// Bytes of a script at most.
const MAX_LENGTH: usize = 1 << 20;

/// See the [module](self).
pub struct Script {
    /// Options as on packetdrill's command line, without `--`.
    pub options: Vec<(String, String)>,
    pub events: Vec<Event>,
}

/// Something that the script does, or expects.
pub struct Event {
    pub line: usize,
    pub at: At,
    /// When a call that blocks ends; counted as `at` is.
    pub ends: Option<Time>,
    pub action: Action,
}

/// Time of an event, from the begin of the script or, if `is_relative`, from the event before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Any,
    Between {
        is_relative: bool,
        from: Time,
        to: Time,
    },
}

pub enum Action {
    /// A packet that arrives.
    Inbound(Packet),
    /// A packet that must leave.
    Outbound(Packet),
    Call(Call),
    /// Lines of the shell.
    Shell(String),
    /// Lines of Python.
    Code(String),
}

/// Reads a script.
///
/// # Errors
/// The first place that is not as it should be, or that is not in the subset.
pub fn read(text: &str) -> Result<Script, Stop> {
    let mut reader = Reader::new(text, 1);
    if text.len() > MAX_LENGTH {
        return Err(reader.stop("a script has at most 1 MiB"));
    }
    let mut script = Script {
        options: Vec::new(),
        events: Vec::new(),
    };
    loop {
        reader.skip();
        if !reader.eat("--") {
            break;
        }
        let line = reader.take_while(|c| !c.is_whitespace());
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        script.options.push((name.to_string(), value.to_string()));
    }
    while !reader.is_done() {
        script.events.push(event(&mut reader)?);
        reader.skip();
    }
    Ok(script)
}

fn event(reader: &mut Reader<'_>) -> Result<Event, Stop> {
    let line = reader.line;
    let (mut at, mut ends) = (relative(Time::ZERO), None);
    if !reader.rest().starts_with('`') {
        at = time(reader)?;
        reader.skip_spaces();
        if reader.eat("...") {
            reader.skip_spaces();
            ends = Some(reader.seconds()?);
        }
    }
    reader.skip();
    let action = match reader.rest().chars().next() {
        Some('<') => Action::Inbound(Packet::read(reader)?),
        Some('>') => Action::Outbound(Packet::read(reader)?),
        Some('`') => {
            reader.eat("`");
            Action::Shell(reader.take_until("`")?.to_string())
        }
        Some('%') => {
            reader.expect("%{")?;
            Action::Code(reader.take_until("}%")?.to_string())
        }
        _ => Action::Call(Call::read(reader)?),
    };
    Ok(Event {
        line,
        at,
        ends,
        action,
    })
}

fn relative(time: Time) -> At {
    At::Between {
        is_relative: true,
        from: time,
        to: time,
    }
}

fn time(reader: &mut Reader<'_>) -> Result<At, Stop> {
    if reader.eat("*") {
        return Ok(At::Any);
    }
    let is_relative = reader.eat("+");
    let from = reader.seconds()?;
    reader.skip_spaces();
    let mut to = from;
    if reader.eat("~") {
        reader.skip_spaces();
        if reader.eat("+") != is_relative {
            return Err(reader.stop("both ends of a range of times are relative, or none is"));
        }
        to = reader.seconds()?;
    }
    if to < from {
        return Err(reader.stop("a range of times ends before it begins"));
    }
    Ok(At::Between {
        is_relative,
        from,
        to,
    })
}
