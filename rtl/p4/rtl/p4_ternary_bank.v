// Some rows of a table in the form of a TCAM: each is compared at once. Which is the first that matches is there a cycle after the key.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_ternary_bank #(
    parameter KEY_W = 32,
    parameter ROWS = 8,
    parameter ROW_W = 3
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [KEY_W-1:0]  key,
    output wire              some,
    output wire [ROW_W-1:0]  first,
    input  wire              write,
    input  wire [ROW_W-1:0]  write_row,
    input  wire [2*KEY_W:0]  write_entry  // valid, value, mask
);
    // All rows are read in each cycle, so that they are registers. Loops over them stay loops in a simulator, which modules for them would not.
    (* mem2reg *) reg [KEY_W-1:0] values [0:ROWS-1];
    (* mem2reg *) reg [KEY_W-1:0] masks [0:ROWS-1];
    reg [ROWS-1:0] valid, agrees;
    integer row;

    always @(posedge clk) begin
        for (row = 0; row < ROWS; row = row + 1) agrees[row] <= valid[row] && ((key ^ values[row]) & masks[row]) == 0;
        if (write) begin
            valid[write_row] <= write_entry[2*KEY_W];
            values[write_row] <= write_entry[KEY_W +: KEY_W];
            masks[write_row] <= write_entry[0 +: KEY_W];
        end
        if (rst) valid <= {ROWS{1'b0}};
    end

    p4_first #(.BITS(ROWS), .PLACE_W(ROW_W)) first_of (.bits(agrees), .some(some), .place(first));
endmodule

`resetall
