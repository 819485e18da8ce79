// Packets of a stream of 64 bits, with the cycle of each one's first word, for the host to read (paper 002, figure D.4: start_pktcap, stop_pktcap). A
// packet that finds no room is lost as a whole, and counted; packets that are here stay whole.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_capturer #(
    // Words of packets, and packets: 2 to the power of these
    parameter DEPTH = 11,
    parameter PACKETS = 8
) (
    input  wire        clk,
    input  wire        rst,

    // Packets that begin meanwhile are captured
    input  wire        on,
    input  wire [55:0] counter,

    input  wire [63:0] s_axis_tdata,
    input  wire [7:0]  s_axis_tkeep,
    input  wire        s_axis_tlast,
    input  wire        s_axis_tvalid,

    // The first packet that is here, its length in bytes and its cycle; its next word
    output wire        valid,
    output wire [15:0] length,
    output wire [55:0] stamp,
    output wire [63:0] data,
    output wire        last,
    // The next word, and with the last one the next packet
    input  wire        take,

    output reg  [31:0] captured,
    output reg  [31:0] lost
);

reg         in_packet_reg, chosen_reg, lost_reg;
reg [55:0]  stamp_reg;
reg [15:0]  length_reg;
wire        chosen = in_packet_reg ? chosen_reg : on;
wire        was_lost = in_packet_reg && lost_reg;
wire        full, no_place;
wire        arrives = s_axis_tvalid && chosen;
wire        loses = was_lost || full || no_place;
wire        keeps = arrives && s_axis_tlast && !loses;
wire        drops = arrives && s_axis_tlast && loses;
wire [55:0] stamp_now = in_packet_reg ? stamp_reg : counter;

// Bytes of a word
function [3:0] count(input [7:0] kept);
    integer place;
    begin
        count = 4'd0;
        for (place = 0; place < 8; place = place + 1) count = count + {3'd0, kept[place]};
    end
endfunction

wire [15:0] length_now = (in_packet_reg ? length_reg : 16'd0) + {12'd0, count(s_axis_tkeep)};
wire        word_valid, place_valid;
wire        words_empty, places_empty;

record_ring #(.WIDTH(65), .DEPTH(DEPTH)) words (
    .clk(clk), .rst(rst), .in_data({s_axis_tlast, s_axis_tdata}), .in_write(arrives && !loses), .in_keep(keeps), .in_drop(drops), .full(full),
    .out_data({last, data}), .out_valid(word_valid), .out_ready(take && valid), .empty(words_empty)
);

record_ring #(.WIDTH(72), .DEPTH(PACKETS)) places (
    .clk(clk), .rst(rst), .in_data({length_now, stamp_now}), .in_write(keeps), .in_keep(keeps), .in_drop(1'b0), .full(no_place),
    .out_data({length, stamp}), .out_valid(place_valid), .out_ready(take && valid && last), .empty(places_empty)
);

assign valid = word_valid && place_valid;

wire unused = &{1'b0, words_empty, places_empty};

always @(posedge clk) begin
    if (s_axis_tvalid) begin
        in_packet_reg <= !s_axis_tlast;
        chosen_reg <= chosen;
        stamp_reg <= stamp_now;
        length_reg <= length_now;
        lost_reg <= loses;
    end
    captured <= captured + {31'd0, keeps};
    lost <= lost + {31'd0, drops};
    if (rst) begin
        {in_packet_reg, chosen_reg, lost_reg} <= 3'd0;
        {captured, lost} <= 64'd0;
    end
end

initial begin
    {in_packet_reg, chosen_reg, lost_reg} = 3'd0;
    {captured, lost} = 64'd0;
end

endmodule

`resetall
