// The control interface of figure D.25 (paper 002) as registers of a DTP device, by AXI-Lite of 32 bits. An address that is not in this list is
// answered with SLVERR, and so is a write to one that is read only, of less than a whole word, or of a value out of its range: it changes nothing.
//
//   000 identification, 44545020 ("DTP ")         004 version, 1                      008 number of ports
//   00C mode, read and write: 0 switch, 1 NIC, by which the counter follows port 0 alone
//   010 the device's counter, lowest word; keeps the others         014, 018, 01C the others
//   020 write 1: the delays of all links are measured again; 0 is read
//   030, 034, 038 the lower three words of a new counter, read and write
//   03C its highest 10 bits, write: the counter of the device and of all ports; 0 is read
// and of port P at 100 + 40 * P:
//   00 state: 0 DOWN, 1 INIT, 2 SENT, 3 SYNC, 4 GIVEN UP
//   04 delay in ticks, signed; 80000000 when it is not measured
//   08 beacon interval in ticks, read and write: 2 to 1,000,000
//   0C beacons out of range    10 beacons sent    14 beacons heard    18 messages with a detected bit error
//   1C beacons that moved the local counter       20 BEACON-JOINs that moved the device's
//   30 local counter, lowest word; keeps the others                 34, 38, 3C the others
// A command holds from the tick after the write on.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module dtp_registers #(
    // 1 to 60
    parameter PORTS = 4
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire [11:0]          s_axil_awaddr,
    input  wire                 s_axil_awvalid,
    output wire                 s_axil_awready,
    input  wire [31:0]          s_axil_wdata,
    input  wire [3:0]           s_axil_wstrb,
    input  wire                 s_axil_wvalid,
    output wire                 s_axil_wready,
    output reg  [1:0]           s_axil_bresp,
    output reg                  s_axil_bvalid,
    input  wire                 s_axil_bready,
    input  wire [11:0]          s_axil_araddr,
    input  wire                 s_axil_arvalid,
    output wire                 s_axil_arready,
    output reg  [31:0]          s_axil_rdata,
    output reg  [1:0]           s_axil_rresp,
    output reg                  s_axil_rvalid,
    input  wire                 s_axil_rready,

    // The beacon interval of a port until it is written
    input  wire [19:0]          beacon,

    // To dtp_device, by port
    output wire [20*PORTS-1:0]  beacons,
    output reg                  nic,
    output wire                 set_switch,
    output reg  [PORTS-1:0]     set_beacon,
    output wire [19:0]          new_beacon,
    output wire                 set_counter,
    output wire [105:0]         new_counter,
    output wire                 ask_again,

    // From it
    input  wire [105:0]         counter,
    input  wire [3*PORTS-1:0]   state,
    input  wire [106*PORTS-1:0] local_counter,
    input  wire [15*PORTS-1:0]  delay,
    input  wire [32*PORTS-1:0]  beacons_sent,
    input  wire [32*PORTS-1:0]  beacons_heard,
    input  wire [32*PORTS-1:0]  jumps,
    input  wire [32*PORTS-1:0]  out_of_range,
    input  wire [32*PORTS-1:0]  damaged,
    input  wire [32*PORTS-1:0]  joined
);

localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;
localparam [2:0] SYNC = 3'd3;
localparam [31:0] NOT_MEASURED = 32'h80000000;
localparam [31:0] MIN_BEACON = 32'd2, MAX_BEACON = 32'd1000000;
localparam [31:0] COUNT = PORTS;

reg [PORTS-1:0]    was_set_reg;
reg [20*PORTS-1:0] beacons_reg;
reg [95:0]         staged_reg;
reg [73:0]         rest_reg;

// An address and its word are taken together.
assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
assign s_axil_wready = s_axil_awready;
assign s_axil_arready = !s_axil_rvalid;

// Pages of 64 bytes: the device has the first four, and each port one.
wire [5:0] write_page = s_axil_awaddr[11:6];
wire [3:0] write_word = s_axil_awaddr[5:2];
wire [5:0] read_page = s_axil_araddr[11:6];
wire [3:0] read_word = s_axil_araddr[5:2];

