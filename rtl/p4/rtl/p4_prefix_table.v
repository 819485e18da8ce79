// A table of longest prefixes, as a search in sorted intervals: each level of a binary tree has a memory of its own, so that
// one key a cycle comes in. The answer is there LEVELS + 1 cycles after the key.
//
// Whoever writes makes intervals of the prefixes, puts them in the half that nobody reads, and turns the keys that come from then on to
// it: a key sees all of a change or nothing. Memories of an FPGA begin with zeros; boundaries are kept complemented, so that those that nobody
// has written are beyond all keys.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_prefix_table #(
    parameter KEY_W = 32,
    parameter DATA_W = 16,
    parameter LEVELS = 4,
    parameter ENTRY_W = KEY_W > DATA_W + 1 ? KEY_W : DATA_W + 1
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [KEY_W-1:0]  key,
    output wire              hit,
    output wire [DATA_W-1:0] data,        // without a hit the default's
    // control. Row 0 turns to the other half; 1 to 2^LEVELS - 1 are the tree's boundaries, a level behind the other, where an interval
    // begins; 2^LEVELS and up are what the intervals say; all ones is the default
    input  wire              write,
    input  wire [23:0]       write_row,
    input  wire [ENTRY_W-1:0] write_entry  // a boundary; or hit and data
);
    reg half;
    reg [DATA_W-1:0] otherwise;
    always @(posedge clk)
        if (rst) begin
            half <= 1'b0;
            otherwise <= {DATA_W{1'b0}};
        end else if (write) begin
            if (write_row == 24'd0) half <= !half;
            if (write_row == 24'hFFFFFF) otherwise <= write_entry[DATA_W-1:0];
        end

    // At each level: half and way so far, the lowest bit the last step. A one leads, so that it is the number of the node.
    wire [LEVELS:0] way [0:LEVELS];
    wire halves [0:LEVELS];
    wire [KEY_W-1:0] keys [0:LEVELS];
    assign way[0] = {{LEVELS{1'b0}}, 1'b1};
    assign halves[0] = half;
    assign keys[0] = key;

    genvar level;
    generate
        for (level = 0; level < LEVELS; level = level + 1) begin : levels
            reg [KEY_W-1:0] memory [0:(2 << level) - 1];
            reg [KEY_W-1:0] stored, asked;
            wire [KEY_W-1:0] boundary = ~stored;
            reg [LEVELS:0] came;
            reg of;
            // A level's nodes are those with as many bits behind the leading one; the half stands in its place.
            wire written = write && write_row[23:level] == 1;
            wire [level:0] place, write_place;
            if (level == 0) begin : root
                assign place = halves[0];
                assign write_place = !half;
            end else begin : inner
                assign place = {halves[level], way[level][level-1:0]};
                assign write_place = {!half, write_row[level-1:0]};
            end
`ifndef SYNTHESIS
            integer i;
            initial for (i = 0; i < (2 << level); i = i + 1) memory[i] = {KEY_W{1'b0}};
`endif
            always @(posedge clk) begin
                stored <= memory[place];
                asked <= keys[level];
                came <= way[level];
                of <= halves[level];
                if (written) memory[write_place] <= ~write_entry[KEY_W-1:0];
            end
            assign way[level+1] = {came[LEVELS-1:0], asked >= boundary};
            assign halves[level+1] = of;
            assign keys[level+1] = asked;
            wire unused = came[LEVELS];
        end
    endgenerate

    reg [DATA_W:0] results [0:(2 << LEVELS) - 1];
    reg [DATA_W:0] result;
`ifndef SYNTHESIS
    integer j;
    initial for (j = 0; j < (2 << LEVELS); j = j + 1) results[j] = {DATA_W+1{1'b0}};
`endif
    wire [LEVELS:0] result_place = {halves[LEVELS], way[LEVELS][LEVELS-1:0]};
    always @(posedge clk) begin
        result <= results[result_place];
        if (write && write_row[23:LEVELS] == 1) results[{!half, write_row[LEVELS-1:0]}] <= write_entry[DATA_W:0];
    end
    assign hit = result[DATA_W];
    assign data = result[DATA_W] ? result[DATA_W-1:0] : otherwise;

    wire unused = &{1'b0, way[LEVELS][LEVELS], keys[LEVELS], write_entry};
endmodule

`resetall
