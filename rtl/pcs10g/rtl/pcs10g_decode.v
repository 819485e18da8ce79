// 10GBASE-R PCS, decoder: a 66-bit block a cycle, descrambled, to eight XGMII characters (IEEE 802.3 clause 49).
//
// Latency: 2 cycles from block to xgmii_rxd; one of them is the look at the block behind a terminate, which figure 49-17
// asks for. While rst is high, and a cycle longer, the XGMII shows local faults (LBLOCK_R).

`resetall
`default_nettype none
`timescale 1ns / 1ps

module pcs10g_decode (
    input  wire        clk,
    input  wire        rst,

    // from the descrambler
    input  wire [1:0]  header,
    input  wire [63:0] block,

    // XGMII, 64 bits at 156.25 MHz
    output reg  [63:0] xgmii_rxd,
    output reg  [7:0]  xgmii_rxc,

    // High with the characters of a block for which figure 49-17 is in RX_E
    output reg         rx_error,
    // The block before this one was of a frame that goes on: neither idle blocks nor ordered sets
    // may follow
    output wire        in_frame
);

// R_TYPE of 49.2.13.2.3
localparam [2:0] TYPE_C = 3'd0, TYPE_S = 3'd1, TYPE_T = 3'd2, TYPE_D = 3'd3, TYPE_E = 3'd4;
// The states of figure 49-17 but RX_T, behind which the same may come as behind RX_C.
localparam [1:0] STATE_BETWEEN = 2'd0, STATE_D = 2'd1, STATE_E = 2'd2;

// Table 49-1: the character for seven bits; the top bit tells whether the table has them.
function [8:0] character(input [6:0] code);
    case (code)
        7'h00: character = 9'h107;
        7'h06: character = 9'h106;
        7'h1E: character = 9'h1FE;
        7'h2D: character = 9'h11C;
        7'h33: character = 9'h13C;
        7'h4B: character = 9'h17C;
        7'h55: character = 9'h1BC;
        7'h66: character = 9'h1DC;
        7'h78: character = 9'h1F7;
        default: character = 9'h0FE;
    endcase
endfunction

// Looked at: characters, were the block good, and what it is.
reg [63:0] codes;
reg [7:0]  is_code;
reg [7:0]  is_error;
reg [8:0]  looked_up;
integer lane;

always @* begin
    for (lane = 0; lane < 8; lane = lane + 1) begin
        looked_up = character(block[8 + 7*lane +: 7]);
        codes[8*lane +: 8] = looked_up[7:0];
        is_code[lane] = looked_up[8];
        is_error[lane] = looked_up[7:0] == 8'hFE;
    end
end

wire low_signal  = block[35:32] == 4'hF;
wire high_signal = block[39:36] == 4'hF;
wire low_set     = low_signal || block[35:32] == 4'h0;
wire high_set    = high_signal || block[39:36] == 4'h0;
wire [7:0] low_character  = low_signal ? 8'h5C : 8'h9C;
wire [7:0] high_character = high_signal ? 8'h5C : 8'h9C;

reg [2:0]  type_next;
reg [63:0] data_next;
reg [7:0]  control_next;
reg        valid;

always @* begin
    type_next = TYPE_E;
    data_next = codes;
    control_next = 8'hFF;
    valid = 1'b0;

    if (header == 2'b10) begin
        type_next = TYPE_D;
        data_next = block;
        control_next = 8'h00;
        valid = 1'b1;
    end else if (header == 2'b01) begin
        case (block[7:0])
            8'h1E: begin
                type_next = TYPE_C;
                valid = &is_code && ~|is_error;
            end
            8'h2D: begin
                type_next = TYPE_C;
                data_next = {block[63:40], high_character, codes[31:0]};
                control_next = 8'h1F;
                valid = &is_code[3:0] && high_set;
            end
            8'h33: begin
                type_next = TYPE_S;
                data_next = {block[63:40], 8'hFB, codes[31:0]};
                control_next = 8'h1F;
                valid = &is_code[3:0];
            end
            8'h4B: begin
                type_next = TYPE_C;
                data_next = {codes[63:32], block[31:8], low_character};
                control_next = 8'hF1;
                valid = &is_code[7:4] && low_set;
            end
            8'h55: begin
                type_next = TYPE_C;
                data_next = {block[63:40], high_character, block[31:8], low_character};
                control_next = 8'h11;
                valid = low_set && high_set;
            end
            8'h66: begin
                type_next = TYPE_S;
                data_next = {block[63:40], 8'hFB, block[31:8], low_character};
                control_next = 8'h11;
                valid = low_set;
            end
            8'h78: begin
                type_next = TYPE_S;
                data_next = {block[63:8], 8'hFB};
                control_next = 8'h01;
                valid = 1'b1;
            end
            8'h87: begin
                type_next = TYPE_T;
                data_next = {codes[63:8], 8'hFD};
                valid = &is_code[7:1];
            end
            8'h99: begin
                type_next = TYPE_T;
                data_next = {codes[63:16], 8'hFD, block[15:8]};
                control_next = 8'hFE;
                valid = &is_code[7:2];
            end
            8'hAA: begin
                type_next = TYPE_T;
                data_next = {codes[63:24], 8'hFD, block[23:8]};
                control_next = 8'hFC;
                valid = &is_code[7:3];
            end
            8'hB4: begin
                type_next = TYPE_T;
                data_next = {codes[63:32], 8'hFD, block[31:8]};
                control_next = 8'hF8;
                valid = &is_code[7:4];
            end
            8'hCC: begin
                type_next = TYPE_T;
                data_next = {codes[63:40], 8'hFD, block[39:8]};
                control_next = 8'hF0;
                valid = &is_code[7:5];
            end
            8'hD2: begin
                type_next = TYPE_T;
                data_next = {codes[63:48], 8'hFD, block[47:8]};
                control_next = 8'hE0;
                valid = &is_code[7:6];
            end
            8'hE1: begin
                type_next = TYPE_T;
                data_next = {codes[63:56], 8'hFD, block[55:8]};
                control_next = 8'hC0;
                valid = is_code[7];
            end
            8'hFF: begin
                type_next = TYPE_T;
                data_next = {8'hFD, block[63:8]};
                control_next = 8'h80;
                valid = 1'b1;
            end
            default: valid = 1'b0;
        endcase
    end
    if (!valid) type_next = TYPE_E;
end

reg [2:0]  type_reg;
reg [63:0] data_reg;
reg [7:0]  control_reg;
reg        fault_reg;
reg [1:0]  state_reg;
reg [1:0]  state_next;

// Figure 49-17. A terminate stands if a start or control characters follow.
wire stands = type_next == TYPE_C || type_next == TYPE_S;

always @* begin
    case (type_reg)
        TYPE_C:  state_next = state_reg == STATE_D ? STATE_E : STATE_BETWEEN;
        TYPE_S:  state_next = state_reg == STATE_BETWEEN ? STATE_D : STATE_E;
        TYPE_T:  state_next = (state_reg == STATE_BETWEEN || !stands) ? STATE_E : STATE_BETWEEN;
        TYPE_D:  state_next = state_reg == STATE_BETWEEN ? STATE_E : STATE_D;
        default: state_next = STATE_E;
    endcase
end

// As RX_D behind the block before, which is known without a look at this one.
assign in_frame = !fault_reg && ((type_reg == TYPE_S && state_reg == STATE_BETWEEN) || (type_reg == TYPE_D && state_reg != STATE_BETWEEN));

always @(posedge clk) begin
    type_reg <= type_next;
    data_reg <= data_next;
    control_reg <= control_next;
    fault_reg <= rst;

    state_reg <= fault_reg ? STATE_BETWEEN : state_next;
    rx_error <= !fault_reg && state_next == STATE_E;
    if (fault_reg) begin
        xgmii_rxd <= 64'h0100009C0100009C;
        xgmii_rxc <= 8'h11;
    end else if (state_next == STATE_E) begin
        xgmii_rxd <= {8{8'hFE}};
        xgmii_rxc <= 8'hFF;
    end else begin
        xgmii_rxd <= data_reg;
        xgmii_rxc <= control_reg;
    end
end

initial begin
    type_reg = TYPE_C;
    data_reg = {8{8'h07}};
    control_reg = 8'hFF;
    fault_reg = 1'b1;
    state_reg = STATE_BETWEEN;
    rx_error = 1'b0;
    xgmii_rxd = 64'h0100009C0100009C;
    xgmii_rxc = 8'h11;
end

endmodule

`resetall
