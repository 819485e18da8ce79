// DTP in a device: algorithm 4 over the ports (paper 002, section 4.5.2). The counter goes up by one each tick, and is never behind that of a
// port. It stands at 0 while no link is up, and begins with `start` when the first comes up.
//
// One BEACON-JOIN a tick is heard, that of the lowest port; when it moves the counter, no other message of the tick is. A message that was not
// heard is as one that a wrong bit has destroyed: BEACON-JOIN and INIT are said again until they are answered by what the peer's beacons say.
//
// Commands of dtp_registers come last in a tick, so that the next tick is the first with them.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module dtp_device #(
    parameter PORTS = 4
) (
    input  wire                 clk,
    input  wire                 rst,

    // What it is set to: see dtp_port
    input  wire [3:0]           alpha,
    input  wire [29:0]          log,
    input  wire [105:0]         start,
    // By port, port 0 lowest: the beacon interval
    input  wire [20*PORTS-1:0]  beacon,

    // Commands (figure D.25): the counter follows port 0 alone, and from the next tick on that of all ports again; new beacon intervals, which
    // `beacon` has from the next tick on; a counter for all ports at the next tick; measure all delays again
    input  wire                 nic,
    input  wire                 set_switch,
    input  wire [PORTS-1:0]     set_beacon,
    input  wire [19:0]          new_beacon,
    input  wire                 set_counter,
    input  wire [105:0]         new_counter,
    input  wire                 ask_again,

    // By port, port 0 lowest: whether the link is up; idle blocks, 56 bits each
    input  wire [PORTS-1:0]     link,
    input  wire [PORTS-1:0]     idle,
    output wire [56*PORTS-1:0]  tx_bits,
    input  wire [56*PORTS-1:0]  rx_bits,

    output wire [105:0]         counter,

    output wire [PORTS-1:0]     is_sync,
    output wire [PORTS-1:0]     gave_up,
    output wire [3*PORTS-1:0]   state,
    output wire [106*PORTS-1:0] local_counter,
    output wire [15*PORTS-1:0]  delay,
    output wire [PORTS-1:0]     logged,
    output wire [5*PORTS-1:0]   log_behind,
    output wire [32*PORTS-1:0]  beacons_sent,
    output wire [32*PORTS-1:0]  beacons_heard,
    output wire [32*PORTS-1:0]  jumps,
    output wire [32*PORTS-1:0]  out_of_range,
    output wire [32*PORTS-1:0]  damaged,
    output wire [32*PORTS-1:0]  joined
);

reg [105:0]     global_counter, global_counter_n;
reg             running, running_n;
reg [52:0]      ticks;
reg [PORTS-1:0] up, up_n;

wire [PORTS-1:0]     is_join, joins, heard, raises, is_sync_then;
wire [106*PORTS-1:0] told, raised, local_then;
wire [PORTS-1:0]     follows;

assign counter = running ? global_counter : 106'd0;

// The lowest port by which a BEACON-JOIN has come.
wire [PORTS-1:0] first = is_join & (~is_join + 1'b1);
wire             moves = |(first & joins & follows);
assign heard = ~(is_join ^ first) & (moves ? first : {PORTS{1'b1}});

reg [105:0] moved_to, global_next;
integer port;

always @* begin
    moved_to = 106'd0;
    for (port = 0; port < PORTS; port = port + 1)
        if (first[port]) moved_to = told[106*port +: 106];
end

always @* begin
    // T5
    global_counter_n = moves ? moved_to : global_counter;
    for (port = 0; port < PORTS; port = port + 1)
        if (raises[port] && follows[port] && $signed(raised[106*port +: 106] - global_counter_n) > 106'sd0) global_counter_n = raised[106*port +: 106];

    running_n = running;
    up_n = up;
    for (port = 0; port < PORTS; port = port + 1) begin
        if (link[port] && !up_n[port]) begin
            if (!running_n) global_counter_n = start;
            running_n = 1'b1;
            up_n[port] = 1'b1;
        end else if (!link[port] && up_n[port]) begin
            up_n[port] = 1'b0;
            running_n = |up_n;
        end
    end
end

// T5 for local counters that the device's did not follow until now.
always @* begin
    global_next = global_counter_n;
    for (port = 0; port < PORTS; port = port + 1)
        if (set_switch && is_sync_then[port] && $signed(local_then[106*port +: 106] - global_next) > 106'sd0) global_next = local_then[106*port +: 106];
end

genvar p;
generate
    for (p = 0; p < PORTS; p = p + 1) begin : side
        assign follows[p] = p == 0 || !nic;

        dtp_port side (
            .clk(clk), .rst(rst), .alpha(alpha), .beacon(beacon[20*p +: 20]), .log(log),
            .follows(follows[p]), .set_beacon(set_beacon[p]), .new_beacon(new_beacon), .set_counter(set_counter), .new_counter(new_counter),
            .ask_again(ask_again),
            .ticks(ticks), .global_counter(global_counter), .comes_up(link[p] && !up[p]), .goes_down(!link[p] && up[p]), .global_then(global_counter_n),
            .idle(idle[p]), .tx_bits(tx_bits[56*p +: 56]), .rx_bits(rx_bits[56*p +: 56]),
            .is_join(is_join[p]), .joins(joins[p]), .told(told[106*p +: 106]), .heard(heard[p]),
            .moves(moves), .moved_to(moved_to), .raises(raises[p]), .raised(raised[106*p +: 106]),
            .local_then(local_then[106*p +: 106]), .is_sync_then(is_sync_then[p]),
            .is_sync(is_sync[p]), .gave_up(gave_up[p]), .state_now(state[3*p +: 3]), .local_counter(local_counter[106*p +: 106]), .delay(delay[15*p +: 15]),
            .logged(logged[p]), .log_behind(log_behind[5*p +: 5]),
            .beacons_sent(beacons_sent[32*p +: 32]), .beacons_heard(beacons_heard[32*p +: 32]),
            .jumps(jumps[32*p +: 32]), .out_of_range(out_of_range[32*p +: 32]), .damaged(damaged[32*p +: 32]),
            .joined(joined[32*p +: 32])
        );
    end
endgenerate

always @(posedge clk) begin
    ticks <= rst ? 53'd0 : ticks + 53'd1;
    global_counter <= rst ? 106'd0 : set_counter ? new_counter : global_next + 106'd1;
    running <= running_n && !rst;
    up <= rst ? {PORTS{1'b0}} : up_n;
end

initial begin
    ticks = 53'd0;
    global_counter = 106'd0;
    running = 1'b0;
    up = {PORTS{1'b0}};
end

endmodule

`resetall
