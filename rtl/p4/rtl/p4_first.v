// Which of so many bits is the first that is set, pair by pair: a tree as deep as the number of the bit has bits.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_first #(
    parameter BITS = 8,
    parameter PLACE_W = 3   // 1 at least, and enough for the last
) (
    input  wire [BITS-1:0]    bits,
    output wire               some,
    output wire [PLACE_W-1:0] place    // without any the last that there could be
);
    localparam LEAVES = 1 << PLACE_W;

    // The tree as a heap: the root is 1, below a node are twice its number and one more.
    reg [2*LEAVES-1:0] any;
    reg [2*LEAVES*PLACE_W-1:0] places;
    integer leaf, node;
    always @* begin
        any = {2*LEAVES{1'b0}};
        any[LEAVES +: BITS] = bits;
        places = {2*LEAVES*PLACE_W{1'b0}};
        for (leaf = 0; leaf < LEAVES; leaf = leaf + 1) places[(LEAVES + leaf)*PLACE_W +: PLACE_W] = leaf[PLACE_W-1:0];
        for (node = LEAVES - 1; node > 0; node = node - 1) begin
            any[node] = any[2*node] || any[2*node + 1];
            places[node*PLACE_W +: PLACE_W] = any[2*node] ? places[2*node*PLACE_W +: PLACE_W] : places[(2*node + 1)*PLACE_W +: PLACE_W];
        end
    end
    assign some = any[1];
    assign place = places[PLACE_W +: PLACE_W];
endmodule

`resetall
