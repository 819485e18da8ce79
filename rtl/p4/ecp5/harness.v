// A design between shift registers, so that it has few pins and nothing of it is left out: to learn how fast its clock may be.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module harness (
    input  wire clk,
    input  wire serial_in,
    output reg  serial_out
);
    localparam WIDTH = `WIDTH;
    localparam LANES = WIDTH / 8;
    localparam INPUTS = 1 + 64 + 64 + WIDTH + LANES + 1 + 1 + 16 + 1 + 1 + 16 + 32;
    localparam OUTPUTS = 1 + WIDTH + LANES + 1 + 1 + 16 + 1 + 8 + 1 + 1 + 32;

    reg [INPUTS-1:0] in;
    wire [OUTPUTS-1:0] out;
    reg [OUTPUTS-1:0] left;
    reg [11:0] count;
    always @(posedge clk) begin
        in <= {in[INPUTS-2:0], serial_in};
        count <= count == OUTPUTS - 1 ? 12'd0 : count + 12'd1;
        left <= count == 12'd0 ? out : {left[OUTPUTS-2:0], 1'b0};
        serial_out <= left[OUTPUTS-1];
    end

    wire rst, tvalid, tlast, tready, write;
    wire [63:0] time_ns, time_us;
    wire [LANES-1:0] tkeep;
    wire [WIDTH-1:0] tdata;
    wire [15:0] tuser, address;
    wire [31:0] data;
    assign {rst, time_ns, time_us, tdata, tkeep, tvalid, tlast, tuser, tready, write, address, data} = in;
    wire [60:0] rest;
    assign out[OUTPUTS-1 -: 61] = rest;
    `DESIGN design (
        .clk(clk), .rst(rst), .time_ns(time_ns), .time_us(time_us),
        .s_axis_tdata(tdata), .s_axis_tkeep(tkeep), .s_axis_tvalid(tvalid), .s_axis_tready(out[0]), .s_axis_tlast(tlast), .s_axis_tuser(tuser),
        .m_axis_tdata(out[1 +: WIDTH]), .m_axis_tkeep(out[1 + WIDTH +: LANES]), .m_axis_tvalid(rest[0]), .m_axis_tready(tready),
        .m_axis_tlast(rest[1]), .m_axis_tuser(rest[2 +: 16]), .drop_valid(rest[18]), .drop_reason(rest[19 +: 8]), .more(rest[27]),
        .busy(rest[28]), .ctl_write(write), .ctl_address(address), .ctl_data(data), .ctl_read(rest[29 +: 32])
    );
endmodule

`resetall
