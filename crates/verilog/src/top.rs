//! The top module: what is round the pipeline.

use crate::design::{Design, QUEUE_LOG2};
use crate::schedule::flight;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write;

impl Design {
    /// The module round the pipeline.
    pub(crate) fn top(&self, pipeline: &str) -> String {
        let name = &self.name;
        let (width, word_bytes) = (self.width, self.width / 8);
        let words = self.window.div_ceil(word_bytes);
        let header_words = self.header.div_ceil(word_bytes).max(1);
        let flight = flight(self.stages + self.outstanding);
        let flight_log2 = flight.trailing_zeros();
        let most = if self.alone.is_empty() { flight } else { 1 };
        let whole = u8::from(self.whole);
        let has = |port: &str| pipeline.contains(&format!(" {port},\n"));
        let mut sink = alloc::vec![
            "result_room".to_string(),
            format!("back[16:{}]", self.count_w())
        ];
        let mut connect = String::new();
        for (port, wire) in [
            ("port", "window_port"),
            ("length", "window_length"),
            ("packet_sum", "window_sum"),
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
            0 => format!("{{{}{{1'b0}}}}", width * header_words),
            bytes if bytes == word_bytes * header_words => "out_header".into(),
            bytes => format!("{{out_header, {}'d0}}", width * header_words - 8 * bytes),
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
        let anew = self.anew(header_words);
        let result_w = width * header_words
            + 8
            + 16
            + 16
            + 6
            + 2 * self.count_w()
            + 32
            + if split { 2 } else { 0 }
            + anew.width;
        let (alone, leaves) = match (split, self.alone.is_empty()) {
            (false, _) => ("", "packet_taken"),
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
        let flags = format!("{}{flags}", anew.flags);
        let flags_out = format!("{}{flags_out}", anew.flags_out);
        let copies = match split {
            true => {
                "        .out_keep(out_keep), .out_replay(out_replay), .result_taken(packet_taken), .job_taken(job_taken),\n        .none_under_way(none_under_way),\n"
            }
            false => "",
        };
        let (queue_out, queue_valid, queue_taken) = match split {
            true => ("queued", "queued_valid", "word_ready && !replay"),
            false => ("{word_last, word_bytes, word}", "word_valid", "word_ready"),
        };
        let replays = match split {
            true => format!(
                "    // The words of a packet that is copied are kept for its next copy.
    wire job_taken, none_under_way, out_keep, out_replay, result_keep, result_replay, keep, replay;
    wire [{kept_top}:0] queued, kept;
    wire queued_valid, kept_valid, replay_room;
    assign {{word_last, word_bytes, word}} = replay ? kept : queued;
    assign word_valid = replay ? kept_valid : queued_valid;
    p4_fifo #(.WIDTH({kept_w}), .DEPTH_LOG2({QUEUE_LOG2})) replays (
        .clk(clk), .rst(rst),
        .in_data({{word_last, word_bytes, word}}), .in_valid(word_ready && keep), .in_ready(replay_room),
        .out_data(kept), .out_valid(kept_valid), .out_ready(word_ready && replay)
    );
",
                kept_top = width + 7,
                kept_w = width + 8,
            ),
            false => String::new(),
        };
        let unused = sink.join(", ");
        let names = &self.map.performance;
        let counts = !names.is_empty();
        let tables = match has("events") {
            true => pipeline.matches("    assign events[").count(),
            false => 0,
        };
        let mut read_wire = String::new();
        if counts {
            read_wire += "    wire [31:0] pipeline_read;\n";
        }
        let mut events = "";
        if tables > 0 {
            let _ = writeln!(read_wire, "    wire [{}:0] events;", tables - 1);
            events = " .events(events),";
        }
        let performance = match counts {
            true => crate::performance::instance(names),
            false => String::new(),
        };
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
    input  wire [{word_top}:0] s_axis_tdata,
    input  wire [{lane_top}:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tlast,
    input  wire [15:0]  s_axis_tuser,
    // packets that leave
    output wire [{word_top}:0] m_axis_tdata,
    output wire [{lane_top}:0]  m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire [15:0]  m_axis_tuser,
    // a packet that is dropped, and why
    output wire         drop_valid,
    output wire [7:0]   drop_reason,
    output wire         more,          // another copy of the packet that leaves or is dropped comes
    output wire         busy,          // a packet may begin anew that has been taken
    // registers
    input  wire         ctl_write,
    input  wire [15:0]  ctl_address,
    input  wire [31:0]  ctl_data,
    output wire [31:0]  ctl_read
);
    // Within, the first byte is in the highest bits.
    wire [{word_top}:0] in_word, out_word;
    reg [6:0] in_bytes;
    wire [6:0] out_bytes;
    integer lane;
    genvar byte_of;
    generate
        for (byte_of = 0; byte_of < {word_bytes}; byte_of = byte_of + 1) begin : bytes
            assign in_word[{word_top}-8*byte_of -: 8] = s_axis_tdata[8*byte_of +: 8];
            assign m_axis_tdata[8*byte_of +: 8] = out_word[{word_top}-8*byte_of -: 8];
            assign m_axis_tkeep[byte_of] = out_bytes > byte_of;
        end
    endgenerate
    always @* begin
        in_bytes = 7'd0;
        for (lane = 0; lane < {word_bytes}; lane = lane + 1) in_bytes = in_bytes + {{6'd0, s_axis_tkeep[lane]}};
    end

    // Each packet that the pipeline is given has a place for its result.
    reg [{flight_log2}:0] in_flight;
    wire queue_ready, given, window_valid, packet_taken;
    wire room = {alone}in_flight + {{{{{flight_log2}{{1'b0}}}}, window_valid}} < {flight_bits}'d{most};
    wire leaves_valid, leaves_ready, lost;
{front}    assign front_ready = queue_ready && (given || room);
    wire accepted = front_valid && front_ready;
    always @(posedge clk)
        if (rst) in_flight <= 0;
        else in_flight <= in_flight + {{{{{flight_log2}{{1'b0}}}}, window_valid}} - {{{{{flight_log2}{{1'b0}}}}, {leaves}}};

    wire [{word_top}:0] word;
    wire [6:0] word_bytes;
    wire word_last, word_valid, word_ready;
{replays}    p4_fifo #(.WIDTH({queue_w}), .DEPTH_LOG2({queue_log2}), .AGAIN(1)) queue (
        .clk(clk), .rst(rst),
        .in_data({{front_last, front_bytes, front_word}}), .in_valid(front_valid && (given || room)), .in_ready(queue_ready),
        .out_data({queue_out}), .out_valid({queue_valid}), .out_ready({queue_taken})
    );

    wire [{window_top}:0] window;
    wire [15:0] window_bytes, window_port, window_sum;
    wire [31:0] window_length;
    p4_gather #(.WIDTH({width}), .WORDS({words}), .WINDOW_W({window_w}), .WHOLE({whole})) gather (
        .clk(clk), .rst(rst),
        .word(front_word), .word_bytes(front_bytes), .word_last(front_last), .word_port(front_port), .word_valid(accepted), .begun(given),
        .window_valid(window_valid), .window(window), .window_bytes(window_bytes), .port(window_port), .length(window_length), .sum(window_sum)
    );

    wire out_valid;
    wire [7:0] out_reason;
    wire [15:0] out_port, out_header_bytes, out_payload;
    wire [31:0] out_limit;
{header_wire}{read_wire}    {name}_pipeline pipeline (
        .clk(clk), .rst(rst),
        .in_valid(window_valid), .window(window), .window_bytes(window_bytes),
{connect}{pins}        .ctl_write(ctl_write), .ctl_address(ctl_address), .ctl_data(ctl_data), .ctl_read({read}),{events}
{copies}{header_port}        .out_reason(out_reason), .out_port(out_port), .out_header_bytes(out_header_bytes),
        .out_payload(out_payload), .out_limit(out_limit), .out_valid(out_valid)
    );

    // How far the payload moves: words, and bytes of a word.
    wire [16:0] moved = {{1'b0, out_header_bytes}} - {{1'b0, out_payload}};
    wire [16:0] back = -{{{{{shift}{{moved[16]}}}}, moved[16:{shift}]}};
    reg result_in;
    reg [{result_top}:0] result;
    always @(posedge clk) begin
        result_in <= out_valid && !rst;
        result <= {{
            {flags}out_reason, out_port, {header}, out_header_bytes, {turn},
            moved[16] ? {count_w}'d0 : moved[15:{shift}], moved[16] ? back[{count_top}:0] : {count_w}'d0, out_limit
        }};
    end

    wire result_valid, result_room, result_taken_ready, put_together;
    wire [7:0] reason;
    wire [15:0] result_port, result_header_bytes;
    wire [{header_top}:0] result_header;
    wire [5:0] result_turn;
    wire [{count_top}:0] result_wait, result_skip;
    wire [31:0] result_limit;
    p4_fifo #(.WIDTH({result_w}), .DEPTH_LOG2({flight_log2})) results (
        .clk(clk), .rst(rst),
        .in_data(result), .in_valid(result_in), .in_ready(result_room),
        .out_data({{{flags_out}reason, result_port, result_header, result_header_bytes, result_turn, result_wait, result_skip, result_limit}}),
        .out_valid(result_valid), .out_ready(result_taken_ready)
    );
{again}    assign packet_taken = result_valid && result_taken_ready;

    wire dropped, holds;
    wire [7:0] dropped_reason;
    p4_deparser #(.WIDTH({width}), .COUNT_W({count_w}), .HEADER_WORDS({header_words}), .LIMITED({limited}), .TAG_W({tag_w})) deparser (
        .clk(clk), .rst(rst),
        .result_valid(result_valid), .result_ready(put_together), .result_reason({given_reason}), .result_port(result_port),
        .result_header(result_header), .result_header_bytes({put}header_bytes), .result_turn({put}turn),
        .result_wait({put}wait), .result_skip({put}skip), .result_limit({put}limit), .result_more({more}), .result_tag({tag}),
        .word(word), .word_bytes(word_bytes), .word_last(word_last), .word_valid(word_valid), .word_ready(word_ready),
        .out_word(out_word), .out_bytes(out_bytes), .out_last(m_axis_tlast), .out_port(m_axis_tuser), .out_tag(leaves_tag),
        .out_valid(leaves_valid), .out_ready(leaves_ready),
        .drop_valid(dropped), .drop_reason(dropped_reason), .more(more), .holds(holds)
    );
{back_again}{performance}    wire unused = &{{1'b0, {unused}}};
endmodule

`resetall
",
            read = if counts { "pipeline_read" } else { "ctl_read" },
            stages = self.stages,
            flight_bits = flight_log2 + 1,
            queue_log2 = QUEUE_LOG2,
            more = if split { "keep" } else { "1'b0" },
            front = anew.front,
            pins = anew.pins,
            again = anew.again,
            put = anew.put,
            given_reason = anew.reason,
            tag = anew.tag,
            tag_w = anew.tag_width,
            back_again = anew.back,
            window_top = 8 * self.window - 1,
            window_w = 8 * self.window,
            result_top = result_w - 1,
            header_top = width * header_words - 1,
            word_top = width - 1,
            lane_top = word_bytes - 1,
            queue_w = width + 8,
            shift = word_bytes.trailing_zeros(),
            turn = match word_bytes.trailing_zeros() {
                6 => "moved[5:0]".into(),
                bits => format!("{}'d0, moved[{}:0]", 6 - bits, bits - 1),
            },
            limited = u8::from(self.limited),
            count_w = self.count_w(),
            count_top = self.count_w() - 1,
        )
    }
}

/// Additional parts of a design with resubmit and recirculate, at its places in the text.
struct Anew {
    /// Of a result.
    width: u32,
    flags: String,
    flags_out: String,
    /// Where packets come in.
    front: String,
    pins: String,
    /// Between results and what puts packets together.
    again: String,
    put: &'static str,
    reason: &'static str,
    tag: String,
    tag_width: u32,
    /// Where they leave.
    back: String,
}

impl Design {
    /// How many bits a number of words has.
    fn count_w(&self) -> u32 {
        16 - (self.width / 8).trailing_zeros()
    }

    fn anew(&self, header_words: u32) -> Anew {
        let word_top = self.width - 1;
        let split = self.map.places;
        let Some(along) = self.along else {
            let same = match split {
                true => "    assign keep = result_keep;\n    assign replay = result_replay;\n",
                false => "",
            };
            return Anew {
                width: 0,
                flags: String::new(),
                flags_out: String::new(),
                front: format!(
                    "    wire [{word_top}:0] front_word = in_word;
    wire [6:0] front_bytes = in_bytes;
    wire [15:0] front_port = s_axis_tuser;
    wire front_last = s_axis_tlast;
    wire front_valid = s_axis_tvalid;
    wire front_ready;
    assign s_axis_tready = front_ready;
"
                ),
                pins: String::new(),
                again: format!(
                    "{same}    assign result_taken_ready = put_together;\n    wire leaves_tag;\n"
                ),
                put: "result_",
                reason: "reason",
                tag: "1'b0".into(),
                tag_width: 1,
                back: "    assign m_axis_tvalid = leaves_valid;
    assign leaves_ready = m_axis_tready;
    assign lost = 1'b0;
    assign drop_valid = dropped;
    assign drop_reason = dropped_reason;
    assign busy = 1'b0;
    wire unused_tag = &{1'b0, leaves_tag, lost, holds};
"
                .into(),
            };
        };
        let bits = along.width;
        let all = bits + 10;
        let clones = along.clones;
        let (flags, flags_out) = match clones {
            true => (
                "out_clone, out_clone_set, ",
                "result_clone, result_clone_set, ",
            ),
            false => ("", ""),
        };
        let asked = "entry, out_set, out_full, out_from, out_along, ";
        let (keep, replay) = match split {
            true => ("result_keep", "result_replay"),
            false => ("1'b0", "1'b0"),
        };
        let (kept, replayed) = match split {
            true => ("keep", "replay"),
            false => ("unused_keep", "unused_replay"),
        };
        let (clone, clone_set) = match clones {
            true => ("result_clone", "result_clone_set"),
            false => ("1'b0", "8'd0"),
        };
        let pins = match clones {
            true => "        .out_clone(out_clone), .out_clone_set(out_clone_set),\n",
            false => "",
        };
        let out_clones = match clones {
            true => "    wire out_clone;\n    wire [7:0] out_clone_set;\n",
            false => "",
        };
        let result_clones = match clones {
            true => "    wire result_clone;\n    wire [7:0] result_clone_set;\n",
            false => "",
        };
        let unused_copies = match split {
            true => "",
            false => {
                "    wire unused_keep, unused_replay;\n    wire unused_copies = &{1'b0, unused_keep, unused_replay};\n"
            }
        };
        let none = match split {
            true => " && none_under_way",
            false => "",
        };
        let header_w = self.width * header_words;
        Anew {
            width: bits + 2 + 8 + 1 + 16 + if clones { 9 } else { 0 },
            flags: format!("{flags}out_{asked}"),
            flags_out: format!(
                "{flags_out}result_entry, result_set, result_full, result_from, result_along, "
            ),
            front: format!(
                "    wire [{word_top}:0] front_word;
    wire [6:0] front_bytes;
    wire [15:0] front_port;
    wire [{top}:0] front_along;
    wire front_last, front_valid, front_ready, loops, loop_empty;
    wire [{tag_top}:0] leaves_tag;
    p4_loop #(.WIDTH({width}), .ALONG_W({all}), .DEPTH_LOG2({depth}), .LONGEST({longest})) loop (
        .clk(clk), .rst(rst),
        .in_word(out_word), .in_bytes(out_bytes), .in_last(m_axis_tlast), .in_port(leaves_tag[{all} +: 16]),
        .in_along(leaves_tag[{top}:0]), .in_valid(loops), .lost(lost),
        .new_word(in_word), .new_bytes(in_bytes), .new_last(s_axis_tlast), .new_port(s_axis_tuser),
        .new_valid(s_axis_tvalid), .new_ready(s_axis_tready),
        .out_word(front_word), .out_bytes(front_bytes), .out_last(front_last), .out_port(front_port),
        .out_along(front_along), .out_valid(front_valid), .out_ready(front_ready), .empty(loop_empty)
    );
    reg [{top}:0] window_along;
    always @(posedge clk) if (front_valid && front_ready) window_along <= front_along;
    wire [1:0] out_entry;
    wire [7:0] out_set;
    wire [15:0] out_from;
    wire [{vector_top}:0] out_along;
    wire out_full;
{out_clones}",
                top = all - 1,
                tag_top = all + 16,
                vector_top = bits - 1,
                depth = QUEUE_LOG2 + 1,
                longest = (1 << QUEUE_LOG2) - 1,
                width = self.width,
            ),
            pins: format!(
                "        .along(window_along),\n        .out_entry(out_entry), .out_set(out_set), .out_full(out_full), .out_along(out_along), .out_from(out_from),\n{pins}"
            ),
            again: format!(
                "    wire [1:0] result_entry;
    wire [7:0] result_set;
    wire [15:0] result_from;
    wire [{vector_top}:0] result_along;
    wire result_full, put_loop;
    wire [{top}:0] put_along;
    wire [7:0] put_reason;
    wire [{header_top}:0] put_header;
    wire [15:0] put_header_bytes;
    wire [5:0] put_turn;
    wire [{count_top}:0] put_wait, put_skip;
    wire [31:0] put_limit;
{result_clones}{unused_copies}    p4_again #(.ALONG_W({bits}), .HEADER_W({header_w}), .COUNT_W({count_w}), .RAW({raw}), .PASSES(8'd{passes})) again (
        .clk(clk), .rst(rst), .in_valid(result_valid), .in_ready(result_taken_ready), .in_keep({keep}), .in_replay({replay}),
        .in_clone({clone}), .in_clone_set({clone_set}), .in_entry(result_entry), .in_set(result_set), .in_full(result_full),
        .in_along(result_along), .in_reason(reason), .in_header(result_header), .in_header_bytes(result_header_bytes),
        .in_turn(result_turn), .in_wait(result_wait), .in_skip(result_skip), .in_limit(result_limit),
        .out_keep({kept}), .out_replay({replayed}), .out_loop(put_loop), .out_along(put_along), .out_reason(put_reason),
        .out_header(put_header), .out_header_bytes(put_header_bytes), .out_turn(put_turn), .out_wait(put_wait), .out_skip(put_skip),
        .out_limit(put_limit), .out_taken(put_together)
    );
    wire unused_header = &{{1'b0, put_header}};
",
                vector_top = bits - 1,
                top = all - 1,
                header_top = header_w - 1,
                raw = u8::from(along.clones_raw),
                passes = crate::reason::PASSES,
                count_w = self.count_w(),
                count_top = self.count_w() - 1,
            ),
            put: "put_",
            reason: "put_reason",
            tag: "{put_loop, result_from, put_along}".into(),
            tag_width: all + 17,
            back: format!(
                "    assign loops = leaves_valid && leaves_tag[{loop_bit}];
    assign m_axis_tvalid = leaves_valid && !leaves_tag[{loop_bit}];
    assign leaves_ready = leaves_tag[{loop_bit}] || m_axis_tready;
    // A packet that found no room in the recirculation queue is reported when nothing else is.
    reg [15:0] losses;
    wire tell_loss = losses != 16'd0 && !dropped;
    always @(posedge clk)
        if (rst) losses <= 16'd0;
        else losses <= losses + {{15'd0, lost}} - {{15'd0, tell_loss}};
    assign drop_valid = dropped || tell_loss;
    assign drop_reason = dropped ? dropped_reason : 8'd{no_room};
    assign busy = in_flight != 0 || window_valid || result_in || result_valid || holds || leaves_valid || !loop_empty || losses != 16'd0 || lost || !(1'b1{none});
",
                loop_bit = all + 16,
                no_room = crate::reason::QUEUE_FULL,
            ),
        }
    }
}
