// Bytes of a received frame to words. The last word comes when the hash is there, and everything about the frame with it.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module bytes_to_words (
    input  wire        clk,
    input  wire        rst,

    // From the MAC
    input  wire [7:0]  data,
    input  wire        valid,
    input  wire        last,
    input  wire        bad,

    // The hash of the frame that has just ended stands
    input  wire        hash_done,

    // A word, its first byte lowest; `word_rest` are the bytes of the last one, 0 for 8.
    output wire [63:0] word,
    output wire        word_valid,
    output wire        word_last,
    output wire [2:0]  word_rest,
    output wire        word_bad
);

reg [63:0] bytes_reg;
reg [2:0]  count_reg; // bytes in it, 0 for none and for 8
reg        whole_reg; // there are 8, and more of the frame behind them
reg        ended_reg; // it is the last of its frame
reg        bad_reg;

assign word = bytes_reg;
assign word_valid = whole_reg || (ended_reg && hash_done);
assign word_last = ended_reg;
assign word_rest = count_reg;
assign word_bad = bad_reg;

always @(posedge clk) begin
    whole_reg <= 1'b0;
    if (hash_done) begin
        ended_reg <= 1'b0;
        count_reg <= 3'd0;
    end
    if (valid) begin
        count_reg <= count_reg + 3'd1;
        bytes_reg[8*count_reg +: 8] <= data;
        whole_reg <= count_reg == 3'd7 && !last;
        ended_reg <= last;
        bad_reg <= last && bad;
    end

    if (rst) begin
        count_reg <= 3'd0;
        whole_reg <= 1'b0;
        ended_reg <= 1'b0;
    end
end

initial begin
    bytes_reg = 64'h0;
    count_reg = 3'd0;
    whole_reg = 1'b0;
    ended_reg = 1'b0;
    bad_reg = 1'b0;
end

endmodule

`resetall
