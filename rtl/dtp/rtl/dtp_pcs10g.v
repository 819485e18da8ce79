// A port of 10GBASE-R with DTP in its PCS, between coding and scrambling (paper 002, figure 4.28): idle blocks say what dtp_device has to say, and
// are idle again behind the receiver, so that XGMII, and the MAC above it, see nothing of it.
//
// Latency: that of pcs10g_tx and pcs10g_rx. A message is two ticks under way beside the line: one to be scrambled, one to be descrambled. One
// clock for both directions: a SERDES with its own receive clock has an elastic buffer for blocks before `rx_payload`.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module dtp_pcs10g (
    input  wire        clk,
    input  wire        rst,
    // Without block lock, and while the error rate is high: the link is down
    input  wire        rx_rst,

    // What DTP is set to: see dtp_port and dtp_device
    input  wire [3:0]  alpha,
    // The beacon interval until it is written
    input  wire [19:0] beacon,
    input  wire [29:0] log,
    input  wire [52:0] start_low,
    input  wire [52:0] start_high,

    // XGMII, 64 bits at 156.25 MHz
    input  wire [63:0] xgmii_txd,
    input  wire [7:0]  xgmii_txc,
    output wire [63:0] xgmii_rxd,
    output wire [7:0]  xgmii_rxc,
    output wire        rx_error,

    // Blocks to and from the gearbox
    output wire [1:0]  tx_header,
    output wire [63:0] tx_payload,
    input  wire [1:0]  rx_header,
    input  wire [63:0] rx_payload,

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
    input  wire        s_axil_rready,

    output wire [52:0] counter_low,
    output wire [52:0] counter_high,
    output wire        is_sync,
    output wire        gave_up,
    output wire [14:0] delay,
    output wire        logged,
    output wire [4:0]  log_behind,
    output wire [31:0] beacons_sent,
    output wire [31:0] beacons_heard,
    output wire [31:0] jumps,
    output wire [31:0] out_of_range,
    output wire [31:0] damaged,
    output wire [31:0] joined
);

// Eight idle characters
localparam [63:0] IDLE = 64'h1E;

wire        control, in_reset;
wire [1:0]  header;
wire [63:0] payload, block;
wire [55:0] tx_bits;

wire is_idle = control && payload == IDLE;

// A message is in the place of an idle block: not in a frame, and no block of other control
// characters.
wire in_frame, are_characters;
wire is_message = header == 2'b01 && block[7:0] == IDLE[7:0] && !are_characters && !in_frame;

dtp_characters characters (.bits(block[63:8]), .are_characters(are_characters));

pcs10g_encode encode (
    .clk(clk), .rst(rst), .xgmii_txd(xgmii_txd), .xgmii_txc(xgmii_txc), .control(control), .payload(payload)
);

pcs10g_scramble scramble (
    .clk(clk), .control(control), .payload(is_idle ? {tx_bits, IDLE[7:0]} : payload),
    .tx_header(tx_header), .tx_payload(tx_payload)
);

pcs10g_descramble descramble (
    .clk(clk), .rst(rx_rst), .rx_header(rx_header), .rx_payload(rx_payload), .in_reset(in_reset), .header(header), .block(block)
);

pcs10g_decode decode (
    .clk(clk), .rst(in_reset), .header(header), .block(is_message ? IDLE : block),
    .xgmii_rxd(xgmii_rxd), .xgmii_rxc(xgmii_rxc), .rx_error(rx_error), .in_frame(in_frame)
);

wire        nic, set_switch, set_counter, ask_again;
wire [0:0]  set_beacon;
wire [19:0]  new_beacon;
wire [105:0] new_counter;
wire [19:0]   beacons;
wire [2:0]   state;
wire [105:0]  local_counter;

dtp_registers #(.PORTS(1)) registers (
    .clk(clk), .rst(rst),
    .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
    .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
    .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
    .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
    .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
    .beacon(beacon), .beacons(beacons), .nic(nic), .set_switch(set_switch), .set_beacon(set_beacon), .new_beacon(new_beacon),
    .set_counter(set_counter), .new_counter(new_counter), .ask_again(ask_again),
    .counter({counter_high, counter_low}), .state(state), .local_counter(local_counter), .delay(delay),
    .beacons_sent(beacons_sent), .beacons_heard(beacons_heard), .jumps(jumps), .out_of_range(out_of_range),
    .damaged(damaged), .joined(joined)
);

dtp_device #(.PORTS(1)) device (
    .clk(clk), .rst(rst), .alpha(alpha), .beacon(beacons), .log(log), .start({start_high, start_low}),
    .nic(nic), .set_switch(set_switch), .set_beacon(set_beacon), .new_beacon(new_beacon),
    .set_counter(set_counter), .new_counter(new_counter), .ask_again(ask_again),
    .link(!in_reset), .idle(is_idle), .tx_bits(tx_bits), .rx_bits(is_message ? block[63:8] : 56'd0),
    .counter({counter_high, counter_low}), .is_sync(is_sync), .gave_up(gave_up),
    .state(state), .local_counter(local_counter), .delay(delay), .logged(logged), .log_behind(log_behind),
    .beacons_sent(beacons_sent), .beacons_heard(beacons_heard), .jumps(jumps), .out_of_range(out_of_range),
    .damaged(damaged), .joined(joined)
);

endmodule

`resetall
