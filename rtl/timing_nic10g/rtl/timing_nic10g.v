// A port of the timing NIC at 10 Gb/s: what timing_nic is at 1 Gb/s, on the MAC of mac10g with an XGMII of 64 bits at 156.25 MHz, so
// that a tick is 6.4 ns. Records (FORMATS section 2) go to and come from the host as streams.
//
// The counter counts edges from 0. A frame sent at T has its first byte behind the SFD on the XGMII from the edge on at which the
// counter becomes T; in lane 4, half a tick later, where it is so close behind another one that the gap asks for it. A frame whose first byte
// is there while the counter shows N is stamped N - RX_LATENCY, in whatever lane it is.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module timing_nic10g #(
    // From a frame's first bit on the medium to its first byte on the XGMII, in cycles: what the PHY takes.
    parameter RX_LATENCY = 8,
    // Words of frames in each ring: 2 to the power of this, 4 or more, 11 or more for frames of all
    // lengths. Frames are an eighth of that.
    parameter RING = 12
) (
    input  wire        clk,
    input  wire        rst,

    // XGMII
    input  wire [63:0] xgmii_rxd,
    input  wire [7:0]  xgmii_rxc,
    output wire [63:0] xgmii_txd,
    output wire [7:0]  xgmii_txc,

    // Records to be sent
    input  wire [63:0] s_axis_tdata,
    input  wire [7:0]  s_axis_tkeep,
    input  wire        s_axis_tlast,
    input  wire        s_axis_tvalid,
    output wire        s_axis_tready,

    // Records received
    output wire [63:0] m_axis_tdata,
    output wire [7:0]  m_axis_tkeep,
    output wire        m_axis_tlast,
    output wire        m_axis_tvalid,
    input  wire        m_axis_tready,

    // Registers
    input  wire [7:0]  s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output wire [1:0]  s_axil_bresp,
    output wire        s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [7:0]  s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output wire [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output wire        s_axil_rvalid,
    input  wire        s_axil_rready,

    output wire [55:0] counter,

    // For a simulator: with `idle`, nothing happens before the counter shows `wake_at`, but for what comes from outside; the counter
    // then may go on by `skip` more than 1. Tie to 0 in hardware.
    output wire        idle,
    output wire [55:0] wake_at,
    input  wire [55:0] skip
);

reg [55:0] counter_reg;
assign counter = counter_reg;

always @(posedge clk) counter_reg <= rst ? 56'd0 : counter_reg + 56'd1 + skip;

// Receive
wire [63:0] rx_data;
wire [7:0]  rx_keep;
wire        rx_last, rx_valid, rx_bad, rx_begins, rx_begins_high, rx_fragment, rx_idle, ring_idle;
wire [31:0] hash;
wire        good_frame, bad_frame, overflow;

mac10g_rx mac_rx (
    .clk(clk), .rst(rst), .xgmii_rxd(xgmii_rxd), .xgmii_rxc(xgmii_rxc),
    .m_axis_tdata(rx_data), .m_axis_tkeep(rx_keep), .m_axis_tlast(rx_last), .m_axis_tvalid(rx_valid), .m_axis_tuser(rx_bad),
    .begins(rx_begins), .begins_high(rx_begins_high), .fragment(rx_fragment), .idle(rx_idle)
);

// Bytes of the last word, 0 for 8
function [2:0] rest_of(input [7:0] keep);
    integer i;
    begin
        rest_of = 3'd0;
        for (i = 1; i < 8; i = i + 1)
            if (keep[i-1] && !keep[i]) rest_of = i[2:0];
    end
endfunction

wire [2:0] rx_rest = rest_of(rx_keep);

five_tuple_hash64 tuple (.clk(clk), .rst(rst), .data(rx_data), .valid(rx_valid), .last(rx_last), .rest(rx_rest), .hash(hash));

// Words wait until the hash stands.
reg [206:0] words_reg; // three of 69 bits, the newest lowest
reg [2:0]   valid_reg;
reg [55:0]  next_stamp_reg; // of the frame that has begun last; its first word comes before another one begins
reg [55:0]  stamp_reg;
reg         first_reg;      // the next word is a frame's first
wire         late_valid = valid_reg[2];
wire         late_last, late_bad;
wire [2:0]   late_rest;
wire [63:0]  late_data;

assign {late_last, late_rest, late_bad, late_data} = words_reg[206:138];

always @(posedge clk) begin
    words_reg <= {words_reg[137:0], rx_last, rx_rest, rx_bad, rx_data};
    valid_reg <= {valid_reg[1:0], rx_valid};
    // The first byte of a frame is in the word behind the one with its start.
    if (rx_begins) next_stamp_reg <= counter_reg - RX_LATENCY;
    if (late_valid) begin
        first_reg <= late_last;
        if (first_reg) stamp_reg <= next_stamp_reg;
    end

    if (rst) begin
        valid_reg <= 3'b000;
        first_reg <= 1'b1;
    end
end

record_rx #(.RING(RING), .RECORDS(RING - 3)) received (
    .clk(clk), .rst(rst),
    .data(late_data), .valid(late_valid), .last(late_last), .rest(late_rest), .bad(late_bad),
    .stamp(first_reg ? next_stamp_reg : stamp_reg), .hash(hash),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast),
    .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready),
    .good_frame(good_frame), .bad_frame(bad_frame), .overflow(overflow), .idle(ring_idle)
);

