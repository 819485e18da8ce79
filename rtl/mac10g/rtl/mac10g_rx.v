// 10 Gb/s MAC, receive: eight XGMII characters a cycle to frames as a stream of eight bytes a cycle, without preamble and FCS (IEEE 802.3
// clauses 4 and 46). Frames start in lane 0 or in lane 4. A start within a frame, in either lane,
// ends that one as bad and begins another.
//
// Latency: a word of a frame that starts in lane 0 is on the stream behind the next edge after the one at which it is taken from
// the XGMII; of one that starts in lane 4, behind the edge after that, counted from its first half. `begins` is high behind the edge
// at which the start character is taken.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module mac10g_rx (
    input  wire        clk,
    input  wire        rst,

    // XGMII, 64 bits at 156.25 MHz
    input  wire [63:0] xgmii_rxd,
    input  wire [7:0]  xgmii_rxc,

    // A frame; with its last word it is told whether it is bad: its FCS, or an error within. Nothing can wait.
    output reg  [63:0] m_axis_tdata,
    output reg  [7:0]  m_axis_tkeep,
    output reg         m_axis_tlast,
    output reg         m_axis_tvalid,
    output wire        m_axis_tuser,

    // High for a cycle when a frame has begun, and whether it starts in lane 4
    output reg         begins,
    output reg         begins_high,
    // High for a cycle when something began that has no SFD, or fewer than 8 bytes: at most one a
    // cycle is told
    output reg         fragment,
    // Nothing is here, and nothing comes
    output wire        idle
);

localparam [1:0] STATE_IDLE = 2'd0, STATE_HALF = 2'd1, STATE_DATA = 2'd2;

