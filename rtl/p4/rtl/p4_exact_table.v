// A table of exact matches: four memories, each with a hash of the key of its own, so that whoever writes an entry has four places for
// it, and beside them a few rows that are all compared at once, for entries that find none of their four free. The answer is there two cycles
// after the key, for one key a cycle.
//
// A bit of a hash is the parity of those bits of the key that HASHES has for it.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_exact_table #(
    parameter KEY_W = 48,
    parameter DATA_W = 16,
    parameter INDEX_W = 4,
    parameter SPARE = 8,          // rows that are all compared at once, at most 16
    parameter [4*INDEX_W*KEY_W-1:0] HASHES = {4*INDEX_W*KEY_W{1'b1}}
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [KEY_W-1:0]  key,
    output reg               hit,
    output reg  [DATA_W-1:0] data,        // without a hit the default's
    // control: row way * 2^INDEX_W + place, with a fifth way for the spare rows, or all ones for the default
    input  wire              write,
    input  wire [23:0]       write_row,
    input  wire [KEY_W+DATA_W:0] write_entry  // valid, key, data
);
    localparam ENTRY_W = 1 + KEY_W + DATA_W;

    reg [DATA_W-1:0] otherwise;
    reg [KEY_W-1:0] asked;
    wire to_default = write_row == 24'hFFFFFF;
    wire to_spare = write_row[INDEX_W+2];
    wire [3:0] same;
    wire [4*DATA_W-1:0] found;
    reg spare_same;
    reg [DATA_W-1:0] spare_data;

    genvar way, bit_of;
    generate
        for (way = 0; way < 4; way = way + 1) begin : ways
            reg [ENTRY_W-1:0] memory [0:(1 << INDEX_W) - 1];
            reg [ENTRY_W-1:0] entry;
            wire [INDEX_W-1:0] hash;
            for (bit_of = 0; bit_of < INDEX_W; bit_of = bit_of + 1) begin : bits
                assign hash[bit_of] = ^(key & HASHES[(way*INDEX_W + bit_of)*KEY_W +: KEY_W]);
            end
            wire written = write && !to_default && !to_spare && write_row[INDEX_W +: 2] == way;
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

    generate
        if (SPARE > 0) begin : spares
            localparam ROW_W = KEY_W + DATA_W;
            reg [SPARE*ROW_W-1:0] rows;
            reg [SPARE-1:0] valid;
            reg [DATA_W-1:0] now;
            reg is;
            integer row, place;
            always @* begin
                is = 1'b0;
                now = {DATA_W{1'b0}};
                for (row = 0; row < SPARE; row = row + 1)
                    if (valid[row] && rows[row*ROW_W + DATA_W +: KEY_W] == key) begin
                        is = 1'b1;
                        now = now | rows[row*ROW_W +: DATA_W];
                    end
            end
            always @(posedge clk) begin
                spare_same <= is;
                spare_data <= now;
                for (place = 0; place < SPARE; place = place + 1)
                    if (write && !to_default && to_spare && {28'd0, write_row[3:0]} == place) begin
                        rows[place*ROW_W +: ROW_W] <= write_entry[ROW_W-1:0];
                        valid[place] <= write_entry[ENTRY_W-1];
                    end
                if (rst) valid <= {SPARE{1'b0}};
            end
        end else begin : none
            always @(posedge clk) begin
                spare_same <= 1'b0;
                spare_data <= {DATA_W{1'b0}};
            end
        end
    endgenerate

    // No two ways have the same key.
    wire [DATA_W-1:0] any = spare_data | found[0 +: DATA_W] | found[DATA_W +: DATA_W] | found[2*DATA_W +: DATA_W] | found[3*DATA_W +: DATA_W];

    always @(posedge clk) begin
        asked <= key;
        hit <= same != 0 || spare_same;
        data <= same != 0 || spare_same ? any : otherwise;
        if (rst) otherwise <= {DATA_W{1'b0}};
        else if (write && to_default) otherwise <= write_entry[DATA_W-1:0];
    end
endmodule

`resetall
