// From a PHY's receive clock to the card's: characters of a GMII, of which those between frames are made up or left out. A frame
// begins on the other side when START characters of it are there, so that it does not run dry: clocks 200 ppm apart drift 3.2 characters in
// the longest frame.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module elastic #(
    parameter START = 6
) (
    input  wire       in_clk,
    input  wire [7:0] in_data,
    input  wire       in_valid,
    input  wire       in_error,

    input  wire       out_clk,
    output reg  [7:0] out_data,
    output reg        out_valid,
    output reg        out_error
);

// 32 characters; the tenth bit tells a frame's from the one behind it. Places cross as Gray code, through two registers.
reg [9:0] fifo [0:31];
reg [5:0] write_reg, write_gray_reg, read_reg, read_seen_reg;
(* async_reg = "true" *) reg [5:0] write_meta_reg, write_seen_reg;
reg       was_valid_reg;
reg       running_reg;

wire [5:0] write_next = write_reg + 6'd1;
wire       write = in_valid || was_valid_reg;

always @(posedge in_clk) begin
    was_valid_reg <= in_valid;
    if (write) begin
        fifo[write_reg[4:0]] <= {in_valid, in_error, in_data};
        write_reg <= write_next;
        write_gray_reg <= write_next ^ {1'b0, write_next[5:1]};
    end
end

// The place that a Gray code is for
function [5:0] binary(input [5:0] gray);
    integer i;
    begin
        binary[5] = gray[5];
        for (i = 4; i >= 0; i = i - 1) binary[i] = binary[i+1] ^ gray[i];
    end
endfunction

wire [5:0] there = read_seen_reg - read_reg;
wire [9:0] next = fifo[read_reg[4:0]];
wire       read = running_reg ? there != 6'd0 : there >= START[5:0];

always @(posedge out_clk) begin
    write_meta_reg <= write_gray_reg;
    write_seen_reg <= write_meta_reg;
    read_seen_reg <= binary(write_seen_reg);
    out_valid <= 1'b0;
    out_error <= 1'b0;
    out_data <= 8'h00;
    if (read) begin
        read_reg <= read_reg + 6'd1;
        running_reg <= next[9];
        out_valid <= next[9];
        out_error <= next[9] && next[8];
        out_data <= next[7:0];
    end else if (running_reg) begin
        // Dry: the clocks are further apart than allowed. The frame goes on, and is bad.
        out_valid <= 1'b1;
        out_error <= 1'b1;
    end
end

initial begin
    write_reg = 6'd0;
    write_gray_reg = 6'd0;
    write_meta_reg = 6'd0;
    write_seen_reg = 6'd0;
    read_reg = 6'd0;
    read_seen_reg = 6'd0;
    was_valid_reg = 1'b0;
    running_reg = 1'b0;
    out_data = 8'h00;
    out_valid = 1'b0;
    out_error = 1'b0;
end

endmodule

`resetall
