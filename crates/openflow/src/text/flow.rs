//! Flows as text.

use super::action::instructions;
use super::field::{self, Prerequisites};
use super::{Piece, TextError, show_instructions, show_match};
use crate::list::List;
use crate::matching::Match;
use crate::message::{ANY_GROUP, FlowCommand, FlowMod, FlowQuery, FlowStats, flow_flags};
use crate::oxm::Oxm;
use crate::port::PortNo;
use crate::version::Version;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// A flow as read from a text: to add, to change, to delete, or to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The version that its instructions are written for.
    pub version: Version,
    /// The table, if one is named.
    pub table: Option<u8>,
    /// The priority, if one is named.
    pub priority: Option<u16>,
    pub cookie: u64,
    /// The bits of the cookie that must be the same, to change, delete or ask for.
    pub cookie_mask: u64,
    /// Seconds without a packet.
    pub idle_timeout: u16,
    /// Seconds.
    pub hard_timeout: u16,
    /// Bits of [`flow_flags`].
    pub flags: u16,
    /// Only flows that output there.
    pub out_port: PortNo,
    /// Only flows that have this group.
    pub out_group: u32,
    /// What it matches, in order.
    pub fields: Vec<Oxm>,
    /// What it does: instructions in the form of the version.
    pub instructions: Vec<u8>,
}

impl Flow {
    /// Reads a flow. What a dump says of counters and times is passed over, so that a line of a dump is a flow.
    ///
    /// # Errors
    /// When a piece cannot be read.
    pub fn parse(version: Version, text: &str) -> Result<Flow, TextError> {
        let whole = Piece::new(text);
        let (front, behind) = split_actions(whole);
        let mut flow = Flow {
            version,
            table: None,
            priority: None,
            cookie: 0,
            cookie_mask: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            flags: 0,
            out_port: PortNo::ANY,
            out_group: ANY_GROUP,
            fields: Vec::new(),
            instructions: Vec::new(),
        };
        let mut fields = Vec::new();
        for piece in front.list() {
            if !flow.option(piece)? {
                fields.push(piece);
            }
        }
        flow.fields = field::fields(&fields)?;
        if let Some(actions) = behind {
            flow.instructions = instructions(version, actions, Prerequisites::of(&flow.fields))?;
        }
        Ok(flow)
    }

    /// Takes a piece that is no match field: whether it was one.
    fn option(&mut self, piece: Piece<'_>) -> Result<bool, TextError> {
        let (name, argument) = piece.call()?;
        let number = |highest: u64| {
            let argument =
                argument.ok_or_else(|| piece.error(format!("write {}=...", name.text)))?;
            argument.number(highest)
        };
        match name.text {
            "table" | "table_id" => self.table = Some(number(255)? as u8),
            "priority" => self.priority = Some(number(65_535)? as u16),
            "idle_timeout" => self.idle_timeout = number(65_535)? as u16,
            "hard_timeout" => self.hard_timeout = number(65_535)? as u16,
            "out_port" => {
                let argument = argument.ok_or_else(|| piece.error("write out_port=..."))?;
                self.out_port = field::port(argument)?;
            }
            "out_group" => self.out_group = number(u32::MAX.into())? as u32,
            "cookie" => {
                let argument = argument.ok_or_else(|| piece.error("write cookie=..."))?;
                (self.cookie, self.cookie_mask) = match argument.split(&['/']) {
                    Some((cookie, mask)) => {
                        let all = mask.text == "-1";
                        (
                            cookie.number(u64::MAX)?,
                            if all {
                                u64::MAX
                            } else {
                                mask.number(u64::MAX)?
                            },
                        )
                    }
                    None => (argument.number(u64::MAX)?, 0),
                };
            }
            "send_flow_rem" => self.flags |= flow_flags::SEND_FLOW_REM,
            "check_overlap" => self.flags |= flow_flags::CHECK_OVERLAP,
            "reset_counts" => self.flags |= flow_flags::RESET_COUNTS,
            "no_packet_counts" => self.flags |= flow_flags::NO_PKT_COUNTS,
            "no_byte_counts" => self.flags |= flow_flags::NO_BYT_COUNTS,
            "duration" | "n_packets" | "n_bytes" | "idle_age" | "hard_age" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The message that does this with it.
    pub fn message(&self, command: FlowCommand) -> FlowMod<'_> {
        let add = command == FlowCommand::Add;
        FlowMod {
            command,
            table: self
                .table
                .unwrap_or(if command.is_delete() { 0xff } else { 0 }),
            cookie: self.cookie,
            cookie_mask: if add { 0 } else { self.cookie_mask },
            matching: Match::new(&self.fields),
            priority: self.priority.unwrap_or(0x8000),
            idle_timeout: self.idle_timeout,
            hard_timeout: self.hard_timeout,
            buffer: None,
            out_port: self.out_port,
            out_group: self.out_group,
            flags: self.flags,
            instructions: List::from_checked(self.version, &self.instructions),
        }
    }

    /// The question for the flows within it.
    pub fn query(&self) -> FlowQuery<'_> {
        FlowQuery {
            table: self.table.unwrap_or(0xff),
            out_port: self.out_port,
            out_group: self.out_group,
            cookie: self.cookie,
            cookie_mask: self.cookie_mask,
            matching: Match::new(&self.fields),
        }
    }

