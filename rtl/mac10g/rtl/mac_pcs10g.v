// A port of 10GBASE-R: MAC and PCS, both ways, between streams of frames and a gearbox. One clock of 156.25 MHz for both, so that a SERDES
// with its own receive clock has an elastic buffer for blocks before `rx_payload`.
//
// Latency: from the edge at which a frame is seen to the block with its start, 5 cycles; from a block with a frame's first bytes to these on
// the stream, 5 cycles, and one more for a frame that starts in lane 4.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module mac_pcs10g (
    input  wire        clk,
    input  wire        rst,
    // Without block lock, and while the error rate is high
    input  wire        rx_rst,

    // Frames to be sent, without FCS: see mac10g_tx
    input  wire [63:0] s_axis_tdata,
    input  wire [7:0]  s_axis_tkeep,
    input  wire        s_axis_tlast,
    input  wire        s_axis_tvalid,
    output wire        s_axis_tready,

    // Frames received, without FCS: see mac10g_rx
    output wire [63:0] m_axis_tdata,
    output wire [7:0]  m_axis_tkeep,
    output wire        m_axis_tlast,
    output wire        m_axis_tvalid,
    output wire        m_axis_tuser,

    // Blocks to and from the gearbox
    output wire [1:0]  tx_header,
    output wire [63:0] tx_payload,
    input  wire [1:0]  rx_header,
    input  wire [63:0] rx_payload,

    // High for a cycle when a frame has begun, and whether it starts in lane 4
    output wire        tx_free,
    output wire        tx_begins,
    output wire        tx_begins_high,
    output wire        tx_underrun,
    output wire        rx_begins,
    output wire        rx_begins_high,
    output wire        rx_fragment,
    output wire        rx_error
);

wire [63:0] xgmii_txd, xgmii_rxd;
wire [7:0]  xgmii_txc, xgmii_rxc;
wire        tx_idle, rx_idle;
wire        unused = &{1'b0, tx_idle, rx_idle};

mac10g_tx mac_tx (
    .clk(clk), .rst(rst),
    .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast),
    .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready),
    .xgmii_txd(xgmii_txd), .xgmii_txc(xgmii_txc),
    .free(tx_free), .begins(tx_begins), .begins_high(tx_begins_high), .underrun(tx_underrun), .idle(tx_idle)
);

pcs10g_tx pcs_tx (
    .clk(clk), .rst(rst), .xgmii_txd(xgmii_txd), .xgmii_txc(xgmii_txc), .tx_header(tx_header), .tx_payload(tx_payload)
);

pcs10g_rx pcs_rx (
    .clk(clk), .rst(rx_rst), .rx_header(rx_header), .rx_payload(rx_payload),
    .xgmii_rxd(xgmii_rxd), .xgmii_rxc(xgmii_rxc), .rx_error(rx_error)
);

mac10g_rx mac_rx (
    .clk(clk), .rst(rst), .xgmii_rxd(xgmii_rxd), .xgmii_rxc(xgmii_rxc),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast),
    .m_axis_tvalid(m_axis_tvalid), .m_axis_tuser(m_axis_tuser),
    .begins(rx_begins), .begins_high(rx_begins_high), .fragment(rx_fragment), .idle(rx_idle)
);

endmodule

`resetall
