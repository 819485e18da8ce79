// Packets from a trace that the host has written, word by word, at a stream of 64 bits (paper 002, figure D.4: writePacketData, start_pktgen, stop_pktgen).
// From the first word of a packet to that of the next are `interval` cycles, or, when that is 0, what the trace has for the packet: a replay. A packet
// that is due while the one before still leaves follows it directly, and is counted as late.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_generator #(
    // Words of the trace: 2 to the power of this
    parameter DEPTH = 11
) (
    input  wire         clk,
    input  wire         rst,

    // A word of the trace: packets begin with `first` and end with `last`, and all bytes of a word are kept but of the last, which keeps its lowest
    // ones. `gap` counts with `first`: cycles since the packet before. A word that is none is refused, and so is one that has no room.
    input  wire         write,
    input  wire [63:0]  data,
    input  wire [7:0]   keep,
    input  wire         first,
    input  wire         last,
    input  wire [31:0]  gap,
    output wire         accepts,
    input  wire         clear,
    output wire [DEPTH:0] words,

    // Begins, when there is a trace of whole packets and nothing leaves: `packets` of them, round and round, 0 until `stop`
    input  wire         start,
    input  wire         stop,
    input  wire [31:0]  packets,
    input  wire [31:0]  interval,
    output wire         starts,
    output wire         running,
    output reg  [31:0]  sent,
    output reg  [31:0]  late,

    output wire [63:0]  m_axis_tdata,
    output wire [7:0]   m_axis_tkeep,
    output wire         m_axis_tlast,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready
);

reg [73+32-1:0]   trace [0:(1 << DEPTH) - 1];
reg [73+32-1:0]   word_reg;
reg [DEPTH:0]     words_reg;
reg               open_reg;   // the trace ends within a packet

wire is_whole = last ? keep != 8'h00 && (keep & (keep + 8'd1)) == 8'h00 : keep == 8'hFF;

assign words = words_reg;
assign accepts = !running && first != open_reg && is_whole && !words_reg[DEPTH];

reg               running_reg, settled_reg, in_packet_reg, stopping_reg, begun_reg;
reg [DEPTH-1:0]   at_reg, at;
reg [31:0]        left_reg, since_reg;
wire [31:0]       word_gap = word_reg[104:73];
wire [31:0]       wanted = interval == 32'd0 ? word_gap : interval;
wire              moves = m_axis_tvalid && m_axis_tready;
wire              ends = moves && m_axis_tlast;

assign starts = start && !running && words_reg != 0 && !open_reg;
assign running = running_reg;
assign {m_axis_tlast, m_axis_tkeep, m_axis_tdata} = word_reg[72:0];
assign m_axis_tvalid = running_reg && settled_reg && (in_packet_reg || !begun_reg || since_reg >= wanted);

always @* begin
    at = at_reg;
    if (starts) at = {DEPTH{1'b0}};
    else if (moves) at = {1'b0, at_reg} + 1'b1 == words_reg ? {DEPTH{1'b0}} : at_reg + 1'b1;
end

always @(posedge clk) begin
    if (write && accepts) begin
        trace[words_reg[DEPTH-1:0]] <= {gap, last, keep, data};
        words_reg <= words_reg + 1'b1;
        open_reg <= !last;
    end
    if (clear && !running) begin
        words_reg <= {(DEPTH+1){1'b0}};
        open_reg <= 1'b0;
    end

    word_reg <= trace[at];
    at_reg <= at;
    if (since_reg != 32'hFFFFFFFF) since_reg <= since_reg + 32'd1;
    if (starts) begin
        {running_reg, settled_reg, in_packet_reg, stopping_reg, begun_reg} <= 5'b10000;
        left_reg <= packets;
    end else if (running_reg) begin
        settled_reg <= 1'b1;
        if (stop) stopping_reg <= 1'b1;
        if (moves) begin
            in_packet_reg <= !m_axis_tlast;
            if (!in_packet_reg) begin
                since_reg <= 32'd1;
                begun_reg <= 1'b1;
                late <= late + {31'd0, begun_reg && since_reg > wanted};
            end
        end
        if (ends) begin
            sent <= sent + 32'd1;
            left_reg <= left_reg - 32'd1;
        end
        // A packet that has begun is sent to its end.
        if ((ends && left_reg == 32'd1) || ((stop || stopping_reg) && (ends || !(in_packet_reg || m_axis_tvalid)))) running_reg <= 1'b0;
    end
    if (rst) begin
        {running_reg, settled_reg, in_packet_reg, stopping_reg, begun_reg, open_reg} <= 6'd0;
        words_reg <= {(DEPTH+1){1'b0}};
        {sent, late} <= 64'd0;
    end
end

initial begin
    {running_reg, settled_reg, in_packet_reg, stopping_reg, begun_reg, open_reg} = 6'd0;
    words_reg = {(DEPTH+1){1'b0}};
    at_reg = {DEPTH{1'b0}};
    {sent, late} = 64'd0;
    {left_reg, since_reg} = 64'd0;
end

endmodule

`resetall
