//! The pipeline as a module: the program's logic, and what is round it: tables, memories, the replication engine, the register bus.

use crate::graph::{Id, Input, Op};
use crate::map::{Map, MemoryMap, Source};
use crate::objects::shape;
use crate::schedule::{Schedule, Stage, flight};
use crate::state::{Lookup, Walk};
use crate::text::{Writer, bus};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use p4::ir::ObjectId;
use pipeline::environment::{Environment, Unsupported};

pub(crate) struct Build<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) walk: &'a Walk<'a>,
    pub(crate) schedule: &'a Schedule,
    pub(crate) writer: Writer<'a>,
    pub(crate) map: Map,
    pub(crate) memories: BTreeMap<ObjectId, (usize, String)>,
}

impl<'a> Build<'a> {
    pub(crate) fn new(
        environment: &'a Environment,
        walk: &'a Walk<'a>,
        schedule: &'a Schedule,
        window: u32,
    ) -> Self {
        Build {
            environment,
            walk,
            schedule,
            writer: Writer::new(walk, schedule, window),
            map: Map::default(),
            memories: BTreeMap::new(),
        }
    }

    /// What is on the register bus.
    pub(crate) fn objects(&mut self) -> Result<(), Unsupported> {
        let mut seen: Vec<Source> = self.walk.lookups.iter().filter_map(Lookup::table).collect();
        seen.sort();
        seen.dedup();
        for source in seen {
            let map = self.table(source);
            self.map.tables.push(map);
        }
        self.map.performance = self.performance_names();
        self.map.places = self.walk.split.is_some();
        self.map.digests = self.walk.digests.clone();
        for access in &self.walk.accesses {
            if self.memories.contains_key(&access.object) {
                continue;
            }
            // Messages to the controller are behind all objects.
            let of = self.environment.objects.get(access.object.index());
            let Some((width, size)) = of.and_then(shape) else {
                continue;
            };
            let name = self.environment.program.objects[access.object.index()]
                .name
                .clone();
            let cells = self.writer.reserve(&format!("{name}_cells"));
            self.memories.insert(
                access.object,
                (self.map.tables.len() + self.map.memories.len(), cells),
            );
            self.map.memories.push(MemoryMap {
                object: access.object,
                name,
                width,
                size,
            });
        }
        if self.map.digests.len() > 255 {
            return Err(Unsupported::from(
                "the program sends messages to the controller at more than 255 places",
            ));
        }
        let objects =
            self.map.tables.len() + self.map.memories.len() + usize::from(self.map.places);
        if objects > 256 {
            return Err(Unsupported::from(format!(
                "the program has {objects} tables, registers and counters; the register bus of this hardware has room for 256"
            )));
        }
        Ok(())
    }

