// A table of exact matches: four memories, each with a hash of the key of its own, so that whoever writes an entry has four places for
// it. The answer is there two cycles after the key, for one key a cycle.
//
// A bit of a hash is the parity of those bits of the key that HASHES has for it.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_exact_table #(
    parameter KEY_W = 48,
    parameter DATA_W = 16,
    parameter INDEX_W = 4,
    parameter [4*INDEX_W*KEY_W-1:0] HASHES = {4*INDEX_W*KEY_W{1'b1}}
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [KEY_W-1:0]  key,
    output reg               hit,
    output reg  [DATA_W-1:0] data,        // without a hit the default's
    // control: row way * 2^INDEX_W + place, or all ones for the default
    input  wire              write,
    input  wire [23:0]       write_row,
    input  wire [KEY_W+DATA_W:0] write_entry  // valid, key, data
);
    localparam ENTRY_W = 1 + KEY_W + DATA_W;

    reg [DATA_W-1:0] otherwise;
    reg [KEY_W-1:0] asked;
    wire to_default = write_row == 24'hFFFFFF;
    wire [3:0] same;
    wire [4*DATA_W-1:0] found;

    genvar way, bit_of;
    generate
        for (way = 0; way < 4; way = way + 1) begin : ways
            reg [ENTRY_W-1:0] memory [0:(1 << INDEX_W) - 1];
            reg [ENTRY_W-1:0] entry;
            wire [INDEX_W-1:0] hash;
            for (bit_of = 0; bit_of < INDEX_W; bit_of = bit_of + 1) begin : bits
                assign hash[bit_of] = ^(key & HASHES[(way*INDEX_W + bit_of)*KEY_W +: KEY_W]);
            end
            wire written = write && !to_default && write_row[INDEX_W +: 2] == way;
`ifndef SYNTHESIS
            // As memories of an FPGA begin.
            integer i;
            initial for (i = 0; i < (1 << INDEX_W); i = i + 1) memory[i] = {ENTRY_W{1'b0}};
`endif
            always @(posedge clk) begin
                entry <= memory[hash];
                if (written) memory[write_row[INDEX_W-1:0]] <= write_entry;
            end
            assign same[way] = entry[ENTRY_W-1] && entry[ENTRY_W-2 -: KEY_W] == asked;
            assign found[way*DATA_W +: DATA_W] = same[way] ? entry[DATA_W-1:0] : {DATA_W{1'b0}};
        end
    endgenerate

    // No two ways have the same key.
    wire [DATA_W-1:0] any = found[0 +: DATA_W] | found[DATA_W +: DATA_W] | found[2*DATA_W +: DATA_W] | found[3*DATA_W +: DATA_W];

    always @(posedge clk) begin
        asked <= key;
        hit <= same != 0;
        data <= same != 0 ? any : otherwise;
        if (rst) otherwise <= {DATA_W{1'b0}};
        else if (write && to_default) otherwise <= write_entry[DATA_W-1:0];
    end
endmodule

`resetall
