// The timing NIC on Lattice's ECP5 Versa board: two gigabit ports over the board's PHYs, and a host at its serial port. One clock of
// 125 MHz, so that a tick is 8 ns; both ports' counters are the same.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module versa (
    input  wire       clk100,
    input  wire       rst_n,
    input  wire       serial_rx,
    output wire       serial_tx,
    output wire [7:0] led,

    input  wire       eth0_rx_clk,
    input  wire       eth0_rx_ctl,
    input  wire [3:0] eth0_rx_data,
    output wire       eth0_tx_clk,
    output wire       eth0_tx_ctl,
    output wire [3:0] eth0_tx_data,
    output wire       eth0_rst_n,

    input  wire       eth1_rx_clk,
    input  wire       eth1_rx_ctl,
    input  wire [3:0] eth1_rx_data,
    output wire       eth1_tx_clk,
    output wire       eth1_tx_ctl,
    output wire [3:0] eth1_tx_data,
    output wire       eth1_rst_n
);

wire clk, locked;

(* FREQUENCY_PIN_CLKI = "100", FREQUENCY_PIN_CLKOP = "125" *)
EHXPLLL #(
    .PLLRST_ENA("DISABLED"), .INTFB_WAKE("DISABLED"), .STDBY_ENABLE("DISABLED"), .DPHASE_SOURCE("DISABLED"),
    .CLKI_DIV(4), .CLKFB_DIV(5), .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(5), .CLKOP_CPHASE(4), .CLKOP_FPHASE(0), .FEEDBK_PATH("CLKOP")
) pll (
    .CLKI(clk100), .CLKFB(clk), .CLKOP(clk), .LOCK(locked),
    .RST(1'b0), .STDBY(1'b0), .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b0), .PHASESTEP(1'b0), .PHASELOADREG(1'b0),
    .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0)
);

// 16.8 ms of reset, for the PHYs too
reg [1:0]  button_reg = 2'b00;
reg [21:0] reset_reg = 22'd0;
wire       rst = !reset_reg[21];

always @(posedge clk) begin
    button_reg <= {button_reg[0], rst_n && locked};
    if (!button_reg[1]) reset_reg <= 22'd0;
    else if (rst) reset_reg <= reset_reg + 22'd1;
end

assign eth0_rst_n = !rst;
assign eth1_rst_n = !rst;

wire [63:0] down_tdata, up_tdata_0, up_tdata_1;
wire [7:0]  down_tkeep, up_tkeep_0, up_tkeep_1;
wire        down_tlast, down_tvalid, down_tdest, up_tlast_0, up_tlast_1, dropped;
wire [1:0]  down_tready, up_tvalid, up_tready, sends, receives;

uart_records host (
    .clk(clk), .rst(rst), .uart_rxd(serial_rx), .uart_txd(serial_tx),
    .m_axis_tdata(down_tdata), .m_axis_tkeep(down_tkeep), .m_axis_tlast(down_tlast), .m_axis_tvalid(down_tvalid),
    .m_axis_tdest(down_tdest), .m_axis_tready(down_tready),
    .s_axis_tdata_0(up_tdata_0), .s_axis_tkeep_0(up_tkeep_0), .s_axis_tlast_0(up_tlast_0),
    .s_axis_tdata_1(up_tdata_1), .s_axis_tkeep_1(up_tkeep_1), .s_axis_tlast_1(up_tlast_1),
    .s_axis_tvalid(up_tvalid), .s_axis_tready(up_tready), .dropped(dropped)
);

rgmii_port port_0 (
    .clk(clk), .rst(rst),
    .rx_clk(eth0_rx_clk), .rx_ctl(eth0_rx_ctl), .rx_data(eth0_rx_data),
    .tx_clk(eth0_tx_clk), .tx_ctl(eth0_tx_ctl), .tx_data(eth0_tx_data),
    .s_axis_tdata(down_tdata), .s_axis_tkeep(down_tkeep), .s_axis_tlast(down_tlast),
    .s_axis_tvalid(down_tvalid && !down_tdest), .s_axis_tready(down_tready[0]),
    .m_axis_tdata(up_tdata_0), .m_axis_tkeep(up_tkeep_0), .m_axis_tlast(up_tlast_0), .m_axis_tvalid(up_tvalid[0]),
    .m_axis_tready(up_tready[0]), .sends(sends[0]), .receives(receives[0])
);

