// DTP for a device of four ports, with what is wider than 64 bits in two halves: for register buses, and for test benches that speak in words.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module dtp_device4 (
    input  wire        clk,
    input  wire        rst,

    // What it is set to: see dtp_port and dtp_device
    input  wire [3:0]  alpha,
    input  wire [19:0] beacon,
    input  wire [29:0] log,
    input  wire [52:0] start_low,
    input  wire [52:0] start_high,

    // By port, port 0 lowest
    input  wire [3:0]  link,
    input  wire [3:0]  idle,
    input  wire [55:0] rx_bits_0,
    input  wire [55:0] rx_bits_1,
    input  wire [55:0] rx_bits_2,
    input  wire [55:0] rx_bits_3,
    output wire [55:0] tx_bits_0,
    output wire [55:0] tx_bits_1,
    output wire [55:0] tx_bits_2,
    output wire [55:0] tx_bits_3,

    output wire [52:0] counter_low,
    output wire [52:0] counter_high,
    output wire [3:0]  is_sync,
    output wire [3:0]  gave_up,
    output wire [59:0] delay,
    output wire [3:0]  logged,
    output wire [19:0] log_behind,

    // Of one port, by its number
    input  wire [1:0]  counters_of,
    output wire [31:0] beacons_sent,
    output wire [31:0] beacons_heard,
    output wire [31:0] jumps,
    output wire [31:0] out_of_range,
    output wire [31:0] damaged,
    output wire [31:0] joined
);

wire [127:0] sent, heard, all_jumps, astray, wrong, joins;
assign beacons_sent = sent[32*counters_of +: 32];
assign beacons_heard = heard[32*counters_of +: 32];
assign jumps = all_jumps[32*counters_of +: 32];
assign out_of_range = astray[32*counters_of +: 32];
assign damaged = wrong[32*counters_of +: 32];
assign joined = joins[32*counters_of +: 32];

dtp_device #(.PORTS(4)) device (
    .clk(clk), .rst(rst), .alpha(alpha), .beacon(beacon), .log(log), .start({start_high, start_low}),
    .link(link), .idle(idle),
    .tx_bits({tx_bits_3, tx_bits_2, tx_bits_1, tx_bits_0}), .rx_bits({rx_bits_3, rx_bits_2, rx_bits_1, rx_bits_0}),
    .counter({counter_high, counter_low}), .is_sync(is_sync), .gave_up(gave_up), .delay(delay),
    .logged(logged), .log_behind(log_behind),
    .beacons_sent(sent), .beacons_heard(heard), .jumps(all_jumps), .out_of_range(astray), .damaged(wrong), .joined(joins)
);

endmodule

`resetall
