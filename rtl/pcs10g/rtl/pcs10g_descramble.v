// 10GBASE-R PCS, descrambler: 1 + x^39 + x^58, 64 bits at a time (IEEE 802.3, 49.2.10).
//
// Latency: a cycle. It is in step from the second block on, whatever came before.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module pcs10g_descramble (
    input  wire        clk,
    input  wire        rst,

    // from the gearbox
    input  wire [1:0]  rx_header,
    input  wire [63:0] rx_payload,

    // to the decoder: the block, and whether it came in reset
    output reg         in_reset,
    output reg  [1:0]  header,
    output reg  [63:0] block
);

// The last 58 bits of the line
reg [57:0] line;

always @(posedge clk) begin
    line <= rx_payload[63:6];
    header <= rx_header;
    block <= rx_payload ^ {rx_payload[24:0], line[57:19]} ^ {rx_payload[5:0], line[57:0]};
    in_reset <= rst;
end

initial begin
    line = {58{1'b1}};
    header = 2'b01;
    block = 64'h1E;
    in_reset = 1'b1;
end

endmodule

`resetall
