//! All of the Verilog of a program.

use crate::Options;
use crate::graph::{Id, Input, Op};
use crate::map::{Map, MemoryMap, TableKind, TableMap};
use crate::objects::shape;
use crate::schedule::{Schedule, Stage};
use crate::tables::{ResultForm, bits_for};
use crate::text::{Writer, bus, identifier, literal};
use crate::walk::Walk;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write;
use p4::ir::{ObjectId, TableId};
use pipeline::architecture::{Config, Pipeline};
use pipeline::engine::Path;
use pipeline::environment::{Environment, Unsupported};
use pipeline::interpreter::Interpreter;

/// Modules that all designs have, by the names of their files.
pub const LIBRARY: [(&str, &str); 7] = [
    (
        "p4_deparser.v",
        include_str!("../../../rtl/p4/rtl/p4_deparser.v"),
    ),
    (
        "p4_exact_table.v",
        include_str!("../../../rtl/p4/rtl/p4_exact_table.v"),
    ),
    ("p4_fifo.v", include_str!("../../../rtl/p4/rtl/p4_fifo.v")),
    (
        "p4_gather.v",
        include_str!("../../../rtl/p4/rtl/p4_gather.v"),
    ),
    (
        "p4_prefix_table.v",
        include_str!("../../../rtl/p4/rtl/p4_prefix_table.v"),
    ),
    (
        "p4_replicator.v",
        include_str!("../../../rtl/p4/rtl/p4_replicator.v"),
    ),
    (
        "p4_ternary_table.v",
        include_str!("../../../rtl/p4/rtl/p4_ternary_table.v"),
    ),
];

/// So many multicast groups there may be.
const GROUPS: u32 = 64;
/// The queue in which packets wait beside the pipeline has so many words of 64 bytes, as a power of two.
const QUEUE_LOG2: u32 = 9;

/// A program as hardware.
#[derive(Clone, Debug)]
pub struct Design {
    /// The top module.
    pub name: String,
    /// The program's own files; [`LIBRARY`] has the others.
    pub files: Vec<(String, String)>,
    /// What the control side writes where.
    pub map: Map,
    /// How many cycles the pipeline has.
    pub stages: u32,
    /// How many bytes of a packet the parser looks at.
    pub window: u32,
    /// How many bytes the deparser emits, at most.
    pub header: u32,
    /// Packets come in one at a time because of these registers: a table stands between reading and writing.
    pub alone: Vec<String>,
    /// A packet must be there as a whole before it is worked on, since its length is asked for.
    pub whole: bool,
    /// A packet has at most so many bytes.
    pub longest: usize,
    /// What the hardware does otherwise than the program says.
    pub warnings: Vec<String>,
}

impl Design {
    /// Hardware for an environment's program.
    ///
    /// # Errors
    /// What the program asks for that cannot be hardware, or that no engine can do, with the place.
    pub fn of(
        environment: &Arc<Environment>,
        options: &Options<'_>,
    ) -> Result<Design, Unsupported> {
        let interpreter = Interpreter::new(environment)?;
        let pipeline = Pipeline::new(environment, Box::new(interpreter), &Config::default())?;
        match pipeline.path() {
            Some(path) => Design::new(environment, path, options),
            None => Err(Unsupported::from(
                "programs for PSA cannot be hardware here; v1model, `Switch` and `Bump` can",
            )),
        }
    }

