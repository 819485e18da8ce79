// Words of a frame to bytes, for a MAC that asks for one at a time. The first word is taken up when the frame starts, a next one when the
// last byte of the one before is taken.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module words_to_bytes (
    input  wire        clk,

    // Words; `word_rest` are the bytes of the last one, 0 for 8.
    input  wire        start,
    input  wire [63:0] word,
    input  wire        word_last,
    input  wire [2:0]  word_rest,
    output wire        word_ready,

    output wire [7:0]  data,
    output wire        last,
    input  wire        ready
);

reg [63:0] bytes_reg; // the next one lowest
reg        last_reg;
reg [2:0]  left_reg;  // bytes behind it in this word

assign data = bytes_reg[7:0];
assign last = last_reg && left_reg == 3'd0;
assign word_ready = start || (ready && !last && left_reg == 3'd0);

always @(posedge clk) begin
    if (word_ready) begin
        bytes_reg <= word;
        last_reg <= word_last;
        left_reg <= word_last ? word_rest - 3'd1 : 3'd7;
    end else if (ready) begin
        bytes_reg <= {8'h00, bytes_reg[63:8]};
        left_reg <= left_reg - 3'd1;
    end
end

initial begin
    bytes_reg = 64'h0;
    last_reg = 1'b0;
    left_reg = 3'd0;
end

endmodule

`resetall
