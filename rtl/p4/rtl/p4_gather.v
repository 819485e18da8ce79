// Gathers a packet's first bytes in a window that the parser looks at: it is full when the last word of the window, or of the
// packet, is there, or with WHOLE when all of the packet is. The first byte is the most significant.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_gather #(
    parameter WIDTH = 512,      // bits of a word
    parameter WORDS = 2,        // of the window
    parameter WINDOW_W = 1024,  // bits of them that somebody looks at
    parameter WHOLE = 0
) (
    input  wire                clk,
    input  wire                rst,
    // words of packets
    input  wire [WIDTH-1:0]    word,
    input  wire [6:0]          word_bytes,   // all but in the last word
    input  wire                word_last,
    input  wire [15:0]         word_port,
    input  wire                word_valid,   // accepted in this cycle
    output wire                begun,        // the window of the packet that comes in has been given
    // for each packet once
    output reg                 window_valid,
    output reg  [WINDOW_W-1:0] window,
    output reg  [15:0]         window_bytes, // how many of the window are there
    output reg  [15:0]         port,
    output reg  [31:0]         length,       // of all that came so far, with WHOLE of the packet
    output reg  [15:0]         sum           // ones' complement sum of the same bytes
);
    localparam [15:0] MOST = WINDOW_W / 8;
    localparam ALL = WORDS * WIDTH;

    reg [ALL-1:0] gathered;
    reg [8:0] at;          // which word of the packet comes next, as far as the window goes
    reg [31:0] counted;
    reg given;

    wire [WIDTH-1:0] clear = {WIDTH{1'b1}} >> {word_bytes, 3'b000};
    wire [WIDTH-1:0] clean = word & ~clear;
    wire [31:0] total = counted + {25'd0, word_bytes};
    wire at_start = counted == 0;
    wire full = word_last || (WHOLE == 0 && at == WORDS - 1);

    // The ones' complement sum of this word and of those before it.
    reg [15:0] summed;
    reg [21:0] adding;
    integer k;
    always @* begin
        adding = {6'd0, at_start ? 16'd0 : summed};
        for (k = 0; k < WIDTH / 16; k = k + 1) adding = adding + {6'd0, clean[16*k +: 16]};
    end
    wire [16:0] folded = {1'b0, adding[15:0]} + {11'd0, adding[21:16]};
    wire [15:0] sum_now = folded[15:0] + {15'd0, folded[16]};

    // What is there with this word.
    reg [ALL-1:0] filled;
    integer i;
    always @* begin
        filled = at == 0 ? {ALL{1'b0}} : gathered;
        for (i = 0; i < WORDS; i = i + 1)
            if ({23'd0, at} == i) filled[ALL-1-WIDTH*i -: WIDTH] = clean;
    end

    assign begun = given;

    always @(posedge clk) begin
        window_valid <= word_valid && full && !given && !rst;
        window <= filled[ALL-1 -: WINDOW_W];
        window_bytes <= total > {16'd0, MOST} ? MOST : total[15:0];
        length <= total;
        sum <= sum_now;
        port <= word_port;
        if (word_valid) begin
            gathered <= filled;
            summed <= sum_now;
        end
        if (rst) begin
            at <= 0;
            counted <= 0;
            given <= 1'b0;
        end else if (word_valid) begin
            counted <= word_last ? 0 : total;
            given <= !word_last && (given || full);
            if (word_last) at <= 0;
            else if (at != WORDS) at <= at + 1'b1;
        end
    end

    generate
        if (ALL > WINDOW_W) begin : rest
            wire unused = &{1'b0, filled[ALL-WINDOW_W-1:0]};
        end
    endgenerate
endmodule

`resetall
