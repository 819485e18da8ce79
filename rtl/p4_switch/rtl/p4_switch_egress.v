// A port's way out: words of the pipeline's width from the buffer, in a queue, become words of 64 bits for mac10g_tx. A frame begins when it is in the
// queue as a whole, or as much of it that the buffer brings the rest in time: the MAC takes a word each cycle.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_switch_egress #(
    // 64 times a power of two
    parameter WIDTH = 512,
    // Words of a cell of the buffer, and of the queue, 16 times as many at the least: 2 to the power of these
    parameter WORD_W = 2,
    parameter DEPTH = 6
) (
    input  wire               clk,
    input  wire               rst,

    input  wire [WIDTH-1:0]   s_data,
    input  wire [WIDTH/8-1:0] s_keep,
    input  wire               s_last,
    input  wire               s_valid,
    // There is room for a cell, and what may be under way
    output wire               ready,

    output wire [63:0]        m_axis_tdata,
    output wire [7:0]         m_axis_tkeep,
    output wire               m_axis_tlast,
    output wire               m_axis_tvalid,
    input  wire               m_axis_tready
);

localparam LANES = WIDTH / 64;
localparam LANE_W = LANES == 1 ? 1 : $clog2(LANES);
localparam [DEPTH:0] UNDER_WAY = (1 << WORD_W) + 3;
localparam [DEPTH:0] ROOM = 1 << DEPTH;
localparam [DEPTH:0] ENOUGH = 1 << (DEPTH - 1);

wire [WIDTH-1:0]   data;
wire [WIDTH/8-1:0] keep;
wire               last, valid, room;
wire               takes;

p4_fifo #(.WIDTH(WIDTH + WIDTH / 8 + 1), .DEPTH_LOG2(DEPTH)) queue (
    .clk(clk), .rst(rst), .in_data({s_last, s_keep, s_data}), .in_valid(s_valid), .in_ready(room),
    .out_data({last, keep, data}), .out_valid(valid), .out_ready(takes)
);

// Words in the queue, and frames with their end in it
reg [DEPTH:0]      words_reg, frames_reg;
reg                in_frame_reg;
reg [LANE_W-1:0]   lane_reg;
wire [WIDTH/8:0]   rest = {1'b0, keep} >> (8 * (lane_reg + 1));
wire               ends_word = LANES == 1 || (&lane_reg) || (last && rest[7:0] == 8'h00);
wire               moves = m_axis_tvalid && m_axis_tready;

assign ready = words_reg <= ROOM - UNDER_WAY;
assign m_axis_tdata = data[64*lane_reg +: 64];
assign m_axis_tkeep = keep[8*lane_reg +: 8];
assign m_axis_tlast = last && ends_word;
assign m_axis_tvalid = valid && (in_frame_reg || frames_reg != 0 || words_reg >= ENOUGH);
assign takes = moves && ends_word;

// `ready` leaves room for all that comes.
wire unused = &{1'b0, room, rest[WIDTH/8:8]};

always @(posedge clk) begin
    words_reg <= words_reg + {{DEPTH{1'b0}}, s_valid} - {{DEPTH{1'b0}}, takes};
    frames_reg <= frames_reg + {{DEPTH{1'b0}}, s_valid && s_last} - {{DEPTH{1'b0}}, takes && last};
    if (moves) begin
        lane_reg <= ends_word ? {LANE_W{1'b0}} : lane_reg + 1'b1;
        in_frame_reg <= !m_axis_tlast;
    end
    if (rst) begin
        {words_reg, frames_reg} <= {(2*DEPTH+2){1'b0}};
        in_frame_reg <= 1'b0;
        lane_reg <= {LANE_W{1'b0}};
    end
end

initial begin
    {words_reg, frames_reg} = {(2*DEPTH+2){1'b0}};
    in_frame_reg = 1'b0;
    lane_reg = {LANE_W{1'b0}};
end

endmodule

`resetall