    /// The module's text.
    pub(crate) fn pipeline(
        &mut self,
        name: &str,
        outputs: &[(&str, Id)],
        window: u32,
        along: Option<u32>,
    ) -> String {
        let last = self.schedule.last;
        for reserved in [
            "valid",
            "out_reason",
            "out_port",
            "out_header",
            "out_header_bytes",
            "out_payload",
            "out_limit",
            "entry",
            "commit",
            "fetch",
            "fetched",
            "fetched_next",
            "ctl_object",
            "ctl_row",
            "unused",
            "unused_inputs",
            "unused_commit",
            "copy",
            "copy_vector",
            "copy_is_copy",
            "copy_is_clone",
            "copy_none",
            "along",
            "unused_along",
            "out_entry",
            "out_set",
            "out_full",
            "out_along",
            "out_from",
            "out_clone",
            "out_clone_set",
            "copy_port",
            "copy_instance",
            "copy_keep",
            "copy_replay",
            "result_taken",
            "job_taken",
            "none_under_way",
            "unused_copy",
            "events",
            "unused_counted",
        ] {
            self.writer.reserve(reserved);
        }
        for (_, id) in outputs {
            self.writer.want(*id, last);
        }
        for (access, stage) in self.walk.accesses.iter().zip(&self.schedule.accesses) {
            if let Some(data) = access.data {
                for id in [access.when, access.index, data] {
                    self.writer.want(id, *stage);
                }
            }
        }
        if let (Some(split), Some(stage)) = (self.walk.split, self.schedule.split) {
            for id in split.fields() {
                self.writer.want(id, stage);
            }
        }
        self.want_counted();
        self.writer.settle();
        let (answers, randoms) = (self.answers(), self.randoms());
        let logic = self.writer.write();
        let (tables, externs) = (self.tables(), self.externs());
        let cells = self.cells();
        let (reads, writes) = (self.reads(), self.writes());
        let digests = self.digests();
        let (events, counted) = self.events();
        let (entry, control) = self.control();
        let mut used_inputs = [false; Input::COUNT];
        for (index, node) in self.walk.graph.nodes.iter().enumerate() {
            if let Op::Input(input) = node.op
                && self.writer.is_used(Id(index as u32))
            {
                used_inputs[input as usize] = true;
            }
        }
        let (crossing, replicator) = self.replicator(&used_inputs);
        let graph = &self.walk.graph;
        let mut text = format!(
            "// The pipeline of {name}: {} cycles, one packet in each.\n",
            last.0 + 1
        );
        for warning in &self.walk.warnings {
            let _ = writeln!(text, "// Other than the program says: {warning}.");
        }
        let _ = write!(
            text,
            "\n`resetall\n`default_nettype none\n`timescale 1ns / 1ps\n\nmodule {name}_pipeline (\n    input  wire clk,\n    input  wire rst,\n    input  wire in_valid,\n    input  wire [{}:0] window,\n    input  wire [15:0] window_bytes,\n",
            window - 1
        );
        for (input, port) in [
            (Input::Port, "[15:0] port"),
            (Input::Length, "[31:0] length"),
            (Input::Sum, "[15:0] packet_sum"),
            (Input::Nanoseconds, "[63:0] time_ns"),
            (Input::Microseconds, "[63:0] time_us"),
        ] {
            if used_inputs[input as usize] {
                let _ = writeln!(text, "    input  wire {port},");
            }
        }
        if let Some(width) = along {
            let _ = writeln!(text, "    input  wire [{}:0] along,", width - 1);
        }
        text += "    input  wire ctl_write,\n    input  wire [15:0] ctl_address,\n    input  wire [31:0] ctl_data,\n    output reg  [31:0] ctl_read,\n";
        for (name, id) in outputs {
            let width = graph.width(*id);
            if width > 0 {
                let _ = writeln!(text, "    output wire {}{name},", bus(width));
            }
        }
        if self.walk.split.is_some() {
            text += "    input  wire result_taken,\n    output wire job_taken,\n    output wire none_under_way,\n";
        }
        if !events.is_empty() {
            let _ = writeln!(text, "    output wire [{}:0] events,", events.len() - 1);
        }
        text += "    output wire out_valid\n);\n";
        if along.is_some() {
            text += "    wire unused_along = &{1'b0, along};\n";
        }
        text += &entry;
        text += &randoms;
        text += &answers;
        text += &crossing;
        text += &cells;
        text += "\n    // ---- which cycles have a packet ----\n    wire valid_s0 = in_valid;\n";
        let split = self.schedule.split;
        let queues: Vec<u32> = self.schedule.queues.values().copied().collect();
        let copied = |stage: u32| {
            split.is_some_and(|split| split.0 + 1 == stage)
                || stage
                    .checked_sub(1)
                    .is_some_and(|before| queues.contains(&before))
        };
        for stage in 1..=last.0 {
            let kind = if copied(stage) { "wire" } else { "reg" };
            let _ = writeln!(text, "    {kind} valid_s{stage};");
        }
        if last.0 > 0 {
            text += "    always @(posedge clk) begin\n";
            for stage in (1..=last.0).filter(|stage| !copied(*stage)) {
                let _ = writeln!(
                    text,
                    "        valid_s{stage} <= valid_s{} && !rst;",
                    stage - 1
                );
            }
            text += "    end\n";
        }
        text += &logic;
        text += &tables;
        text += &externs;
        text += &replicator;
        text += "\n    // ---- memories ----\n";
        text += &reads;
        text += &writes;
        text += &digests;
        text += &control;
        text += "\n    // ---- what leaves ----\n";
        for (name, id) in outputs {
            if graph.width(*id) > 0 {
                let value = self.writer.at(*id, last);
                let _ = writeln!(text, "    assign {name} = {value};");
            }
        }
        let _ = writeln!(text, "    assign out_valid = valid_s{};", last.0);
        for (number, event) in events.iter().enumerate() {
            let _ = writeln!(text, "    assign events[{number}] = {event};");
        }
        if !counted.is_empty() {
            let counted = counted.join(", ");
            let _ = writeln!(text, "    wire unused_counted = &{{1'b0, {counted}}};");
        }
        let holes = self.writer.window_holes();
        let holes = holes
            .iter()
            .map(|(high, low)| format!(", window[{high}:{low}]"));
        // Which of them nobody reads depends on all that was written above.
        let _ = writeln!(
            text,
            "    wire unused_inputs = &{{1'b0, rst, window_bytes{}}};",
            holes.collect::<String>()
        );
        text += "endmodule\n\n`resetall\n";
        text
    }

    /// What comes from tables and memories, which all else may name.
    fn answers(&mut self) -> String {
        let mut text =
            String::from("\n    // ---- what tables answer, and what is read of memories ----\n");
        let results = self.walk.lookups.iter().map(|lookup| lookup.result);
        let results = results.chain(self.walk.accesses.iter().filter_map(|access| access.result));
        for result in results
            .filter(|result| self.writer.is_used(*result))
            .collect::<Vec<_>>()
        {
            let stage = self.writer.stage(result);
            let name = self.writer.at(result, stage);
            let _ = writeln!(
                text,
                "    wire {}{name};",
                bus(self.walk.graph.width(result))
            );
        }
        text
    }

