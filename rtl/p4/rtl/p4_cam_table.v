// Exact matches as a binary CAM in memories, as in P4FPGA. For each nine bits of the key, a memory maps their value to the set of rows that have it; the
// intersection of all sets is the match. One key a cycle, with a latency of three cycles. A write of a row takes six cycles; writes do not overlap.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_cam_table #(
    parameter KEY_W = 36,
    parameter DATA_W = 16,
    parameter ROWS = 64,
    parameter ROW_W = 6
) (
    input  wire              clk,
    input  wire              rst,
    input  wire [KEY_W-1:0]  key,
    output reg               hit,
    output reg  [DATA_W-1:0] data,        // without a hit the default's
    // control: the row, or all ones for the default
    input  wire              write,
    input  wire [23:0]       write_row,
    input  wire [KEY_W+DATA_W:0] write_entry  // valid, key, data
);
    localparam SLICES = (KEY_W + 8) / 9;
    localparam WIDE = 9 * SLICES;

    wire to_default = write_row == 24'hFFFFFF;
    reg [DATA_W-1:0] otherwise;
    reg [DATA_W-1:0] memory [0:ROWS-1];
    // The last key of each row: its bits are cleared before new ones are set, also after a reset, which clears no memory.
    reg [WIDE:0] last_keys [0:ROWS-1];
    reg [ROWS-1:0] valid;

    // 1: the old key is there; 2, 3: read and cleared; 4, 5: read and set.
    reg [2:0] step;
    reg [ROW_W-1:0] row;
    reg [WIDE:0] old;
    reg [WIDE-1:0] new_key;
    reg new_valid;
    wire [ROWS-1:0] one = {{ROWS-1{1'b0}}, 1'b1} << row;
    wire [WIDE-1:0] wide_key, place;
    wire clears = step == 3 && old[WIDE];
    wire sets = step == 5 && new_valid;
    assign wide_key = {{WIDE-KEY_W{1'b0}}, key};
    assign place = step < 4 ? old[WIDE-1:0] : new_key;

    wire [SLICES*ROWS-1:0] named;
    genvar slice;
    generate
        for (slice = 0; slice < SLICES; slice = slice + 1) begin : slices
            reg [ROWS-1:0] rows_of [0:511];
            reg [ROWS-1:0] found, kept;
            integer value;
            initial for (value = 0; value < 512; value = value + 1) rows_of[value] = {ROWS{1'b0}};
            always @(posedge clk) begin
                found <= rows_of[wide_key[9*slice +: 9]];
                kept <= rows_of[place[9*slice +: 9]];
                if (clears || sets) rows_of[place[9*slice +: 9]] <= clears ? kept & ~one : kept | one;
            end
            assign named[slice*ROWS +: ROWS] = found;
        end
    endgenerate

    reg [ROWS-1:0] all, agrees;
    integer each;
    always @* begin
        all = valid;
        for (each = 0; each < SLICES; each = each + 1) all = all & named[each*ROWS +: ROWS];
    end
    wire some;
    wire [ROW_W-1:0] first;
    p4_first #(.BITS(ROWS), .PLACE_W(ROW_W)) first_of (.bits(agrees), .some(some), .place(first));

    integer at;
    initial for (at = 0; at < ROWS; at = at + 1) last_keys[at] = {WIDE+1{1'b0}};
    always @(posedge clk) begin
        agrees <= all;
        hit <= some;
        data <= some ? memory[first] : otherwise;
        old <= last_keys[row];
        if (step != 0) step <= step == 5 ? 3'd0 : step + 3'd1;
        // A row matches again when all its places are set.
        if (sets) valid[row] <= 1'b1;
        if (write && !to_default && step == 0) begin
            step <= 3'd1;
            row <= write_row[ROW_W-1:0];
            new_key <= {{WIDE-KEY_W{1'b0}}, write_entry[DATA_W +: KEY_W]};
            new_valid <= write_entry[KEY_W+DATA_W];
            valid[write_row[ROW_W-1:0]] <= 1'b0;
            memory[write_row[ROW_W-1:0]] <= write_entry[DATA_W-1:0];
        end
        if (step == 5) last_keys[row] <= {new_valid, new_key};
        if (write && to_default) otherwise <= write_entry[DATA_W-1:0];
        if (rst) begin
            step <= 3'd0;
            valid <= {ROWS{1'b0}};
            otherwise <= {DATA_W{1'b0}};
        end
    end
endmodule

`resetall
