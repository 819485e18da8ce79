// A program with one port of 64 bits, and a host: p4_host with what is round it, as a bump in the wire. P4_HOST_PROGRAM is the program: the top module that
// `wire p4 compile --target verilog` writes, with words of 512 bits; p4_static, which is for benches, without it. Packets come by port 0; those for any port
// but the host's leave.

`resetall
`default_nettype none
`timescale 1ns / 1ps
`ifndef P4_HOST_PROGRAM
`define P4_HOST_PROGRAM p4_static
`endif

module p4_host_device #(
    parameter SEND = 5,
    parameter RECEIVE = 5,
    parameter [15:0] HOST_PORT = 16'd3
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [63:0] time_ns,
    input  wire [63:0] time_us,

    // The host
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

    // The network: packets in, which never wait and are lost without room, and out
    input  wire [63:0] s_axis_tdata,
    input  wire [7:0]  s_axis_tkeep,
    input  wire        s_axis_tlast,
    input  wire        s_axis_tvalid,
    output wire [63:0] m_axis_tdata,
    output wire [7:0]  m_axis_tkeep,
    output wire        m_axis_tlast,
    output wire        m_axis_tvalid,
    input  wire        m_axis_tready,

    // High for a cycle for each packet
    output wire        lost,
    output wire        dropped
);

localparam WIDTH = 512;

wire [WIDTH-1:0]   in_data, to_data, from_data, out_data;
wire [WIDTH/8-1:0] in_keep, to_keep, from_keep, out_keep;
wire               in_last, in_valid, in_ready, to_last, to_valid, to_ready, from_last, from_valid, from_ready, out_last, out_valid, out_ready;
wire [15:0]        to_port, from_port, out_port, ctl_address;
wire [31:0]        ctl_data, ctl_read;
wire               ctl_write, good, bad, more, busy;
wire [7:0]         drop_reason;

p4_switch_ingress #(.WIDTH(WIDTH)) ingress (
    .clk(clk), .rst(rst), .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast), .s_axis_tvalid(s_axis_tvalid),
    .s_axis_tuser(1'b0), .m_axis_tdata(in_data), .m_axis_tkeep(in_keep), .m_axis_tlast(in_last), .m_axis_tvalid(in_valid),
    .m_axis_tready(in_ready), .good(good), .bad(bad), .lost(lost)
);

p4_host #(.WIDTH(WIDTH), .SEND(SEND), .RECEIVE(RECEIVE), .HOST_PORT(HOST_PORT)) host (
    .clk(clk), .rst(rst),
    .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata),
    .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
    .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready), .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
    .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid),
    .s_axil_rready(s_axil_rready),
    .s_net_tdata(in_data), .s_net_tkeep(in_keep), .s_net_tlast(in_last), .s_net_tvalid(in_valid), .s_net_tready(in_ready), .s_net_tuser(16'd0),
    .m_axis_tdata(to_data), .m_axis_tkeep(to_keep), .m_axis_tlast(to_last), .m_axis_tvalid(to_valid), .m_axis_tready(to_ready),
    .m_axis_tuser(to_port),
    .s_axis_tdata(from_data), .s_axis_tkeep(from_keep), .s_axis_tlast(from_last), .s_axis_tvalid(from_valid), .s_axis_tready(from_ready),
    .s_axis_tuser(from_port),
    .m_net_tdata(out_data), .m_net_tkeep(out_keep), .m_net_tlast(out_last), .m_net_tvalid(out_valid), .m_net_tready(out_ready),
    .m_net_tuser(out_port),
    .ctl_write(ctl_write), .ctl_address(ctl_address), .ctl_data(ctl_data), .ctl_read(ctl_read)
);

`P4_HOST_PROGRAM program_of_host (
    .clk(clk), .rst(rst), .time_ns(time_ns), .time_us(time_us),
    .s_axis_tdata(to_data), .s_axis_tkeep(to_keep), .s_axis_tvalid(to_valid), .s_axis_tready(to_ready), .s_axis_tlast(to_last),
    .s_axis_tuser(to_port), .m_axis_tdata(from_data), .m_axis_tkeep(from_keep), .m_axis_tvalid(from_valid), .m_axis_tready(from_ready),
    .m_axis_tlast(from_last), .m_axis_tuser(from_port), .drop_valid(dropped), .drop_reason(drop_reason), .more(more), .busy(busy),
    .ctl_write(ctl_write), .ctl_address(ctl_address), .ctl_data(ctl_data), .ctl_read(ctl_read)
);

p4_switch_egress #(.WIDTH(WIDTH)) egress (
    .clk(clk), .rst(rst), .s_data(out_data), .s_keep(out_keep), .s_last(out_last), .s_valid(out_valid && out_ready), .ready(out_ready),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast), .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready)
);

wire unused = &{1'b0, good, bad, more, busy, drop_reason, out_port};

endmodule

`resetall