    /// Hardware for an environment's program on its architecture's path.
    ///
    /// # Errors
    /// What the program asks for that cannot be hardware, with the place.
    pub fn new(
        environment: &Environment,
        path: &Path,
        options: &Options<'_>,
    ) -> Result<Design, Unsupported> {
        let mut walk = Walk::new(environment, options);
        let verdict = walk.path(path)?;
        let (header, header_bytes) = walk.header()?;
        walk.join_writes();
        let window = (walk.window.div_ceil(8) * 8).max(8) as u32;
        let mut outputs = alloc::vec![
            ("out_reason", verdict.reason),
            ("out_port", verdict.port),
            ("out_header", header),
            ("out_header_bytes", header_bytes),
            ("out_payload", verdict.payload),
            ("out_limit", verdict.truncate),
        ];
        if walk.split.is_some() {
            outputs.push(("out_keep", walk.graph.input(Input::Keep)));
            outputs.push(("out_replay", walk.graph.input(Input::Replay)));
        }
        let roots: Vec<Id> = outputs.iter().map(|(_, id)| *id).collect();
        let schedule = Schedule::new(
            &walk.graph,
            &roots,
            &walk.lookups,
            &walk.accesses,
            options.levels,
            walk.split,
        );
        let mut build = Build {
            environment,
            walk: &walk,
            schedule: &schedule,
            writer: Writer::new(&walk, &schedule, window),
            map: Map::default(),
            memories: BTreeMap::new(),
        };
        build.objects()?;
        let text = build.pipeline(&identifier(options.name), &outputs, window);
        let map = build.map;
        let alone = schedule
            .alone
            .iter()
            .map(|object| environment.program.objects[object.index()].name.to_string());
        let alone: Vec<String> = alone.collect();
        let whole = text.contains("input  wire [31:0] length,");
        let mut design = Design {
            name: identifier(options.name),
            files: Vec::new(),
            map,
            stages: schedule.last.0 + 1,
            window: window / 8,
            header: walk.graph.width(header) / 8,
            alone,
            whole,
            longest: ((1 << QUEUE_LOG2) - 2) * 64,
            warnings: walk.warnings.clone(),
        };
        let top = design.top(&text);
        design.files.push((format!("{}.v", design.name), top));
        design
            .files
            .push((format!("{}_pipeline.v", design.name), text));
        Ok(design)
    }

