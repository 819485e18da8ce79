// A queue with its next word at the output. Its memory is read by the clock, as block RAM is.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_fifo #(
    parameter WIDTH = 520,
    parameter DEPTH_LOG2 = 4
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [WIDTH-1:0] in_data,
    input  wire             in_valid,
    output wire             in_ready,
    output reg  [WIDTH-1:0] out_data,
    output reg              out_valid,
    input  wire             out_ready
);
    localparam [DEPTH_LOG2:0] DEPTH = {1'b1, {DEPTH_LOG2{1'b0}}};

    reg [WIDTH-1:0] memory [0:(1 << DEPTH_LOG2) - 1];
    reg [DEPTH_LOG2:0] written, read;
    wire [DEPTH_LOG2:0] stored = written - read;
    wire fetch = stored != 0 && (!out_valid || out_ready);

    assign in_ready = stored != DEPTH;

    always @(posedge clk) begin
        if (in_valid && in_ready) memory[written[DEPTH_LOG2-1:0]] <= in_data;
        if (fetch) out_data <= memory[read[DEPTH_LOG2-1:0]];
        if (rst) begin
            written <= 0;
            read <= 0;
            out_valid <= 1'b0;
        end else begin
            if (in_valid && in_ready) written <= written + 1'b1;
            if (fetch) read <= read + 1'b1;
            out_valid <= fetch || (out_valid && !out_ready);
        end
    end
endmodule

`resetall
