// A packet of which egress wants a clone goes through what puts packets together twice: for the clone, which goes round the loop, and then for
// itself. One that began anew too often is dropped.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_again #(
    parameter ALONG_W = 64,        // without set and entry
    parameter HEADER_W = 512,
    parameter COUNT_W = 10,        // of numbers of words
    parameter RAW = 0,             // clones are of the packet as it came
    parameter [7:0] PASSES = 249   // the reason
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  in_valid,
    output wire                  in_ready,
    input  wire                  in_keep,      // another copy of the packet comes
    input  wire                  in_replay,    // it is not the first
    input  wire                  in_clone,
    input  wire [7:0]            in_clone_set,
    input  wire [1:0]            in_entry,     // where it begins anew, if not 0
    input  wire [7:0]            in_set,
    input  wire                  in_full,
    input  wire [ALONG_W-1:0]    in_along,
    input  wire [7:0]            in_reason,
    input  wire [HEADER_W-1:0]   in_header,
    input  wire [15:0]           in_header_bytes,
    input  wire [5:0]            in_turn,
    input  wire [COUNT_W-1:0]    in_wait,
    input  wire [COUNT_W-1:0]    in_skip,
    input  wire [31:0]           in_limit,
    output wire                  out_keep,
    output wire                  out_replay,
    output wire                  out_loop,
    output wire [ALONG_W+9:0]    out_along,
    output wire [7:0]            out_reason,
    output wire [HEADER_W-1:0]   out_header,
    output wire [15:0]           out_header_bytes,
    output wire [5:0]            out_turn,
    output wire [COUNT_W-1:0]    out_wait,
    output wire [COUNT_W-1:0]    out_skip,
    output wire [31:0]           out_limit,
    input  wire                  out_taken     // with in_valid
);
    reg cloned;
    wire clone = in_clone && !cloned;
    wire anew = clone || in_entry != 2'd0;
    assign in_ready = out_taken && !clone;
    assign out_keep = clone || in_keep;
    assign out_replay = in_replay || cloned;
    assign out_reason = anew && in_full ? PASSES : clone ? 8'd0 : in_reason;
    assign out_loop = anew && out_reason == 8'd0;
    assign out_along = {in_along, clone ? in_clone_set : in_set, clone ? 2'd3 : in_entry};
    wire raw = clone && RAW != 0;
    assign out_header = in_header;
    assign out_header_bytes = raw ? 16'd0 : in_header_bytes;
    assign out_turn = raw ? 6'd0 : in_turn;
    assign out_wait = raw ? {COUNT_W{1'b0}} : in_wait;
    assign out_skip = raw ? {COUNT_W{1'b0}} : in_skip;
    assign out_limit = raw ? {32{1'b1}} : in_limit;
    always @(posedge clk)
        if (rst) cloned <= 1'b0;
        else if (in_valid && out_taken) cloned <= clone;
endmodule

`resetall
