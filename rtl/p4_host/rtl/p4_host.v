// The channel between a host and a program in P4 (paper 002, section 3.2.2): packets both ways, and the program's registers, by AXI-Lite of 32 bits. For the
// program the host is the port HOST_PORT; all other ports are those of the network's streams. An address that is not in this list is answered with SLVERR,
// and so is a write to one that is read only, of less than a whole word, or of what cannot be done now: it changes nothing.
//
//   00 identification, 504B5448 ("PKTH")          04 version, 1
//   10 word of a packet to send, lower half        14 upper half
//   18 write: 200 the packet's last word, 0FF bytes that are kept: the word is sent; SLVERR while there is no room. Write 400: the packet that has begun is
//      taken back; read: 1 a packet has begun
//   1C packets sent
//   20 read: 0 no packet is here; else 100, 200 the packet's last word, 0FF bytes that are kept; write 100: the word is taken
//   24 the word that is here, lower half           28 upper half
//   2C packets received        30 packets lost: there was no room
//   40 address of a register of the program         44 write: the register is written; read: the register

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_host #(
    parameter WIDTH = 512,
    // Words of the ring to the program and of that to the host: 2 to the power of these
    parameter SEND = 5,
    parameter RECEIVE = 5,
    parameter [15:0] HOST_PORT = 16'd64
) (
    input  wire               clk,
    input  wire               rst,

    // Registers
    input  wire [7:0]         s_axil_awaddr,
    input  wire               s_axil_awvalid,
    output wire               s_axil_awready,
    input  wire [31:0]        s_axil_wdata,
    input  wire [3:0]         s_axil_wstrb,
    input  wire               s_axil_wvalid,
    output wire               s_axil_wready,
    output reg  [1:0]         s_axil_bresp,
    output reg                s_axil_bvalid,
    input  wire               s_axil_bready,
    input  wire [7:0]         s_axil_araddr,
    input  wire               s_axil_arvalid,
    output wire               s_axil_arready,
    output reg  [31:0]        s_axil_rdata,
    output reg  [1:0]         s_axil_rresp,
    output reg                s_axil_rvalid,
    input  wire               s_axil_rready,

    // Packets from the network, with the port
    input  wire [WIDTH-1:0]   s_net_tdata,
    input  wire [WIDTH/8-1:0] s_net_tkeep,
    input  wire               s_net_tlast,
    input  wire               s_net_tvalid,
    output wire               s_net_tready,
    input  wire [15:0]        s_net_tuser,
    // to the program
    output wire [WIDTH-1:0]   m_axis_tdata,
    output wire [WIDTH/8-1:0] m_axis_tkeep,
    output wire               m_axis_tlast,
    output wire               m_axis_tvalid,
    input  wire               m_axis_tready,
    output wire [15:0]        m_axis_tuser,
    // from the program
    input  wire [WIDTH-1:0]   s_axis_tdata,
    input  wire [WIDTH/8-1:0] s_axis_tkeep,
    input  wire               s_axis_tlast,
    input  wire               s_axis_tvalid,
    output wire               s_axis_tready,
    input  wire [15:0]        s_axis_tuser,
    // to the network
    output wire [WIDTH-1:0]   m_net_tdata,
    output wire [WIDTH/8-1:0] m_net_tkeep,
    output wire               m_net_tlast,
    output wire               m_net_tvalid,
    input  wire               m_net_tready,
    output wire [15:0]        m_net_tuser,

    // The program's registers
    output reg                ctl_write,
    output reg  [15:0]        ctl_address,
    output reg  [31:0]        ctl_data,
    input  wire [31:0]        ctl_read
);

localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;

reg  [31:0]        low_reg, high_reg, sent_reg, received_reg, lost_reg;
reg                begun_reg;
// The program's answer to an address comes some cycles later.
reg  [2:0]         settles_reg;
wire               accepts, sent, valid, last, received, lost;
wire [63:0]        data;
wire [7:0]         keep;
wire [WIDTH-1:0]   host_data;
wire [WIDTH/8-1:0] host_keep;
wire               host_last, host_valid, host_ready;
wire [15:0]        turn;
wire               for_host = s_axis_tuser == HOST_PORT;

// An address and its word are taken together.
assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
assign s_axil_wready = s_axil_awready;
assign s_axil_arready = !s_axil_rvalid && settles_reg == 3'd0;

