// A CRC of 32 bits over a word of four bytes or eight, the lowest first, without a register: what it becomes from a state. Its polynomial is bit-reversed: by default
// that of IEEE 802.3; Castagnoli's is 32'h82F63B78.
//
// Every bit is the parity of those bits of state and word that reach it, so that a synthesis sees trees of XOR and no chain.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module crc32_word #(
    parameter BITS = 64,
    parameter [31:0] POLYNOMIAL = 32'hEDB88320
) (
    input  wire [31:0] state,
    input  wire [BITS-1:0] word,
    output wire [31:0] next
);

// The state is added to the word's first bits.
wire [BITS-1:0] sum;
assign sum[31:0] = word[31:0] ^ state;
generate
    if (BITS > 32) begin : behind
        assign sum[BITS-1:32] = word[BITS-1:32];
    end
endgenerate

// The bits of the sum that reach a bit of the CRC. The last one is the polynomial behind it, each one before takes a step more.
function [BITS-1:0] row(input [4:0] place);
    integer i;
    reg [31:0] c;
    begin
        c = POLYNOMIAL;
        for (i = BITS - 1; i >= 0; i = i - 1) begin
            row[i] = c[place];
            c = {1'b0, c[31:1]} ^ (c[0] ? POLYNOMIAL : 32'h0);
        end
    end
endfunction

genvar i;
generate
    for (i = 0; i < 32; i = i + 1) begin : bits
        localparam [BITS-1:0] REACHES = row(i[4:0]);
        assign next[i] = ^(sum & REACHES);
    end
endgenerate

endmodule

`resetall
