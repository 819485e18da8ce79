// The PCS and the PCS of verilog-ethernet, each receiving what the other sends: frames of random lengths with random gaps, from mac10g_tx.
// What comes out on the XGMII has to be what went in. Tells PASS, or the first difference.

`timescale 1ns / 1ps

module peer;

parameter CYCLES = 20000;
// Not zero: a bit on the way to the peer is wrong, once.
parameter BREAK = 0;
// Cycles until the peer has block lock
localparam LOCK = 2000;

reg clk = 0;
reg rst = 1;
always #3.2 clk = ~clk;

// Frames
reg  [31:0] random = 32'h2545F491;
reg  [63:0] data = 0;
reg  [10:0] left = 0;     // bytes that are still to come
reg  [5:0]  wait_left = 0;
wire        valid = left != 0 && wait_left == 0;
wire        ready;
wire [7:0]  keep = left >= 8 ? 8'hFF : ~(8'hFF << left);

function [31:0] step(input [31:0] x);
    reg [31:0] y;
    begin
        y = x ^ (x << 13);
        y = y ^ (y >> 17);
        step = y ^ (y << 5);
    end
endfunction

always @(posedge clk) begin
    random <= step(random);
    if (wait_left != 0) wait_left <= wait_left - 1;
    if (left == 0) begin
        left <= 1 + random[7:0] + (random[11:8] == 0 ? 1200 : 0);
        wait_left <= random[13] ? 0 : random[19:14];
    end
    if (valid && ready) begin
        data <= {random, ~random} ^ {data[31:0], data[63:32]};
        left <= left > 8 ? left - 8 : 0;
    end
end

integer cycle = 0;
wire [63:0] txd, ours_rxd, theirs_rxd, ours_payload, theirs_payload;
wire [7:0]  txc, ours_rxc, theirs_rxc;
wire [1:0]  ours_header, theirs_header;
wire        locked, bad_block, sequence_error, our_error;

mac10g_tx mac (
    .clk(clk), .rst(rst),
    .s_axis_tdata(data), .s_axis_tkeep(keep), .s_axis_tlast(left <= 8), .s_axis_tvalid(valid), .s_axis_tready(ready),
    .xgmii_txd(txd), .xgmii_txc(txc), .free(), .begins(), .begins_high(), .underrun()
);

pcs10g_tx ours_tx (.clk(clk), .rst(rst), .xgmii_txd(txd), .xgmii_txc(txc), .tx_header(ours_header), .tx_payload(ours_payload));
pcs10g_rx ours_rx (
    .clk(clk), .rst(rst), .rx_header(theirs_header), .rx_payload(theirs_payload),
    .xgmii_rxd(ours_rxd), .xgmii_rxc(ours_rxc), .rx_error(our_error)
);

wire [63:0] line = ours_payload ^ {63'h0, BREAK != 0 && cycle == LOCK + 2000};

eth_phy_10g theirs (
    .rx_clk(clk), .rx_rst(rst), .tx_clk(clk), .tx_rst(rst),
    .xgmii_txd(txd), .xgmii_txc(txc), .xgmii_rxd(theirs_rxd), .xgmii_rxc(theirs_rxc),
    .serdes_tx_data(theirs_payload), .serdes_tx_hdr(theirs_header), .serdes_rx_data(line), .serdes_rx_hdr(ours_header),
    .serdes_rx_bitslip(), .serdes_rx_reset_req(), .tx_bad_block(bad_block), .rx_error_count(), .rx_bad_block(),
    .rx_sequence_error(sequence_error), .rx_block_lock(locked), .rx_high_ber(), .rx_status(),
    .cfg_tx_prbs31_enable(1'b0), .cfg_rx_prbs31_enable(1'b0)
);

// What was sent, to be compared with what comes so many cycles later
reg [71:0] sent [0:15];
integer frames = 0, highs = 0, ours_delay = 0, theirs_delay = 0, i;

wire is_start = (txc[0] && txd[7:0] == 8'hFB) || (txc[4] && txd[39:32] == 8'hFB);

always @(posedge clk) begin
    cycle <= cycle + 1;
    rst <= cycle < 16;
    for (i = 15; i > 0; i = i - 1) sent[i] <= sent[i-1];
    sent[0] <= {txc, txd};
    if (is_start && cycle > LOCK) begin
        frames <= frames + 1;
        if (!txc[0] || txd[7:0] != 8'hFB) highs <= highs + 1;
    end
    if (cycle == LOCK && !locked) begin
        $display("FAIL: the peer has no block lock");
        $finish;
    end
    // The delay is learned from the first start that comes.
    if (cycle > LOCK && ours_delay == 0 && ours_rxc != 8'hFF)
        for (i = 0; i < 16; i = i + 1) if (sent[i] == {ours_rxc, ours_rxd}) ours_delay <= i + 1;
    if (cycle > LOCK && theirs_delay == 0 && theirs_rxc != 8'hFF)
        for (i = 0; i < 16; i = i + 1) if (sent[i] == {theirs_rxc, theirs_rxd}) theirs_delay <= i + 1;
    if (ours_delay != 0 && sent[ours_delay-1] !== {ours_rxc, ours_rxd}) begin
        $display("FAIL: cycle %0d: we received %h %h for %h", cycle, ours_rxc, ours_rxd, sent[ours_delay-1]);
        $finish;
    end
    if (theirs_delay != 0 && sent[theirs_delay-1] !== {theirs_rxc, theirs_rxd}) begin
        $display("FAIL: cycle %0d: the peer received %h %h for %h", cycle, theirs_rxc, theirs_rxd, sent[theirs_delay-1]);
        $finish;
    end
    if (cycle > LOCK && (bad_block || sequence_error || our_error)) begin
        $display("FAIL: cycle %0d: bad block %b, sequence error %b, our error %b", cycle, bad_block, sequence_error, our_error);
        $finish;
    end
    if (cycle == CYCLES) begin
        if (ours_delay != 0 && theirs_delay != 0 && frames > CYCLES / 100 && highs > frames / 8)
            $display("PASS: %0d frames both ways, %0d of them from lane 4", frames, highs);
        else $display("FAIL: %0d frames, %0d from lane 4, delays %0d and %0d", frames, highs, ours_delay, theirs_delay);
        $finish;
    end
end

endmodule
