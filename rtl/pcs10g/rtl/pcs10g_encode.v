// 10GBASE-R PCS, encoder: eight XGMII characters a cycle to a 66-bit block that is not scrambled yet (IEEE 802.3 clause 49).
//
// Latency: a cycle from xgmii_txd to payload. While rst is high, and one cycle longer, local faults go out (LBLOCK).
// Lane 0 is the lowest byte.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module pcs10g_encode (
    input  wire        clk,
    input  wire        rst,

    // XGMII, 64 bits at 156.25 MHz
    input  wire [63:0] xgmii_txd,
    input  wire [7:0]  xgmii_txc,

    // to the scrambler: whether it is a control block, header 01, and its bits
    output wire        control,
    output wire [63:0] payload
);

// T_TYPE of 49.2.13.2.3
localparam [2:0] TYPE_C = 3'd0, TYPE_S = 3'd1, TYPE_T = 3'd2, TYPE_D = 3'd3, TYPE_E = 3'd4;
// The states of figure 49-16 but TX_T, behind which the same may come as behind TX_C.
localparam [1:0] STATE_BETWEEN = 2'd0, STATE_D = 2'd1, STATE_E = 2'd2;

localparam [63:0] EBLOCK = 64'h3C78F1E3C78F1E1E;
localparam [63:0] LBLOCK = 64'h0100000001000055;

// Table 49-1: the seven bits that stand for a control character; the top bit tells whether the table has it.
function [7:0] line_code(input [7:0] character);
    case (character)
        8'h07: line_code = 8'h80;
        8'h06: line_code = 8'h86;
        8'hFE: line_code = 8'h9E;
        8'h1C: line_code = 8'hAD;
        8'h3C: line_code = 8'hB3;
        8'h7C: line_code = 8'hCB;
        8'hBC: line_code = 8'hD5;
        8'hDC: line_code = 8'hE6;
        8'hF7: line_code = 8'hF8;
        default: line_code = 8'h00;
    endcase
endfunction

reg [55:0] codes;
reg [7:0]  is_code;
reg [7:0]  is_error;
reg [7:0]  is_terminate;
reg [7:0]  looked_up;
integer lane;

always @* begin
    for (lane = 0; lane < 8; lane = lane + 1) begin
        looked_up = line_code(xgmii_txd[8*lane +: 8]);
        codes[7*lane +: 7] = looked_up[6:0];
        is_code[lane] = looked_up[7] && xgmii_txc[lane];
        is_error[lane] = xgmii_txd[8*lane +: 8] == 8'hFE;
        is_terminate[lane] = xgmii_txd[8*lane +: 8] == 8'hFD && xgmii_txc[lane];
    end
end

// An ordered set in the low or the high four lanes, and a start.
wire low_sequence  = xgmii_txc[3:0] == 4'h1 && xgmii_txd[7:0] == 8'h9C;
wire low_signal    = xgmii_txc[3:0] == 4'h1 && xgmii_txd[7:0] == 8'h5C;
wire high_sequence = xgmii_txc[7:4] == 4'h1 && xgmii_txd[39:32] == 8'h9C;
wire high_signal   = xgmii_txc[7:4] == 4'h1 && xgmii_txd[39:32] == 8'h5C;
wire low_set    = low_sequence || low_signal;
wire high_set   = high_sequence || high_signal;
wire high_start = xgmii_txc[7:4] == 4'h1 && xgmii_txd[39:32] == 8'hFB;
wire low_codes  = &is_code[3:0];
wire high_codes = &is_code[7:4];

reg [2:0]  type_next;
reg        control_next;
reg [63:0] block_next;

