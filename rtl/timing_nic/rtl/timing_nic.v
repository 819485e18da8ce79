// A port of the timing NIC of EtherPIPE (paper 000 chapter 4): receive stamps, five-tuple hash, scheduled transmission, on a gigabit
// MAC with a GMII of 125 MHz, so that a tick is 8 ns. Records (FORMATS section 2) go to and come from the host as streams.
//
// The counter counts edges from 0. A frame sent at T has its first byte behind the SFD on the GMII from the edge on at which the
// counter becomes T. A frame whose first byte is there while the counter shows N is stamped N - RX_LATENCY.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module timing_nic #(
    // From a frame's first bit on the medium to its first byte on the GMII, in cycles: what the PHY takes.
    parameter RX_LATENCY = 8,
    // Words of frames in each ring: 2 to the power of this, 4 or more, 11 or more for frames of all
    // lengths. Frames are an eighth of that.
    parameter RING = 12
) (
    input  wire        clk,
    input  wire        rst,

    // GMII
    input  wire [7:0]  gmii_rxd,
    input  wire        gmii_rx_dv,
    input  wire        gmii_rx_er,
    output wire [7:0]  gmii_txd,
    output wire        gmii_tx_en,
    output wire        gmii_tx_er,

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

initial counter_reg = 56'd0;

wire [7:0]  rx_data;
wire        rx_valid, rx_last, rx_bad, rx_idle, rx_fragment;
wire [55:0] rx_stamp;
wire [31:0] hash;
wire        hash_done, hash_idle, ring_idle;
wire [63:0] rx_word;
wire [2:0]  rx_word_rest;
wire        rx_word_valid, rx_word_last, rx_word_bad;
wire        good_frame, bad_frame, overflow;

gmii_rx #(.LATENCY(RX_LATENCY)) mac_rx (
    .clk(clk), .rst(rst), .counter(counter_reg),
    .gmii_rxd(gmii_rxd), .gmii_rx_dv(gmii_rx_dv), .gmii_rx_er(gmii_rx_er),
    .data(rx_data), .valid(rx_valid), .last(rx_last), .bad(rx_bad), .stamp(rx_stamp),
    .idle(rx_idle), .fragment(rx_fragment)
);

five_tuple_hash tuple (
    .clk(clk), .rst(rst),
    .data(rx_data), .valid(rx_valid), .last(rx_last),
    .hash(hash), .done(hash_done), .idle(hash_idle)
);

bytes_to_words words_in (
    .clk(clk), .rst(rst),
    .data(rx_data), .valid(rx_valid), .last(rx_last), .bad(rx_bad), .hash_done(hash_done),
    .word(rx_word), .word_valid(rx_word_valid), .word_last(rx_word_last), .word_rest(rx_word_rest), .word_bad(rx_word_bad)
);

record_rx #(.RING(RING), .RECORDS(RING - 3)) received (
    .clk(clk), .rst(rst),
    .data(rx_word), .valid(rx_word_valid), .last(rx_word_last), .rest(rx_word_rest), .bad(rx_word_bad), .stamp(rx_stamp), .hash(hash),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast),
    .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready),
    .good_frame(good_frame), .bad_frame(bad_frame), .overflow(overflow), .idle(ring_idle)
);

wire       start, free, tx_last, tx_ready, tx_idle;
wire [7:0] tx_data;
wire [63:0] tx_word;
wire [2:0]  tx_word_rest;
wire        tx_word_last, tx_word_ready;
wire       sent_frame, late_frame, bad_record, flushed_record, flush, flushing;
wire [2:0] timer_number;
wire [55:0] timer;

record_tx #(.RING(RING), .RECORDS(RING - 3), .LEAD(9)) scheduled (
    .clk(clk), .rst(rst), .counter(counter_reg),
    .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast),
    .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready),
    .start(start), .free(free), .data(tx_word), .last(tx_word_last), .rest(tx_word_rest), .ready(tx_word_ready),
    .flush(flush), .flushing(flushing), .timer_number(timer_number), .timer(timer),
    .sent_frame(sent_frame), .late_frame(late_frame), .bad_record(bad_record), .flushed_record(flushed_record),
    .idle(tx_idle), .wake_at(wake_at)
);

words_to_bytes words_out (
    .clk(clk), .start(start),
    .word(tx_word), .word_last(tx_word_last), .word_rest(tx_word_rest), .word_ready(tx_word_ready),
    .data(tx_data), .last(tx_last), .ready(tx_ready)
);

gmii_tx mac_tx (
    .clk(clk), .rst(rst),
    .start(start), .free(free), .data(tx_data), .last(tx_last), .ready(tx_ready),
    .gmii_txd(gmii_txd), .gmii_tx_en(gmii_tx_en), .gmii_tx_er(gmii_tx_er)
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

assign idle = rx_idle && hash_idle && ring_idle && tx_idle && free && !gmii_tx_en && !s_axis_tvalid && !s_axil_arvalid
    && !s_axil_rvalid && !s_axil_bvalid;

endmodule

`resetall
