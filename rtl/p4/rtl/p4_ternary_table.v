// A table in the form of a TCAM: each row is compared at once, and the first that matches wins, for one key a cycle. The answer is there
// two cycles after the key, or three where rows are in several banks: first in each bank, and then among the banks.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_ternary_table #(
    parameter KEY_W = 32,
    parameter DATA_W = 16,
    parameter ROWS = 8,
    parameter ROW_W = 3,
    parameter BANK_W = 8    // so many bits of a row's number are its place in a bank
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
    localparam PLACE_W = ROW_W < BANK_W ? ROW_W : BANK_W;
    localparam BANKS = (ROWS + (1 << BANK_W) - 1) >> BANK_W;

    reg [DATA_W-1:0] otherwise;
    reg [DATA_W-1:0] memory [0:ROWS-1];
    wire to_default = write_row == 24'hFFFFFF;
    wire [BANKS-1:0] some_of;
    wire [BANKS*PLACE_W-1:0] first_of;
    wire some;
    wire [ROW_W-1:0] first;

    genvar bank;
    generate
        for (bank = 0; bank < BANKS; bank = bank + 1) begin : banks
            localparam LEFT = ROWS - (bank << BANK_W);
            localparam HERE = LEFT < 2 ? 2 : LEFT < (1 << BANK_W) ? LEFT : 1 << BANK_W;
            localparam HERE_W = $clog2(HERE);
            wire [HERE_W-1:0] place;
            p4_ternary_bank #(.KEY_W(KEY_W), .ROWS(HERE), .ROW_W(HERE_W)) rows (
                .clk(clk), .rst(rst), .key(key), .some(some_of[bank]), .first(place),
                .write(write && write_row >> PLACE_W == bank), .write_row(write_row[HERE_W-1:0]), .write_entry(write_entry[2*KEY_W+DATA_W:DATA_W])
            );
            assign first_of[bank*PLACE_W +: PLACE_W] = {{PLACE_W-HERE_W{1'b0}}, place};
        end
        if (BANKS == 1) begin : alone
            assign some = some_of[0];
            assign first = first_of;
        end else begin : several
            reg [BANKS-1:0] some_in;
            reg [BANKS*PLACE_W-1:0] first_in;
            wire [ROW_W-PLACE_W-1:0] place;
            always @(posedge clk) begin
                some_in <= some_of;
                first_in <= first_of;
            end
            p4_first #(.BITS(BANKS), .PLACE_W(ROW_W - PLACE_W)) first_bank (.bits(some_in), .some(some), .place(place));
            assign first = {place, first_in[place*PLACE_W +: PLACE_W]};
        end
    endgenerate

    always @(posedge clk) begin
        hit <= some;
        data <= some ? memory[first] : otherwise;
        if (write && !to_default) memory[write_row[ROW_W-1:0]] <= write_entry[DATA_W-1:0];
        if (rst) otherwise <= {DATA_W{1'b0}};
        else if (write && to_default) otherwise <= write_entry[DATA_W-1:0];
    end
endmodule

`resetall
