// A ring of records' words, or of what is told of each record: what is written may be taken back until it is kept, and only what is kept
// comes out. A word a cycle each way.
//
// A ring's output is slow: a word comes out of the memory into one register, and is looked at in the next. Memories have 64 bits at most: of
// wider ones a synthesis makes shallow blocks with a multiplexer behind them, which is slower still.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module record_ring #(
    parameter WIDTH = 64,
    // Places: 2 to the power of this, 1 or more.
    parameter DEPTH = 12
) (
    input  wire             clk,
    input  wire             rst,

    // A word is written; with `in_keep` all up to it is kept. With `in_drop`, what is not kept is taken back.
    input  wire [WIDTH-1:0] in_data,
    input  wire             in_write,
    input  wire             in_keep,
    input  wire             in_drop,
    output wire             full,

    output wire [WIDTH-1:0] out_data,
    output wire             out_valid,
    input  wire             out_ready,
    // Nothing that is kept is here
    output wire             empty
);

// Places have a bit more than the ring, to tell full from empty.
reg [DEPTH:0]   write_reg;
reg [DEPTH:0]   keep_reg;  // what is before it may be read
reg [DEPTH:0]   read_reg;
wire [WIDTH-1:0] fetched;
reg             fetched_reg;
reg [WIDTH-1:0] out_reg;
reg             valid_reg;

wire [DEPTH:0] used = write_reg - read_reg;
wire           move = !valid_reg || out_ready;
wire           fetch = !fetched_reg || move;

assign full = used[DEPTH];
assign out_data = out_reg;
assign out_valid = valid_reg;
assign empty = keep_reg == read_reg && !fetched_reg && !valid_reg;

genvar i;
generate
    // There is no such module: elaboration ends here, and names the reason.
    if (DEPTH < 1) record_ring_needs_a_DEPTH_of_1_or_more too_small();
    for (i = 0; i < WIDTH; i = i + 64) begin : memories
        localparam BITS = WIDTH - i < 64 ? WIDTH - i : 64;
        reg [BITS-1:0] ring [0:(1 << DEPTH) - 1];
        reg [BITS-1:0] ring_reg;

        assign fetched[i +: BITS] = ring_reg;
        always @(posedge clk) if (in_write) ring[write_reg[DEPTH-1:0]] <= in_data[i +: BITS];
        always @(posedge clk) if (fetch) ring_reg <= ring[read_reg[DEPTH-1:0]];
        initial ring_reg = 0;
    end
endgenerate

always @(posedge clk) begin
    if (in_write) write_reg <= write_reg + 1'b1;
    if (in_write && in_keep) keep_reg <= write_reg + 1'b1;
    if (in_drop) write_reg <= keep_reg;
    if (fetch) begin
        fetched_reg <= keep_reg != read_reg;
        if (keep_reg != read_reg) read_reg <= read_reg + 1'b1;
    end
    if (move) begin
        out_reg <= fetched;
        valid_reg <= fetched_reg;
    end

    if (rst) begin
        write_reg <= 0;
        keep_reg <= 0;
        read_reg <= 0;
        fetched_reg <= 1'b0;
        valid_reg <= 1'b0;
    end
end

initial begin
    write_reg = 0;
    keep_reg = 0;
    read_reg = 0;
    fetched_reg = 1'b0;
    out_reg = 0;
    valid_reg = 1'b0;
end

endmodule

`resetall
