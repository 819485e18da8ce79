// DTP in a device: algorithm 4 over the ports (paper 002, section 4.5.2). The counter goes up by one each tick, and is never behind that of a
// port. It stands at 0 while no link is up, and begins with `start` when the first comes up.
//
// One BEACON-JOIN a tick is heard, that of the lowest port; when it moves the counter, no other message of the tick is. A message that was not
// heard is as one that a wrong bit has destroyed: BEACON-JOIN and INIT are said again until they are answered by what the peer's beacons say.

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
    input  wire [19:0]          beacon,
    input  wire [29:0]          log,
    input  wire [105:0]         start,

    // By port, port 0 lowest: whether the link is up; idle blocks, 56 bits each
    input  wire [PORTS-1:0]     link,
    input  wire [PORTS-1:0]     idle,
    output wire [56*PORTS-1:0]  tx_bits,
    input  wire [56*PORTS-1:0]  rx_bits,

    output wire [105:0]         counter,

    output wire [PORTS-1:0]     is_sync,
    output wire [PORTS-1:0]     gave_up,
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

wire [PORTS-1:0]     is_join, joins, heard, raises;
wire [106*PORTS-1:0] told, raised;

assign counter = running ? global_counter : 106'd0;

// The lowest port by which a BEACON-JOIN has come.
wire [PORTS-1:0] first = is_join & (~is_join + 1'b1);
wire             moves = |(first & joins);
assign heard = ~(is_join ^ first) & (moves ? first : {PORTS{1'b1}});

reg [105:0] moved_to;
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
        if (raises[port] && $signed(raised[106*port +: 106] - global_counter_n) > 106'sd0) global_counter_n = raised[106*port +: 106];

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

genvar p;
generate
    for (p = 0; p < PORTS; p = p + 1) begin : side
        dtp_port side (
            .clk(clk), .rst(rst), .alpha(alpha), .beacon(beacon), .log(log),
            .ticks(ticks), .global_counter(global_counter), .comes_up(link[p] && !up[p]), .goes_down(!link[p] && up[p]), .global_then(global_counter_n),
            .idle(idle[p]), .tx_bits(tx_bits[56*p +: 56]), .rx_bits(rx_bits[56*p +: 56]),
            .is_join(is_join[p]), .joins(joins[p]), .told(told[106*p +: 106]), .heard(heard[p]),
            .moves(moves), .moved_to(moved_to), .raises(raises[p]), .raised(raised[106*p +: 106]),
            .is_sync(is_sync[p]), .gave_up(gave_up[p]), .delay(delay[15*p +: 15]),
            .logged(logged[p]), .log_behind(log_behind[5*p +: 5]),
            .beacons_sent(beacons_sent[32*p +: 32]), .beacons_heard(beacons_heard[32*p +: 32]),
            .jumps(jumps[32*p +: 32]), .out_of_range(out_of_range[32*p +: 32]), .damaged(damaged[32*p +: 32]),
            .joined(joined[32*p +: 32])
        );
    end
endgenerate

always @(posedge clk) begin
    ticks <= rst ? 53'd0 : ticks + 53'd1;
    global_counter <= global_counter_n + 106'd1;
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
