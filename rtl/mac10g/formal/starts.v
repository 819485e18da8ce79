// Properties of mac10g_rx at starts, for a solver: any characters of idle, start, terminate, error,
// preamble, SFD and a byte, in any lanes, twice: as
// they are, and half a column later, so that what starts in lane 0 of one line starts in lane 4 of
// the other.
//
//   each start    with its preamble in lane 0, or in lane 4, begins a frame, whatever the line was
//                 in
//   alike         both lines give the same words, in the same order, with the same ends

`default_nettype none

module starts #(
    // Not zero: claims that no frame is cut by a start, which has to be refuted, or the rest says
    // nothing.
    parameter REACH = 0
) (input wire clk);

// Everything here is the solver's to choose.
(* anyseq *) wire [23:0] choice;

reg [63:0] column;
reg [7:0]  control;
integer lane;

always @* begin
    for (lane = 0; lane < 8; lane = lane + 1) begin
        control[lane] = choice[3*lane +: 3] < 4;
        case (choice[3*lane +: 3])
            0: column[8*lane +: 8] = 8'h07;
            1: column[8*lane +: 8] = lane % 4 == 0 ? 8'hFB : 8'h07;
            2: column[8*lane +: 8] = 8'hFD;
            3: column[8*lane +: 8] = 8'hFE;
            4: column[8*lane +: 8] = 8'hD5;
            5: column[8*lane +: 8] = 8'hAA;
            default: column[8*lane +: 8] = 8'h55;
        endcase
    end
end

reg [31:0] half = {4{8'h07}};
reg [3:0]  half_control = 4'hF;
always @(posedge clk) begin
    half <= column[63:32];
    half_control <= control[7:4];
end

wire [63:0] data [0:1];
wire [7:0]  keep [0:1];
wire [1:0]  last, valid, bad, begins, begins_high, fragment, idle;

mac10g_rx first (
    .clk(clk), .rst(1'b0), .xgmii_rxd(column), .xgmii_rxc(control),
    .m_axis_tdata(data[0]), .m_axis_tkeep(keep[0]), .m_axis_tlast(last[0]), .m_axis_tvalid(valid[0]), .m_axis_tuser(bad[0]),
    .begins(begins[0]), .begins_high(begins_high[0]), .fragment(fragment[0]), .idle(idle[0])
);
mac10g_rx later (
    .clk(clk), .rst(1'b0), .xgmii_rxd({column[31:0], half}), .xgmii_rxc({control[3:0], half_control}),
    .m_axis_tdata(data[1]), .m_axis_tkeep(keep[1]), .m_axis_tlast(last[1]), .m_axis_tvalid(valid[1]), .m_axis_tuser(bad[1]),
    .begins(begins[1]), .begins_high(begins_high[1]), .fragment(fragment[1]), .idle(idle[1])
);

wire low = control == 8'h01 && column[7:0] == 8'hFB && column[63:56] == 8'hD5;
wire high = control[4] && column[39:32] == 8'hFB;

// Words that one line has given and the other has not: bytes that are not kept do not count.
function [72:0] shown(input [63:0] word, input [7:0] kept, input is_last);
    integer i;
    begin
        shown = {is_last, kept, 64'd0};
        for (i = 0; i < 8; i = i + 1) if (kept[i]) shown[8*i +: 8] = word[8*i +: 8];
    end
endfunction

wire [72:0] word_of_first = shown(data[0], keep[0], last[0]);
wire [72:0] word_of_later = shown(data[1], keep[1], last[1]);
reg  [72:0] waiting = 0;
reg         waits = 0;
reg         was_low = 0, was_high = 0, was_data = 0;

always @(posedge clk) begin
    was_low <= low;
    was_high <= high;
    was_data <= begins[0] && valid[0] && !last[0];
    assert (begins[0] == (was_low || was_high));
    assert (!begins[0] || begins_high[0] == was_high);

    // The first is a cycle ahead, or not at all.
    waiting <= word_of_first;
    waits <= waits && !valid[1] ? 1'b1 : waits ? valid[0] : valid[0] && !valid[1];
    if (waits) assert (valid[1] && word_of_later == waiting);
    else if (valid[1]) assert (valid[0] && word_of_later == word_of_first);

    // A frame that has words and is cut is told as bad.
    assert (REACH == 0 || !(last[0] && valid[0] && bad[0] && begins[0]));
end

endmodule
