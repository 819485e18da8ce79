// Packets from a program to the host: a ring in the program's width, from which the host takes words of 64 bits. The program never waits for the host: a
// packet that finds no room is taken back as a whole and counted as lost.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_host_receive #(
    // 64 times a power of two
    parameter WIDTH = 512,
    // Words of the ring: 2 to the power of this
    parameter DEPTH = 5
) (
    input  wire               clk,
    input  wire               rst,

    input  wire [WIDTH-1:0]   s_axis_tdata,
    input  wire [WIDTH/8-1:0] s_axis_tkeep,
    input  wire               s_axis_tlast,
    input  wire               s_axis_tvalid,

    // The first word that is here, until it is taken
    output wire               valid,
    output wire [63:0]        data,
    output wire [7:0]         keep,
    output wire               last,
    input  wire               take,

    // High for a cycle for each packet
    output wire               received,
    output wire               lost
);

localparam LANES = WIDTH / 64;
localparam LANE_W = LANES == 1 ? 1 : $clog2(LANES);

reg                lost_reg;
reg  [LANE_W-1:0]  lane_reg;
wire               full, unused, is_last;
wire [WIDTH-1:0]   word;
wire [WIDTH/8-1:0] kept;
wire               loses = lost_reg || full;
wire               ends = s_axis_tvalid && s_axis_tlast;
wire [WIDTH/8:0]   rest = {1'b0, kept} >> (8 * (lane_reg + 1));
wire               ends_word = LANES == 1 || (&lane_reg) || (is_last && rest[7:0] == 8'h00);

assign received = ends && !loses;
assign lost = ends && loses;
assign data = word[64*lane_reg +: 64];
assign keep = kept[8*lane_reg +: 8];
assign last = is_last && ends_word;

record_ring #(.WIDTH(WIDTH + WIDTH / 8 + 1), .DEPTH(DEPTH)) packets (
    .clk(clk), .rst(rst), .in_data({s_axis_tlast, s_axis_tkeep, s_axis_tdata}), .in_write(s_axis_tvalid && !loses), .in_keep(received),
    .in_drop(lost), .full(full), .out_data({is_last, kept, word}), .out_valid(valid), .out_ready(take && ends_word), .empty(unused)
);

wire unused_rest = &{1'b0, rest[WIDTH/8:8]};

always @(posedge clk) begin
    if (s_axis_tvalid) lost_reg <= loses && !s_axis_tlast;
    if (take && valid) lane_reg <= ends_word ? {LANE_W{1'b0}} : lane_reg + 1'b1;
    if (rst) begin
        lost_reg <= 1'b0;
        lane_reg <= {LANE_W{1'b0}};
    end
end

initial begin
    lost_reg = 1'b0;
    lane_reg = {LANE_W{1'b0}};
end

endmodule

`resetall
