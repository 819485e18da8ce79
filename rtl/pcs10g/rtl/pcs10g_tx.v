// 10GBASE-R PCS, transmit: eight XGMII characters a cycle to a scrambled 66-bit block (IEEE 802.3 clause 49).
//
// Latency: 2 cycles from xgmii_txd to tx_payload. While rst is high, and one cycle longer, local faults go out (LBLOCK).
// Lane 0 is the lowest byte; bit 0 of the header and of the payload goes first on the line.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module pcs10g_tx (
    input  wire        clk,
    input  wire        rst,

    // XGMII, 64 bits at 156.25 MHz
    input  wire [63:0] xgmii_txd,
    input  wire [7:0]  xgmii_txc,

    // to the gearbox
    output wire [1:0]  tx_header,
    output wire [63:0] tx_payload
);

wire        control;
wire [63:0] payload;

pcs10g_encode encode (
    .clk(clk), .rst(rst), .xgmii_txd(xgmii_txd), .xgmii_txc(xgmii_txc), .control(control), .payload(payload)
);

pcs10g_scramble scramble (
    .clk(clk), .control(control), .payload(payload), .tx_header(tx_header), .tx_payload(tx_payload)
);

endmodule

`resetall
