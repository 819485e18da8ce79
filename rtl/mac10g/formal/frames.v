// Properties of mac10g_tx, for a solver, with mac10g_rx at the other end of its line: frames of 1
// to 72 bytes, whose words come in time or not, are
// whole or not, and may end in a word without bytes.
//
//   nothing lost  each frame begins before its last word is taken, and comes, in order and with as
//                 many bytes; or is broken off, and comes as bad
//   nothing wrong a frame that was not broken off is good
//
// All bytes are the same, so that there is one line for each choice of lengths and times: the
// solver has no CRC to find.

`default_nettype none

module frames #(
    // Not zero: claims that no good frame comes behind one that was broken off, which has to be
    // refuted, or the rest says nothing.
    parameter REACH = 0
) (input wire clk);

// Everything here is the solver's to choose.
(* anyseq *) wire       go, late, holes;
(* anyseq *) wire [6:0] length;
(* anyseq *) wire       null_last;

// The frame that goes in: `left` bytes, and a word without bytes behind them.
reg       open = 0, begun = 0, broken = 0;
reg [6:0] left = 0, its_length = 0;
reg       null_word = 0;
reg       first = 0;

wire        tready, free, begins, begins_high, underrun, tx_idle;
// The first word waits until it is taken, as a stream's words do; a later one may be late.
wire        tvalid = open && (first || !late);
wire        tlast = null_word ? left == 0 : left <= 8;
wire [7:0]  right_keep = left >= 8 ? 8'hFF : ~(8'hFF << left);
wire [7:0]  tkeep = holes ? 8'hFD : right_keep;
wire        taken = tvalid && tready;
wire [63:0] txd;
wire [7:0]  txc;

mac10g_tx dut (
    .clk(clk), .rst(1'b0),
    .s_axis_tdata({8{8'hA5}}), .s_axis_tkeep(tkeep), .s_axis_tlast(tlast), .s_axis_tvalid(tvalid), .s_axis_tready(tready),
    .xgmii_txd(txd), .xgmii_txc(txc),
    .free(free), .begins(begins), .begins_high(begins_high), .underrun(underrun), .idle(tx_idle)
);

wire [63:0] data;
wire [7:0]  keep;
wire        last, valid, bad, rx_begins, rx_begins_high, fragment, rx_idle;

mac10g_rx receiver (
    .clk(clk), .rst(1'b0), .xgmii_rxd(txd), .xgmii_rxc(txc),
    .m_axis_tdata(data), .m_axis_tkeep(keep), .m_axis_tlast(last), .m_axis_tvalid(valid), .m_axis_tuser(bad),
    .begins(rx_begins), .begins_high(rx_begins_high), .fragment(fragment), .idle(rx_idle)
);

wire has_begun = begun || begins;
// It is broken off where a word is asked for and is not there, or is not whole.
wire breaks = open && has_begun && tready && !broken && (!tvalid || holes);
wire ends = taken && tlast;
wire known = breaks || (ends && !broken);

// Frames that are in, or broken off, and have not come: how long each is, and whether it was broken
// off
reg [6:0] lengths [0:3];
reg       breakings [0:3];
reg [1:0] put = 0, got = 0;
reg [2:0] count = 0;
reg [6:0] bytes = 0;
reg       was_broken = 0;
reg [5:0] waits = 0;

function [3:0] ones(input [7:0] word);
    integer i;
    begin
        ones = 0;
        for (i = 0; i < 8; i = i + 1) ones = ones + word[i];
    end
endfunction

wire       comes = (valid && last) || fragment;
wire [6:0] came = bytes + ones(keep);
wire [6:0] padded = lengths[got] < 60 ? 7'd60 : lengths[got];

always @(posedge clk) begin
    if (!open || ends) begin
        open <= go;
        first <= 1;
        begun <= 0;
        broken <= 0;
        if (go) begin
            assume (length >= 1 && length <= 72);
            assume (!null_last || length[2:0] == 0);
        end
        left <= length;
        its_length <= length;
        null_word <= null_last;
    end else begin
        if (begins) begun <= 1;
        if (breaks) broken <= 1;
        if (taken) begin
            first <= 0;
            left <= left <= 8 ? 0 : left - 8;
        end
    end

    if (ends) assert (has_begun);
    if (known) begin
        lengths[put] <= its_length;
        breakings[put] <= breaks;
        put <= put + 1;
    end
    count <= count + known - comes;
    waits <= count != 0 && !comes ? waits + 1 : 0;
    assert (waits < 20);

    if (valid) begin
        bytes <= last ? 0 : bytes + ones(keep);
        assert (bytes <= 72);
    end
    if (comes) begin
        assert (count != 0);
        got <= got + 1;
        assert (breakings[got] == (fragment || bad));
        assert (breakings[got] || came == padded);
        if (breakings[got]) was_broken <= 1;
        assert (REACH == 0 || breakings[got] || !was_broken);
    end
end

endmodule
