// A program for benches of p4_switch, with the pins of one that `wire p4 compile` makes: a frame leaves by the port that the last byte of its destination
// names, and one with FF there is dropped with reason 1. Its one register, at any address, is the number of cycles that it waits after each word, 0 after
// reset.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_static #(
    parameter WIDTH = 512
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [63:0]        time_ns,
    input  wire [63:0]        time_us,

    input  wire [WIDTH-1:0]   s_axis_tdata,
    input  wire [WIDTH/8-1:0] s_axis_tkeep,
    input  wire               s_axis_tvalid,
    output wire               s_axis_tready,
    input  wire               s_axis_tlast,
    input  wire [15:0]        s_axis_tuser,

    output reg  [WIDTH-1:0]   m_axis_tdata,
    output reg  [WIDTH/8-1:0] m_axis_tkeep,
    output wire               m_axis_tvalid,
    input  wire               m_axis_tready,
    output reg                m_axis_tlast,
    output reg  [15:0]        m_axis_tuser,

    output wire               drop_valid,
    output wire [7:0]         drop_reason,
    output wire               more,
    output wire               busy,

    input  wire               ctl_write,
    input  wire [15:0]        ctl_address,
    input  wire [31:0]        ctl_data,
    output wire [31:0]        ctl_read
);

localparam [7:0] DROP = 8'hFF;

reg         in_frame_reg, valid_reg;
reg  [7:0]  port_reg, pause_reg, left_reg;
wire [7:0]  port = in_frame_reg ? port_reg : s_axis_tdata[47:40];
wire        drops = m_axis_tuser[7:0] == DROP;

assign m_axis_tvalid = valid_reg && !drops;
assign drop_valid = valid_reg && drops && m_axis_tlast;
assign drop_reason = 8'd1;
assign {more, busy} = 2'b00;
assign ctl_read = {24'd0, pause_reg};
assign s_axis_tready = left_reg == 8'd0 && (!m_axis_tvalid || m_axis_tready);

wire unused = &{1'b0, time_ns, time_us, s_axis_tuser, ctl_address, ctl_data[31:8]};

always @(posedge clk) begin
    if (ctl_write) pause_reg <= ctl_data[7:0];
    if (s_axis_tready && s_axis_tvalid) left_reg <= pause_reg;
    else if (left_reg != 8'd0) left_reg <= left_reg - 8'd1;
    if (!m_axis_tvalid || m_axis_tready) valid_reg <= 1'b0;
    if (s_axis_tready) begin
        valid_reg <= s_axis_tvalid;
        {m_axis_tlast, m_axis_tkeep, m_axis_tdata} <= {s_axis_tlast, s_axis_tkeep, s_axis_tdata};
        m_axis_tuser <= {8'd0, port};
        if (s_axis_tvalid) begin
            in_frame_reg <= !s_axis_tlast;
            port_reg <= port;
        end
    end
    if (rst) {in_frame_reg, valid_reg, pause_reg, left_reg} <= 18'd0;
end

initial {in_frame_reg, valid_reg, pause_reg, left_reg} = 18'd0;

endmodule

`resetall
