// Random bits: an xorshift register of 64 bits that never stands still, so that a packet's number depends on when it comes.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_random #(
    parameter [63:0] SEED = 64'h9E3779B97F4A7C15
) (
    input  wire        clk,
    input  wire        rst,
    output reg  [63:0] value
);
    wire [63:0] first = value ^ (value << 13);
    wire [63:0] second = first ^ (first >> 7);
    always @(posedge clk) value <= rst ? SEED : second ^ (second << 17);
endmodule

`resetall
