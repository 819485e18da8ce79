// DTP at one port: algorithm 3, with the state machine of figure D.26 (paper 002, sections 4.5.2 and D.3). One clock cycle is a tick.
//
// In a tick the idle block that leaves is filled first, by the state at the tick's beginning; then the message that has come is heard; then
// the link's coming up or going down is seen. It does as `nodes::dtp` does, tick for tick, where what is followed is the maximum:
//   T0  the link is up: the local counter becomes the global one, and an INIT goes out with the
//       ticks since reset, which no BEACON-JOIN moves
//   T1  an INIT comes: an INIT-ACK goes back with what it said and the ticks that it waited
//   T2  an INIT-ACK comes: half of the round trip less alpha is the delay; BEACON-MSB and BEACON-JOIN twice follow
//   T3  it is time: a BEACON goes out with the global counter
//   T4  a BEACON comes: the local counter becomes what it says, and the delay, if it was less
// Commands of dtp_registers come last in a tick, so that the next tick is the first with them.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module dtp_port (
    input  wire         clk,
    input  wire         rst,

    // Ticks that are taken off a round trip, 0 to 8; from one beacon to the next, 2 to 1,000,000; from one LOG to the next, 0 for none
    input  wire [3:0]   alpha,
    input  wire [19:0]  beacon,
    input  wire [29:0]  log,

    // Ticks since reset, by which round trips are timed; the device's counter, and what it begins
    // with behind this tick's messages
    input  wire [52:0]  ticks,
    input  wire [105:0] global_counter,
    input  wire         comes_up,
    input  wire         goes_down,
    input  wire [105:0] global_then,

    // The device's counter follows this port
    input  wire         follows,
    // Commands: the interval from now on; the counter of all ports at the next tick; measure the delay again
    input  wire         set_beacon,
    input  wire [19:0]  new_beacon,
    input  wire         set_counter,
    input  wire [105:0] new_counter,
    input  wire         ask_again,

    // An idle block leaves at this tick, and what it says; what has come in one, 0 when nothing has
    input  wire         idle,
    output reg  [55:0]  tx_bits,
    input  wire [55:0]  rx_bits,

    // A BEACON-JOIN has come; it moves the global counter, to this. Whether the device lets it, or another message, be heard
    output wire         is_join,
    output wire         joins,
    output wire [105:0] told,
    input  wire         heard,
    // A counter that all ports of the device have from this tick on, and whether it came by this one
    input  wire         moves,
    input  wire [105:0] moved_to,
    // The local counter is ahead of what it was, and may be of the global one
    output wire         raises,
    output wire [105:0] raised,
    // The local counter after this tick's messages, and whether the delay is known then
    output wire [105:0] local_then,
    output wire         is_sync_then,

    // What is known: the delay in ticks as soon as it was measured, a faulty peer, how far behind a LOG has told that its sender is
    output wire         is_sync,
    output wire         gave_up,
    output wire [2:0]   state_now,
    output reg  [105:0] local_counter,
    output reg  [14:0]  delay,
    output reg          logged,
    output reg  [4:0]   log_behind,
    output reg  [31:0]  beacons_sent,
    output reg  [31:0]  beacons_heard,
    output reg  [31:0]  jumps,
    output reg  [31:0]  out_of_range,
    output reg  [31:0]  damaged,
    output reg  [31:0]  joined
);

localparam [2:0] NONE = 3'd0, INIT = 3'd1, INIT_ACK = 3'd2, BEACON_JOIN = 3'd3, BEACON_MSB = 3'd4, LOG = 3'd5;
localparam [2:0] DOWN = 3'd0, TO_ASK = 3'd1, ASKED = 3'd2, SYNC = 3'd3, GIVEN_UP = 3'd4;
localparam [1:0] NOT_JOINING = 2'd0, TELL_HIGH = 2'd1, TELL_LOW = 2'd2, TELL_LOW_AGAIN = 2'd3;

// Beacons that are further off say nothing (section 4.5.2); what else makes a peer faulty is as in `nodes::dtp::hearing`.
localparam signed [53:0] RANGE = 54'sd8;
localparam [11:0] FORGET = 12'd2800;
localparam [7:0]  MOST_JUMPS = 8'd160;
localparam [4:0]  MOST_ASTRAY = 5'd16;
localparam [2:0]  BEHIND = 3'd6;
// A beacon ahead out of range counts once in a round trip and so many ticks more: for so long the
// peer's BEACON-JOIN may be under way.
localparam [15:0] ANSWERS_WITHIN = 16'd64;
// An INIT that was not answered for so long is sent again; a round trip that takes longer is none; one beacon in so many tells the high half.
localparam [15:0] PATIENCE = 16'd32768;
localparam [52:0] LONGEST = 53'd16384;
localparam [12:0] MSB_EVERY = 13'd4096;

