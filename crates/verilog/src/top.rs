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
    wire [15:0] window_bytes, window_port, window_sum;
    wire [31:0] window_length;
    p4_gather #(.WORDS({words}), .WINDOW_W({window_w}), .WHOLE({whole})) gather (
        .clk(clk), .rst(rst),
        .word(in_word), .word_bytes(in_bytes), .word_last(s_axis_tlast), .word_port(s_axis_tuser), .word_valid(accepted), .begun(given),
        .window_valid(window_valid), .window(window), .window_bytes(window_bytes), .port(window_port), .length(window_length), .sum(window_sum)
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
