// Properties of dtp_port for round trips and of control characters, for a solver: a peer that says
// anything at any time, but that it answers an INIT as it
// should, after some ticks; a device whose counter moves as it likes, as by BEACON-JOINs at
// other ports; and commands at any time.
//
//   round trip    the delay is half of the ticks from INIT to its answer, less alpha, whatever the
//                 counter does meanwhile, and whatever is set
//   characters    what leaves is never other control characters than idle ones

`default_nettype none

module round #(
    // Not zero: claims that no counter moves between an INIT and its answer, which has to be
    // refuted, or the rest says nothing.
    parameter REACH = 0
) (input wire clk);

localparam [3:0] ALPHA = 4'd3;

// Everything here is the solver's to choose.
(* anyseq *) wire [55:0]  from_peer;
(* anyseq *) wire         answers, idle, heard, moves, comes_up, goes_down;
(* anyseq *) wire [105:0] moved_to, global_counter, new_counter;
(* anyseq *) wire         follows, set_beacon, set_counter, ask_again;
(* anyseq *) wire [19:0]  new_beacon;

reg [52:0] ticks = 0;

// The INIT that is not answered yet: what it said, and how many ticks ago
reg        asked = 0, moved = 0;
reg [52:0] said = 0;
reg [5:0]  ago = 0;

wire [55:0]  tx_bits;
wire         is_join, joins, raises, is_sync, gave_up, logged;
wire         is_sync_then;
wire [2:0]   state_now;
wire [105:0] told, raised, local_then, local_counter;
wire [14:0]  delay;
wire [4:0]   log_behind;
wire [31:0]  sent, beacons, jumps, astray, damaged, joined;

// Of the peer nothing but the right answer is an INIT-ACK, and that is heard.
wire        is_answer = answers && asked;
wire [55:0] rx_bits = is_answer ? {said, 3'd2} : from_peer[2:0] == 3'd2 ? 56'd0 : from_peer;

dtp_port dut (
    .clk(clk), .rst(1'b0), .alpha(ALPHA), .beacon(20'd2), .log(30'd2), .ticks(ticks),
    .global_counter(global_counter), .comes_up(comes_up), .goes_down(goes_down && !comes_up), .global_then(global_counter),
    .follows(follows), .set_beacon(set_beacon), .new_beacon(new_beacon), .set_counter(set_counter), .new_counter(new_counter), .ask_again(ask_again),
    .local_then(local_then), .is_sync_then(is_sync_then), .state_now(state_now), .local_counter(local_counter),
    .idle(idle), .tx_bits(tx_bits), .rx_bits(rx_bits), .is_join(is_join), .joins(joins), .told(told), .heard(heard || is_answer),
    .moves(moves), .moved_to(moved_to), .raises(raises), .raised(raised), .is_sync(is_sync), .gave_up(gave_up), .delay(delay),
    .logged(logged), .log_behind(log_behind), .beacons_sent(sent), .beacons_heard(beacons), .jumps(jumps), .out_of_range(astray),
    .damaged(damaged), .joined(joined)
);

wire characters;
dtp_characters leaves (.bits(tx_bits), .are_characters(characters));

reg        was_sync = 0;
reg [14:0] expected = 0;

always @(posedge clk) begin
    ticks <= ticks + 1;
    was_sync <= is_sync;
    ago <= ago + 1;
    assume (ago < 40);
    if (moves || set_counter) moved <= 1;
    if (comes_up || goes_down || ask_again) asked <= 0;
    else if (idle && tx_bits[2:0] == 3'd1) begin
        asked <= 1;
        moved <= moves || set_counter;
        said <= tx_bits[55:3];
        ago <= 1;
    end
    // Half of the ticks less alpha, to the lower tick; of fewer than alpha it is below zero.
    if (is_answer) expected <= ago < ALPHA ? -15'd1 : (ago - ALPHA) >> 1;

    if (is_sync && !was_sync) begin
        assert (delay == expected);
        assert (REACH == 0 || !moved);
    end
    if (idle) assert (!characters || tx_bits == 0);
end

endmodule