    /// Appends it as text that [`Flow::parse`] reads as the same.
    pub fn show(&self, out: &mut String) {
        let start = out.len();
        let mut option = |present: bool, text: String| {
            if present {
                if out.len() > start {
                    out.push(',');
                }
                out.push_str(&text);
            }
        };
        option(
            self.table.is_some(),
            format!("table={}", self.table.unwrap_or(0)),
        );
        option(
            self.priority.is_some(),
            format!("priority={}", self.priority.unwrap_or(0)),
        );
        match self.cookie_mask {
            0 => option(self.cookie != 0, format!("cookie={:#x}", self.cookie)),
            mask => option(true, format!("cookie={:#x}/{mask:#x}", self.cookie)),
        }
        option(
            self.idle_timeout != 0,
            format!("idle_timeout={}", self.idle_timeout),
        );
        option(
            self.hard_timeout != 0,
            format!("hard_timeout={}", self.hard_timeout),
        );
        for (bit, name) in FLAGS {
            option(self.flags & bit != 0, name.into());
        }
        option(
            self.out_port != PortNo::ANY,
            format!("out_port={}", self.out_port),
        );
        option(
            self.out_group != ANY_GROUP,
            format!("out_group={}", self.out_group),
        );
        let mut fields = String::new();
        show_match(&Match::new(&self.fields), &mut fields);
        option(!fields.is_empty(), fields);
        if out.len() > start {
            out.push(' ');
        }
        out.push_str("actions=");
        show_instructions(
            List::from_checked(self.version, &self.instructions),
            self.version,
            out,
        );
    }

    /// Appends an entry as `ovs-ofctl dump-flows` shows it.
    pub fn show_stats(stats: &FlowStats<'_>, version: Version, out: &mut String) {
        let _ = write!(
            out,
            "cookie={:#x}, duration={}.{:03}s, table={}, n_packets={}, n_bytes={}, ",
            stats.cookie,
            stats.duration_s,
            stats.duration_ns / 1_000_000,
            stats.table,
            stats.packets,
            stats.bytes
        );
        for (name, seconds) in [
            ("idle_timeout", stats.idle_timeout),
            ("hard_timeout", stats.hard_timeout),
        ] {
            if seconds != 0 {
                let _ = write!(out, "{name}={seconds}, ");
            }
        }
        for (bit, name) in FLAGS {
            if stats.flags & bit != 0 {
                let _ = write!(out, "{name} ");
            }
        }
        let mut fields = String::new();
        if stats.priority != 0x8000 {
            let _ = write!(fields, "priority={}", stats.priority);
        }
        show_match(&stats.matching, &mut fields);
        let _ = write!(
            out,
            "{fields}{}actions=",
            if fields.is_empty() { "" } else { " " }
        );
        show_instructions(stats.instructions, version, out);
    }
}

const FLAGS: [(u16, &str); 5] = [
    (flow_flags::SEND_FLOW_REM, "send_flow_rem"),
    (flow_flags::CHECK_OVERLAP, "check_overlap"),
    (flow_flags::RESET_COUNTS, "reset_counts"),
    (flow_flags::NO_PKT_COUNTS, "no_packet_counts"),
    (flow_flags::NO_BYT_COUNTS, "no_byte_counts"),
];

/// What is before `actions=` or `action=`, and what is behind.
pub(super) fn split_actions(whole: Piece<'_>) -> (Piece<'_>, Option<Piece<'_>>) {
    for word in ["actions=", "action="] {
        if let Some(at) = whole.text.find(word) {
            let behind = whole.slice(at + word.len(), whole.text.len());
            return (whole.slice(0, at), Some(behind));
        }
    }
    (whole, None)
}