// A bus of 32 bits has no lower bits of an address.
wire unused = &{1'b0, s_axil_awaddr[1:0], s_axil_araddr[1:0], turn[15:1]};

wire [5:0]  to = s_axil_awaddr[7:2];
wire [31:0] value = s_axil_wdata;
wire        writes = s_axil_awready && (&s_axil_wstrb);
wire        sets = writes && (to == 6'd4 || to == 6'd5);
wire        sends = writes && to == 6'd6 && value[31:10] == 22'd0 && !value[8];
wire        abandons = writes && to == 6'd6 && value == 32'h400;
wire        takes = writes && to == 6'd8 && value == 32'h100 && valid;
wire        points = writes && to == 6'd16 && value[31:16] == 16'd0;
wire        controls = writes && to == 6'd17;

p4_host_send #(.WIDTH(WIDTH), .DEPTH(SEND)) send (
    .clk(clk), .rst(rst), .write(sends), .data({high_reg, low_reg}), .keep(value[7:0]), .last(value[9]), .accepts(accepts), .abandon(abandons),
    .sent(sent), .m_axis_tdata(host_data), .m_axis_tkeep(host_keep), .m_axis_tlast(host_last), .m_axis_tvalid(host_valid),
    .m_axis_tready(host_ready)
);

p4_switch_merge #(.PORTS(2), .WIDTH(WIDTH)) merge (
    .clk(clk), .rst(rst), .s_axis_tdata({host_data, s_net_tdata}), .s_axis_tkeep({host_keep, s_net_tkeep}),
    .s_axis_tlast({host_last, s_net_tlast}), .s_axis_tvalid({host_valid, s_net_tvalid}), .s_axis_tready({host_ready, s_net_tready}),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast), .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready), .m_axis_tuser(turn)
);
assign m_axis_tuser = turn[0] ? HOST_PORT : s_net_tuser;

p4_host_receive #(.WIDTH(WIDTH), .DEPTH(RECEIVE)) receive (
    .clk(clk), .rst(rst), .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast),
    .s_axis_tvalid(s_axis_tvalid && for_host), .valid(valid), .data(data), .keep(keep), .last(last), .take(takes), .received(received), .lost(lost)
);
assign {m_net_tdata, m_net_tkeep, m_net_tlast, m_net_tuser} = {s_axis_tdata, s_axis_tkeep, s_axis_tlast, s_axis_tuser};
assign m_net_tvalid = s_axis_tvalid && !for_host;
assign s_axis_tready = for_host || m_net_tready;

reg        known;
reg [31:0] word;

always @* begin
    known = 1'b1;
    case (s_axil_araddr[7:2])
        6'd0: word = 32'h504B5448;
        6'd1: word = 32'd1;
        6'd4: word = low_reg;
        6'd5: word = high_reg;
        6'd6: word = {31'd0, begun_reg};
        6'd7: word = sent_reg;
        6'd8: word = valid ? {22'd0, last, 1'b1, keep} : 32'd0;
        6'd9: word = valid ? data[31:0] : 32'd0;
        6'd10: word = valid ? data[63:32] : 32'd0;
        6'd11: word = received_reg;
        6'd12: word = lost_reg;
        6'd16: word = {16'd0, ctl_address};
        6'd17: word = ctl_read;
        default: begin
            word = 32'd0;
            known = 1'b0;
        end
    endcase
end

always @(posedge clk) begin
    if (sets && to == 6'd4) low_reg <= value;
    if (sets && to == 6'd5) high_reg <= value;
    if (sends && accepts) begun_reg <= !value[9];
    if (abandons) begun_reg <= 1'b0;
    sent_reg <= sent_reg + {31'd0, sent};
    received_reg <= received_reg + {31'd0, received};
    lost_reg <= lost_reg + {31'd0, lost};

    if (points) ctl_address <= value[15:0];
    if (controls) ctl_data <= value;
    ctl_write <= controls;
    settles_reg <= points || controls ? 3'd4 : settles_reg - {2'd0, settles_reg != 3'd0};

    if (s_axil_awready) begin
        s_axil_bvalid <= 1'b1;
        s_axil_bresp <= sets || (sends && accepts) || abandons || takes || points || controls ? OKAY : SLVERR;
    end else if (s_axil_bready) s_axil_bvalid <= 1'b0;

    if (s_axil_arvalid && s_axil_arready) begin
        s_axil_rvalid <= 1'b1;
        s_axil_rresp <= known ? OKAY : SLVERR;
        s_axil_rdata <= word;
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;

    if (rst) begin
        {low_reg, high_reg, sent_reg, received_reg, lost_reg} <= 160'd0;
        {begun_reg, ctl_write, s_axil_bvalid, s_axil_rvalid} <= 4'd0;
        ctl_address <= 16'd0;
        ctl_data <= 32'd0;
        settles_reg <= 3'd0;
    end
end

initial begin
    {low_reg, high_reg, sent_reg, received_reg, lost_reg} = 160'd0;
    {begun_reg, ctl_write, s_axil_bvalid, s_axil_rvalid} = 4'd0;
    {s_axil_bresp, s_axil_rresp} = {SLVERR, OKAY};
    s_axil_rdata = 32'd0;
    ctl_address = 16'd0;
    ctl_data = 32'd0;
    settles_reg = 3'd0;
end

endmodule

`resetall
