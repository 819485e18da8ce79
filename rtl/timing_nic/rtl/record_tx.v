// Records (FORMATS section 2) from a stream of 64 bits into a ring, and out of it as frames that leave when their timestamp words say
// (FORMATS section 3): at once, when the counter reaches a value, marking a timer, or relative to one. Order is kept.
//
// A frame may begin when its record is whole. What is no record - a wrong magic, a length outside 14 to 16,000 or other than that of
// the stream, one that the ring has not the words for, a mode that does not exist - leaves nothing,
// and is counted. While a frame leaves, the departure of the next one is made out:
// 6 cycles lie between two starts, at least.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module record_tx #(
    // Words of frames: 2 to the power of this, 1 or more; 12 are 32 KiB. With less than 11 the
    // longest frames have no room.
    parameter RING = 12,
    // Frames: 2 to the power of this.
    parameter RECORDS = 9,
    // What the counter shows before the edge at which `start` is seen, and this, is the tick of the frame's first byte.
    parameter LEAD = 9
) (
    input  wire        clk,
    input  wire        rst,

    // Records
    input  wire [63:0] s_axis_tdata,
    input  wire [7:0]  s_axis_tkeep,
    input  wire        s_axis_tlast,
    input  wire        s_axis_tvalid,
    output wire        s_axis_tready,

    // What the counter shows before this edge
    input  wire [55:0] counter,

    // To the MAC: words of a frame, the first one there when it starts; the next one is there behind an edge with `ready`.
    output wire        start,
    input  wire        free,
    output wire [63:0] data,
    output wire        last,
    // Bytes of the last word, 0 for 8
    output wire [2:0]  rest,
    input  wire        ready,

    // With a cycle of this all records that are here and have not started are passed over, and
    // those that come until none is left
    input  wire        flush,
    output reg         flushing,

    // Timers, read by number; 0 until they have been marked
    input  wire [2:0]  timer_number,
    output wire [55:0] timer,

    // High for a cycle for each
    output reg         sent_frame,
    output reg         late_frame,
    output reg         bad_record,
    output reg         flushed_record,
    // Nothing is here, or all that is here waits for the counter to show wake_at
    output wire        idle,
    output wire [55:0] wake_at
);

// Write side
localparam [15:0] LONGEST = RING < 11 ? 16'd8 << RING : 16'd16000; // bytes: what a ring has the words for, and a record may have
localparam [1:0] PART_FIRST = 2'd0, PART_SECOND = 2'd1, PART_FRAME = 2'd2, PART_WRONG = 2'd3;

reg [1:0]  part_reg; // of a record, that the next word is
reg [10:0] left_reg; // words behind this one
reg [2:0]  rest_reg;
reg [7:0]  top_reg;  // the timestamp word, as it comes in
reg [23:0] high_reg;
reg [31:0] low_reg;

wire        frame_full, departure_full;
wire        take = s_axis_tvalid && s_axis_tready;
wire [15:0] length_in = {s_axis_tdata[23:16], s_axis_tdata[31:24]};
wire [7:0]  top_in = s_axis_tdata[39:32];
wire        good_mode = top_in == 8'h00 || (top_in[7:5] == 3'd0 && !top_in[3] && top_in[2:0] != 3'd0);
wire        good_header = s_axis_tdata[15:0] == 16'h7637 && length_in >= 16'd14 && length_in <= LONGEST && good_mode;
wire [7:0]  keep_in = rest_reg == 3'd0 ? 8'hFF : ~(8'hFF << rest_reg);
wire        good_word = s_axis_tlast ? left_reg == 11'd0 && s_axis_tkeep == keep_in : left_reg != 11'd0;
wire        good = part_reg == PART_FIRST ? good_header && !s_axis_tlast
    : part_reg == PART_SECOND ? !s_axis_tlast : part_reg == PART_FRAME && good_word;
wire        whole = take && good && s_axis_tlast;

assign s_axis_tready = !frame_full && !departure_full;

always @(posedge clk) begin
    bad_record <= take && !good && s_axis_tlast;
    if (take) begin
        part_reg <= s_axis_tlast ? PART_FIRST : !good ? PART_WRONG : part_reg == PART_FIRST ? PART_SECOND : PART_FRAME;
        if (part_reg == PART_FIRST) begin
            left_reg <= length_in[13:3] - {10'd0, length_in[2:0] == 3'd0};
            rest_reg <= length_in[2:0];
            top_reg <= top_in;
            high_reg <= {s_axis_tdata[47:40], s_axis_tdata[55:48], s_axis_tdata[63:56]};
        end
        if (part_reg == PART_SECOND) low_reg <= {s_axis_tdata[7:0], s_axis_tdata[15:8], s_axis_tdata[23:16], s_axis_tdata[31:24]};
        if (part_reg == PART_FRAME) left_reg <= left_reg - 11'd1;
    end

    if (rst) begin
        part_reg <= PART_FIRST;
        bad_record <= 1'b0;
    end
end

// The frames, and their departures
wire        word_valid, frames_empty, departures_empty, departure_valid, departure_ready;
wire [7:0]  departure_top;
wire [55:0] departure_ticks;
wire        discards;

record_ring #(.WIDTH(68), .DEPTH(RING)) frames (
    .clk(clk), .rst(rst),
    .in_data({s_axis_tlast, rest_reg, s_axis_tdata}), .in_write(take && part_reg == PART_FRAME && good), .in_keep(s_axis_tlast),
    .in_drop(take && !good), .full(frame_full),
    .out_data({last, rest, data}), .out_valid(word_valid), .out_ready(ready || discards), .empty(frames_empty)
);

