// What record_rx promises, for a solver: any frames of 1 to 9 bytes, good and bad, at any time, and a host that takes words when it likes. A
// ring of eight words, which two or three records fill.
//
//   order         records come in the order of their frames, each with its own length, stamp, hash and bytes
//   nothing lost  of each frame good_frame, bad_frame or overflow tells once, within 3 cycles of its hash; every good one comes out, a word
//                 within 4 cycles of the one before
//   nothing wrong a bad frame leaves nothing, and overflow is told only where the frame has no room among what the host has not taken

`default_nettype none

module received #(
    // Not zero: claims that no second record comes out whole, which has to be refuted, or the rest says nothing.
    parameter REACH = 0
) (input wire clk);

// Everything here is the solver's to choose.
(* anyseq *) wire       go, is_bad, host_ready;
(* anyseq *) wire [3:0] length;

// A frame is its bytes, two cycles, and `hash_done`; the next one begins two cycles later at the earliest.
reg [2:0] phase = 0;      // 0 nothing, 1 bytes, 2 and 3 waiting, 4 the hash is done, 5 and 6 the gap
reg [3:0] its_length = 0, place = 0;
reg       its_bad = 0;
reg [1:0] number = 0;

wire [7:0]  filler = {6'b101010, number};
wire        valid = phase == 1;
wire        last = valid && place + 1 == its_length;
wire        hash_done = phase == 4;
wire [55:0] stamp = {48'h123456789ABC, filler};
wire [31:0] hash = {24'hC0FFEE, filler};

always @(posedge clk) begin
    case (phase)
        0: if (go) begin
            assume (length >= 1 && length <= 9);
            phase <= 1;
            place <= 0;
            its_length <= length;
            its_bad <= is_bad;
        end
        1: begin
            place <= place + 1;
            if (last) phase <= 2;
        end
        6: begin
            phase <= 0;
            number <= number + 1;
        end
        default: phase <= phase + 1;
    endcase
end

wire [63:0] tdata;
wire [7:0]  tkeep;
wire        tlast, tvalid, good_frame, bad_frame, overflow, idle;

record_rx #(.RING(3)) dut (
    .clk(clk), .rst(1'b0), .data(filler), .valid(valid), .last(last), .bad(last && its_bad), .stamp(stamp), .hash(hash), .hash_done(hash_done),
    .m_axis_tdata(tdata), .m_axis_tkeep(tkeep), .m_axis_tlast(tlast), .m_axis_tvalid(tvalid), .m_axis_tready(host_ready),
    .good_frame(good_frame), .bad_frame(bad_frame), .overflow(overflow), .idle(idle)
);

// What is to come out: the frames that were told as good
reg [3:0] lengths [0:3];
reg [7:0] fillers [0:3];
reg [1:0] first = 0, behind = 0;
reg [2:0] count = 0;
reg [1:0] word = 0;        // of the record that comes out
reg [3:0] held = 0;        // words in the ring
reg [3:0] held_begin = 0;  // when the last byte that needs room came
reg [1:0] told = 0;        // since the hash
reg       over = 0;         // a frame is over, and so is its gap
reg [2:0] waits = 0;
reg [1:0] records = 0;

wire [1:0] needs = its_length > 8 ? 2'd2 : 2'd1;
wire       taken = tvalid && host_ready;
wire [7:0] f = fillers[first];
wire [3:0] n = lengths[first];
wire [3:0] rest = n - (word == 3 ? 4'd8 : 4'd0);
wire [7:0] keep = rest >= 8 ? 8'hFF : ~(8'hFF << rest);
wire       at_end = word == (n > 8 ? 2'd3 : 2'd2);
wire [63:0] mask = {{8{keep[7]}}, {8{keep[6]}}, {8{keep[5]}}, {8{keep[4]}}, {8{keep[3]}}, {8{keep[2]}}, {8{keep[1]}}, {8{keep[0]}}};

always @(posedge clk) begin
    if (good_frame) begin
        lengths[behind] <= its_length;
        fillers[behind] <= filler;
        behind <= behind + 1;
    end
    count <= count + good_frame - (taken && tlast);
    held <= held + (good_frame ? 2 + needs : 4'd0) - taken;
    if (valid) held_begin <= held;
    told <= phase == 4 ? 0 : told + (good_frame || bad_frame || overflow);
    waits <= count != 0 && !tvalid ? waits + 1 : 0;

    assert (good_frame + bad_frame + overflow <= 1);
    if (good_frame || bad_frame || overflow) begin
        assert (phase == 5 || phase == 6);
        assert (bad_frame == its_bad);
        assert (told == 0);
        if (overflow) assert (held_begin + 2 + needs > 8);
    end
    over <= phase == 6;
    if (over) assert (told == 1);
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
