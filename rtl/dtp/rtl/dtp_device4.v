// DTP for a device of four ports with its registers, and what is wider than 64 bits in two halves, for test benches that speak in words.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module dtp_device4 (
    input  wire        clk,
    input  wire        rst,

    // What it is set to: see dtp_port and dtp_device
    input  wire [3:0]  alpha,
    // The beacon interval of a port until it is written
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

    // Registers: see dtp_registers
    input  wire [11:0] s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output wire [1:0]  s_axil_bresp,
    output wire        s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [11:0] s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output wire [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output wire        s_axil_rvalid,
    input  wire        s_axil_rready
);

wire [127:0] beacons_sent, beacons_heard, jumps, out_of_range, damaged, joined;
wire        nic, set_switch, set_counter, ask_again;
wire [3:0]  set_beacon;
wire [19:0]  new_beacon;
wire [105:0] new_counter;
wire [79:0]   beacons;
wire [11:0]  state;
wire [423:0]  local_counter;

dtp_registers #(.PORTS(4)) registers (
    .clk(clk), .rst(rst),
    .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
    .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
    .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
    .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
    .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
    .beacon(beacon), .beacons(beacons), .nic(nic), .set_switch(set_switch), .set_beacon(set_beacon), .new_beacon(new_beacon),
    .set_counter(set_counter), .new_counter(new_counter), .ask_again(ask_again),
    .counter({counter_high, counter_low}), .state(state), .local_counter(local_counter), .delay(delay),
    .beacons_sent(beacons_sent), .beacons_heard(beacons_heard), .jumps(jumps),
    .out_of_range(out_of_range), .damaged(damaged), .joined(joined)
);

dtp_device #(.PORTS(4)) device (
    .clk(clk), .rst(rst), .alpha(alpha), .beacon(beacons), .log(log), .start({start_high, start_low}),
    .nic(nic), .set_switch(set_switch), .set_beacon(set_beacon), .new_beacon(new_beacon),
    .set_counter(set_counter), .new_counter(new_counter), .ask_again(ask_again),
    .link(link), .idle(idle),
    .tx_bits({tx_bits_3, tx_bits_2, tx_bits_1, tx_bits_0}), .rx_bits({rx_bits_3, rx_bits_2, rx_bits_1, rx_bits_0}),
    .counter({counter_high, counter_low}), .is_sync(is_sync), .gave_up(gave_up),
    .state(state), .local_counter(local_counter), .delay(delay), .logged(logged), .log_behind(log_behind),
    .beacons_sent(beacons_sent), .beacons_heard(beacons_heard), .jumps(jumps), .out_of_range(out_of_range), .damaged(damaged), .joined(joined)
);

endmodule

`resetall
