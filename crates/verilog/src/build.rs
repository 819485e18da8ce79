//! The pipeline as a module: tables, memories, the replication engine and the register bus round the program's logic.

use crate::graph::{Id, Input, Op};
use crate::map::{
    CHOICE, DigestMap, Map, MemoryMap, ResultForm, SESSION, Source, TableKind, TableMap, address,
    bits_for,
};
use crate::objects::shape;
use crate::schedule::{Schedule, Stage, flight};
use crate::state::Walk;
use crate::text::{Writer, bus, literal};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use p4::ir::ObjectId;
use pipeline::environment::{Environment, Object, Unsupported};

/// So many multicast groups there may be.
const GROUPS: u32 = 64;

pub(crate) struct Build<'a> {
    environment: &'a Environment,
    walk: &'a Walk<'a>,
    schedule: &'a Schedule,
    writer: Writer<'a>,
    pub(crate) map: Map,
    memories: BTreeMap<ObjectId, (usize, String)>,
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
        let mut seen: Vec<Source> = self
            .walk
            .lookups
            .iter()
            .map(|lookup| lookup.source)
            .collect();
        seen.sort();
        seen.dedup();
        for source in seen {
            let map = self.table(source);
            self.map.tables.push(map);
        }
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

    /// A table as the control side sees it.
    fn table(&self, source: Source) -> TableMap {
        match source {
            Source::Table(table) => {
                let form = &self.environment.tables.forms()[table.index()];
                let actions = form.actions.iter().map(|action| {
                    let parameters = action
                        .parameters
                        .iter()
                        .map(|(name, ty)| (name.clone(), ty.width()));
                    (action.name.clone(), parameters.collect())
                });
                TableMap {
                    source,
                    name: form.name.clone(),
                    kind: crate::tables::kind(form, table.0),
                    keys: form
                        .keys
                        .iter()
                        .map(|key| (key.name.clone(), key.ty.width()))
                        .collect(),
                    result: crate::tables::form_of(self.environment, table),
                    actions: actions.collect(),
                }
            }
            Source::ValueSet(set) => {
                let form = &self.environment.program.value_sets[set.index()];
                TableMap {
                    source,
                    name: form.name.clone(),
                    kind: TableKind::Ternary {
                        rows: form.size.max(2),
                    },
                    keys: form
                        .fields
                        .iter()
                        .map(|(name, ty, _)| (name.clone(), ty.width()))
                        .collect(),
                    result: crate::tables::MEMBER,
                    actions: Vec::new(),
                }
            }
            Source::Groups => TableMap {
                source,
                name: "multicast groups".into(),
                kind: crate::tables::exact(16, GROUPS, u32::MAX),
                keys: alloc::vec![("group".into(), 16)],
                result: ResultForm {
                    entry: 8,
                    action: 1,
                    arguments: 8,
                },
                actions: Vec::new(),
            },
            Source::Choices(table) => {
                let of = self.table(Source::Table(table));
                let profile = self
                    .environment
                    .selector(table)
                    .map(|selector| &self.environment.objects[selector.profile.index()]);
                let size = match profile {
                    Some(Object::Profile(profile)) => profile.size,
                    _ => 0,
                };
                TableMap {
                    source,
                    name: format!("{} choices", of.name).into(),
                    kind: crate::tables::exact(
                        CHOICE,
                        size.clamp(1, 1 << CHOICE),
                        u32::MAX / 2 - table.0,
                    ),
                    keys: alloc::vec![("choice".into(), CHOICE)],
                    ..of
                }
            }
            Source::Sessions => TableMap {
                source,
                name: "clone sessions".into(),
                kind: crate::tables::exact(16, GROUPS, u32::MAX - 1),
                keys: alloc::vec![("session".into(), 16)],
                result: SESSION,
                actions: Vec::new(),
            },
        }
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
            "unused_window",
            "unused_commit",
            "unused_entry",
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
            for id in split.told() {
                self.writer.want(id, stage);
            }
        }
        self.writer.settle();
        let (answers, randoms) = (self.answers(), self.randoms());
        let logic = self.writer.write();
        let (tables, cells) = (self.tables(), self.cells());
        let (reads, writes) = (self.reads(), self.writes());
        let digests = self.digests();
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
        let copied = |stage: u32| split.is_some_and(|split| split.0 + 1 == stage);
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
        let mut holes: Vec<String> = self
            .writer
            .window_holes()
            .iter()
            .map(|(high, low)| format!("window[{high}:{low}]"))
            .collect();
        if !used_inputs[Input::Available as usize] {
            holes.push("window_bytes".into());
        }
        if last.0 == 0 && self.map.tables.is_empty() && self.map.memories.is_empty() {
            holes.push("rst".into());
        }
        if !holes.is_empty() {
            let _ = writeln!(
                text,
                "    wire unused_window = &{{1'b0, {}}};",
                holes.join(", ")
            );
        }
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
        let told = split.told().map(|id| self.writer.at(id, stage));
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
            told[0],
            told[1],
            told[2],
            told[3],
            told[4],
            told[5],
            stage.0 + 1,
            self.map.tables.len() + self.map.memories.len(),
        );
        (before, text)
    }

    /// So many packets may be under way, a power of two.
    fn flight(&self) -> u32 {
        flight(self.schedule.last.0 + 1)
    }

    /// The tables' instances.
    fn tables(&mut self) -> String {
        let mut text = String::new();
        for number in 0..self.walk.lookups.len() {
            let lookup = &self.walk.lookups[number];
            if !self.writer.is_used(lookup.result) {
                continue;
            }
            let Some(object) = self
                .map
                .tables
                .iter()
                .position(|table| table.source == lookup.source)
            else {
                continue;
            };
            let table = self.map.tables[object].clone();
            let stage = self.writer.stage(lookup.result);
            let result = self.writer.at(lookup.result, stage);
            let asked = Stage(stage.0.saturating_sub(lookup.latency));
            let keys: Vec<String> = lookup
                .keys
                .iter()
                .map(|key| self.writer.at(*key, asked))
                .collect();
            let data = table.result.data();
            let (entry, instance) = (
                table.entry(),
                self.writer.reserve(&format!("table_{}", table.name)),
            );
            let _ = writeln!(
                text,
                "\n    // ---- table {}: asked in cycle {}, answers in cycle {} ----",
                table.name, asked.0, stage.0
            );
            let ports = format!(
                ".clk(clk), .rst(rst), .key({{{}}}), .hit({result}[{data}]), .data({result}[{}:0]),\n        .write(commit && ctl_object == 8'd{object}), .write_row(ctl_row), .write_entry(entry[{}:0])",
                keys.join(", "),
                data - 1,
                entry - 1
            );
            match &table.kind {
                TableKind::Default => {
                    let default = self.writer.reserve(&format!("{}_default", table.name));
                    let _ = write!(
                        text,
                        "    reg {}{default};\n    always @(posedge clk)\n        if (rst) {default} <= {data}'d0;\n        else if (commit && ctl_object == 8'd{object} && ctl_row == 24'hFFFFFF) {default} <= entry[{}:0];\n    assign {result} = {{1'b0, {default}}};\n",
                        bus(data),
                        data - 1
                    );
                }
                TableKind::Exact {
                    index,
                    hashes,
                    spare,
                } => {
                    let key = table.key();
                    let mut masks: Vec<String> = Vec::new();
                    for mask in hashes.iter().flatten().rev() {
                        let mask = p4::value::Bits::from_limbs(key, mask);
                        masks.push(literal(key, &mask.unsigned().to_str_radix(16)));
                    }
                    let _ = writeln!(
                        text,
                        "    p4_exact_table #(.KEY_W({key}), .DATA_W({data}), .INDEX_W({index}), .SPARE({spare}), .HASHES({{\n        {}}})) {instance} (\n        {ports}\n    );",
                        masks.join(",\n        ")
                    );
                }
                TableKind::Prefix { levels } => {
                    let _ = writeln!(
                        text,
                        "    p4_prefix_table #(.KEY_W({}), .DATA_W({data}), .LEVELS({levels})) {instance} (\n        {ports}\n    );",
                        table.key(),
                    );
                }
                TableKind::Ternary { rows } => {
                    let _ = writeln!(
                        text,
                        "    p4_ternary_table #(.KEY_W({}), .DATA_W({data}), .ROWS({rows}), .ROW_W({})) {instance} (\n        {ports}\n    );",
                        table.key(),
                        bits_for(rows - 1)
                    );
                }
            }
        }
        text
    }

    /// Memories.
    fn cells(&mut self) -> String {
        let mut text = String::new();
        for memory in self.map.memories.clone() {
            let cells = self.memories[&memory.object].1.clone();
            let size = memory.size.next_power_of_two().max(2);
            let _ = write!(
                text,
                "\n    // ---- {}: {} cells of {} bits ----\n    reg {}{cells} [0:{}];\n`ifndef SYNTHESIS\n    // As memories of an FPGA begin\n    integer {cells}_i;\n    initial for ({cells}_i = 0; {cells}_i < {size}; {cells}_i = {cells}_i + 1) {cells}[{cells}_i] = {};\n`endif\n",
                memory.name,
                memory.size,
                memory.width,
                bus(memory.width),
                size - 1,
                literal(memory.width, "0"),
            );
        }
        text
    }

    /// What is read of memories.
    fn reads(&mut self) -> String {
        let mut text = String::new();
        for access in &self.walk.accesses {
            let Some(result) = access.result.filter(|result| self.writer.is_used(*result)) else {
                continue;
            };
            let stage = self.writer.stage(result);
            let (name, index) = (
                self.writer.at(result, stage),
                self.writer.at(access.index, stage),
            );
            let place = access.span.and_then(|span| (self.walk.options.place)(span));
            let place = place
                .map(|place| format!("  // {place}"))
                .unwrap_or_default();
            let _ = writeln!(
                text,
                "    assign {name} = {}[{index}];{place}",
                self.memories[&access.object].1
            );
        }
        text
    }

    /// What packets and the control side write to memories.
    fn writes(&mut self) -> String {
        let mut text = String::new();
        for memory in self.map.memories.clone() {
            let (object, cells) = self.memories[&memory.object].clone();
            let bits = bits_for(memory.size.saturating_sub(1).max(1) as u32);
            let _ = write!(
                text,
                "\n    // {}: packets write, and so does the control side\n    reg [31:0] {cells}_writes;\n    reg [23:0] {cells}_last;\n    always @(posedge clk) begin\n        if (rst) {cells}_writes <= 32'd0;\n        if (commit && ctl_object == 8'd{object}) {cells}[ctl_row[{}:0]] <= entry[{}:0];\n",
                memory.name,
                bits - 1,
                memory.width - 1
            );
            for (access, stage) in self.walk.accesses.iter().zip(&self.schedule.accesses) {
                let Some(data) = access.data.filter(|_| access.object == memory.object) else {
                    continue;
                };
                let (when, index, data) = (
                    self.writer.at(access.when, *stage),
                    self.writer.at(access.index, *stage),
                    self.writer.at(data, *stage),
                );
                let wide = match 24 - bits {
                    0 => index.clone(),
                    rest => format!("{{{rest}'d0, {index}}}"),
                };
                let place = access.span.and_then(|span| (self.walk.options.place)(span));
                let place = place
                    .map(|place| format!("  // {place}"))
                    .unwrap_or_default();
                let _ = write!(
                    text,
                    "        if (valid_s{} && {when}) begin{place}\n            {cells}[{index}] <= {data};\n            {cells}_writes <= {cells}_writes + 32'd1;\n            {cells}_last <= {wide};\n        end\n",
                    stage.0
                );
            }
            text += "    end\n";
        }
        text
    }

    /// Queues of messages to the controller.
    fn digests(&mut self) -> String {
        let mut text = String::new();
        for (number, digest) in self.map.digests.clone().iter().enumerate() {
            let object = self.environment.objects.len() + number;
            let accesses = self.walk.accesses.iter().zip(&self.schedule.accesses);
            let sent = accesses
                .filter(|(access, _)| access.object.index() == object)
                .find_map(|(access, stage)| Some((access.when, access.data?, *stage)));
            let Some((when, data, stage)) = sent else {
                continue;
            };
            let (when, data) = (self.writer.at(when, stage), self.writer.at(data, stage));
            let (width, instance) = (digest.width(), format!("digest_{number}"));
            let words = width.div_ceil(32);
            let _ = write!(
                text,
                "
    // {}: to the controller
    wire [{}:0] {instance}_words;
    wire {instance}_there, {instance}_room;
    reg [15:0] {instance}_lost;
    wire {instance}_sent = valid_s{} && {when};
    p4_fifo #(.WIDTH({width}), .DEPTH_LOG2({})) {instance} (
        .clk(clk), .rst(rst), .in_data({data}), .in_valid({instance}_sent), .in_ready({instance}_room),
        .out_data({instance}_words[{}:0]), .out_valid({instance}_there),
        .out_ready(ctl_write && ctl_address == 16'h{:x} && ctl_data == 32'd{number})
    );
    always @(posedge clk)
        if (rst) {instance}_lost <= 16'd0;
        else if ({instance}_sent && !{instance}_room && {instance}_lost != 16'hffff) {instance}_lost <= {instance}_lost + 16'd1;
",
                digest.name,
                32 * words - 1,
                stage.0,
                DigestMap::DEPTH_LOG2,
                width - 1,
                address::TAKE,
            );
            if width < 32 * words {
                let _ = writeln!(
                    text,
                    "    assign {instance}_words[{}:{width}] = {}'d0;",
                    32 * words - 1,
                    32 * words - width
                );
            }
        }
        text
    }

    /// The register bus.
    fn control(&mut self) -> (String, String) {
        let words = self.map.words();
        let mut text = String::from(
            "\n    // ---- registers: an entry word by word, then to a row of an object at once ----\n",
        );
        let _ = writeln!(text, "    reg [{}:0] entry;", 32 * words - 1);
        text += "    wire commit = ctl_write && ctl_address == 16'h1000;\n    wire [7:0] ctl_object = ctl_data[31:24];\n    wire [23:0] ctl_row = ctl_data[23:0];\n";
        text += "    always @(posedge clk) begin\n";
        for word in 0..words {
            let _ = writeln!(
                text,
                "        if (ctl_write && ctl_address == 16'd{word}) entry[{}:{}] <= ctl_data;",
                32 * word + 31,
                32 * word
            );
        }
        text += "    end\n";
        let widest = self.map.tables.iter().map(TableMap::entry);
        let widest = widest
            .chain(self.map.memories.iter().map(|memory| memory.width))
            .max()
            .unwrap_or(0);
        if widest < 32 * words {
            let _ = writeln!(
                text,
                "    wire unused_entry = &{{1'b0, entry[{}:{widest}]}};",
                32 * words - 1
            );
        }
        text += "    wire unused_commit = &{1'b0, commit, ctl_object, ctl_row};\n";
        if self.map.memories.is_empty() && self.map.digests.is_empty() {
            return (
                text,
                "    always @(posedge clk) ctl_read <= 32'd0;\n".into(),
            );
        }
        let memories = self
            .map
            .memories
            .iter()
            .map(|memory| memory.width)
            .max()
            .unwrap_or(1);
        let fetched_words = memories.div_ceil(32);
        let mut after = String::new();
        if self.map.memories.is_empty() {
            after += "    always @(posedge clk) begin\n";
        } else {
            let _ = write!(
                after,
                "    wire fetch = ctl_write && ctl_address == 16'h1001;\n    reg [{}:0] fetched;\n    always @(posedge clk) begin\n",
                32 * fetched_words - 1
            );
        }
        for memory in &self.map.memories {
            let (object, cells) = &self.memories[&memory.object];
            let bits = bits_for(memory.size.saturating_sub(1).max(1) as u32);
            let value = match 32 * fetched_words - memory.width {
                0 => format!("{cells}[ctl_row[{}:0]]", bits - 1),
                rest => format!("{{{rest}'d0, {cells}[ctl_row[{}:0]]}}", bits - 1),
            };
            let _ = writeln!(
                after,
                "        if (fetch && ctl_object == 8'd{object}) fetched <= {value};"
            );
        }
        after += "        case (ctl_address)\n";
        for word in (0..fetched_words).filter(|_| !self.map.memories.is_empty()) {
            let _ = writeln!(
                after,
                "            16'h{:x}: ctl_read <= fetched[{}:{}];",
                0x2000 + word,
                32 * word + 31,
                32 * word
            );
        }
        for memory in &self.map.memories {
            let (object, cells) = &self.memories[&memory.object];
            let _ = writeln!(
                after,
                "            16'h{:x}: ctl_read <= {cells}_writes;",
                0x3000 + 2 * object
            );
            let _ = writeln!(
                after,
                "            16'h{:x}: ctl_read <= {{8'd0, {cells}_last}};",
                0x3001 + 2 * object
            );
        }
        for (number, digest) in self.map.digests.iter().enumerate() {
            let base = address::DIGESTS + 64 * number as u16;
            let _ = writeln!(
                after,
                "            16'h{base:x}: ctl_read <= {{15'd0, digest_{number}_lost, digest_{number}_there}};"
            );
            for word in 0..digest.width().div_ceil(32) {
                let _ = writeln!(
                    after,
                    "            16'h{:x}: ctl_read <= digest_{number}_words[{}:{}];",
                    u32::from(base) + 1 + word,
                    32 * word + 31,
                    32 * word
                );
            }
        }
        after += "            default: ctl_read <= 32'd0;\n        endcase\n    end\n";
        (text, after)
    }
}
