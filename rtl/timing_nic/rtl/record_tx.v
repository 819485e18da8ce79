// Records (FORMATS section 2) from a stream of 64 bits into a ring, and out of it as frames that leave when their timestamp words say
// (FORMATS section 3): at once, when the counter reaches a value, marking a timer, or relative to one. Order is kept.
//
// A frame may begin when its record is whole. What is no record - a wrong magic, a length outside 14 to 16,000 or other than that of
// the stream, a mode that does not exist - is passed over, and counted.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module record_tx #(
    // Words of the ring: 2 to the power of this; 12 are 32 KiB.
    parameter RING = 12,
    // From the edge at which `start` is seen to that at which the frame's first byte is on the GMII.
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

    // to the MAC
    output wire        start,
    input  wire        free,
    output wire [7:0]  data,
    output wire        last,
    input  wire        ready,

    // Timers, read by number
    input  wire [2:0]  timer_number,
    output wire [55:0] timer,

    // High for a cycle for each
    output reg         sent_frame,
    output reg         late_frame,
    output reg         bad_record,
    // Nothing is here, or all that is here waits for the counter to show wake_at
    output wire        idle,
    output wire [55:0] wake_at
);

reg [63:0] ring [0:(1 << RING) - 1];

// Write side
reg [RING:0] begin_reg;  // of the record that comes in; what is before it may be read
reg [RING:0] write_reg;
reg [RING:0] read_reg;
reg          header_reg; // the next word is a record's first
reg [12:0]   left_reg;   // words behind this one
reg [2:0]    rest_reg;   // bytes in the last word, 0 for 8
reg          wrong_reg;  // passing over the rest of a record