reg [2:0]   state, state_n;
reg [1:0]   joining, joining_n;
reg [52:0]  high_told, high_told_n;
reg         answer, answer_n;
reg [52:0]  answer_counter, answer_counter_n;
reg [105:0] local_counter_n;
reg [15:0]  patience, patience_n;     // until INIT is sent again, or until a beacon that is astray counts
reg [19:0]  beacon_in, beacon_in_n;
reg [29:0]  log_in, log_in_n;
reg [12:0]  to_msb, to_msb_n;
reg         peer_known, peer_known_n;
reg [52:0]  peer_high, peer_high_n;
reg         half, half_n;
reg [105:0] half_joined, half_joined_n;
reg [11:0]  age, age_n;               // since a tick of the jumps was forgotten
reg [7:0]   jumped, jumped_n;
reg [4:0]   astray, astray_n;
reg [2:0]   behind, behind_n;
reg [14:0]  delay_n;
reg         logged_n;
reg [4:0]   log_behind_n;
reg [31:0]  beacons_sent_n, beacons_heard_n, jumps_n, out_of_range_n, damaged_n, joined_n;
reg         restarts;

assign is_sync = state == SYNC;
assign gave_up = state == GIVEN_UP;
assign state_now = state;
assign local_then = local_counter_n;
assign is_sync_then = state_n == SYNC;