rgmii_port port_1 (
    .clk(clk), .rst(rst),
    .rx_clk(eth1_rx_clk), .rx_ctl(eth1_rx_ctl), .rx_data(eth1_rx_data),
    .tx_clk(eth1_tx_clk), .tx_ctl(eth1_tx_ctl), .tx_data(eth1_tx_data),
    .s_axis_tdata(down_tdata), .s_axis_tkeep(down_tkeep), .s_axis_tlast(down_tlast),
    .s_axis_tvalid(down_tvalid && down_tdest), .s_axis_tready(down_tready[1]),
    .m_axis_tdata(up_tdata_1), .m_axis_tkeep(up_tkeep_1), .m_axis_tlast(up_tlast_1), .m_axis_tvalid(up_tvalid[1]),
    .m_axis_tready(up_tready[1]), .sends(sends[1]), .receives(receives[1])
);

// Each lamp is lit for 67 ms behind what it tells of. They are lit by a low level.
reg [23:0] tick_reg = 24'd0;
reg [4:0]  seen_reg = 5'd0, shown_reg = 5'd0;
wire [4:0] now = {dropped, receives, sends};

always @(posedge clk) begin
    tick_reg <= tick_reg + 24'd1;
    seen_reg <= tick_reg[22:0] == 23'd0 ? now : seen_reg | now;
    if (tick_reg[22:0] == 23'd0) shown_reg <= seen_reg;
end

assign led = ~{tick_reg[23], !rst, 1'b0, shown_reg};

endmodule

// A port with a PHY on an RGMII whose clocks the PHY puts in the middle of the data, both ways.
module rgmii_port (
    input  wire        clk,
    input  wire        rst,
    input  wire        rx_clk,
    input  wire        rx_ctl,
    input  wire [3:0]  rx_data,
    output wire        tx_clk,
    output wire        tx_ctl,
    output wire [3:0]  tx_data,
    input  wire [63:0] s_axis_tdata,
    input  wire [7:0]  s_axis_tkeep,
    input  wire        s_axis_tlast,
    input  wire        s_axis_tvalid,
    output wire        s_axis_tready,
    output wire [63:0] m_axis_tdata,
    output wire [7:0]  m_axis_tkeep,
    output wire        m_axis_tlast,
    output wire        m_axis_tvalid,
    input  wire        m_axis_tready,
    output wire        sends,
    output wire        receives
);

wire [7:0] rxd_in, rxd, txd;
wire       rx_dv_in, rx_er_in, rx_dv, rx_er, tx_en, tx_er, ctl_rise, ctl_fall;

genvar i;
generate
    for (i = 0; i < 4; i = i + 1) begin : lanes
        IDDRX1F in (.D(rx_data[i]), .SCLK(rx_clk), .RST(1'b0), .Q0(rxd_in[i]), .Q1(rxd_in[i+4]));
        ODDRX1F out (.D0(txd[i]), .D1(txd[i+4]), .SCLK(clk), .RST(1'b0), .Q(tx_data[i]));
    end
endgenerate
IDDRX1F ctl_in (.D(rx_ctl), .SCLK(rx_clk), .RST(1'b0), .Q0(ctl_rise), .Q1(ctl_fall));
ODDRX1F ctl_out (.D0(tx_en), .D1(tx_en ^ tx_er), .SCLK(clk), .RST(1'b0), .Q(tx_ctl));
ODDRX1F clk_out (.D0(1'b1), .D1(1'b0), .SCLK(clk), .RST(1'b0), .Q(tx_clk));
assign rx_dv_in = ctl_rise;
assign rx_er_in = ctl_rise ^ ctl_fall;

elastic buffer (
    .in_clk(rx_clk), .in_data(rxd_in), .in_valid(rx_dv_in), .in_error(rx_er_in),
    .out_clk(clk), .out_data(rxd), .out_valid(rx_dv), .out_error(rx_er)
);

// The preamble, and on average the elastic buffer
timing_nic #(.RX_LATENCY(18)) nic (
    .clk(clk), .rst(rst),
    .gmii_rxd(rxd), .gmii_rx_dv(rx_dv), .gmii_rx_er(rx_er), .gmii_txd(txd), .gmii_tx_en(tx_en), .gmii_tx_er(tx_er),
    .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast),
    .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast),
    .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready),
    .s_axil_awaddr(8'h0), .s_axil_awvalid(1'b0), .s_axil_wdata(32'h0), .s_axil_wstrb(4'h0), .s_axil_wvalid(1'b0), .s_axil_bready(1'b1),
    .s_axil_araddr(8'h0), .s_axil_arvalid(1'b0), .s_axil_rready(1'b1),
    .skip(56'd0)
);

assign sends = tx_en;
assign receives = rx_dv;

endmodule

`resetall