record_ring #(.WIDTH(64), .DEPTH(RECORDS)) departures (
    .clk(clk), .rst(rst),
    .in_data({top_reg, high_reg, low_reg}), .in_write(whole), .in_keep(1'b1), .in_drop(1'b0), .full(departure_full),
    .out_data({departure_top, departure_ticks}), .out_valid(departure_valid), .out_ready(departure_ready), .empty(departures_empty)
);

// Read side
localparam [2:0] STATE_EMPTY = 3'd0, STATE_BASE = 3'd1, STATE_TARGET = 3'd2, STATE_RELEASE = 3'd3, STATE_WAIT = 3'd4,
    STATE_DISCARD = 3'd5;

reg [2:0]  state_reg;
reg [7:0]  top_out_reg;
reg [55:0] ticks_reg;
reg        at_once_reg;
reg        past_reg;    // the departure was past before there was time
reg [55:0] base_reg;    // the timer that its departure is relative to, or 0
reg [56:0] target_reg;  // its departure
reg [55:0] release_reg; // what the counter shows a cycle before the frame may start
reg        due_reg;     // it has shown that
reg        on_time_reg; // just so
reg [55:0] timers [0:7]; // none is number 0, which is never marked
reg [7:0]  marked_reg;  // timers that hold what they were marked with

wire is_mark = top_out_reg[4];
wire waits = state_reg == STATE_WAIT && word_valid && free;

assign departure_ready = state_reg == STATE_EMPTY;
assign start = waits && !flushing && (at_once_reg || due_reg);
// A MAC that is free has taken all of the frame before.
assign discards = state_reg == STATE_DISCARD && word_valid && free;
assign timer = marked_reg[timer_number] ? timers[timer_number] : 56'd0;
assign idle = ((state_reg == STATE_EMPTY && frames_empty && departures_empty) || (waits && !start)) && part_reg == PART_FIRST && !sent_frame
    && !bad_record && !flush && !flushing && !flushed_record;
assign wake_at = state_reg == STATE_WAIT ? release_reg : {56{1'b1}};

always @(posedge clk) begin
    sent_frame <= start;
    late_frame <= start && !at_once_reg && (past_reg || !on_time_reg);
    due_reg <= state_reg == STATE_WAIT && counter >= release_reg;
    on_time_reg <= counter == release_reg;
    flushing <= flush || (flushing && !(state_reg == STATE_EMPTY && departures_empty));
    flushed_record <= discards && last;

    case (state_reg)
        STATE_EMPTY: begin
            top_out_reg <= departure_top;
            ticks_reg <= departure_ticks;
            if (departure_valid) state_reg <= flushing ? STATE_DISCARD : STATE_BASE;
        end
        STATE_BASE: begin
            at_once_reg <= is_mark || (top_out_reg == 8'h00 && ticks_reg == 56'd0);
            base_reg <= marked_reg[top_out_reg[2:0]] ? timers[top_out_reg[2:0]] : 56'd0;
            state_reg <= STATE_TARGET;
        end
        STATE_TARGET: begin
            target_reg <= {1'b0, ticks_reg} + {1'b0, base_reg};
            state_reg <= STATE_RELEASE;
        end
        STATE_RELEASE: begin
            // A sum beyond 56 bits is never reached: the frame goes when the counter stands at its end.
            past_reg <= target_reg <= LEAD;
            release_reg <= target_reg <= LEAD ? 56'd0 : target_reg[56] ? {56{1'b1}} : target_reg[55:0] - LEAD - 56'd1;
            state_reg <= STATE_WAIT;
        end
        STATE_WAIT: if (start) begin
            if (is_mark) begin
                timers[top_out_reg[2:0]] <= counter + LEAD;
                marked_reg[top_out_reg[2:0]] <= 1'b1;
            end
            state_reg <= STATE_EMPTY;
        end else if (flushing) state_reg <= STATE_DISCARD;
        default: if (discards && last) state_reg <= STATE_EMPTY;
    endcase

    if (rst) begin
        state_reg <= STATE_EMPTY;
        due_reg <= 1'b0;
        sent_frame <= 1'b0;
        late_frame <= 1'b0;
        flushing <= 1'b0;
        flushed_record <= 1'b0;
        marked_reg <= 8'h00;
    end
end

integer i;

initial begin
    part_reg = PART_FIRST;
    left_reg = 11'd0;
    rest_reg = 3'd0;
    top_reg = 8'h00;
    high_reg = 24'h0;
    low_reg = 32'h0;
    state_reg = STATE_EMPTY;
    top_out_reg = 8'h00;
    ticks_reg = 56'd0;
    at_once_reg = 1'b0;
    past_reg = 1'b0;
    base_reg = 56'd0;
    target_reg = 57'd0;
    release_reg = 56'd0;
    due_reg = 1'b0;
    on_time_reg = 1'b0;
    sent_frame = 1'b0;
    late_frame = 1'b0;
    bad_record = 1'b0;
    flushing = 1'b0;
    flushed_record = 1'b0;
    marked_reg = 8'h00;
    for (i = 0; i < 8; i = i + 1) timers[i] = 56'd0;
end

endmodule

`resetall
