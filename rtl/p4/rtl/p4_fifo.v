// A queue with its next word at the output. Its memory is read by the clock, as block RAM is, which takes long to answer: with AGAIN a second
// register stands behind it, and a word comes a cycle later.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_fifo #(
    parameter WIDTH = 520,
    parameter DEPTH_LOG2 = 4,
    parameter AGAIN = 0
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [WIDTH-1:0] in_data,
    input  wire             in_valid,
    output wire             in_ready,
    output wire [WIDTH-1:0] out_data,
    output wire             out_valid,
    input  wire             out_ready
);
    localparam [DEPTH_LOG2:0] DEPTH = {1'b1, {DEPTH_LOG2{1'b0}}};

    reg [WIDTH-1:0] memory [0:(1 << DEPTH_LOG2) - 1];
    reg [DEPTH_LOG2:0] written, read;
    wire [DEPTH_LOG2:0] stored = written - read;
    // Of the register that the memory is read into.
    reg [WIDTH-1:0] first;
    reg first_valid;
    wire taken;
    wire fetch = stored != 0 && (!first_valid || taken);

    assign in_ready = stored != DEPTH;

    always @(posedge clk) begin
        if (in_valid && in_ready) memory[written[DEPTH_LOG2-1:0]] <= in_data;
        if (fetch) first <= memory[read[DEPTH_LOG2-1:0]];
        if (rst) begin
            written <= 0;
            read <= 0;
            first_valid <= 1'b0;
        end else begin
            if (in_valid && in_ready) written <= written + 1'b1;
            if (fetch) read <= read + 1'b1;
            first_valid <= fetch || (first_valid && !taken);
        end
    end

    generate
        if (AGAIN != 0) begin : again
            reg [WIDTH-1:0] second;
            reg second_valid;
            assign taken = !second_valid || out_ready;
            assign out_data = second;
            assign out_valid = second_valid;
            always @(posedge clk) begin
                if (taken) second <= first;
                second_valid <= !rst && (taken ? first_valid : second_valid);
            end
        end else begin : once
            assign taken = out_ready;
            assign out_data = first;
            assign out_valid = first_valid;
        end
    endgenerate
endmodule

`resetall
