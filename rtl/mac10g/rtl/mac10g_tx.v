// 10 Gb/s MAC, transmit: frames as a stream of eight bytes a cycle to eight XGMII characters a cycle (IEEE 802.3 clauses 4 and 46), with
// preamble, padding, FCS, and a gap of 12 bytes on average that a deficit idle count sees to (46.3.1.4): it has 9 to 15.
//
// Latency: a frame is seen at an edge at which it is valid and `free` is high; `begins` is high behind that edge. Its start character is on
// the XGMII behind the second edge after that one, its first byte behind the SFD behind the third, 4 bytes later if `begins_high`
// says that it starts in lane 4. It does when the gap asks for it; behind a longer one it starts in lane 0.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module mac10g_tx (
    input  wire        clk,
    input  wire        rst,

    // A frame without FCS. Once it has begun its words are asked for one a cycle, from the second one on, and must be there: else
    // it ends with error characters, and its rest is passed over. So does one with a word that is
    // not whole: all keep eight bytes, the last
    // one its lowest ones, or none where the frame has ended with the word before.
    input  wire [63:0] s_axis_tdata,
    input  wire [7:0]  s_axis_tkeep,
    input  wire        s_axis_tlast,
    input  wire        s_axis_tvalid,
    output wire        s_axis_tready,

    // XGMII, 64 bits at 156.25 MHz
    output reg  [63:0] xgmii_txd,
    output reg  [7:0]  xgmii_txc,

    output wire        free,
    output wire        begins,
    output wire        begins_high,
    // High for a cycle when a frame has been broken off
    output wire        underrun,
    // Nothing has been here for so long that nothing changes until a frame comes
    output wire        idle
);

localparam [2:0] KIND_IDLE = 3'd0, KIND_START = 3'd1, KIND_DATA = 3'd2, KIND_LAST = 3'd3, KIND_TAIL = 3'd4, KIND_ERROR = 3'd5;
localparam [1:0] STATE_GAP = 2'd0, STATE_DATA = 2'd1, STATE_PAD = 2'd2, STATE_TAIL = 2'd3;

// Words of a frame, one a cycle: what they are, and how many bytes of the last one are the frame's.
reg [1:0]  state_reg;
reg [2:0]  kind_reg;
reg [3:0]  bytes_reg;
reg [63:0] word_reg;
reg [3:0]  count_reg;     // words that have been, up to 8
reg        drop_reg;      // passing over the rest of a frame
reg        high_reg;      // this frame starts in lane 4
reg        high_next_reg; // the next one would, if it started in time
reg [1:0]  wait_reg;      // cycles until then
reg [1:0]  deficit_reg;
reg [1:0]  still_reg;     // cycles for which nothing was here, up to 3: then the line has been idle for one

assign idle = still_reg == 2'd3;
assign free = state_reg == STATE_GAP && wait_reg == 2'd0 && !drop_reg;
assign s_axis_tready = state_reg == STATE_DATA || drop_reg;
assign begins = kind_reg == KIND_START;
assign begins_high = high_reg;
assign underrun = kind_reg == KIND_ERROR;

reg [63:0] masked;
reg [3:0]  kept;
integer i;

always @* begin
    kept = 4'd0;
    for (i = 0; i < 8; i = i + 1) begin
        masked[8*i +: 8] = s_axis_tkeep[i] ? s_axis_tdata[8*i +: 8] : 8'h00;
        if (s_axis_tkeep[i]) kept = i[3:0] + 4'd1;
    end
end

// A frame has 60 bytes at least: seven words and a half.
wire       is_short = count_reg < 4'd7;
wire [3:0] padded = count_reg == 4'd7 && kept < 4'd4 ? 4'd4 : kept;

