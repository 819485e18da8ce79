// Packets from the host to a program: words of 64 bits become words of the program's width in a ring. A packet leaves when it is in the ring as a whole.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_host_send #(
    // 64 times a power of two
    parameter WIDTH = 512,
    // Words of the ring: 2 to the power of this. The longest packet is as many words.
    parameter DEPTH = 5
) (
    input  wire               clk,
    input  wire               rst,

    // A word of the host, in a cycle with `accepts`: all but a packet's last word keep eight bytes, that one its lowest ones
    input  wire               write,
    input  wire [63:0]        data,
    input  wire [7:0]         keep,
    input  wire               last,
    output wire               accepts,
    // The packet that has begun and not ended is taken back
    input  wire               abandon,
    // High for a cycle for each whole packet
    output wire               sent,

    output wire [WIDTH-1:0]   m_axis_tdata,
    output wire [WIDTH/8-1:0] m_axis_tkeep,
    output wire               m_axis_tlast,
    output wire               m_axis_tvalid,
    input  wire               m_axis_tready
);

localparam LANES = WIDTH / 64;
localparam LANE_W = LANES == 1 ? 1 : $clog2(LANES);

reg [LANE_W-1:0]  lane_reg;
reg [WIDTH-1:0]   data_reg, word;
reg [WIDTH/8-1:0] keep_reg, kept;
integer           lane;

always @* begin
    word = data_reg;
    kept = keep_reg;
    for (lane = 0; lane < LANES; lane = lane + 1)
        if (lane_reg == lane[LANE_W-1:0]) begin
            word[64*lane +: 64] = data;
            kept[8*lane +: 8] = keep;
        end
end

wire [8:0] above = {1'b0, keep} + 9'd1;
wire       is_whole = &keep;
// The lowest bits of `keep` are set, and no other.
wire       is_keep = keep[0] && ((above & {1'b0, keep}) == 9'd0);
wire       fills = last || LANES == 1 || (&lane_reg);
wire       full, unused;
wire       moves = write && accepts;

assign accepts = (last ? is_keep : is_whole) && !(fills && full);
assign sent = moves && last;

record_ring #(.WIDTH(WIDTH + WIDTH / 8 + 1), .DEPTH(DEPTH)) packets (
    .clk(clk), .rst(rst), .in_data({last, kept, word}), .in_write(moves && fills), .in_keep(sent), .in_drop(abandon), .full(full),
    .out_data({m_axis_tlast, m_axis_tkeep, m_axis_tdata}), .out_valid(m_axis_tvalid), .out_ready(m_axis_tready), .empty(unused)
);

always @(posedge clk) begin
    if (moves) begin
        lane_reg <= fills ? {LANE_W{1'b0}} : lane_reg + 1'b1;
        data_reg <= word;
        keep_reg <= fills ? {WIDTH/8{1'b0}} : kept;
    end
    if (rst || abandon) begin
        lane_reg <= {LANE_W{1'b0}};
        keep_reg <= {WIDTH/8{1'b0}};
    end
end

initial begin
    lane_reg = {LANE_W{1'b0}};
    keep_reg = {WIDTH/8{1'b0}};
end

endmodule

`resetall
