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
    reg [ROWS-1:0] agrees;
    wire to_default = write_row == 24'hFFFFFF;

    genvar row;
    generate
        for (row = 0; row < ROWS; row = row + 1) begin : rows
            reg valid;
            reg [KEY_W-1:0] value, mask;
            always @(posedge clk) begin
                agrees[row] <= valid && ((key ^ value) & mask) == 0;
                if (rst) valid <= 1'b0;
                else if (write && write_row == row) begin
                    valid <= write_entry[2*KEY_W+DATA_W];
                    value <= write_entry[KEY_W+DATA_W +: KEY_W];
                    mask <= write_entry[DATA_W +: KEY_W];
                end
            end
        end
    endgenerate

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
