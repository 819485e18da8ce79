// Puts a packet together: what the deparser emitted, and behind it the packet from its payload on.
// Packets take as many cycles as words come
// in, or as many as leave where those are more.
//
// Each word of the packet is turned by as many bytes as the payload moves, so that a word that leaves is the end of one turned word
// and the beginning of the next, with the header's bytes over them. The end of the last one, its
// tail, leaves a cycle later. A packet that shrinks begins
// with a word that gives none yet: that one is taken meanwhile.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_deparser #(
    parameter WIDTH = 512,          // bits of a word
    parameter COUNT_W = 10,         // of numbers of words
    parameter HEADER_WORDS = 1,
    parameter LIMITED = 1,          // whether result_limit is ever less than a packet
    parameter TAG_W = 1
) (
    input  wire                        clk,
    input  wire                        rst,
    // one for each packet, taken with the packet's last word
    input  wire                        result_valid,
    output wire                        result_ready,
    input  wire [7:0]                  result_reason,  // 0, or why the packet is dropped
    input  wire [15:0]                 result_port,
    input  wire [WIDTH*HEADER_WORDS-1:0] result_header,
    input  wire [15:0]                 result_header_bytes,
    input  wire [5:0]                  result_turn,    // how far the payload moves, modulo a word
    input  wire [COUNT_W-1:0]          result_wait,    // words that only the header fills, before the packet's first
    input  wire [COUNT_W-1:0]          result_skip,    // words of the packet that nothing is left of
    input  wire [31:0]                 result_limit,   // no more bytes than these leave
    input  wire                        result_more,    // another copy of the packet comes
    input  wire [TAG_W-1:0]            result_tag,     // goes along with what leaves
    // the packet as it came
    input  wire [WIDTH-1:0]            word,
    input  wire [6:0]                  word_bytes,
    input  wire                        word_last,
    input  wire                        word_valid,
    output wire                        word_ready,
    // as it leaves
    output reg  [WIDTH-1:0]            out_word,
    output reg  [6:0]                  out_bytes,
    output reg                         out_last,
    output reg  [15:0]                 out_port,
    output reg  [TAG_W-1:0]            out_tag,
    output reg                         out_valid,
    input  wire                        out_ready,
    output reg                         drop_valid,
    output reg  [7:0]                  drop_reason,
    output reg                         more,           // with what leaves or is dropped: another copy comes
    output wire                        holds           // a tail has still to leave
);
    localparam HEADER_W = WIDTH * HEADER_WORDS;
    localparam [15:0] WORD = WIDTH / 8;   // bytes
    localparam [6:0] BYTES = WORD[6:0];

    reg busy, tail, discard;
    // Of a tail, whose result is taken; nothing of the next packet is known then.
    reg [6:0] tail_bytes;
    reg [15:0] tail_port;
    reg [TAG_W-1:0] tail_tag;
    reg tail_more;
    reg [HEADER_W-1:0] header_left;
    reg [15:0] header_bytes_left;
    reg [COUNT_W-1:0] wait_left, skip_left;
    reg [31:0] limit_left;
    reg [WIDTH-1:0] carried;   // the last word, turned

    // Of a packet that begins, or what is left of it.
    wire [HEADER_W-1:0] header = busy ? header_left : result_header;
    wire [15:0] header_bytes = busy ? header_bytes_left : result_header_bytes;
    wire [COUNT_W-1:0] waiting = busy ? wait_left : result_wait;
    wire [COUNT_W-1:0] skipping = busy ? skip_left : result_skip;
    wire [31:0] limit = busy ? limit_left : result_limit;

    wire dropping = discard || result_reason != 0;
    wire header_only = !dropping && waiting != 0;
    wire takes = !header_only;
    wire skips = takes && !dropping && skipping != 0;

    // The word turned, and the masks of what comes from where.
    wire [2*WIDTH-1:0] doubled = {word, word} >> {result_turn, 3'b000};
    wire [WIDTH-1:0] turned = doubled[WIDTH-1:0];
    wire [WIDTH-1:0] from_this = {WIDTH{1'b1}} >> {result_turn, 3'b000};
    wire [WIDTH-1:0] over = tail ? header_left[HEADER_W-1 -: WIDTH] : header[HEADER_W-1 -: WIDTH];
    wire [15:0] over_bytes = tail ? header_bytes_left : header_bytes;
    wire [6:0] covered = over_bytes > WORD ? BYTES : over_bytes[6:0];
    wire [WIDTH-1:0] not_header = {WIDTH{1'b1}} >> {covered, 3'b000};
    wire [WIDTH-1:0] payload = tail ? carried : (turned & from_this) | (carried & ~from_this);
    wire [WIDTH-1:0] joined = (over & ~not_header) | (payload & not_header);

    // How far the packet's last word reaches.
    wire [7:0] reach = {1'b0, word_bytes} + {2'b00, result_turn};
    wire ends_over = word_last && reach > {1'b0, BYTES};   // into one more word
    wire ends_here = takes && word_last && !ends_over;
    wire [6:0] natural_bytes = skips ? 7'd0 : ends_here ? reach[6:0] : BYTES;
    wire cut = LIMITED != 0 && limit <= {25'd0, natural_bytes};
    wire tail_cut = LIMITED != 0 && limit_left <= {25'd0, tail_bytes};
    // A word that is only skipped leaves nothing, but if nothing at all is left.
    wire gives = !dropping && (!skips || ends_here);
    wire last = ends_here || (cut && gives);
    wire done = takes && word_last;
    wire leaves_tail = done && ends_over && !dropping && !(cut && gives);

    wire room = !out_valid || out_ready;
    wire step = result_valid && room && (!takes || word_valid) && (!tail || !(gives || dropping));
    assign holds = tail;
    assign result_ready = step && done;
    assign word_ready = step && takes;

    always @(posedge clk) begin
        if (room) begin
            out_word <= joined;
            out_bytes <= tail ? (tail_cut ? limit_left[6:0] : tail_bytes) : cut ? limit[6:0] : natural_bytes;
            out_last <= tail || last;
            out_port <= tail ? tail_port : result_port;
            out_tag <= tail ? tail_tag : result_tag;
            more <= tail ? tail_more : result_more;
        end
        if (step) begin
            drop_reason <= result_reason;
            if (takes) carried <= turned;
            header_left <= gives ? header << WIDTH : header;
            header_bytes_left <= !gives ? header_bytes : header_bytes > WORD ? header_bytes - WORD : 16'd0;
            wait_left <= header_only ? waiting - 1'b1 : waiting;
            skip_left <= skips ? skipping - 1'b1 : skipping;
            limit_left <= gives ? limit - {25'd0, natural_bytes} : limit;
            tail_bytes <= reach[6:0] - BYTES;
            tail_port <= result_port;
            tail_tag <= result_tag;
            tail_more <= result_more;
        end
        drop_valid <= step && done && result_reason != 0 && !rst;
        if (rst) begin
            busy <= 1'b0;
            tail <= 1'b0;
            discard <= 1'b0;
            out_valid <= 1'b0;
        end else begin
            out_valid <= (step && gives) || tail || (out_valid && !out_ready);
            if (room) tail <= step && leaves_tail;
            if (step) begin
                busy <= !done;
                discard <= !done && (discard || (gives && last));
            end
        end
    end

    wire unused = &{1'b0, doubled[2*WIDTH-1:WIDTH], reach[7]};
endmodule

`resetall
