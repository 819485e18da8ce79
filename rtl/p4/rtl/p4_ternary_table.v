// A table in the form of a TCAM: each row is compared at once, and the first that matches wins. The answer is there two cycles after the
// key, for one key a cycle.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_ternary_table #(
    parameter KEY_W = 32,
    parameter DATA_W = 16,
    parameter ROWS = 8,
    parameter ROW_W = 3
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [KEY_W-1:0]  key,
    output reg               hit,
    output reg  [DATA_W-1:0] data,        // without a hit the default's
    // control: the row, or all ones for the default
    input  wire              write,
    input  wire [23:0]       write_row,
    input  wire [2*KEY_W+DATA_W:0] write_entry  // valid, value, mask, data
);
    reg [DATA_W-1:0] otherwise;
    reg [DATA_W-1:0] memory [0:ROWS-1];
    wire [ROWS-1:0] agrees;
    wire to_default = write_row == 24'hFFFFFF;

    genvar row;
    generate
        for (row = 0; row < ROWS; row = row + 1) begin : rows
            reg [KEY_W-1:0] value, mask;
            reg valid, same;
            assign agrees[row] = same;
            always @(posedge clk) begin
                same <= valid && ((key ^ value) & mask) == 0;
                if (rst) valid <= 1'b0;
                else if (write && write_row == row) {valid, value, mask} <= write_entry[2*KEY_W+DATA_W:DATA_W];
            end
        end
    endgenerate

    // Which row is first, pair by pair.
    genvar level, node;
    generate
        for (level = ROW_W; level >= 0; level = level - 1) begin : pairs
            wire [(1<<level)-1:0] any;
            wire [(ROW_W<<level)-1:0] place;
            for (node = 0; node < (1 << level); node = node + 1) begin : nodes
                if (level == ROW_W) begin : leaf
                    if (node < ROWS) begin : there
                        assign any[node] = agrees[node];
                    end else begin : none
                        assign any[node] = 1'b0;
                    end
                    assign place[ROW_W*node +: ROW_W] = node;
                end else begin : inner
                    assign any[node] = pairs[level+1].any[2*node] || pairs[level+1].any[2*node+1];
                    assign place[ROW_W*node +: ROW_W] = pairs[level+1].any[2*node] ? pairs[level+1].place[2*ROW_W*node +: ROW_W]
                        : pairs[level+1].place[ROW_W*(2*node+1) +: ROW_W];
                end
            end
        end
    endgenerate
    wire [ROW_W-1:0] first = pairs[0].place;
    wire some = pairs[0].any;

    always @(posedge clk) begin
        hit <= some;
        data <= some ? memory[first] : otherwise;
        if (write && !to_default) memory[write_row[ROW_W-1:0]] <= write_entry[DATA_W-1:0];
        if (rst) otherwise <= {DATA_W{1'b0}};
        else if (write && to_default) otherwise <= write_entry[DATA_W-1:0];
    end
endmodule

`resetall
