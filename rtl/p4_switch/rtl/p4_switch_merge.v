// Streams of all ports as one, frame by frame in turns, with the port's number.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_switch_merge #(
    parameter PORTS = 4,
    parameter WIDTH = 512
) (
    input  wire                       clk,
    input  wire                       rst,

    input  wire [PORTS*WIDTH-1:0]     s_axis_tdata,
    input  wire [PORTS*WIDTH/8-1:0]   s_axis_tkeep,
    input  wire [PORTS-1:0]           s_axis_tlast,
    input  wire [PORTS-1:0]           s_axis_tvalid,
    output wire [PORTS-1:0]           s_axis_tready,

    output wire [WIDTH-1:0]           m_axis_tdata,
    output wire [WIDTH/8-1:0]         m_axis_tkeep,
    output wire                       m_axis_tlast,
    output wire                       m_axis_tvalid,
    input  wire                       m_axis_tready,
    output wire [15:0]                m_axis_tuser
);

localparam PORT_W = PORTS == 1 ? 1 : $clog2(PORTS);
localparam [31:0] LAST_PORT = PORTS - 1;
localparam [PORT_W-1:0] LAST = LAST_PORT[PORT_W-1:0];

reg              in_frame_reg;
reg [PORT_W-1:0] turn_reg;
reg [PORT_W-1:0] chosen, candidate;
integer          step;

always @* begin
    chosen = turn_reg;
    candidate = turn_reg;
    // The last port that waits, in this order, is the next one after the turn.
    for (step = 0; step < PORTS; step = step + 1) begin
        if (s_axis_tvalid[candidate]) chosen = candidate;
        candidate = candidate == 0 ? LAST : candidate - 1'b1;
    end
end

wire [PORT_W-1:0] turn = in_frame_reg ? turn_reg : chosen;
wire              moves = m_axis_tvalid && m_axis_tready;

assign m_axis_tdata = s_axis_tdata[turn*WIDTH +: WIDTH];
assign m_axis_tkeep = s_axis_tkeep[turn*(WIDTH/8) +: WIDTH/8];
assign m_axis_tlast = s_axis_tlast[turn];
assign m_axis_tvalid = s_axis_tvalid[turn];
assign m_axis_tuser = {{(16-PORT_W){1'b0}}, turn};

genvar p;
generate
    for (p = 0; p < PORTS; p = p + 1) begin : side
        assign s_axis_tready[p] = m_axis_tready && turn == p;
    end
endgenerate

always @(posedge clk) begin
    if (m_axis_tvalid) begin
        turn_reg <= turn;
        // A frame whose first word waits has the turn already.
        in_frame_reg <= !(moves && m_axis_tlast);
    end
    if (rst) in_frame_reg <= 1'b0;
end

initial begin
    in_frame_reg = 1'b0;
    turn_reg = {PORT_W{1'b0}};
end

endmodule

`resetall
