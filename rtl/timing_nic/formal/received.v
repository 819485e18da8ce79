// What record_rx promises, for a solver: any frames of 1 to 9 bytes, good and bad, at any time and as slow as they like, and a host that takes
// words when it likes. Rings of four words and of two frames, which two or three frames fill.
//
//   order         records come in the order of their frames, each with its own length, stamp, hash and bytes
//   nothing lost  of each frame good_frame, bad_frame or overflow tells once, behind its last word; every good one comes out, a word
//                 within 4 cycles of the one before
//   nothing wrong a bad frame leaves nothing, and overflow is told only where the frame has no room among what the host has not taken

`default_nettype none

module received #(
    // Not zero: claims that no second record comes out whole, which has to be refuted, or the rest says nothing.
    parameter REACH = 0
) (input wire clk);

localparam WORDS = 4, FRAMES = 2;

// Everything here is the solver's to choose.
(* anyseq *) wire       go, is_bad, pause, host_ready;
(* anyseq *) wire [3:0] length;

// The next frame may begin in the cycle behind the last word.
reg       open = 0, second = 0;
reg [3:0] its_length = 0;
reg       its_bad = 0;
reg [1:0] number = 0;

wire [7:0]  filler = {6'b101010, number};
wire        valid = open && !pause;
wire        last = second || its_length <= 8;
wire [55:0] stamp = {48'h123456789ABC, filler};
wire [31:0] hash = {24'hC0FFEE, filler};

always @(posedge clk) begin
    if (!open || (valid && last)) begin
        open <= go;
        second <= 0;
        if (go) assume (length >= 1 && length <= 9);
        its_length <= length;
        its_bad <= is_bad;
        if (open) number <= number + 1;
    end else if (valid) second <= 1;
end

wire [63:0] tdata;
wire [7:0]  tkeep;
wire        tlast, tvalid, good_frame, bad_frame, overflow, idle;

record_rx #(.RING(2), .RECORDS(1), .SHORTEST(1)) dut (
    .clk(clk), .rst(1'b0), .data({8{filler}}), .valid(valid), .last(last), .rest(its_length[2:0]),
    .bad(its_bad), .stamp(stamp), .hash(hash),
    .m_axis_tdata(tdata), .m_axis_tkeep(tkeep), .m_axis_tlast(tlast), .m_axis_tvalid(tvalid), .m_axis_tready(host_ready),
    .good_frame(good_frame), .bad_frame(bad_frame), .overflow(overflow), .idle(idle)
);

// Of the frame that has just ended
reg       was_last = 0, was_bad = 0;
reg [3:0] was_length = 0;
reg [7:0] was_filler = 0;
reg       had_room = 0;     // where its first word came

// What is to come out: the frames that were told as good
reg [3:0] lengths [0:3];
reg [7:0] fillers [0:3];
reg [1:0] first = 0, behind = 0;
reg [2:0] count = 0;
reg [1:0] word = 0;        // of the record that comes out
reg [3:0] held = 0;        // words of frames that the host has not taken
reg       room = 0;
reg [2:0] waits = 0;
reg [1:0] records = 0;

wire [1:0] needs = its_length > 8 ? 2'd2 : 2'd1;
wire       taken = tvalid && host_ready;
wire       taken_word = taken && word >= 2;
wire [3:0] held_now = held + (good_frame ? (was_length > 8 ? 4'd2 : 4'd1) : 4'd0);
wire [2:0] count_now = count + good_frame;
wire       has_room = held_now + needs <= WORDS && count_now < FRAMES;
wire [7:0] f = fillers[first];
wire [3:0] n = lengths[first];
wire [3:0] rest = n - (word == 3 ? 4'd8 : 4'd0);
wire [7:0] keep = rest >= 8 ? 8'hFF : ~(8'hFF << rest);
wire       at_end = word == (n > 8 ? 2'd3 : 2'd2);
wire [63:0] mask = {{8{keep[7]}}, {8{keep[6]}}, {8{keep[5]}}, {8{keep[4]}}, {8{keep[3]}}, {8{keep[2]}}, {8{keep[1]}}, {8{keep[0]}}};

always @(posedge clk) begin
    was_last <= valid && last;
    was_bad <= its_bad;
    was_length <= its_length;
    was_filler <= filler;
    if (valid && !second) room <= has_room;
    had_room <= second ? room : has_room;
    if (good_frame) begin
        lengths[behind] <= was_length;
        fillers[behind] <= was_filler;
        behind <= behind + 1;
    end
    count <= count_now - (taken && tlast);
    held <= held_now - taken_word;
    waits <= count != 0 && !tvalid ? waits + 1 : 0;

    assert (good_frame + bad_frame + overflow == was_last);
    assert (!bad_frame || was_bad);
    assert (!was_last || !was_bad || bad_frame);
    assert (!overflow || !had_room);
    if (tvalid) begin
        assert (count != 0);
        assert (tlast == at_end);
        assert (tkeep == (tlast ? keep : 8'hFF));
        case (word)
            0: assert (tdata == {8'h56, 8'h34, 8'h12, 8'h00, 4'h0, n, 8'h00, 16'h7637});
            1: assert (tdata == {f, 24'hEEFFC0, f, 24'hBC9A78});
            default: assert ((tdata & mask) == ({8{f}} & mask));
        endcase
    end
    if (taken) begin
        word <= tlast ? 0 : word + 1;
        if (tlast) begin
            first <= first + 1;
            if (records != 3) records <= records + 1;
            assert (REACH == 0 || records == 0);
        end
    end
    assert (waits < 4);
    if (idle) assert (count == 0 && !tvalid);
end

endmodule