// Send
wire        start, free, tx_last, tx_ready, tx_begins, tx_begins_high, tx_underrun, tx_mac_idle, tx_idle;
wire [63:0] tx_data;
wire [2:0]  tx_rest;
wire        sent_frame, late_frame, bad_record, flushed_record, flush, flushing;
wire [2:0]  timer_number;
wire [55:0] timer;

// A frame's first word is seen at an edge, its first byte is on the XGMII behind the third edge from there.
record_tx #(.RING(RING), .RECORDS(RING - 3), .LEAD(4)) scheduled (
    .clk(clk), .rst(rst), .counter(counter_reg),
    .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast),
    .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready),
    .start(start), .free(free), .data(tx_data), .last(tx_last), .rest(tx_rest), .ready(tx_ready),
    .flush(flush), .flushing(flushing), .timer_number(timer_number), .timer(timer),
    .sent_frame(sent_frame), .late_frame(late_frame), .bad_record(bad_record), .flushed_record(flushed_record),
    .idle(tx_idle), .wake_at(wake_at)
);

mac10g_tx mac_tx (
    .clk(clk), .rst(rst),
    .s_axis_tdata(tx_data), .s_axis_tkeep(tx_last && tx_rest != 3'd0 ? ~(8'hFF << tx_rest) : 8'hFF), .s_axis_tlast(tx_last),
    // A frame is there as a whole when it starts.
    .s_axis_tvalid(start || tx_ready), .s_axis_tready(tx_ready),
    .xgmii_txd(xgmii_txd), .xgmii_txc(xgmii_txc),
    .free(free), .begins(tx_begins), .begins_high(tx_begins_high), .underrun(tx_underrun), .idle(tx_mac_idle)
);

nic_registers registers (
    .clk(clk), .rst(rst), .counter(counter_reg), .timer_number(timer_number), .timer(timer),
    .flush(flush), .flushing(flushing),
    .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
    .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
    .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
    .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
    .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
    .sent_frame(sent_frame), .late_frame(late_frame), .bad_record(bad_record), .flushed_record(flushed_record),
    .good_frame(good_frame), .bad_frame(bad_frame), .fragment(rx_fragment), .overflow(overflow)
);

wire unused = &{1'b0, rx_begins_high, tx_begins, tx_begins_high, tx_underrun};

assign idle = rx_idle && valid_reg == 3'b000 && ring_idle && tx_idle && tx_mac_idle && !s_axis_tvalid
    && !s_axil_arvalid && !s_axil_rvalid && !s_axil_bvalid;

initial begin
    counter_reg = 56'd0;
    words_reg = 207'd0;
    valid_reg = 3'b000;
    next_stamp_reg = 56'd0;
    stamp_reg = 56'd0;
    first_reg = 1'b1;
end

endmodule

`resetall
