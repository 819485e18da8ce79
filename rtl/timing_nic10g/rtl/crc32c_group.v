// CRC-32C over four bytes, the lowest first, without a register: what it becomes from a state.
//
// Every bit is the parity of those bits of state and bytes that reach it, so that a synthesis sees trees of XOR and no chain.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module crc32c_group (
    input  wire [31:0] state,
    input  wire [31:0] group,
    output wire [31:0] next
);

wire [31:0] sum = group ^ state;

// The bits of the sum that reach a bit of the CRC. The last one is Castagnoli's polynomial behind it, each one before takes a step more.
function [31:0] row(input [4:0] place);
    integer i;
    reg [31:0] c;
    begin
        c = 32'h82F63B78;
        for (i = 31; i >= 0; i = i - 1) begin
            row[i] = c[place];
            c = {1'b0, c[31:1]} ^ (c[0] ? 32'h82F63B78 : 32'h0);
        end
    end
endfunction

genvar i;
generate
    for (i = 0; i < 32; i = i + 1) begin : bits
        localparam [31:0] REACHES = row(i[4:0]);
        assign next[i] = ^(sum & REACHES);
    end
endgenerate

endmodule

`resetall