wire       has_holes = s_axis_tlast ? (s_axis_tkeep & (s_axis_tkeep + 8'd1)) != 8'h00 : s_axis_tkeep != 8'hFF;
wire       takes = s_axis_tvalid && !has_holes;
wire       ends = state_reg == STATE_DATA && takes && s_axis_tlast && !is_short;
wire [1:0] rest = state_reg == STATE_TAIL ? bytes_reg[1:0] : padded[1:0];
wire       terminates = state_reg == STATE_TAIL || (ends && padded < 4'd4);

// Where the next frame starts, in halves of words from the beginning of the one with the terminate character: a gap of 12 bytes from the
// half on in which that stands, and four more where the deficit would exceed 3.
wire       in_high_half = state_reg != STATE_TAIL || bytes_reg[3];
wire [2:0] deficit = {1'b0, deficit_reg} + {1'b0, rest};
wire [2:0] halves = 3'd3 + {2'd0, deficit[2]} + {2'd0, in_high_half} + {2'd0, high_reg};

always @(posedge clk) begin
    kind_reg <= KIND_IDLE;
    word_reg <= masked;
    // Its last word may come as soon as the frame is broken off.
    if (drop_reg) drop_reg <= !(s_axis_tvalid && s_axis_tlast);
    still_reg <= kind_reg != KIND_IDLE || !free || s_axis_tvalid ? 2'd0 : idle ? still_reg : still_reg + 2'd1;

    case (state_reg)
        STATE_GAP: begin
            count_reg <= 4'd0;
            if (wait_reg != 2'd0) wait_reg <= wait_reg - 2'd1;
            if (free) begin
                high_next_reg <= 1'b0;
                deficit_reg <= 2'd0;
                if (s_axis_tvalid) begin
                    deficit_reg <= deficit_reg;
                    high_reg <= high_next_reg;
                    kind_reg <= KIND_START;
                    state_reg <= STATE_DATA;
                end
            end
        end
        STATE_DATA: begin
            if (count_reg != 4'd8) count_reg <= count_reg + 4'd1;
            kind_reg <= KIND_DATA;
            if (!takes) begin
                kind_reg <= KIND_ERROR;
                drop_reg <= !(s_axis_tvalid && s_axis_tlast);
                bytes_reg <= 4'd4;
                state_reg <= STATE_TAIL;
            end else if (s_axis_tlast) begin
                bytes_reg <= padded;
                if (is_short) state_reg <= STATE_PAD;
                else begin
                    kind_reg <= KIND_LAST;
                    state_reg <= padded < 4'd4 ? STATE_GAP : STATE_TAIL;
                end
            end
        end
        STATE_PAD: begin
            word_reg <= 64'h0;
            bytes_reg <= 4'd4;
            count_reg <= count_reg + 4'd1;
            kind_reg <= is_short ? KIND_DATA : KIND_LAST;
            if (!is_short) state_reg <= STATE_TAIL;
        end
        STATE_TAIL: begin
            kind_reg <= KIND_TAIL;
            state_reg <= STATE_GAP;
        end
    endcase

    if (terminates) begin
        deficit_reg <= deficit[1:0];
        high_next_reg <= halves[0];
        wait_reg <= halves[2:1] - 2'd1;
    end

    if (rst) begin
        still_reg <= 2'd0;
        state_reg <= STATE_GAP;
        kind_reg <= KIND_IDLE;
        wait_reg <= 2'd0;
        drop_reg <= 1'b0;
        deficit_reg <= 2'd0;
        high_next_reg <= 1'b0;
    end
end

// The FCS: the last word is taken with zeros behind it, which are taken back. One without bytes is
// not taken.
reg  [31:0] crc_reg;
reg  [63:0] late_reg;       // the word that crc_reg ends with
reg  [2:0]  late_kind_reg;
reg  [3:0]  late_bytes_reg;
wire [31:0] crc_next, crc_end;

crc32_word crc (.state(crc_reg), .word(word_reg), .next(crc_next));
crc32_back back (.state(crc_reg), .bytes(3'd0 - late_bytes_reg[2:0]), .earlier(crc_end));

always @(posedge clk) begin
    if (kind_reg == KIND_START) crc_reg <= 32'hFFFFFFFF;
    else if (kind_reg == KIND_DATA || (kind_reg == KIND_LAST && bytes_reg != 4'd0)) crc_reg <= crc_next;
    late_reg <= word_reg;
    late_kind_reg <= rst ? KIND_IDLE : kind_reg;
    late_bytes_reg <= bytes_reg;
end

// Its bytes turned to where they stand: the one for lanes i and i + 4 at i.
wire [55:0] fcs_twice = {~crc_end[23:0], ~crc_end};
wire [31:0] turned = late_bytes_reg[1:0] == 2'd0 ? fcs_twice[31:0]
    : late_bytes_reg[1:0] == 2'd1 ? fcs_twice[55:24]
    : late_bytes_reg[1:0] == 2'd2 ? fcs_twice[47:16] : fcs_twice[39:8];

// Characters, as if each frame started in lane 0
reg [63:0] characters;
reg [7:0]  controls;
reg [3:0]  end_of_fcs; // the lane with the terminate character; 8 and more for none in this word
integer lane;

always @* begin
    end_of_fcs = late_kind_reg == KIND_TAIL ? late_bytes_reg - 4'd4 : late_bytes_reg + 4'd4;
    characters = {8{8'h07}};
    controls = 8'hFF;
    // Else later versions of Yosys take it for a latch.
    lane = 0;
    case (late_kind_reg)
        KIND_START: begin
            characters = 64'hD5555555555555FB;
            controls = 8'h01;
        end
        KIND_DATA: begin
            characters = late_reg;
            controls = 8'h00;
        end
        KIND_LAST, KIND_TAIL: for (lane = 0; lane < 8; lane = lane + 1) begin
            controls[lane] = lane[3:0] >= end_of_fcs;
            if (late_kind_reg == KIND_LAST && lane[3:0] < late_bytes_reg) characters[8*lane +: 8] = late_reg[8*lane +: 8];
            else if (lane[3:0] < end_of_fcs) characters[8*lane +: 8] = turned[8*(lane % 4) +: 8];
            else if (lane[3:0] == end_of_fcs) characters[8*lane +: 8] = 8'hFD;
        end
        KIND_ERROR: characters = {8{8'hFE}};
        default: ;
    endcase
end

// Half a word later for frames that start in lane 4
reg        shift_reg;
reg        late_high_reg;
reg [31:0] held_reg;
reg [3:0]  held_controls_reg;
wire       shift = late_kind_reg == KIND_START ? late_high_reg : shift_reg;

always @(posedge clk) begin
    late_high_reg <= high_reg;
    shift_reg <= shift;
    held_reg <= characters[63:32];
    held_controls_reg <= controls[7:4];
    xgmii_txd <= shift ? {characters[31:0], held_reg} : characters;
    xgmii_txc <= shift ? {controls[3:0], held_controls_reg} : controls;
end

initial begin
    state_reg = STATE_GAP;
    kind_reg = KIND_IDLE;
    bytes_reg = 4'd4;
    word_reg = 64'h0;
    count_reg = 4'd0;
    drop_reg = 1'b0;
    high_reg = 1'b0;
    high_next_reg = 1'b0;
    wait_reg = 2'd0;
    deficit_reg = 2'd0;
    still_reg = 2'd0;
    crc_reg = 32'hFFFFFFFF;
    late_reg = 64'h0;
    late_kind_reg = KIND_IDLE;
    late_bytes_reg = 4'd4;
    shift_reg = 1'b0;
    late_high_reg = 1'b0;
    held_reg = {4{8'h07}};
    held_controls_reg = 4'hF;
    xgmii_txd = {8{8'h07}};
    xgmii_txc = 8'hFF;
end

endmodule

`resetall
