// p4_switch with four ports, and what is wider than 64 bits by port, for test benches that speak in words.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_switch4 #(
    parameter CELL_W = 8,
    parameter RING = 8
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [63:0] time_ns,
    input  wire [63:0] time_us,

    input  wire [63:0] xgmii_rxd_0,
    input  wire [63:0] xgmii_rxd_1,
    input  wire [63:0] xgmii_rxd_2,
    input  wire [63:0] xgmii_rxd_3,
    input  wire [31:0] xgmii_rxc,
    output wire [63:0] xgmii_txd_0,
    output wire [63:0] xgmii_txd_1,
    output wire [63:0] xgmii_txd_2,
    output wire [63:0] xgmii_txd_3,
    output wire [31:0] xgmii_txc,

    input  wire        ctl_write,
    input  wire [15:0] ctl_address,
    input  wire [31:0] ctl_data,
    output wire [31:0] ctl_read,

    // Frames of one port, by its number, and of all
    input  wire [1:0]  counters_of,
    output wire [31:0] good,
    output wire [31:0] bad,
    output wire [31:0] lost,
    output wire [31:0] no_room,
    output wire [31:0] sent,
    output wire [31:0] dropped,
    output wire [31:0] no_port,
    output wire [31:0] underruns,
    output wire [CELL_W:0] free_cells
);

wire [127:0] all_good, all_bad, all_lost, all_no_room, all_sent;
assign good = all_good[32*counters_of +: 32];
assign bad = all_bad[32*counters_of +: 32];
assign lost = all_lost[32*counters_of +: 32];
assign no_room = all_no_room[32*counters_of +: 32];
assign sent = all_sent[32*counters_of +: 32];

p4_switch #(.PORTS(4), .CELL_W(CELL_W), .RING(RING)) switch (
    .clk(clk), .rst(rst), .time_ns(time_ns), .time_us(time_us),
    .xgmii_rxd({xgmii_rxd_3, xgmii_rxd_2, xgmii_rxd_1, xgmii_rxd_0}), .xgmii_rxc(xgmii_rxc),
    .xgmii_txd({xgmii_txd_3, xgmii_txd_2, xgmii_txd_1, xgmii_txd_0}), .xgmii_txc(xgmii_txc),
    .ctl_write(ctl_write), .ctl_address(ctl_address), .ctl_data(ctl_data), .ctl_read(ctl_read),
    .good(all_good), .bad(all_bad), .lost(all_lost), .no_room(all_no_room), .sent(all_sent),
    .dropped(dropped), .no_port(no_port), .underruns(underruns), .free_cells(free_cells)
);

endmodule

`resetall