    /// Random numbers.
    fn randoms(&mut self) -> String {
        let mut text = String::new();
        for index in 0..self.walk.graph.nodes.len() {
            let id = Id(index as u32);
            let Op::Random(number) = *self.walk.graph.op(id) else {
                continue;
            };
            if !self.writer.is_used(id) {
                continue;
            }
            let name = self.writer.at(id, Stage(0));
            let seed = node::random::split_mix(0, u64::from(number)) | 1;
            let instance = self.writer.reserve(&format!("draw_{number}"));
            let _ = writeln!(
                text,
                "    wire [63:0] {name};\n    p4_random #(.SEED(64'h{seed:x})) {instance} (.clk(clk), .rst(rst), .value({name}));"
            );
        }
        text
    }

    /// What comes out of the replication engine, and the engine.
    fn replicator(&mut self, used: &[bool]) -> (String, String) {
        let (Some(split), Some(stage)) = (self.walk.split, self.schedule.split) else {
            return (String::new(), String::new());
        };
        let crossed: Vec<(Id, Id)> = (0..self.walk.graph.nodes.len() as u32)
            .map(Id)
            .filter_map(|id| match self.walk.graph.op(id) {
                Op::Crossed(a) if self.writer.is_used(id) => Some((id, *a)),
                _ => None,
            })
            .collect();
        let width: u32 = crossed
            .iter()
            .map(|(id, _)| self.walk.graph.width(*id))
            .sum();
        let mut before =
            String::from("\n    // ---- what comes out of the replication engine ----\n");
        let _ = writeln!(before, "    wire {}copy_vector;", bus(width.max(1)));
        before += "    wire copy_is_copy, copy_is_clone, copy_none, copy_keep, copy_replay;\n    wire [15:0] copy_port, copy_instance;\n";
        let mut above = width;
        let mut parts = Vec::new();
        for (id, from) in &crossed {
            let of = self.walk.graph.width(*id);
            let name = self.writer.at(*id, Stage(stage.0 + 1));
            let part = match (above, of) {
                _ if width == 1 => "copy_vector".into(),
                (above, 1) => format!("copy_vector[{}]", above - 1),
                (above, of) => format!("copy_vector[{}:{}]", above - 1, above - of),
            };
            let _ = writeln!(before, "    wire {}{name} = {part};", bus(of));
            above -= of;
            parts.push(self.writer.at(*from, stage));
        }
        if parts.is_empty() {
            parts.push("1'b0".into());
        }
        let mut unused: Vec<&str> = Vec::new();
        if width == 0 {
            unused.push("copy_vector");
        }
        for (input, name) in [
            (Input::IsCopy, "copy_is_copy"),
            (Input::IsClone, "copy_is_clone"),
            (Input::NoCopy, "copy_none"),
            (Input::CopyPort, "copy_port"),
            (Input::CopyInstance, "copy_instance"),
        ] {
            if !used[input as usize] {
                unused.push(name);
            }
        }
        if !unused.is_empty() {
            let _ = writeln!(
                before,
                "    wire unused_copy = &{{1'b0, {}}};",
                unused.join(", ")
            );
        }
        let split = split.fields().map(|id| self.writer.at(id, stage));
        let flight = self.flight().trailing_zeros();
        let text = format!(
            "
    // ---- replication engine: behind cycle {} ----
    p4_replicator #(.VECTOR_W({}), .DEPTH_LOG2({flight}), .RESULTS_LOG2({flight})) copy (
        .clk(clk), .rst(rst),
        .in_valid(valid_s{}), .in_vector({{{}}}), .in_group({}), .in_start({}), .in_count({}),
        .in_clone_start({}), .in_clone_count({}), .in_only({}), .job_taken(job_taken),
        .out_valid(valid_s{}), .out_vector(copy_vector), .out_is_copy(copy_is_copy), .out_is_clone(copy_is_clone), .out_none(copy_none), .out_port(copy_port),
        .out_instance(copy_instance), .out_keep(copy_keep), .out_replay(copy_replay),
        .result_taken(result_taken), .none_under_way(none_under_way),
        .write(commit && ctl_object == 8'd{}), .write_row(ctl_row[7:0]), .write_entry(entry[31:0])
    );
",
            stage.0,
            width.max(1),
            stage.0,
            parts.join(", "),
            split[0],
            split[1],
            split[2],
            split[3],
            split[4],
            split[5],
            stage.0 + 1,
            self.map.tables.len() + self.map.memories.len(),
        );
        (before, text)
    }

    /// So many packets may be under way, a power of two.
    pub(crate) fn flight(&self) -> u32 {
        flight(self.schedule.last.0 + 1 + self.walk.outstanding())
    }
}
