// Properties of record_tx, for a solver: any records, good, bad and too long for the ring, at any
// time, a MAC that is free when it likes, and
// a flush and a reset at any time. A ring of four words, which two frames fill.
//
//   never early   a frame starts LEAD cycles before its tick at the soonest, whatever its mode
//   order         frames start in the order of their records, each with its own words, and as many
//   nothing lost  a frame starts within 16 cycles when its record is there, its time has come, and the MAC is free; and every record that
//                 is none is counted
//   late          is told of exactly those that start behind their time
//   flush         passes over, and counts, what is here and what comes until nothing is left;
//                 nothing starts meanwhile, and soon nothing is left
//   reset         leaves no record, no mark and no flush

`default_nettype none

module scheduler #(
    // Not zero: claims that no second frame starts, which has to be refuted, or the rest says nothing.
    parameter REACH = 0,
    // Whether there are flushes and resets: without, longer runs can be looked through.
    parameter EVENTS = 1
) (input wire clk);

localparam LEAD = 4, PATIENCE = 16;
localparam [1:0] NOW = 2'd0, AT = 2'd1, MARK = 2'd2, AFTER = 2'd3;

// Everything here is the solver's to choose.
(* anyseq *) wire       go, bad_magic, too_long, cut, mac_free, flushes, resets;
(* anyseq *) wire [1:0] mode;
(* anyseq *) wire [3:0] ticks;

wire flush = EVENTS != 0 && flushes;
wire rst = EVENTS != 0 && resets;

reg [55:0] counter = 0;
always @(posedge clk) counter <= rst ? 0 : counter + 1;

// Records in: two words of header, and 14 bytes that are all the record's number.
reg        sending = 0;
reg [2:0]  place = 0;
reg        is_bad = 0, is_long = 0;
reg [1:0]  its_mode = 0;
reg [3:0]  its_ticks = 0;
reg [1:0]  number = 0;

wire [7:0]  top = its_mode == MARK ? 8'h11 : its_mode == AFTER ? 8'h01 : 8'h00;
wire [7:0]  low = its_mode == AT || its_mode == AFTER ? {3'b000, its_ticks, 1'b1} : 8'h00;
wire [7:0]  filler = {6'b101010, number};
wire [63:0] tdata = place == 0 ? {24'h0, top, is_long ? 8'd38 : 8'd14, 8'h00, is_bad ? 16'h0000 : 16'h7637}
    : place == 1 ? {32'h0, low, 24'h0} : {8{filler}};
// 14 bytes, or the 38 of five words
wire        at_end = place == (is_long ? 3'd6 : 3'd3);
wire        tlast = at_end || cut;
wire [7:0]  tkeep = at_end ? 8'h3F : 8'hFF;
wire        tready;
wire        take = sending && tready;
wire        good = !is_bad && !is_long && at_end;
wire        accepted = take && tlast && good;
wire        refused = take && tlast && !good;

always @(posedge clk) begin
    if (rst) begin
        sending <= 0;
        number <= 0;
    end else if (!sending) begin
        sending <= go;
        place <= 0;
        is_bad <= bad_magic;
        is_long <= too_long;
        its_mode <= mode;
        its_ticks <= ticks;
    end else if (take) begin
        place <= place + 1;
        if (tlast) sending <= 0;
        if (accepted) number <= number + 1;
    end
    // The choice to cut stands as long as the word does.
    if ($past(sending && !tready, 1)) assume (cut == $past(cut));
end

wire        start, last, idle, sent_frame, late_frame, bad_record, flushing, flushed_record;
wire [63:0] data;
wire [2:0]  rest;
wire [55:0] timer, wake_at;
reg         ready = 0;

record_tx #(.RING(2), .RECORDS(1), .LEAD(LEAD)) dut (
    .clk(clk), .rst(rst), .flush(flush), .flushing(flushing), .flushed_record(flushed_record),
    .s_axis_tdata(tdata), .s_axis_tkeep(tkeep), .s_axis_tlast(tlast), .s_axis_tvalid(sending), .s_axis_tready(tready),
    .counter(counter), .start(start), .free(mac_free && !busy), .data(data), .last(last), .rest(rest), .ready(ready),
    .timer_number(3'd1), .timer(timer), .sent_frame(sent_frame), .late_frame(late_frame), .bad_record(bad_record),
    .idle(idle), .wake_at(wake_at)
);

// The MAC: words from the third cycle behind the start on.
reg       busy = 0;
reg [1:0] preamble = 0;
always @(posedge clk) begin
    if (start) begin
        busy <= 1;
        preamble <= 2;
    end else if (preamble != 0) preamble <= preamble - 1;
    ready <= preamble == 1 || (ready && !last);
    if (ready && last) busy <= 0;
    if (rst) begin
        busy <= 0;
        preamble <= 0;
        ready <= 0;
    end
end

// What is to come out: the records that are in and have not started
reg [1:0]  first = 0, behind = 0;
reg [2:0]  count = 0;
reg [1:0]  modes [0:3];
reg [4:0]  wanted [0:3];
reg [55:0] mark = 0;
reg [1:0]  words_left = 0;
reg [7:0]  expected = 0;
reg        was_late = 0;
reg [1:0]  starts = 0;
reg [3:0]  faults = 0;       // records that were none and have not been counted
reg [4:0]  waits = 0, fault_waits = 0, flush_waits = 0;
reg        was_reset = 0;

wire [55:0] target = {51'd0, wanted[first]} + (modes[first] == AFTER ? mark : 56'd0);
wire        timed = modes[first] == AT || modes[first] == AFTER;
wire        due = !timed || counter + LEAD >= target;

always @(posedge clk) begin
    if (accepted) begin
        modes[behind] <= its_mode;
        wanted[behind] <= {its_ticks, 1'b1};
        behind <= behind + 1;
    end
    count <= count + accepted - start - flushed_record;
    waits <= count != 0 && due && mac_free && !busy && !start && !flushing ? waits + 1 : 0;
    // The record before the next one, or the end of the flush
    flush_waits <= flushing && !flush && mac_free && !busy && !flushed_record ? flush_waits + 1 : 0;
    was_reset <= rst;
    faults <= faults + refused - bad_record;
    fault_waits <= faults != 0 && !bad_record ? fault_waits + 1 : 0;
    was_late <= start && timed && counter + LEAD > target;

    if (flushed_record) first <= first + 1;
    if (start) begin
        first <= first + 1;
        if (starts != 3) starts <= starts + 1;
        assert (REACH == 0 || starts == 0);
        words_left <= 2;
        expected <= {6'b101010, first};
        if (modes[first] == MARK) mark <= counter + LEAD;
        assert (count != 0);
        assert (due);
        assert (!flushing);
    end
    if (ready) begin
        words_left <= words_left - 1;
        assert (data == {8{expected}});
        assert (last == (words_left == 1));
        assert (!last || rest == 6);
    end
    assert (waits < PATIENCE);
    assert (late_frame == was_late);
    assert (!bad_record || faults != 0);
    assert (fault_waits < 4);
    assert (timer == mark);
    assert (!flushed_record || count != 0);
    assert (flush_waits < PATIENCE);
    if (was_reset) assert (!start && !late_frame && !bad_record && !flushing && !flushed_record && timer == 0);
    // Nothing comes of itself while it says that it is idle.
    if (idle && counter < wake_at) assert (!start && !flushing && !flushed_record);

    if (rst) begin
        first <= 0;
        behind <= 0;
        count <= 0;
        mark <= 0;
        words_left <= 0;
        was_late <= 0;
        faults <= 0;
        waits <= 0;
        fault_waits <= 0;
        flush_waits <= 0;
    end
end

endmodule