    /// The module round the pipeline.
    fn top(&self, pipeline: &str) -> String {
        let name = &self.name;
        let words = self.window.div_ceil(64);
        let header_words = self.header.div_ceil(64).max(1);
        let flight = flight(self.stages);
        let flight_log2 = flight.trailing_zeros();
        let most = if self.alone.is_empty() { flight } else { 1 };
        let whole = u8::from(self.whole);
        let has = |port: &str| pipeline.contains(&format!(" {port},\n"));
        let mut sink = alloc::vec!["result_room".to_string(), "back[16:10]".to_string()];
        let mut connect = String::new();
        for (port, wire) in [
            ("port", "window_port"),
            ("length", "window_length"),
            ("time_ns", "time_ns"),
            ("time_us", "time_us"),
        ] {
            match has(port) {
                true => {
                    let _ = writeln!(connect, "        .{port}({wire}),");
                }
                false => sink.push(wire.to_string()),
            }
        }
        let header_w = self.header.max(1) * 8;
        let header = match self.header {
            0 => format!("{{{}{{1'b0}}}}", 512 * header_words),
            bytes if bytes == 64 * header_words => "out_header".into(),
            bytes => format!("{{out_header, {}'d0}}", 512 * header_words - 8 * bytes),
        };
        let header_port = match self.header {
            0 => String::new(),
            _ => "        .out_header(out_header),\n".into(),
        };
        let header_wire = match self.header {
            0 => String::new(),
            _ => format!("    wire [{}:0] out_header;\n", header_w - 1),
        };
        let split = self.map.places;
        let result_w =
            512 * header_words + 8 + 16 + 16 + 6 + 10 + 10 + 32 + if split { 2 } else { 0 };
        let (alone, leaves) = match (split, self.alone.is_empty()) {
            (false, _) => ("", "result_taken"),
            (true, true) => ("", "job_taken"),
            (true, false) => ("none_under_way && ", "job_taken"),
        };
        if split && self.alone.is_empty() {
            sink.push("none_under_way".into());
        }
        if split {
            sink.push("replay_room".into());
        }
        let (flags, flags_out) = match split {
            true => ("out_keep, out_replay, ", "result_keep, result_replay, "),
            false => ("", ""),
        };
        let copies = match split {
            true => {
                "        .out_keep(out_keep), .out_replay(out_replay), .result_taken(result_taken), .job_taken(job_taken),\n        .none_under_way(none_under_way),\n"
            }
            false => "",
        };
        let (queue_out, queue_valid, queue_taken) = match split {
            true => ("queued", "queued_valid", "word_ready && !result_replay"),
            false => ("{word_last, word_bytes, word}", "word_valid", "word_ready"),
        };
        let replays = match split {
            true => format!(
                "    // The words of a packet that is copied are kept for its next copy.
    wire job_taken, none_under_way, out_keep, out_replay, result_keep, result_replay;
    wire [519:0] queued, kept;
    wire queued_valid, kept_valid, replay_room;
    assign {{word_last, word_bytes, word}} = result_replay ? kept : queued;
    assign word_valid = result_replay ? kept_valid : queued_valid;
    p4_fifo #(.WIDTH(520), .DEPTH_LOG2({QUEUE_LOG2})) replays (
        .clk(clk), .rst(rst),
        .in_data({{word_last, word_bytes, word}}), .in_valid(word_ready && result_keep), .in_ready(replay_room),
        .out_data(kept), .out_valid(kept_valid), .out_ready(word_ready && result_replay)
    );
"
            ),
            false => String::new(),
        };
        let unused = sink.join(", ");
        format!(
            "// {name}: packets in by an AXI stream, packets out by another. tuser is the number of the port.
//
// gather -> pipeline ({stages} cycles) -> deparser, with the packet in a queue beside them. At most {most} packets are between.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module {name} (
    input  wire         clk,
    input  wire         rst,
    input  wire [63:0]  time_ns,
    input  wire [63:0]  time_us,
    // packets that come in; the first byte is in the lowest bits
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tlast,
    input  wire [15:0]  s_axis_tuser,
    // packets that leave
    output wire [511:0] m_axis_tdata,
    output wire [63:0]  m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire [15:0]  m_axis_tuser,
    // a packet that is dropped, and why
    output wire         drop_valid,
    output wire [7:0]   drop_reason,
    output wire         more,          // another copy of the packet that leaves or is dropped comes
    // registers
    input  wire         ctl_write,
    input  wire [15:0]  ctl_address,
    input  wire [31:0]  ctl_data,
    output wire [31:0]  ctl_read
);
    // Within, the first byte is in the highest bits.
    wire [511:0] in_word, out_word;
    reg [6:0] in_bytes;
    wire [6:0] out_bytes;
    integer lane;
    genvar byte_of;
    generate
        for (byte_of = 0; byte_of < 64; byte_of = byte_of + 1) begin : bytes
            assign in_word[511-8*byte_of -: 8] = s_axis_tdata[8*byte_of +: 8];
            assign m_axis_tdata[8*byte_of +: 8] = out_word[511-8*byte_of -: 8];
            assign m_axis_tkeep[byte_of] = out_bytes > byte_of;
        end
    endgenerate
    always @* begin
        in_bytes = 7'd0;
        for (lane = 0; lane < 64; lane = lane + 1) in_bytes = in_bytes + {{6'd0, s_axis_tkeep[lane]}};
    end

    // Each packet that the pipeline is given has a place for its result.
    reg [{flight_log2}:0] in_flight;
    wire queue_ready, given, window_valid, result_taken;
    wire room = {alone}in_flight + {{{{{flight_log2}{{1'b0}}}}, window_valid}} < {flight_bits}'d{most};
    assign s_axis_tready = queue_ready && (given || room);
    wire accepted = s_axis_tvalid && s_axis_tready;
    always @(posedge clk)
        if (rst) in_flight <= 0;
        else in_flight <= in_flight + {{{{{flight_log2}{{1'b0}}}}, window_valid}} - {{{{{flight_log2}{{1'b0}}}}, {leaves}}};

    wire [511:0] word;
    wire [6:0] word_bytes;
    wire word_last, word_valid, word_ready;
{replays}    p4_fifo #(.WIDTH(520), .DEPTH_LOG2({queue_log2})) queue (
        .clk(clk), .rst(rst),
        .in_data({{s_axis_tlast, in_bytes, in_word}}), .in_valid(s_axis_tvalid && (given || room)), .in_ready(queue_ready),
        .out_data({queue_out}), .out_valid({queue_valid}), .out_ready({queue_taken})
    );

    wire [{window_top}:0] window;
    wire [15:0] window_bytes, window_port;
    wire [31:0] window_length;
    p4_gather #(.WORDS({words}), .WINDOW_W({window_w}), .WHOLE({whole})) gather (
        .clk(clk), .rst(rst),
        .word(in_word), .word_bytes(in_bytes), .word_last(s_axis_tlast), .word_port(s_axis_tuser), .word_valid(accepted), .begun(given),
        .window_valid(window_valid), .window(window), .window_bytes(window_bytes), .port(window_port), .length(window_length)
    );

    wire out_valid;
    wire [7:0] out_reason;
    wire [15:0] out_port, out_header_bytes, out_payload;
    wire [31:0] out_limit;
{header_wire}    {name}_pipeline pipeline (
        .clk(clk), .rst(rst),
        .in_valid(window_valid), .window(window), .window_bytes(window_bytes),
{connect}        .ctl_write(ctl_write), .ctl_address(ctl_address), .ctl_data(ctl_data), .ctl_read(ctl_read),
{copies}{header_port}        .out_reason(out_reason), .out_port(out_port), .out_header_bytes(out_header_bytes),
        .out_payload(out_payload), .out_limit(out_limit), .out_valid(out_valid)
    );

    // How far the payload moves: words, and bytes of a word.
    wire [16:0] moved = {{1'b0, out_header_bytes}} - {{1'b0, out_payload}};
    wire [16:0] back = -{{{{6{{moved[16]}}}}, moved[16:6]}};
    reg result_in;
    reg [{result_top}:0] result;
    always @(posedge clk) begin
        result_in <= out_valid && !rst;
        result <= {{
            {flags}out_reason, out_port, {header}, out_header_bytes, moved[5:0],
            moved[16] ? 10'd0 : moved[15:6], moved[16] ? back[9:0] : 10'd0, out_limit
        }};
    end

    wire result_valid, result_room, result_taken_ready;
    wire [7:0] reason;
    wire [15:0] result_port, result_header_bytes;
    wire [{header_top}:0] result_header;
    wire [5:0] result_turn;
    wire [9:0] result_wait, result_skip;
    wire [31:0] result_limit;
    p4_fifo #(.WIDTH({result_w}), .DEPTH_LOG2({flight_log2})) results (
        .clk(clk), .rst(rst),
        .in_data(result), .in_valid(result_in), .in_ready(result_room),
        .out_data({{{flags_out}reason, result_port, result_header, result_header_bytes, result_turn, result_wait, result_skip, result_limit}}),
        .out_valid(result_valid), .out_ready(result_taken_ready)
    );
    assign result_taken = result_valid && result_taken_ready;

    p4_deparser #(.HEADER_WORDS({header_words})) deparser (
        .clk(clk), .rst(rst),
        .result_valid(result_valid), .result_ready(result_taken_ready), .result_reason(reason), .result_port(result_port),
        .result_header(result_header), .result_header_bytes(result_header_bytes), .result_turn(result_turn),
        .result_wait(result_wait), .result_skip(result_skip), .result_limit(result_limit), .result_more({more}),
        .word(word), .word_bytes(word_bytes), .word_last(word_last), .word_valid(word_valid), .word_ready(word_ready),
        .out_word(out_word), .out_bytes(out_bytes), .out_last(m_axis_tlast), .out_port(m_axis_tuser),
        .out_valid(m_axis_tvalid), .out_ready(m_axis_tready),
        .drop_valid(drop_valid), .drop_reason(drop_reason), .more(more)
    );
    wire unused = &{{1'b0, {unused}}};
endmodule

`resetall
",
            stages = self.stages,
            flight_bits = flight_log2 + 1,
            queue_log2 = QUEUE_LOG2,
            more = if split { "result_keep" } else { "1'b0" },
            window_top = 8 * self.window - 1,
            window_w = 8 * self.window,
            result_top = result_w - 1,
            header_top = 512 * header_words - 1,
        )
    }
}

/// So many packets may be under way in a pipeline of so many cycles.
fn flight(stages: u32) -> u32 {
    (stages + 8).next_power_of_two().max(16)
}

struct Build<'a> {
    environment: &'a Environment,
    walk: &'a Walk<'a>,
    schedule: &'a Schedule,
    writer: Writer<'a>,
    map: Map,
    memories: BTreeMap<ObjectId, (usize, String)>,
}

impl Build<'_> {
    /// What is on the register bus.
    fn objects(&mut self) -> Result<(), Unsupported> {
        let forms = self.environment.tables.forms();
        let mut seen: Vec<TableId> = self
            .walk
            .lookups
            .iter()
            .filter_map(|lookup| lookup.table)
            .collect();
        seen.sort();
        seen.dedup();
        for table in seen {
            let form = &forms[table.index()];
            let keys = form
                .keys
                .iter()
                .map(|key| (key.name.clone(), key.ty.width()))
                .collect();
            let actions = form.actions.iter().map(|action| {
                let parameters = action
                    .parameters
                    .iter()
                    .map(|(name, ty)| (name.clone(), ty.width()));
                (action.name.clone(), parameters.collect())
            });
            self.map.tables.push(TableMap {
                table: Some(table),
                name: form.name.clone(),
                kind: crate::tables::kind(form, table.0),
                keys,
                result: ResultForm::new(&self.environment.program, form),
                actions: actions.collect(),
            });
        }
        if self.walk.split.is_some() {
            self.map.places = true;
            self.map.tables.push(TableMap {
                table: None,
                name: "multicast groups".into(),
                kind: crate::tables::exact(16, GROUPS, u32::MAX),
                keys: alloc::vec![("group".into(), 16)],
                result: ResultForm {
                    entry: 8,
                    action: 1,
                    arguments: 8,
                },
                actions: Vec::new(),
            });
        }
        for access in &self.walk.accesses {
            if self.memories.contains_key(&access.object) {
                continue;
            }
            let Some((width, size)) = shape(&self.environment.objects[access.object.index()])
            else {
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
        let objects =
            self.map.tables.len() + self.map.memories.len() + usize::from(self.map.places);
        if objects > 256 {
            return Err(Unsupported::from(format!(
                "the program has {objects} tables, registers and counters; the register bus of this hardware has room for 256"
            )));
        }
        Ok(())
    }

    fn pipeline(&mut self, name: &str, outputs: &[(&str, Id)], window: u32) -> String {
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
            "copy_none",
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
            for id in [split.group, split.start, split.count] {
                self.writer.want(id, stage);
            }
        }
        self.writer.settle();
        let answers = self.answers();
        let logic = self.writer.write();
        let (tables, cells) = (self.tables(), self.cells());
        let (reads, writes) = (self.reads(), self.writes());
        let (entry, control) = self.control();
        let mut used_inputs = [false; 11];
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
            (Input::Nanoseconds, "[63:0] time_ns"),
            (Input::Microseconds, "[63:0] time_us"),
        ] {
            if used_inputs[input as usize] {
                let _ = writeln!(text, "    input  wire {port},");
            }
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
        text += &entry;
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
        before += "    wire copy_is_copy, copy_none, copy_keep, copy_replay;\n    wire [15:0] copy_port, copy_instance;\n";
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
        let told = [split.group, split.start, split.count].map(|id| self.writer.at(id, stage));
        let flight = self.flight().trailing_zeros();
        let text = format!(
            "
    // ---- replication engine: behind cycle {} ----
    p4_replicator #(.VECTOR_W({}), .DEPTH_LOG2({flight}), .RESULTS_LOG2({flight})) copy (
        .clk(clk), .rst(rst),
        .in_valid(valid_s{}), .in_vector({{{}}}), .in_group({}), .in_start({}), .in_count({}), .job_taken(job_taken),
        .out_valid(valid_s{}), .out_vector(copy_vector), .out_is_copy(copy_is_copy), .out_none(copy_none), .out_port(copy_port),
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
                .position(|table| table.table == lookup.table)
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
                TableKind::Exact { index, hashes } => {
                    let key = table.key();
                    let mut masks: Vec<String> = Vec::new();
                    for mask in hashes.iter().flatten().rev() {
                        let mask = p4::value::Bits::from_limbs(key, mask);
                        masks.push(literal(key, &mask.unsigned().to_str_radix(16)));
                    }
                    let _ = writeln!(
                        text,
                        "    p4_exact_table #(.KEY_W({key}), .DATA_W({data}), .INDEX_W({index}), .HASHES({{\n        {}}})) {instance} (\n        {ports}\n    );",
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
        if self.map.memories.is_empty() {
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
        let mut after = format!(
            "    wire fetch = ctl_write && ctl_address == 16'h1001;\n    reg [{}:0] fetched;\n    always @(posedge clk) begin\n",
            32 * fetched_words - 1
        );
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
        for word in 0..fetched_words {
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
        after += "            default: ctl_read <= 32'd0;\n        endcase\n    end\n";
        (text, after)
    }
}