// The state of a CRC-32 behind a frame with its FCS and so many bytes of zero.
function [31:0] residue(input [2:0] zeros);
    integer i;
    reg [31:0] c;
    begin
        c = 32'hDEBB20E3;
        for (i = 0; i < 56; i = i + 1)
            if (i < 8 * zeros) c = {1'b0, c[31:1]} ^ (c[0] ? 32'hEDB88320 : 32'h0);
        residue = c;
    end
endfunction

reg [1:0]  state_reg;
reg        high_reg;
reg [31:0] held_reg;
reg [3:0]  held_controls_reg;
reg [63:0] word_reg;     // the last one taken, which is looked at again when the next is there
reg        full_reg;     // there is one
reg        rest_reg;     // it is a frame's last
reg [2:0]  rest_bytes_reg;
reg        first_reg;    // the next word is a frame's first
reg [31:0] crc_reg;
reg [2:0]  zeros_reg;
reg        error_reg;

// As if each frame started in lane 0
wire        high = state_reg == STATE_HALF || high_reg;
wire [63:0] word = high ? {xgmii_rxd[31:0], held_reg} : xgmii_rxd;
wire [7:0]  controls = high ? {xgmii_rxc[3:0], held_controls_reg} : xgmii_rxc;

reg [2:0]  place;     // of the first control character
reg [63:0] masked;
reg        is_data;
integer lane;

always @* begin
    place = 3'd0;
    is_data = 1'b1;
    for (lane = 7; lane >= 0; lane = lane - 1)
        if (controls[lane]) place = lane[2:0];
    for (lane = 0; lane < 8; lane = lane + 1) begin
        if (controls[lane]) is_data = 1'b0;
        masked[8*lane +: 8] = is_data ? word[8*lane +: 8] : 8'h00;
    end
end

wire       whole = controls == 8'h00;
wire [7:0] character = word[8*place +: 8];
wire       starts_low = xgmii_rxc[0] && xgmii_rxd[7:0] == 8'hFB;
wire       starts_high = xgmii_rxc[4] && xgmii_rxd[39:32] == 8'hFB;
wire       low_preamble = xgmii_rxc == 8'h01 && xgmii_rxd[63:56] == 8'hD5;
wire       high_preamble = controls == 8'h01 && word[63:56] == 8'hD5;
// A frame in lane 4 is cut behind this word; one in lane 0 has the start in its word.
wire       cut = whole && starts_high;
wire       over = !whole || cut;

wire [31:0] crc_next;
// What it was for the frame before stays until then: that may not have been told yet.
crc32_word crc (.state(crc_reg | {32{first_reg}}), .word(masked), .next(crc_next));

assign idle = state_reg == STATE_IDLE && !rest_reg && !m_axis_tvalid && !begins && !fragment && !starts_low && !starts_high;
assign m_axis_tuser = m_axis_tlast && (error_reg || crc_reg != residue(zeros_reg));

always @(posedge clk) begin
    held_reg <= xgmii_rxd[63:32];
    held_controls_reg <= xgmii_rxc[7:4];
    word_reg <= word;
    m_axis_tdata <= word_reg;
    m_axis_tkeep <= 8'hFF;
    m_axis_tlast <= 1'b0;
    m_axis_tvalid <= 1'b0;
    begins <= 1'b0;
    begins_high <= starts_high;
    fragment <= 1'b0;
    rest_reg <= 1'b0;

    if (rest_reg) begin
        // What is left of the word with the terminate character, without the FCS.
        m_axis_tkeep <= ~(8'hFF << rest_bytes_reg);
        m_axis_tlast <= 1'b1;
        m_axis_tvalid <= 1'b1;
    end

    case (state_reg)
        STATE_DATA: begin
            full_reg <= 1'b1;
            first_reg <= 1'b0;
            m_axis_tvalid <= full_reg;
            if (place != 3'd0 || whole) crc_reg <= crc_next;
            if (over) begin
                state_reg <= STATE_IDLE;
                full_reg <= 1'b0;
                high_reg <= 1'b0;
                zeros_reg <= 3'd0 - place;
                error_reg <= cut || character != 8'hFD;
                // Behind a whole word, whose place is 0, that is 4.
                rest_bytes_reg <= place - 3'd4;
                fragment <= !full_reg && !cut;
                if (place > 3'd4 || cut) rest_reg <= full_reg || cut;
                else begin
                    m_axis_tkeep <= ~(8'hF0 << place);
                    m_axis_tlast <= full_reg;
                end
            end
        end
        STATE_HALF: begin
            state_reg <= high_preamble ? STATE_DATA : STATE_IDLE;
            high_reg <= high_preamble;
            fragment <= !high_preamble || starts_high;
            first_reg <= 1'b1;
        end
        default: ;
    endcase

    // A start may stand in the same word as the end of the frame before, or as what should have
    // been more of it.
    if (starts_low) begin
        state_reg <= low_preamble ? STATE_DATA : STATE_IDLE;
        high_reg <= 1'b0;
        begins <= low_preamble;
        if (!low_preamble) fragment <= 1'b1;
        first_reg <= 1'b1;
    end
    if (starts_high) begin
        state_reg <= STATE_HALF;
        begins <= 1'b1;
    end

    if (rst) begin
        state_reg <= STATE_IDLE;
        high_reg <= 1'b0;
        full_reg <= 1'b0;
        rest_reg <= 1'b0;
        m_axis_tvalid <= 1'b0;
        m_axis_tlast <= 1'b0;
        begins <= 1'b0;
        fragment <= 1'b0;
    end
end

initial begin
    state_reg = STATE_IDLE;
    high_reg = 1'b0;
    held_reg = {4{8'h07}};
    held_controls_reg = 4'hF;
    word_reg = 64'h0;
    full_reg = 1'b0;
    rest_reg = 1'b0;
    rest_bytes_reg = 3'd0;
    first_reg = 1'b1;
    crc_reg = 32'hFFFFFFFF;
    zeros_reg = 3'd0;
    error_reg = 1'b0;
    m_axis_tdata = 64'h0;
    m_axis_tkeep = 8'hFF;
    m_axis_tlast = 1'b0;
    m_axis_tvalid = 1'b0;
    begins = 1'b0;
    begins_high = 1'b0;
    fragment = 1'b0;
end

endmodule

`resetall
