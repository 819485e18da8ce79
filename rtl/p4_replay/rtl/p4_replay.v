// A packet generator and a capturer with their registers, by AXI-Lite of 32 bits (paper 002, sections 3.2.3 and D.1.2). An address that is not in this
// list is answered with SLVERR, and so is a write to one that is read only, of less than a whole word, or of what cannot be done: it changes nothing.
//
//   00 identification, 504B5447 ("PKTG")          04 version, 1
//   08 write: 1 generator starts, 2 stops, 4 capturer starts, 8 stops, 10 trace is cleared; read: 1 generator runs, 4 capturer is on
//   0C packets to generate, 0 until it is stopped  10 cycles from packet to packet, 0 for those of the trace
//   14 word of the trace, lower half               18 upper half
//   1C cycles from the packet before to the one that begins with the word
//   20 write: 200 the packet's last word, 100 its first, 0FF bytes that are kept: the word goes to the trace; read: words of the trace
//   24 packets generated        28 of those, late
//   30 packets captured         34 packets lost
//   38 length of the first captured packet, 0 for none
//   3C its cycle, low word; keeps the high one      40 high word
//   44 its next word, lower half; keeps the upper   48 upper half
//   4C write 1: the word is taken, with the last one the packet; read: 1 the word is the last

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_replay #(
    // Words of the trace, of captured packets, and captured packets: 2 to the power of these
    parameter TRACE = 11,
    parameter DEPTH = 11,
    parameter PACKETS = 8
) (
    input  wire        clk,
    input  wire        rst,

    // Registers
    input  wire [7:0]  s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output reg  [1:0]  s_axil_bresp,
    output reg         s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [7:0]  s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output reg  [31:0] s_axil_rdata,
    output reg  [1:0]  s_axil_rresp,
    output reg         s_axil_rvalid,
    input  wire        s_axil_rready,

    // Packets that are generated
    output wire [63:0] m_axis_tdata,
    output wire [7:0]  m_axis_tkeep,
    output wire        m_axis_tlast,
    output wire        m_axis_tvalid,
    input  wire        m_axis_tready,

    // Packets to capture; nothing waits
    input  wire [63:0] s_axis_tdata,
    input  wire [7:0]  s_axis_tkeep,
    input  wire        s_axis_tlast,
    input  wire        s_axis_tvalid,

    // Edges since reset
    output wire [55:0] counter
);

localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;

reg [55:0]  counter_reg;
reg [31:0]  packets_reg, interval_reg, low_reg, high_reg, gap_reg, kept_reg;
reg         on_reg;
wire        accepts, starts, running, valid, last;
wire [TRACE:0] words;
wire [31:0] sent, late, captured, lost;
wire [15:0] length;
wire [55:0] stamp;
wire [63:0] data;

assign counter = counter_reg;

// An address and its word are taken together.
assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
assign s_axil_wready = s_axil_awready;
assign s_axil_arready = !s_axil_rvalid;

// A bus of 32 bits has no lower bits of an address.
wire unused = &{1'b0, s_axil_awaddr[1:0], s_axil_araddr[1:0]};

wire [5:0]  to = s_axil_awaddr[7:2];
wire [31:0] value = s_axil_wdata;
wire        writes = s_axil_awready && (&s_axil_wstrb);
wire        controls = writes && to == 6'd2;
wire        start = controls && value == 32'h01;
wire        stop = controls && value == 32'h02 && running;
wire        on = controls && value == 32'h04;
wire        off = controls && value == 32'h08;
wire        clear = controls && value == 32'h10 && !running;
// While it runs, its own settings stay.
wire        sets = writes && to >= (running ? 6'd5 : 6'd3) && to <= 6'd7;
wire        adds = writes && to == 6'd8 && value[31:10] == 22'd0 && accepts;
wire        takes = writes && to == 6'd19 && value == 32'd1 && valid;

p4_generator #(.DEPTH(TRACE)) generator (
    .clk(clk), .rst(rst), .write(adds), .data({high_reg, low_reg}), .keep(value[7:0]), .first(value[8]), .last(value[9]), .gap(gap_reg),
    .accepts(accepts), .clear(clear), .words(words), .start(start), .stop(stop), .packets(packets_reg), .interval(interval_reg),
    .starts(starts), .running(running), .sent(sent), .late(late),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast), .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready)
);

p4_capturer #(.DEPTH(DEPTH), .PACKETS(PACKETS)) capturer (
    .clk(clk), .rst(rst), .on(on_reg), .counter(counter_reg), .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep),
    .s_axis_tlast(s_axis_tlast), .s_axis_tvalid(s_axis_tvalid), .valid(valid), .length(length), .stamp(stamp), .data(data), .last(last),
    .take(takes), .captured(captured), .lost(lost)
);

reg        known;
reg [31:0] word;

always @* begin
    known = 1'b1;
    case (s_axil_araddr[7:2])
        6'd0: word = 32'h504B5447;
        6'd1: word = 32'd1;
        6'd2: word = {29'd0, on_reg, 1'b0, running};
        6'd3: word = packets_reg;
        6'd4: word = interval_reg;
        6'd5: word = low_reg;
        6'd6: word = high_reg;
        6'd7: word = gap_reg;
        6'd8: word = {{(31-TRACE){1'b0}}, words};
        6'd9: word = sent;
        6'd10: word = late;
        6'd12: word = captured;
        6'd13: word = lost;
        6'd14: word = valid ? {16'd0, length} : 32'd0;
        6'd15: word = stamp[31:0];
        6'd17: word = data[31:0];
        6'd16, 6'd18: word = kept_reg;
        6'd19: word = {31'd0, valid && last};
        default: begin
            word = 32'd0;
            known = 1'b0;
        end
    endcase
end

always @(posedge clk) begin
    counter_reg <= counter_reg + 56'd1;
    if (sets) case (to)
        6'd3: packets_reg <= value;
        6'd4: interval_reg <= value;
        6'd5: low_reg <= value;
        6'd6: high_reg <= value;
        default: gap_reg <= value;
    endcase
    if (on) on_reg <= 1'b1;
    if (off) on_reg <= 1'b0;

    if (s_axil_awready) begin
        s_axil_bvalid <= 1'b1;
        s_axil_bresp <= starts || stop || on || off || clear || sets || adds || takes ? OKAY : SLVERR;
    end else if (s_axil_bready) s_axil_bvalid <= 1'b0;

    if (s_axil_arvalid && s_axil_arready) begin
        s_axil_rvalid <= 1'b1;
        s_axil_rresp <= known ? OKAY : SLVERR;
        s_axil_rdata <= word;
        if (s_axil_araddr[7:2] == 6'd15) kept_reg <= {8'd0, stamp[55:32]};
        if (s_axil_araddr[7:2] == 6'd17) kept_reg <= data[63:32];
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;

    if (rst) begin
        counter_reg <= 56'd0;
        {packets_reg, interval_reg, low_reg, high_reg, gap_reg, kept_reg} <= 192'd0;
        {on_reg, s_axil_bvalid, s_axil_rvalid} <= 3'd0;
    end
end

initial begin
    counter_reg = 56'd0;
    {packets_reg, interval_reg, low_reg, high_reg, gap_reg, kept_reg} = 192'd0;
    {on_reg, s_axil_bvalid, s_axil_rvalid} = 3'd0;
    {s_axil_bresp, s_axil_rresp} = {SLVERR, OKAY};
    s_axil_rdata = 32'd0;
end

endmodule

`resetall