// A bus of 32 bits has no lower bits of an address.
wire unused = &{1'b0, s_axil_awaddr[1:0], s_axil_araddr[1:0]};

wire writes_word = s_axil_awready && (&s_axil_wstrb);
wire writes_device = writes_word && write_page == 6'd0;
wire writes_mode = writes_device && write_word == 4'd3 && s_axil_wdata < 32'd2;
wire writes_low = writes_device && write_word >= 4'd12 && write_word < 4'd15;

assign set_switch = writes_mode && !s_axil_wdata[0];
assign ask_again = writes_device && write_word == 4'd8 && s_axil_wdata == 32'd1;
assign set_counter = writes_device && write_word == 4'd15 && s_axil_wdata < 32'd1024;
assign new_counter = {s_axil_wdata[9:0], staged_reg};
assign new_beacon = s_axil_wdata[19:0];

wire in_range = s_axil_wdata >= MIN_BEACON && s_axil_wdata <= MAX_BEACON;
integer to;

always @* begin
    for (to = 0; to < PORTS; to = to + 1)
        set_beacon[to] = writes_word && in_range && write_word == 4'd2 && write_page == to[5:0] + 6'd4;
end

genvar p;
generate
    for (p = 0; p < PORTS; p = p + 1) begin : interval
        assign beacons[20*p +: 20] = was_set_reg[p] ? beacons_reg[20*p +: 20] : beacon;
    end
endgenerate

// The port that is read.
reg         is_port;
reg [2:0]   of_state;
reg [14:0]  of_delay;
reg [19:0]  of_beacon;
reg [105:0] of_local;
reg [31:0]  of_sent, of_heard, of_jumps, of_out_of_range, of_damaged, of_joined;
integer from;

always @* begin
    {is_port, of_state, of_delay, of_beacon, of_local} = 145'd0;
    {of_sent, of_heard, of_jumps, of_out_of_range, of_damaged, of_joined} = 192'd0;
    for (from = 0; from < PORTS; from = from + 1)
        if (read_page == from[5:0] + 6'd4) begin
            is_port = 1'b1;
            of_state = state[3*from +: 3];
            of_delay = delay[15*from +: 15];
            of_beacon = beacons[20*from +: 20];
            of_local = local_counter[106*from +: 106];
            of_sent = beacons_sent[32*from +: 32];
            of_heard = beacons_heard[32*from +: 32];
            of_jumps = jumps[32*from +: 32];
            of_out_of_range = out_of_range[32*from +: 32];
            of_damaged = damaged[32*from +: 32];
            of_joined = joined[32*from +: 32];
        end
end

reg        known;
reg [31:0] word;
wire       reads_global = read_page == 6'd0 && read_word == 4'd4;
wire       reads_local = is_port && read_word == 4'd12;

always @* begin
    known = 1'b1;
    word = 32'd0;
    if (read_page == 6'd0) case (read_word)
        4'd0: word = 32'h44545020;
        4'd1: word = 32'd1;
        4'd2: word = COUNT;
        4'd3: word = {31'd0, nic};
        4'd4: word = counter[31:0];
        4'd5: word = rest_reg[31:0];
        4'd6: word = rest_reg[63:32];
        4'd7: word = {22'd0, rest_reg[73:64]};
        4'd8, 4'd15: word = 32'd0;
        4'd12: word = staged_reg[31:0];
        4'd13: word = staged_reg[63:32];
        4'd14: word = staged_reg[95:64];
        default: known = 1'b0;
    endcase
    else if (is_port) case (read_word)
        4'd0: word = {29'd0, of_state};
        4'd1: word = of_state == SYNC ? {{17{of_delay[14]}}, of_delay} : NOT_MEASURED;
        4'd2: word = {12'd0, of_beacon};
        4'd3: word = of_out_of_range;
        4'd4: word = of_sent;
        4'd5: word = of_heard;
        4'd6: word = of_damaged;
        4'd7: word = of_jumps;
        4'd8: word = of_joined;
        4'd12: word = of_local[31:0];
        4'd13: word = rest_reg[31:0];
        4'd14: word = rest_reg[63:32];
        4'd15: word = {22'd0, rest_reg[73:64]};
        default: known = 1'b0;
    endcase
    else known = 1'b0;
end

integer at;

always @(posedge clk) begin
    if (writes_mode) nic <= s_axil_wdata[0];
    if (writes_low) staged_reg[32*write_word[1:0] +: 32] <= s_axil_wdata;
    was_set_reg <= was_set_reg | set_beacon;
    for (at = 0; at < PORTS; at = at + 1)
        if (set_beacon[at]) beacons_reg[20*at +: 20] <= new_beacon;

    if (s_axil_awready) begin
        s_axil_bvalid <= 1'b1;
        s_axil_bresp <= writes_mode || writes_low || ask_again || set_counter || (|set_beacon) ? OKAY : SLVERR;
    end else if (s_axil_bready) s_axil_bvalid <= 1'b0;

    if (s_axil_arvalid && s_axil_arready) begin
        s_axil_rvalid <= 1'b1;
        s_axil_rresp <= known ? OKAY : SLVERR;
        s_axil_rdata <= word;
        if (reads_global) rest_reg <= counter[105:32];
        if (reads_local) rest_reg <= of_local[105:32];
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;

    if (rst) begin
        nic <= 1'b0;
        was_set_reg <= {PORTS{1'b0}};
        staged_reg <= 96'd0;
        rest_reg <= 74'd0;
        s_axil_bvalid <= 1'b0;
        s_axil_rvalid <= 1'b0;
    end
end

initial begin
    nic = 1'b0;
    was_set_reg = {PORTS{1'b0}};
    beacons_reg = {20*PORTS{1'b0}};
    staged_reg = 96'd0;
    rest_reg = 74'd0;
    s_axil_bvalid = 1'b0;
    s_axil_rvalid = 1'b0;
    s_axil_bresp = SLVERR;
    s_axil_rresp = OKAY;
    s_axil_rdata = 32'd0;
end

endmodule

`resetall