// What goes out.
wire [52:0] low = global_counter[52:0];
wire [52:0] high = global_counter[105:53];
wire        ask = state == TO_ASK || (state == ASKED && patience == 16'd0);
wire        low_next = (joining == TELL_LOW || joining == TELL_LOW_AGAIN) && high_told == high;
wire        beacon_due = beacon_in == 20'd0;
wire        msb_due = to_msb == 13'd1;
wire        log_due = log != 30'd0 && log_in == 30'd0;

// Bits that would be control characters say the counter of the tick before: no code ends as its
// message does.
wire [52:0] earlier = low - 53'd1;
wire [2:0]  kind_of_low = low_next ? BEACON_JOIN : beacon_due ? {2'b11, ^low[2:0]} : LOG;
wire [2:0]  kind_of_earlier = kind_of_low[2:1] == 2'b11 ? {2'b11, ^earlier[2:0]} : kind_of_low;
wire        low_is_characters;

dtp_characters low_characters (.bits({low, kind_of_low}), .are_characters(low_is_characters));

wire [55:0] low_message = low_is_characters ? {earlier, kind_of_earlier} : {low, kind_of_low};

always @* begin
    tx_bits = 56'd0;
    if (answer) tx_bits = {answer_counter, INIT_ACK};
    else if (ask) tx_bits = {ticks, INIT};
    else if (is_sync) begin
        if (low_next) tx_bits = low_message;
        else if (joining != NOT_JOINING || (beacon_due && msb_due)) tx_bits = {high, BEACON_MSB};
        else if (beacon_due || log_due) tx_bits = low_message;
    end
end

// The message received; none where the block is control characters.
wire        rx_characters;

dtp_characters came_characters (.bits(rx_bits), .are_characters(rx_characters));

wire [55:0] came = rx_characters ? 56'd0 : rx_bits;
wire [2:0]  kind = came[2:0];
wire [52:0] counter = came[55:3];
wire        listens = state != DOWN && state != GIVEN_UP;
wire        is_beacon = kind[2:1] == 2'b11 && kind[0] == ^counter[2:0];
wire        is_damaged = (kind == NONE && counter != 53'd0) || (kind[2:1] == 2'b11 && !is_beacon);
wire [52:0] round = ticks - counter;
// Half of the round trip less alpha, to the lower tick
wire [14:0] measured = round[15:1] - {12'd0, alpha[3:1]} - {14'd0, alpha[0] && !round[0]};

// A peer out of range ahead of the local counter is held against the global one, which may have
// gone on by other ports.
wire [53:0] delay_54 = {{39{delay[14]}}, delay};
wire [52:0] local_ahead = counter - local_counter[52:0];
wire [52:0] global_ahead = counter - low;
wire signed [53:0] of_local = $signed({local_ahead[52], local_ahead}) + $signed(delay_54);
wire signed [53:0] of_global = $signed({global_ahead[52], global_ahead}) + $signed(delay_54);
wire is_far = of_local > RANGE;
wire signed [53:0] ahead = is_far ? of_global : of_local;
wire [105:0] held_against = is_far ? global_counter : local_counter;
wire        in_range = ahead <= RANGE && ahead >= -RANGE;

wire [52:0] log_ahead = low - counter;
wire signed [53:0] log_off = $signed({log_ahead[52], log_ahead}) - $signed(delay_54);

assign told = {peer_high, counter} + {{91{delay[14]}}, delay};
wire signed [105:0] told_half = $signed(told - half_joined);
wire signed [105:0] told_global = $signed(told - global_counter);
wire signed [105:0] told_local = $signed(told - local_counter);
wire agree = half && told_half <= 106'sd2 && told_half >= -106'sd2;
assign is_join = is_sync && kind == BEACON_JOIN;
assign joins = is_join && peer_known && agree && told_global > 106'sd8;

wire       forgets = age == FORGET;
wire [7:0] jumped_yet = forgets && jumped != 8'd0 ? jumped - 8'd1 : jumped;
// A peer is charged with the ticks by which it moves the device's counter; a peer that only follows
// this device does not move it. At a port that the counter does not follow, with those of the local
// counter.
wire [3:0] charged = follows ? of_global[3:0] & {4{of_global > 54'sd0}} : ahead[3:0];
wire [7:0] jumped_since = jumped_yet + {4'd0, charged};
wire is_ahead = is_sync && is_beacon && in_range && ahead > 54'sd0;
wire jump = heard && is_ahead && jumped_since <= MOST_JUMPS;
wire follow = heard && is_join && peer_known && agree && told_global <= 106'sd8 && told_global >= -106'sd8 && told_local > 106'sd0;
assign raises = jump || follow;
assign raised = jump ? held_against + {102'd0, ahead[3:0]} : told;

always @* begin
    state_n = state;
    joining_n = joining;
    high_told_n = high_told;
    answer_n = answer;
    answer_counter_n = answer_counter;
    local_counter_n = local_counter;
    patience_n = patience == 16'd0 ? 16'd0 : patience - 16'd1;
    beacon_in_n = beacon_due ? 20'd0 : beacon_in - 20'd1;
    log_in_n = log_in == 30'd0 ? 30'd0 : log_in - 30'd1;
    to_msb_n = to_msb;
    peer_known_n = peer_known;
    peer_high_n = peer_high;
    half_n = half;
    half_joined_n = half_joined;
    age_n = forgets ? 12'd1 : age + 12'd1;
    jumped_n = jumped_yet;
    astray_n = astray;
    behind_n = behind;
    delay_n = delay;
    beacons_sent_n = beacons_sent;
    beacons_heard_n = beacons_heard;
    jumps_n = jumps;
    out_of_range_n = out_of_range;
    damaged_n = damaged;
    joined_n = joined;
    logged_n = 1'b0;
    log_behind_n = log_off[4:0];

    // The idle block that leaves.
    if (idle) begin
        if (answer) answer_n = 1'b0;
        else if (ask) begin
            state_n = ASKED;
            patience_n = PATIENCE - 16'd1;
        end else if (is_sync) begin
            if (low_next) joining_n = joining == TELL_LOW ? TELL_LOW_AGAIN : NOT_JOINING;
            else if (joining != NOT_JOINING) begin
                joining_n = TELL_LOW;
                high_told_n = high;
            end else if (beacon_due) begin
                beacon_in_n = beacon - 20'd1;
                to_msb_n = msb_due ? MSB_EVERY : to_msb - 13'd1;
                if (!msb_due) beacons_sent_n = beacons_sent + 32'd1;
            end else if (log_due) log_in_n = log - 30'd1;
        end
    end

    // The message that has come.
    if (heard && listens) begin
        if (is_damaged) damaged_n = damaged + 32'd1;
        // T1
        if (kind == INIT) begin
            answer_n = 1'b1;
            answer_counter_n = counter;
        end
        // T2
        if (kind == INIT_ACK && state_n == ASKED) begin
            if (round > LONGEST) damaged_n = damaged + 32'd1;
            else begin
                delay_n = measured;
                state_n = SYNC;
                patience_n = 16'd0;
                joining_n = TELL_HIGH;
                beacon_in_n = 20'd0;
                log_in_n = log == 30'd0 ? 30'd0 : log - 30'd1;
            end
        end
    end
    if (heard && is_sync) begin
        // T4
        if (is_beacon) begin
            beacons_heard_n = beacons_heard + 32'd1;
            local_counter_n = held_against;
            if (in_range) begin
                astray_n = astray == 5'd0 ? 5'd0 : astray - 5'd1;
                behind_n = 3'd0;
                if (is_ahead) begin
                    jumped_n = jumped_since;
                    if (jump) jumps_n = jumps + 32'd1;
                    else state_n = GIVEN_UP;
                end
            end else begin
                out_of_range_n = out_of_range + 32'd1;
                if (!ahead[53]) begin
                    if (patience == 16'd0) begin
                        patience_n = {delay[14] ? 15'd0 : delay, 1'b0} + ANSWERS_WITHIN - 16'd1;
                        astray_n = astray + 5'd1;
                        // A peer that is ahead answers by its own BEACON-JOIN.
                        joining_n = TELL_HIGH;
                        if (astray_n > MOST_ASTRAY) state_n = GIVEN_UP;
                    end
                end else begin
                    behind_n = behind + 3'd1;
                    if (behind_n == BEHIND) begin
                        behind_n = 3'd0;
                        joining_n = TELL_HIGH;
                    end
                end
            end
        end
        if (kind == BEACON_MSB) begin
            peer_known_n = 1'b1;
            peer_high_n = counter;
            half_n = 1'b0;
        end
        if (kind == BEACON_JOIN && peer_known) begin
            half_n = !agree;
            half_joined_n = told;
            if (agree) begin
                if (told_global > 106'sd8) joined_n = joined + 32'd1;
                // The peer does not know yet how far this end is.
                else if (told_global < -106'sd8) joining_n = TELL_HIGH;
            end
        end
        if (kind == LOG) begin
            logged_n = 1'b1;
            if (log_off > RANGE) log_behind_n = 5'd8;
            else if (log_off < -RANGE) log_behind_n = -5'd8;
        end
    end
    if (raises) local_counter_n = raised;
    if (state_n == GIVEN_UP) begin
        answer_n = 1'b0;
        joining_n = NOT_JOINING;
    end

    if (moves) begin
        local_counter_n = moved_to;
        if (!(joins && heard) && state_n == SYNC) joining_n = TELL_HIGH;
    end

    // The link.
    if (comes_up || goes_down) state_n = comes_up ? TO_ASK : DOWN;
    restarts = comes_up || (ask_again && state_n != DOWN);
    if (restarts) state_n = TO_ASK;
    if (restarts || goes_down) begin
        answer_n = 1'b0;
        joining_n = NOT_JOINING;
    end
    if (restarts) begin
        peer_known_n = 1'b0;
        half_n = 1'b0;
        local_counter_n = global_then;
        age_n = {11'd0, !ask_again};
        jumped_n = 8'd0;
        astray_n = 5'd0;
        behind_n = 3'd0;
    end

    // The other commands.
    if (set_beacon && beacon_in_n > new_beacon) beacon_in_n = new_beacon;
    if (set_counter && state_n == SYNC) joining_n = TELL_HIGH;
end

always @(posedge clk) begin
    state <= state_n;
    joining <= joining_n;
    high_told <= high_told_n;
    answer <= answer_n;
    // What an answer waits is no part of the line's delay.
    answer_counter <= answer_counter_n + 53'd1;
    local_counter <= set_counter ? new_counter : local_counter_n + 106'd1;
    patience <= patience_n;
    beacon_in <= beacon_in_n;
    log_in <= log_in_n;
    to_msb <= to_msb_n;
    peer_known <= peer_known_n;
    peer_high <= peer_high_n;
    half <= half_n;
    half_joined <= half_joined_n + 106'd1;
    age <= age_n;
    jumped <= jumped_n;
    astray <= astray_n;
    behind <= behind_n;
    delay <= delay_n;
    logged <= logged_n;
    log_behind <= log_behind_n;
    beacons_sent <= beacons_sent_n;
    beacons_heard <= beacons_heard_n;
    jumps <= jumps_n;
    out_of_range <= out_of_range_n;
    damaged <= damaged_n;
    joined <= joined_n;
    if (rst) begin
        state <= DOWN;
        joining <= NOT_JOINING;
        answer <= 1'b0;
        local_counter <= 106'd0;
        to_msb <= MSB_EVERY;
        peer_known <= 1'b0;
        half <= 1'b0;
        delay <= 15'd0;
        logged <= 1'b0;
        beacons_sent <= 32'd0;
        beacons_heard <= 32'd0;
        jumps <= 32'd0;
        out_of_range <= 32'd0;
        damaged <= 32'd0;
        joined <= 32'd0;
    end
end

initial begin
    state = DOWN;
    joining = NOT_JOINING;
    high_told = 53'd0;
    answer = 1'b0;
    answer_counter = 53'd0;
    local_counter = 106'd0;
    patience = 16'd0;
    beacon_in = 20'd0;
    log_in = 30'd0;
    to_msb = MSB_EVERY;
    peer_known = 1'b0;
    peer_high = 53'd0;
    half = 1'b0;
    half_joined = 106'd0;
    age = 12'd0;
    jumped = 8'd0;
    astray = 5'd0;
    behind = 3'd0;
    delay = 15'd0;
    logged = 1'b0;
    log_behind = 5'd0;
    beacons_sent = 32'd0;
    beacons_heard = 32'd0;
    jumps = 32'd0;
    out_of_range = 32'd0;
    damaged = 32'd0;
    joined = 32'd0;
end

endmodule

`resetall
