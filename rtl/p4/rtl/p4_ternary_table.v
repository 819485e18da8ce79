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
    reg [ROWS-1:0] valid, agrees;
    reg [ROWS*KEY_W-1:0] values, masks;
    wire to_default = write_row == 24'hFFFFFF;

    integer row;
    always @(posedge clk) begin
        for (row = 0; row < ROWS; row = row + 1)
            agrees[row] <= valid[row] && ((key ^ values[row*KEY_W +: KEY_W]) & masks[row*KEY_W +: KEY_W]) == 0;
        if (write)
            for (row = 0; row < ROWS; row = row + 1)
                if ({8'd0, write_row} == row) begin
                    values[row*KEY_W +: KEY_W] <= write_entry[KEY_W+DATA_W +: KEY_W];
                    masks[row*KEY_W +: KEY_W] <= write_entry[DATA_W +: KEY_W];
                end
        if (rst) valid <= {ROWS{1'b0}};
        else if (write && !to_default) valid[write_row[ROW_W-1:0]] <= write_entry[2*KEY_W+DATA_W];
    end

    reg [ROW_W-1:0] first;
    integer i;
    always @* begin
        first = {ROW_W{1'b0}};
        for (i = ROWS - 1; i >= 0; i = i - 1)
            if (agrees[i]) first = i[ROW_W-1:0];
    end

    always @(posedge clk) begin
        hit <= agrees != 0;
        data <= agrees != 0 ? memory[first] : otherwise;
        if (write && !to_default) memory[write_row[ROW_W-1:0]] <= write_entry[DATA_W-1:0];
        if (rst) otherwise <= {DATA_W{1'b0}};
        else if (write && to_default) otherwise <= write_entry[DATA_W-1:0];
    end
endmodule

`resetall
