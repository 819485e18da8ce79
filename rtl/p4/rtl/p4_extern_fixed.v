// The contract of an extern with a fixed latency: it takes each request in the cycle in which it comes, and its response comes CYCLES cycles later.
// `good` is high in that cycle if it did both.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_extern_fixed #(
    // 1 to 1,024
    parameter CYCLES = 1
) (
    input  wire clk,
    input  wire rst,
    input  wire request_valid,
    input  wire request_ready,
    input  wire response_valid,
    output wire good
);

reg  [CYCLES-1:0] taken_reg;
wire [CYCLES:0]   taken = {taken_reg, request_valid && request_ready};

assign good = taken_reg[CYCLES-1] && response_valid;

wire unused = &{1'b0, taken[CYCLES]};

always @(posedge clk) taken_reg <= rst ? {CYCLES{1'b0}} : taken[CYCLES-1:0];

initial taken_reg = {CYCLES{1'b0}};

endmodule

`resetall