always @* begin
    type_next = TYPE_E;
    control_next = 1'b1;
    block_next = EBLOCK;

    if (xgmii_txc == 8'h00) begin
        type_next = TYPE_D;
        control_next = 1'b0;
        block_next = xgmii_txd;
    end else if (xgmii_txc == 8'h01 && xgmii_txd[7:0] == 8'hFB) begin
        type_next = TYPE_S;
        block_next = {xgmii_txd[63:8], 8'h78};
    end else if (low_codes && high_codes) begin
        type_next = (|is_error) ? TYPE_E : TYPE_C;
        block_next = {codes, 8'h1E};
    end else if (low_codes && high_start) begin
        type_next = TYPE_S;
        block_next = {xgmii_txd[63:40], 4'h0, codes[27:0], 8'h33};
    end else if (low_codes && high_set) begin
        type_next = TYPE_C;
        block_next = {xgmii_txd[63:40], {4{high_signal}}, codes[27:0], 8'h2D};
    end else if (low_set && high_start) begin
        type_next = TYPE_S;
        block_next = {xgmii_txd[63:40], 4'h0, {4{low_signal}}, xgmii_txd[31:8], 8'h66};
    end else if (low_set && high_codes) begin
        type_next = TYPE_C;
        block_next = {codes[55:28], {4{low_signal}}, xgmii_txd[31:8], 8'h4B};
    end else if (low_set && high_set) begin
        type_next = TYPE_C;
        block_next = {xgmii_txd[63:40], {4{high_signal}}, {4{low_signal}}, xgmii_txd[31:8], 8'h55};
    end else if (xgmii_txc == 8'hFF && is_terminate[0] && &is_code[7:1]) begin
        type_next = TYPE_T;
        block_next = {codes[55:7], 7'h00, 8'h87};
    end else if (xgmii_txc == 8'hFE && is_terminate[1] && &is_code[7:2]) begin
        type_next = TYPE_T;
        block_next = {codes[55:14], 6'h00, xgmii_txd[7:0], 8'h99};
    end else if (xgmii_txc == 8'hFC && is_terminate[2] && &is_code[7:3]) begin
        type_next = TYPE_T;
        block_next = {codes[55:21], 5'h00, xgmii_txd[15:0], 8'hAA};
    end else if (xgmii_txc == 8'hF8 && is_terminate[3] && &is_code[7:4]) begin
        type_next = TYPE_T;
        block_next = {codes[55:28], 4'h0, xgmii_txd[23:0], 8'hB4};
    end else if (xgmii_txc == 8'hF0 && is_terminate[4] && &is_code[7:5]) begin
        type_next = TYPE_T;
        block_next = {codes[55:35], 3'h0, xgmii_txd[31:0], 8'hCC};
    end else if (xgmii_txc == 8'hE0 && is_terminate[5] && &is_code[7:6]) begin
        type_next = TYPE_T;
        block_next = {codes[55:42], 2'h0, xgmii_txd[39:0], 8'hD2};
    end else if (xgmii_txc == 8'hC0 && is_terminate[6] && is_code[7]) begin
        type_next = TYPE_T;
        block_next = {codes[55:49], 1'h0, xgmii_txd[47:0], 8'hE1};
    end else if (xgmii_txc == 8'h80 && is_terminate[7]) begin
        type_next = TYPE_T;
        block_next = {xgmii_txd[55:0], 8'hFF};
    end
end

reg [2:0]  type_reg;
reg        control_reg;
reg [63:0] block_reg;
reg        init_reg;
reg [1:0]  state_reg;
reg [1:0]  state_next;

// Figure 49-16
always @* begin
    case (type_reg)
        TYPE_C:  state_next = state_reg == STATE_D ? STATE_E : STATE_BETWEEN;
        TYPE_S:  state_next = state_reg == STATE_BETWEEN ? STATE_D : STATE_E;
        TYPE_T:  state_next = state_reg == STATE_BETWEEN ? STATE_E : STATE_BETWEEN;
        TYPE_D:  state_next = state_reg == STATE_BETWEEN ? STATE_E : STATE_D;
        default: state_next = STATE_E;
    endcase
end

assign control = init_reg || state_next == STATE_E || control_reg;
assign payload = init_reg ? LBLOCK : state_next == STATE_E ? EBLOCK : block_reg;

always @(posedge clk) begin
    type_reg <= type_next;
    control_reg <= control_next;
    block_reg <= block_next;
    init_reg <= rst;
    state_reg <= init_reg ? STATE_BETWEEN : state_next;
end

initial begin
    type_reg = TYPE_C;
    control_reg = 1'b1;
    block_reg = 64'h1E;
    init_reg = 1'b1;
    state_reg = STATE_BETWEEN;
end

endmodule

`resetall
