// Puts a packet together: what the deparser emitted, and behind it the packet from its payload on. A packet of one word that
// does not grow takes one cycle.
//
// Each word of the packet is turned by as many bytes as the payload moves, so that a word that leaves is the end of one turned word
// and the beginning of the next, with the header's bytes over them.

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
    // one for each packet, taken when it has left
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
    output reg                         more            // with what leaves or is dropped: another copy comes
);
    localparam HEADER_W = WIDTH * HEADER_WORDS;
    localparam [15:0] WORD = WIDTH / 8;   // bytes
    localparam [6:0] BYTES = WORD[6:0];

    reg busy, tail, discard;
    reg [6:0] tail_bytes;
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
    wire header_only = !dropping && !tail && waiting != 0;
    wire takes = !tail && !header_only;
    wire step = result_valid && (!out_valid || out_ready) && (!takes || word_valid);
    wire skips = takes && !dropping && skipping != 0;

    // The word turned, and the masks of what comes from where.
    wire [2*WIDTH-1:0] doubled = {word, word} >> {result_turn, 3'b000};
    wire [WIDTH-1:0] turned = doubled[WIDTH-1:0];
    wire [WIDTH-1:0] from_this = {WIDTH{1'b1}} >> {result_turn, 3'b000};
    wire [6:0] covered = header_bytes > WORD ? BYTES : header_bytes[6:0];
    wire [WIDTH-1:0] not_header = {WIDTH{1'b1}} >> {covered, 3'b000};
    wire [WIDTH-1:0] payload = (turned & from_this) | (carried & ~from_this);
    wire [WIDTH-1:0] joined = (header[HEADER_W-1 -: WIDTH] & ~not_header) | (payload & not_header);

    // How far the packet's last word reaches.
    wire [7:0] reach = {1'b0, word_bytes} + {2'b00, result_turn};
    wire ends_over = word_last && reach > {1'b0, BYTES};   // into one more word
    wire ends_here = takes && word_last && !ends_over;
    wire [6:0] natural_bytes = tail ? tail_bytes : skips ? 7'd0 : ends_here ? reach[6:0] : BYTES;
    wire natural_last = tail || ends_here;
    wire cut = LIMITED != 0 && limit <= {25'd0, natural_bytes};
    // A word that is only skipped leaves nothing, but if nothing at all is left.
    wire gives = !dropping && (!skips || ends_here);
    wire last = natural_last || (cut && gives);
    // All words of the packet are taken.
    wire taken = tail || (takes && word_last && !(ends_over && !cut && !dropping));
    wire done = dropping ? word_last : (gives && last && taken);

    assign result_ready = step && done;
    assign word_ready = step && takes;

    always @(posedge clk) begin
        if (step) begin
            out_word <= joined;
            out_bytes <= cut ? limit[6:0] : natural_bytes;
            out_last <= last;
            out_port <= result_port;
            out_tag <= result_tag;
            drop_reason <= result_reason;
            more <= result_more;
            if (takes) carried <= turned;
            header_left <= gives ? header << WIDTH : header;
            header_bytes_left <= !gives ? header_bytes : header_bytes > WORD ? header_bytes - WORD : 16'd0;
            wait_left <= header_only ? waiting - 1'b1 : waiting;
            skip_left <= skips ? skipping - 1'b1 : skipping;
            limit_left <= gives ? limit - {25'd0, natural_bytes} : limit;
            tail_bytes <= reach[6:0] - BYTES;
        end
        drop_valid <= step && done && result_reason != 0 && !rst;
        if (rst) begin
            busy <= 1'b0;
            tail <= 1'b0;
            discard <= 1'b0;
            out_valid <= 1'b0;
        end else begin
            out_valid <= (step && gives) || (out_valid && !out_ready);
            if (step) begin
                busy <= !done;
                tail <= !dropping && takes && ends_over && !(cut && gives);
                discard <= !done && (discard || (gives && last && !taken));
            end
        end
    end

    wire unused = &{1'b0, doubled[2*WIDTH-1:WIDTH], reach[7]};
endmodule

`resetall
