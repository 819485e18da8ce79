// The CRC-32 of IEEE 802.3 over a word of eight bytes, the lowest first, without a register: what it becomes from a state.
//
// Every bit is the parity of those bits of state and word that reach it, so that a synthesis sees trees of XOR and no chain.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module crc32_word (
    input  wire [31:0] state,
    input  wire [63:0] word,
    output wire [31:0] next
);

// The state is added to the word's first bits.
wire [63:0] sum = word ^ {32'h0, state};

// The bits of the sum that reach a bit of the CRC. The last one is the polynomial behind it, each one before takes a step more.
function [63:0] row(input [4:0] place);
    integer i;
    reg [31:0] c;
    begin
        c = 32'hEDB88320;
        for (i = 63; i >= 0; i = i - 1) begin
            row[i] = c[place];
            c = {1'b0, c[31:1]} ^ (c[0] ? 32'hEDB88320 : 32'h0);
        end
    end
endfunction

genvar i;
generate
    for (i = 0; i < 32; i = i + 1) begin : bits
        localparam [63:0] REACHES = row(i[4:0]);
        assign next[i] = ^(sum & REACHES);
    end
endgenerate

endmodule

`resetall
