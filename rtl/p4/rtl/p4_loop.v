// From what leaves back to where packets come in: packets that begin anew, each with what goes along with it. They come before those from
// outside. A packet is taken when there is room for the longest, so that whoever gives words never waits, and nothing can stand still; one that
// finds no room is lost, and counted.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_loop #(
    parameter WIDTH = 512,         // bits of a word
    parameter ALONG_W = 64,
    parameter DEPTH_LOG2 = 10,     // words
    parameter LONGEST = 511        // words of a packet
) (
    input  wire               clk,
    input  wire               rst,
    // packets that begin anew
    input  wire [WIDTH-1:0]   in_word,
    input  wire [6:0]         in_bytes,
    input  wire               in_last,
    input  wire [15:0]        in_port,     // by which they came
    input  wire [ALONG_W-1:0] in_along,
    input  wire               in_valid,
    output reg                lost,        // one that found no room
    // packets from outside
    input  wire [WIDTH-1:0]   new_word,
    input  wire [6:0]         new_bytes,
    input  wire               new_last,
    input  wire [15:0]        new_port,
    input  wire               new_valid,
    output wire               new_ready,
    // both
    output wire [WIDTH-1:0]   out_word,
    output wire [6:0]         out_bytes,
    output wire               out_last,
    output wire [15:0]        out_port,
    output wire [ALONG_W-1:0] out_along,   // zero of those from outside
    output wire               out_valid,
    input  wire               out_ready,
    output wire               empty
);
    localparam [DEPTH_LOG2:0] MOST = {1'b1, {DEPTH_LOG2{1'b0}}} - LONGEST;

    // Words that are kept, and whole packets of them.
    reg [DEPTH_LOG2:0] words, packets;
    reg amid, skipping;
    wire room = words <= MOST;
    wire keep = in_valid && (amid ? !skipping : room);
    wire word_room, along_room, word_valid, along_valid;
    wire [WIDTH-1:0] word;
    wire [6:0] bytes;
    wire last;
    wire [15:0] port;
    wire [ALONG_W-1:0] along;
    wire take;
    p4_fifo #(.WIDTH(WIDTH + 8), .DEPTH_LOG2(DEPTH_LOG2)) kept (
        .clk(clk), .rst(rst), .in_data({in_last, in_bytes, in_word}), .in_valid(keep), .in_ready(word_room),
        .out_data({last, bytes, word}), .out_valid(word_valid), .out_ready(take)
    );
    p4_fifo #(.WIDTH(16 + ALONG_W), .DEPTH_LOG2(DEPTH_LOG2)) beside (
        .clk(clk), .rst(rst), .in_data({in_port, in_along}), .in_valid(keep && in_last), .in_ready(along_room),
        .out_data({port, along}), .out_valid(along_valid), .out_ready(take && last)
    );

    // Whose packet is under way; at a beginning those that begin anew are first.
    reg under_way, from_loop;
    wire there = packets != 0 && word_valid && along_valid;
    wire loops = under_way ? from_loop : there;
    assign out_valid = loops ? there : new_valid;
    assign {out_last, out_bytes, out_word} = loops ? {last, bytes, word} : {new_last, new_bytes, new_word};
    assign out_port = loops ? port : new_port;
    assign out_along = loops ? along : {ALONG_W{1'b0}};
    assign new_ready = !loops && out_ready;
    assign take = loops && there && out_ready;
    assign empty = packets == 0 && !amid;

    wire comes = keep && in_last;
    wire goes = take && last;
    always @(posedge clk) begin
        lost <= in_valid && !amid && !room && !rst;
        if (rst) begin
            words <= 0;
            packets <= 0;
            amid <= 1'b0;
            skipping <= 1'b0;
            under_way <= 1'b0;
            from_loop <= 1'b0;
        end else begin
            words <= words + {{DEPTH_LOG2{1'b0}}, keep} - {{DEPTH_LOG2{1'b0}}, take};
            packets <= packets + {{DEPTH_LOG2{1'b0}}, comes} - {{DEPTH_LOG2{1'b0}}, goes};
            if (in_valid) begin
                amid <= !in_last;
                if (!amid) skipping <= !room;
            end
            if (out_valid && out_ready) begin
                under_way <= !out_last;
                from_loop <= loops;
            end
        end
    end

    wire unused = &{1'b0, word_room, along_room};
endmodule

`resetall
