// 10GBASE-R PCS, receive: a scrambled 66-bit block a cycle to eight XGMII characters (IEEE 802.3 clause 49).
//
// Latency: 3 cycles from rx_payload to xgmii_rxd; one of them is the look at the block behind a terminate, which figure 49-17
// asks for. While rst is high, and two cycles longer, the XGMII shows local faults (LBLOCK_R). Hold rst without block lock, and
// while the error rate is high.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module pcs10g_rx (
    input  wire        clk,
    input  wire        rst,

    // from the gearbox
    input  wire [1:0]  rx_header,
    input  wire [63:0] rx_payload,

    // XGMII, 64 bits at 156.25 MHz
    output wire [63:0] xgmii_rxd,
    output wire [7:0]  xgmii_rxc,

    // High with the characters of a block for which figure 49-17 is in RX_E
    output wire        rx_error
);

wire        in_reset, in_frame;
wire [1:0]  header;
wire [63:0] block;

pcs10g_descramble descramble (
    .clk(clk), .rst(rst), .rx_header(rx_header), .rx_payload(rx_payload), .in_reset(in_reset), .header(header), .block(block)
);

pcs10g_decode decode (
    .clk(clk), .rst(in_reset), .header(header), .block(block),
    .xgmii_rxd(xgmii_rxd), .xgmii_rxc(xgmii_rxc), .rx_error(rx_error), .in_frame(in_frame)
);

wire unused = &{1'b0, in_frame};

endmodule

`resetall
