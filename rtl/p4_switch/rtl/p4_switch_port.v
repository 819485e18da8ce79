// A port of p4_switch: the MAC, and its ways in and out.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_switch_port #(
    parameter WIDTH = 512,
    parameter WORD_W = 2,
    parameter RING = 8
) (
    input  wire               clk,
    input  wire               rst,

    // XGMII
    input  wire [63:0]        xgmii_rxd,
    input  wire [7:0]         xgmii_rxc,
    output wire [63:0]        xgmii_txd,
    output wire [7:0]         xgmii_txc,

    // Frames that have come
    output wire [WIDTH-1:0]   m_axis_tdata,
    output wire [WIDTH/8-1:0] m_axis_tkeep,
    output wire               m_axis_tlast,
    output wire               m_axis_tvalid,
    input  wire               m_axis_tready,

    // Words of frames that leave, and whether there is room for a cell
    input  wire [WIDTH-1:0]   s_data,
    input  wire [WIDTH/8-1:0] s_keep,
    input  wire               s_last,
    input  wire               s_valid,
    output wire               ready,

    // High for a cycle for each frame
    output wire               good,
    output wire               bad,
    output wire               lost,
    output wire               sent,
    output wire               underrun
);

wire [63:0] rx_data, tx_data;
wire [7:0]  rx_keep, tx_keep;
wire        rx_last, rx_valid, rx_bad, tx_last, tx_valid, tx_ready;
wire        rx_begins, rx_begins_high, fragment, rx_idle, free, tx_begins, tx_begins_high, tx_idle;

mac10g_rx mac_rx (
    .clk(clk), .rst(rst), .xgmii_rxd(xgmii_rxd), .xgmii_rxc(xgmii_rxc),
    .m_axis_tdata(rx_data), .m_axis_tkeep(rx_keep), .m_axis_tlast(rx_last), .m_axis_tvalid(rx_valid), .m_axis_tuser(rx_bad),
    .begins(rx_begins), .begins_high(rx_begins_high), .fragment(fragment), .idle(rx_idle)
);

p4_switch_ingress #(.WIDTH(WIDTH), .DEPTH(RING)) ingress (
    .clk(clk), .rst(rst), .s_axis_tdata(rx_data), .s_axis_tkeep(rx_keep), .s_axis_tlast(rx_last), .s_axis_tvalid(rx_valid),
    .s_axis_tuser(rx_bad), .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast),
    .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .good(good), .bad(bad), .lost(lost)
);

p4_switch_egress #(.WIDTH(WIDTH), .WORD_W(WORD_W)) egress (
    .clk(clk), .rst(rst), .s_data(s_data), .s_keep(s_keep), .s_last(s_last), .s_valid(s_valid), .ready(ready),
    .m_axis_tdata(tx_data), .m_axis_tkeep(tx_keep), .m_axis_tlast(tx_last), .m_axis_tvalid(tx_valid), .m_axis_tready(tx_ready)
);

assign sent = tx_valid && tx_ready && tx_last;

mac10g_tx mac_tx (
    .clk(clk), .rst(rst), .s_axis_tdata(tx_data), .s_axis_tkeep(tx_keep), .s_axis_tlast(tx_last), .s_axis_tvalid(tx_valid),
    .s_axis_tready(tx_ready), .xgmii_txd(xgmii_txd), .xgmii_txc(xgmii_txc),
    .free(free), .begins(tx_begins), .begins_high(tx_begins_high), .underrun(underrun), .idle(tx_idle)
);

wire unused = &{1'b0, rx_begins, rx_begins_high, fragment, rx_idle, free, tx_begins, tx_begins_high, tx_idle};

endmodule

`resetall