wire take = s_axis_tvalid && s_axis_tready;
wire [15:0] length_in = {s_axis_tdata[23:16], s_axis_tdata[31:24]};
wire [12:0] left_in = 13'd1 + length_in[15:3] + {12'd0, |length_in[2:0]};
wire good_header = s_axis_tdata[15:0] == 16'h7637 && length_in >= 16'd14 && length_in <= 16'd16000 && !s_axis_tlast;
wire [7:0] keep_in = rest_reg == 3'd0 ? 8'hFF : ~(8'hFF << rest_reg);
wire good_word = s_axis_tlast ? left_reg == 13'd0 && s_axis_tkeep == keep_in : left_reg != 13'd0;
wire good = header_reg ? good_header : good_word;

wire [RING:0] used = write_reg - read_reg;
assign s_axis_tready = used < (1 << RING);

always @(posedge clk) if (take) ring[write_reg[RING-1:0]] <= s_axis_tdata;

reg stream_fault;

always @(posedge clk) begin
    stream_fault <= 1'b0;
    if (take) begin
        header_reg <= s_axis_tlast;
        left_reg <= header_reg ? left_in - 13'd1 : left_reg - 13'd1;
        if (header_reg) rest_reg <= length_in[2:0];
        if (wrong_reg || !good) begin
            write_reg <= begin_reg;
            wrong_reg <= !s_axis_tlast;
            stream_fault <= s_axis_tlast;
        end else begin
            write_reg <= write_reg + 1'b1;
            if (s_axis_tlast) begin_reg <= write_reg + 1'b1;
        end
    end

    if (rst) begin
        begin_reg <= 0;
        write_reg <= 0;
        header_reg <= 1'b1;
        wrong_reg <= 1'b0;
    end
end

// Read side
localparam [2:0] STATE_EMPTY = 3'd0, STATE_FIRST = 3'd1, STATE_SECOND = 3'd2, STATE_DECODE = 3'd3, STATE_WAIT = 3'd4,
    STATE_SEND = 3'd5, STATE_SKIP = 3'd6, STATE_RELEASE = 3'd7;

reg [2:0]  state_reg;
reg        settled_reg; // read_reg has stood for a cycle
reg        fetched_reg; // word_reg is the word that is waited for
reg [63:0] ring_reg;    // a ring's output is slow, and is looked at a cycle later
reg [63:0] word_reg;
reg [63:0] stamp_reg;   // the timestamp word
reg [15:0] length_reg;  // bytes that are still to be sent
reg [63:0] bytes_reg;   // the next one lowest
reg [2:0]  count_reg;   // of bytes of bytes_reg that have been sent
reg        at_once_reg;
reg        past_reg;    // the departure was past before there was time
reg        mark_reg;
reg [2:0]  number_reg;
reg [55:0] base_reg;    // the timer that its departure is relative to, or 0
reg [56:0] target_reg;  // its departure
reg [55:0] release_reg; // what the counter shows a cycle before the frame may start
reg        due_reg;     // it has shown that
reg        on_time_reg; // just so
reg [55:0] timers [1:7];

wire [3:0] mode = stamp_reg[63:60];
wire [3:0] mode_timer = stamp_reg[59:56];
wire is_now = stamp_reg == 64'd0;
wire is_at = stamp_reg[63:56] == 8'h00 && !is_now;
wire is_timer = !mode_timer[3] && mode_timer[2:0] != 3'd0;
wire is_mark = mode == 4'd1 && is_timer;
wire is_after = mode == 4'd0 && is_timer;

assign start = state_reg == STATE_WAIT && fetched_reg && free && (at_once_reg || due_reg);
assign data = bytes_reg[7:0];
assign last = length_reg == 16'd1;
assign timer = timer_number == 3'd0 ? 56'd0 : timers[timer_number];

wire waits = state_reg == STATE_WAIT && fetched_reg && free && !start;
assign idle = ((state_reg == STATE_EMPTY && begin_reg == read_reg) || waits) && header_reg && !sent_frame && !bad_record
    && !stream_fault;
assign wake_at = waits ? release_reg : {56{1'b1}};

always @(posedge clk) begin
    ring_reg <= ring[read_reg[RING-1:0]];
    word_reg <= ring_reg;
end

always @(posedge clk) begin
    sent_frame <= 1'b0;
    late_frame <= 1'b0;
    bad_record <= stream_fault;
    fetched_reg <= 1'b1;
    settled_reg <= state_reg != STATE_SKIP;
    // The upper half of the word is here a cycle before the rest.
    base_reg <= is_after ? timers[mode_timer[2:0]] : 56'd0;
    due_reg <= state_reg == STATE_WAIT && counter >= release_reg;
    on_time_reg <= counter == release_reg;

    case (state_reg)
        STATE_EMPTY: begin
            fetched_reg <= 1'b0;
            // The first word has been here for two cycles, the record being whole.
            if (begin_reg != read_reg && settled_reg) begin
                read_reg <= read_reg + 1'b1;
                state_reg <= STATE_FIRST;
            end
        end
        STATE_FIRST: begin
            length_reg <= {word_reg[23:16], word_reg[31:24]};
            stamp_reg[63:32] <= {word_reg[39:32], word_reg[47:40], word_reg[55:48], word_reg[63:56]};
            read_reg <= read_reg + 1'b1;
            fetched_reg <= 1'b0;
            state_reg <= STATE_SECOND;
        end
        STATE_SECOND: if (fetched_reg) begin
            stamp_reg[31:0] <= {word_reg[7:0], word_reg[15:8], word_reg[23:16], word_reg[31:24]};
            state_reg <= STATE_DECODE;
        end
        STATE_DECODE: begin
            at_once_reg <= is_now || is_mark;
            mark_reg <= is_mark;
            number_reg <= mode_timer[2:0];
            target_reg <= {1'b0, stamp_reg[55:0]} + {1'b0, base_reg};
            if (is_now || is_at || is_mark || is_after) state_reg <= STATE_RELEASE;
            else begin
                bad_record <= 1'b1;
                state_reg <= STATE_SKIP;
            end
        end
        STATE_RELEASE: begin
            // A sum beyond 56 bits is never reached: the frame goes when the counter stands at its end.
            past_reg <= target_reg <= LEAD;
            release_reg <= target_reg <= LEAD ? 56'd0 : target_reg[56] ? {56{1'b1}} : target_reg[55:0] - LEAD - 56'd1;
            state_reg <= STATE_WAIT;
        end
        STATE_WAIT: begin
            if (fetched_reg) begin
                // The first word of the frame, again and again, until it starts.
                bytes_reg <= word_reg;
                count_reg <= 3'd0;
            end
            if (start) begin
                read_reg <= read_reg + 1'b1;
                fetched_reg <= 1'b0;
                state_reg <= STATE_SEND;
                sent_frame <= 1'b1;
                late_frame <= !at_once_reg && (past_reg || !on_time_reg);
                if (mark_reg) timers[number_reg] <= counter + LEAD;
            end
        end
        STATE_SEND: if (ready) begin
            length_reg <= length_reg - 16'd1;
            count_reg <= count_reg + 3'd1;
            bytes_reg <= {8'h00, bytes_reg[63:8]};
            if (last) begin
                // The next word has not been taken.
                state_reg <= STATE_EMPTY;
                fetched_reg <= 1'b0;
            end else if (count_reg == 3'd7) begin
                bytes_reg <= word_reg;
                read_reg <= read_reg + 1'b1;
                fetched_reg <= 1'b0;
            end
        end
        STATE_SKIP: begin
            // Over the frame of a record whose word means nothing.
            read_reg <= read_reg + 1'b1;
            length_reg <= length_reg - 16'd8;
            if (length_reg <= 16'd8) begin
                state_reg <= STATE_EMPTY;
                fetched_reg <= 1'b0;
            end
        end
        default: state_reg <= STATE_EMPTY;
    endcase

    if (rst) begin
        read_reg <= 0;
        state_reg <= STATE_EMPTY;
        due_reg <= 1'b0;
        fetched_reg <= 1'b0;
        sent_frame <= 1'b0;
        late_frame <= 1'b0;
        bad_record <= 1'b0;
    end
end

integer i;

initial begin
    begin_reg = 0;
    write_reg = 0;
    read_reg = 0;
    header_reg = 1'b1;
    left_reg = 13'd0;
    rest_reg = 3'd0;
    wrong_reg = 1'b0;
    stream_fault = 1'b0;
    state_reg = STATE_EMPTY;
    settled_reg = 1'b0;
    fetched_reg = 1'b0;
    ring_reg = 64'h0;
    word_reg = 64'h0;
    stamp_reg = 64'h0;
    length_reg = 16'd0;
    bytes_reg = 64'h0;
    count_reg = 3'd0;
    at_once_reg = 1'b0;
    past_reg = 1'b0;
    mark_reg = 1'b0;
    number_reg = 3'd0;
    base_reg = 56'd0;
    target_reg = 57'd0;
    release_reg = 56'd0;
    due_reg = 1'b0;
    on_time_reg = 1'b0;
    sent_frame = 1'b0;
    late_frame = 1'b0;
    bad_record = 1'b0;
    for (i = 1; i < 8; i = i + 1) timers[i] = 56'd0;
end

endmodule

`resetall
