// Ports of 10 Gb/s around a program in P4: the paper's multi-port switch (002, figure 3.4). MACs, a ring for each port's frames, one stream into the
// program and one out of it, a packet buffer that all ports share, and the crossbar to the ports.
//
// P4_SWITCH_PROGRAM is the program: the top module that `wire p4 compile --target verilog` writes, with words of 512 bits; p4_static, which is for
// benches, without it.
//
// A frame that has come whole and good leaves by a port, or is one of `lost` (its port's ring is full), `dropped` (by the program), `no_port`
// and `no_room` (the buffer is full, counted at the port that it was for).

`resetall
`default_nettype none
`timescale 1ns / 1ps
`ifndef P4_SWITCH_PROGRAM
`define P4_SWITCH_PROGRAM p4_static
`endif

module p4_switch #(
    // 1 to 8
    parameter PORTS = 4,
    // Cells of 256 bytes of the buffer, words of 64 bytes of each port's ring: 2 to the power of these
    parameter CELL_W = 8,
    parameter RING = 8
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [63:0]         time_ns,
    input  wire [63:0]         time_us,

    // XGMII, by port, port 0 lowest
    input  wire [64*PORTS-1:0] xgmii_rxd,
    input  wire [8*PORTS-1:0]  xgmii_rxc,
    output wire [64*PORTS-1:0] xgmii_txd,
    output wire [8*PORTS-1:0]  xgmii_txc,

    // The program's registers
    input  wire                ctl_write,
    input  wire [15:0]         ctl_address,
    input  wire [31:0]         ctl_data,
    output wire [31:0]         ctl_read,

    // Frames, by port
    output reg  [32*PORTS-1:0] good,
    output reg  [32*PORTS-1:0] bad,
    output reg  [32*PORTS-1:0] lost,
    output reg  [32*PORTS-1:0] no_room,
    output reg  [32*PORTS-1:0] sent,
    // and of all ports
    output reg  [31:0]         dropped,
    output reg  [31:0]         no_port,
    output reg  [31:0]         underruns,
    output wire [CELL_W:0]     free_cells
);

localparam WIDTH = 512;
localparam WORD_W = 2; // a cell of 256 bytes

wire [PORTS*WIDTH-1:0]   in_data;
wire [PORTS*WIDTH/8-1:0] in_keep;
wire [PORTS-1:0]         in_last, in_valid, in_ready;
wire [PORTS-1:0]         is_good, is_bad, is_lost, is_no_room, is_sent, is_underrun;
wire                     is_no_port;

wire [WIDTH-1:0]   to_data, from_data, out_data;
wire [WIDTH/8-1:0] to_keep, from_keep, out_keep;
wire               to_last, to_valid, to_ready, from_last, from_valid, out_last, drop_valid;
wire [15:0]        to_port, from_port;
wire [PORTS-1:0]   out_valid, out_ready;

genvar p;
generate
    // There is no such module: elaboration ends here, and names the reason.
    if (PORTS < 1 || PORTS > 8) p4_switch_has_1_to_8_PORTS no_such_switch();
    for (p = 0; p < PORTS; p = p + 1) begin : side
        p4_switch_port #(.WIDTH(WIDTH), .WORD_W(WORD_W), .RING(RING)) port (
            .clk(clk), .rst(rst), .xgmii_rxd(xgmii_rxd[64*p +: 64]), .xgmii_rxc(xgmii_rxc[8*p +: 8]),
            .xgmii_txd(xgmii_txd[64*p +: 64]), .xgmii_txc(xgmii_txc[8*p +: 8]),
            .m_axis_tdata(in_data[WIDTH*p +: WIDTH]), .m_axis_tkeep(in_keep[WIDTH/8*p +: WIDTH/8]), .m_axis_tlast(in_last[p]),
            .m_axis_tvalid(in_valid[p]), .m_axis_tready(in_ready[p]),
            .s_data(out_data), .s_keep(out_keep), .s_last(out_last), .s_valid(out_valid[p]), .ready(out_ready[p]),
            .good(is_good[p]), .bad(is_bad[p]), .lost(is_lost[p]), .sent(is_sent[p]), .underrun(is_underrun[p])
        );
    end
endgenerate

p4_switch_merge #(.PORTS(PORTS), .WIDTH(WIDTH)) merge (
    .clk(clk), .rst(rst), .s_axis_tdata(in_data), .s_axis_tkeep(in_keep), .s_axis_tlast(in_last), .s_axis_tvalid(in_valid),
    .s_axis_tready(in_ready), .m_axis_tdata(to_data), .m_axis_tkeep(to_keep), .m_axis_tlast(to_last), .m_axis_tvalid(to_valid),
    .m_axis_tready(to_ready), .m_axis_tuser(to_port)
);

wire [7:0] drop_reason;
wire       more, busy;
wire       unused_of_program = &{1'b0, drop_reason, more, busy};

`P4_SWITCH_PROGRAM program_of_switch (
    .clk(clk), .rst(rst), .time_ns(time_ns), .time_us(time_us),
    .s_axis_tdata(to_data), .s_axis_tkeep(to_keep), .s_axis_tvalid(to_valid), .s_axis_tready(to_ready), .s_axis_tlast(to_last),
    .s_axis_tuser(to_port), .m_axis_tdata(from_data), .m_axis_tkeep(from_keep), .m_axis_tvalid(from_valid), .m_axis_tready(1'b1),
    .m_axis_tlast(from_last), .m_axis_tuser(from_port), .drop_valid(drop_valid), .drop_reason(drop_reason), .more(more), .busy(busy),
    .ctl_write(ctl_write), .ctl_address(ctl_address), .ctl_data(ctl_data), .ctl_read(ctl_read)
);

p4_switch_buffer #(.PORTS(PORTS), .WIDTH(WIDTH), .WORD_W(WORD_W), .CELL_W(CELL_W)) buffer (
    .clk(clk), .rst(rst), .s_axis_tdata(from_data), .s_axis_tkeep(from_keep), .s_axis_tlast(from_last), .s_axis_tvalid(from_valid),
    .s_axis_tuser(from_port), .m_data(out_data), .m_keep(out_keep), .m_last(out_last), .m_valid(out_valid), .ready(out_ready),
    .free_cells(free_cells), .no_room(is_no_room), .no_port(is_no_port)
);

integer i;

always @(posedge clk) begin
    for (i = 0; i < PORTS; i = i + 1) begin
        good[32*i +: 32] <= good[32*i +: 32] + {31'd0, is_good[i]};
        bad[32*i +: 32] <= bad[32*i +: 32] + {31'd0, is_bad[i]};
        lost[32*i +: 32] <= lost[32*i +: 32] + {31'd0, is_lost[i]};
        no_room[32*i +: 32] <= no_room[32*i +: 32] + {31'd0, is_no_room[i]};
        sent[32*i +: 32] <= sent[32*i +: 32] + {31'd0, is_sent[i]};
    end
    dropped <= dropped + {31'd0, drop_valid};
    no_port <= no_port + {31'd0, is_no_port};
    underruns <= underruns + {31'd0, |is_underrun};
    if (rst) begin
        {good, bad, lost, no_room, sent} <= {160*PORTS{1'b0}};
        {dropped, no_port, underruns} <= 96'd0;
    end
end

initial begin
    {good, bad, lost, no_room, sent} = {160*PORTS{1'b0}};
    {dropped, no_port, underruns} = 96'd0;
end

endmodule

`resetall
