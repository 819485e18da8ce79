// Received frames to records (FORMATS section 2) in a ring, and out of it as a stream of 64 bits.
//
// A frame goes into the ring as it comes, and is kept when it is whole. A bad frame leaves nothing, and so does one of a length that no
// frame has. One for which there is no room is counted as an overflow.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module record_rx #(
    // Words of frames: 2 to the power of this; 12 are 32 KiB.
    parameter RING = 12,
    // Frames: 2 to the power of this.
    parameter RECORDS = 9,
    // Lengths of frames, bytes without FCS
    parameter SHORTEST = 60,
    parameter LONGEST = 16000
) (
    input  wire        clk,
    input  wire        rst,

    // Words of a frame, the first byte lowest; `rest` are the bytes of the last one, 0 for 8.
    input  wire [63:0] data,
    input  wire        valid,
    input  wire        last,
    input  wire [2:0]  rest,
    // Of the frame, with its last word
    input  wire        bad,
    input  wire [55:0] stamp,
    input  wire [31:0] hash,

    // Records
    output wire [63:0] m_axis_tdata,
    output wire [7:0]  m_axis_tkeep,
    output wire        m_axis_tlast,
    output wire        m_axis_tvalid,
    input  wire        m_axis_tready,

    // High for a cycle for each
    output reg         good_frame,
    output reg         bad_frame,
    output reg         overflow,
    // Nothing is here
    output wire        idle
);

// Write side
reg [11:0] words_reg; // that have come of the frame, but for more than any frame has
reg        lost_reg;  // no room

wire        frame_full, header_full;
wire [14:0] length = {words_reg, 3'd0} + {11'd0, rest == 3'd0, rest};
wire        wrong = bad || length < SHORTEST || length > LONGEST;
wire        lost = lost_reg || frame_full || header_full;
wire        good = last && !wrong && !lost;

always @(posedge clk) begin
    good_frame <= valid && good;
    bad_frame <= valid && last && wrong;
    overflow <= valid && last && !wrong && lost;
    if (valid) begin
        words_reg <= last ? 12'd0 : words_reg == 12'hFFF ? words_reg : words_reg + 12'd1;
        lost_reg <= !last && (lost_reg || frame_full);
    end

    if (rst) begin
        words_reg <= 12'd0;
        lost_reg <= 1'b0;
        {good_frame, bad_frame, overflow} <= 3'b000;
    end
end

// The frames, and what stands before them in their records
localparam [1:0] PART_FIRST = 2'd0, PART_SECOND = 2'd1, PART_FRAME = 2'd2;

reg [1:0]   part_reg; // of a record that goes out
wire        word_valid, word_last, header_valid, frames_empty, headers_empty;
wire [2:0]  word_rest;
wire [63:0] word;
wire [13:0] length_out;
wire [55:0] stamp_out;
wire [31:0] hash_out;

record_ring #(.WIDTH(68), .DEPTH(RING)) frames (
    .clk(clk), .rst(rst),
    .in_data({last, rest, data}), .in_write(valid && (last ? good : !lost_reg && !frame_full)), .in_keep(last),
    .in_drop(valid && last && !good), .full(frame_full),
    .out_data({word_last, word_rest, word}), .out_valid(word_valid), .out_ready(m_axis_tready && part_reg == PART_FRAME),
    .empty(frames_empty)
);

record_ring #(.WIDTH(102), .DEPTH(RECORDS)) headers (
    .clk(clk), .rst(rst),
    .in_data({length[13:0], stamp, hash}), .in_write(valid && good), .in_keep(1'b1), .in_drop(1'b0), .full(header_full),
    .out_data({length_out, stamp_out, hash_out}), .out_valid(header_valid), .out_ready(m_axis_tready && m_axis_tlast && m_axis_tvalid),
    .empty(headers_empty)
);

// Read side
wire [63:0] first = {stamp_out[39:32], stamp_out[47:40], stamp_out[55:48], 8'h00, length_out[7:0], 2'b00, length_out[13:8], 16'h7637};
wire [63:0] second = {hash_out[7:0], hash_out[15:8], hash_out[23:16], hash_out[31:24],
    stamp_out[7:0], stamp_out[15:8], stamp_out[23:16], stamp_out[31:24]};

assign m_axis_tdata = part_reg == PART_FIRST ? first : part_reg == PART_SECOND ? second : word;
assign m_axis_tvalid = part_reg == PART_FRAME ? word_valid : header_valid;
assign m_axis_tlast = part_reg == PART_FRAME && word_last;
assign m_axis_tkeep = m_axis_tlast && word_rest != 3'd0 ? ~(8'hFF << word_rest) : 8'hFF;
assign idle = frames_empty && headers_empty && words_reg == 12'd0 && !good_frame && !bad_frame && !overflow;

always @(posedge clk) begin
    if (m_axis_tvalid && m_axis_tready)
        part_reg <= part_reg == PART_FIRST ? PART_SECOND : part_reg == PART_SECOND || !word_last ? PART_FRAME : PART_FIRST;

    if (rst) part_reg <= PART_FIRST;
end

initial begin
    words_reg = 12'd0;
    lost_reg = 1'b0;
    good_frame = 1'b0;
    bad_frame = 1'b0;
    overflow = 1'b0;
    part_reg = PART_FIRST;
end

endmodule

`resetall
