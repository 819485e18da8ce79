// 10GBASE-R PCS, scrambler: 1 + x^39 + x^58, 64 bits at a time (IEEE 802.3, 49.2.6).
//
// Latency: a cycle. Bit 0 of the header and of the payload goes first on the line.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module pcs10g_scramble (
    input  wire        clk,

    input  wire        control,
    input  wire [63:0] payload,

    // to the gearbox
    output reg  [1:0]  tx_header,
    output reg  [63:0] tx_payload
);

// The state is the last word on the line.
wire [63:0] mixed = payload ^ {6'h00, tx_payload[63:6]} ^ {25'h0, tx_payload[63:25]};

always @(posedge clk) begin
    tx_header <= control ? 2'b01 : 2'b10;
    tx_payload <= mixed ^ {mixed[24:0], 39'h0} ^ {mixed[5:0], 58'h0};
end

initial begin
    tx_header = 2'b01;
    tx_payload = {64{1'b1}};
end

endmodule

`resetall
