// Takes back zero bytes from the end of what a CRC-32 has seen: the state that it had so many bytes, 0 to 7, earlier.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module crc32_back (
    input  wire [31:0] state,
    input  wire [2:0]  bytes,
    output wire [31:0] earlier
);

// The bits of a state that reach a bit of what it was so many bits of zero earlier. Each bit moves up a place a step. Behind the highest
// place, which tells whether the polynomial was added, it takes that with it.
function [31:0] row(input [4:0] place, input integer count);
    integer i;
    reg [31:0] c;
    begin
        c = 32'h80000000;
        for (i = 0; i < 32; i = i + 1)
            if (i < 32 - count) row[i] = i + count == {27'd0, place};
            else begin
                c = c[31] ? {c[30:0] ^ 31'h6DB88320, 1'b1} : {c[30:0], 1'b0};
                row[i] = c[place];
            end
    end
endfunction

wire [31:0] four, two;
genvar i;
generate
    for (i = 0; i < 32; i = i + 1) begin : bits
        localparam [31:0] FOUR = row(i[4:0], 32), TWO = row(i[4:0], 16), ONE = row(i[4:0], 8);
        assign four[i] = bytes[2] ? ^(state & FOUR) : state[i];
        assign two[i] = bytes[1] ? ^(four & TWO) : four[i];
        assign earlier[i] = bytes[0] ? ^(two & ONE) : two[i];
    end
endgenerate

endmodule

`resetall
