//! Performance counters of the parser, the tables and the deparser.
//!
//! The top counts at its streams; the pipeline reports applies and hits of each table.

use crate::build::Build;
use crate::graph::Id;
use crate::map::Source;
use crate::schedule::Stage;
use crate::state::{Lookup, Walk};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The events that the top counts, in the names of its wires. Waits are cycles in which a word is there and is not taken.
const AT_STREAMS: [(&str, &str); 10] = [
    ("cycles", "1'b1"),
    (
        "parser.packets",
        "s_axis_tvalid && s_axis_tready && s_axis_tlast",
    ),
    ("parser.words", "s_axis_tvalid && s_axis_tready"),
    ("parser.waits", "s_axis_tvalid && !s_axis_tready"),
    ("parser.done", "window_valid"),
    ("tables.done", "out_valid"),
    (
        "deparser.packets",
        "m_axis_tvalid && m_axis_tready && m_axis_tlast",
    ),
    ("deparser.words", "m_axis_tvalid && m_axis_tready"),
    ("deparser.waits", "m_axis_tvalid && !m_axis_tready"),
    ("deparser.drops", "drop_valid"),
];

/// The instance in the top, which merges `pipeline_read` with its own words; empty without counters.
pub(crate) fn instance(names: &[Arc<str>]) -> String {
    let mut events: Vec<String> = Vec::new();
    if names.len() > AT_STREAMS.len() {
        events.push("events".into());
    }
    // The first event is the lowest bit.
    events.extend(AT_STREAMS.iter().rev().map(|(_, when)| String::from(*when)));
    format!(
        "
    wire [31:0] performance_read;
    p4_performance #(.COUNT({}), .BASE(16'h{:X})) performance (
        .clk(clk), .rst(rst), .ctl_address(ctl_address), .ctl_read(performance_read),
        .events({{
            {}}})
    );
    assign ctl_read = pipeline_read | performance_read;
",
        names.len(),
        crate::map::address::PERFORMANCE,
        events.join(",\n            ")
    )
}

impl Walk<'_> {
    /// The program's tables where they are applied, if they are to be counted.
    fn counted_lookups(&self) -> impl Iterator<Item = (&Lookup, Id)> {
        let counts = self.options.performance;
        let lookups = self.lookups.iter().filter(move |_| counts);
        lookups.filter_map(|lookup| Some((lookup, lookup.when?)))
    }

    /// The values that the counters of tables need, of tables after the replication engine or of the others.
    pub(crate) fn counted(&self, second: bool) -> impl Iterator<Item = Id> {
        let lookups = self.counted_lookups();
        let lookups = lookups.filter(move |(lookup, _)| lookup.second == second);
        lookups.flat_map(|(lookup, when)| [lookup.result, when])
    }
}

impl Build<'_> {
    /// The cycle in which both are known.
    fn counted_at(&self, lookup: &Lookup, when: Id) -> Stage {
        let known = self.walk.graph.known(when).is_some();
        let own = self.writer.stage(lookup.result);
        match known {
            true => own,
            false => own.max(self.writer.stage(when)),
        }
    }

    pub(crate) fn want_counted(&mut self) {
        let walk = self.walk;
        for (lookup, when) in walk.counted_lookups() {
            let stage = self.counted_at(lookup, when);
            self.writer.want(lookup.result, stage);
            self.writer.want(when, stage);
        }
    }

    /// Names of the counters, in the order of their addresses; none unless they are asked for.
    pub(crate) fn performance_names(&self) -> Vec<Arc<str>> {
        if !self.walk.options.performance {
            return Vec::new();
        }
        let mut names: Vec<Arc<str>> = AT_STREAMS.iter().map(|(name, _)| (*name).into()).collect();
        let mut seen: Vec<Source> = Vec::new();
        for (lookup, _) in self.walk.counted_lookups() {
            let Some(source @ Source::Table(table)) = lookup.table() else {
                continue;
            };
            seen.push(source);
            let name = &self.environment.program.tables[table.index()].name;
            let times = seen.iter().filter(|other| **other == source);
            // A table that is applied in several places has a lookup in each.
            let place = match times.count() {
                1 => String::new(),
                place => format!(" ({place})"),
            };
            names.push(format!("table {name}{place}.packets").into());
            names.push(format!("table {name}{place}.hits").into());
        }
        names
    }

    /// Applies and hits of each table, and the lookups that have no other reader.
    pub(crate) fn events(&mut self) -> (Vec<String>, Vec<String>) {
        let walk = self.walk;
        let (mut events, mut answers) = (Vec::new(), Vec::new());
        for (lookup, when) in walk.counted_lookups() {
            let stage = self.counted_at(lookup, when);
            let hit = walk.graph.width(lookup.result) - 1;
            let (when, result) = (
                self.writer.at(when, stage),
                self.writer.at(lookup.result, stage),
            );
            let comes = format!("valid_s{} && {when}", stage.0);
            events.push(comes.clone());
            events.push(format!("{comes} && {result}[{hit}]"));
            answers.push(result);
        }
        (events, answers)
    }
}
