// A port's way in: words of 64 bits from mac10g_rx become words of the pipeline's width, in a ring. A frame comes out when it is whole and good. A
// bad one is taken back; one that finds no room is taken back and counted as `lost`, and what is in the ring stays whole.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_switch_ingress #(
    // 64 times a power of two
    parameter WIDTH = 512,
    // Words of the ring: 2 to the power of this. The longest frame is as many words.
    parameter DEPTH = 8
) (
    input  wire               clk,
    input  wire               rst,

    input  wire [63:0]        s_axis_tdata,
    input  wire [7:0]         s_axis_tkeep,
    input  wire               s_axis_tlast,
    input  wire               s_axis_tvalid,
    // With the last word: the frame is bad
    input  wire               s_axis_tuser,

    output wire [WIDTH-1:0]   m_axis_tdata,
    output wire [WIDTH/8-1:0] m_axis_tkeep,
    output wire               m_axis_tlast,
    output wire               m_axis_tvalid,
    input  wire               m_axis_tready,

    // High for a cycle for each frame
    output reg                good,
    output reg                bad,
    output reg                lost
);

localparam LANES = WIDTH / 64;
localparam LANE_W = LANES == 1 ? 1 : $clog2(LANES);

// A word waits until the next has come, which may have no byte of the frame and end it.
reg [63:0]          word_reg;
reg [7:0]           keep_reg;
reg                 full_reg, last_reg, bad_reg;
wire                is_end = s_axis_tvalid && s_axis_tlast && s_axis_tkeep == 8'h00;
wire                moves = full_reg && (s_axis_tvalid || last_reg);
wire                is_last = last_reg || is_end;
wire                is_bad = last_reg ? bad_reg : s_axis_tuser;

// Lanes before this one are in the register.
reg [LANE_W-1:0]    lane_reg;
reg [WIDTH-1:0]     data_reg, data;
reg [WIDTH/8-1:0]   kept_reg, kept;
integer             lane;

always @* begin
    data = data_reg;
    kept = kept_reg;
    for (lane = 0; lane < LANES; lane = lane + 1)
        if (lane_reg == lane[LANE_W-1:0]) begin
            data[64*lane +: 64] = word_reg;
            kept[8*lane +: 8] = keep_reg;
        end
end

wire                fills = LANES == 1 || (&lane_reg);
reg                 lost_reg;
wire                writes = moves && (fills || is_last) && !lost_reg;
wire                full;
wire                loses = lost_reg || (writes && full);
wire                ends = moves && is_last;
wire                unused;

record_ring #(.WIDTH(WIDTH + WIDTH / 8 + 1), .DEPTH(DEPTH)) frames (
    .clk(clk), .rst(rst),
    .in_data({is_last, kept, data}), .in_write(writes && !full), .in_keep(ends && !loses && !is_bad), .in_drop(ends && (loses || is_bad)),
    .full(full), .out_data({m_axis_tlast, m_axis_tkeep, m_axis_tdata}), .out_valid(m_axis_tvalid), .out_ready(m_axis_tready), .empty(unused)
);

always @(posedge clk) begin
    if (moves) begin
        lane_reg <= is_last ? {LANE_W{1'b0}} : lane_reg + 1'b1;
        data_reg <= data;
        kept_reg <= fills || is_last ? {WIDTH/8{1'b0}} : kept;
        lost_reg <= loses && !is_last;
    end
    if (s_axis_tvalid && !is_end) begin
        word_reg <= s_axis_tdata;
        keep_reg <= s_axis_tkeep;
        last_reg <= s_axis_tlast;
        bad_reg <= s_axis_tuser;
        full_reg <= 1'b1;
    end else if (moves) begin
        full_reg <= 1'b0;
        last_reg <= 1'b0;
    end
    good <= ends && !is_bad;
    bad <= ends && is_bad;
    lost <= ends && !is_bad && loses;
    if (rst) begin
        {full_reg, last_reg, lost_reg, good, bad, lost} <= 6'd0;
        lane_reg <= {LANE_W{1'b0}};
        kept_reg <= {WIDTH/8{1'b0}};
    end
end

initial begin
    {full_reg, last_reg, lost_reg, good, bad, lost} = 6'd0;
    lane_reg = {LANE_W{1'b0}};
    kept_reg = {WIDTH/8{1'b0}};
end

endmodule

`resetall
