// Gigabit MAC, transmit: bytes of a frame to characters of the GMII, with preamble, padding, FCS and the gap behind it.
//
// The first byte is on the GMII 8 cycles behind the first character of the preamble, 9 edges behind the one at which `start` is
// seen. Bytes are asked for by `ready`, from the cycle of the SFD on, and must be there then: nothing can wait in a frame.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module gmii_tx #(
    // Bytes between two frames, at least
    parameter GAP = 12
) (
    input  wire       clk,
    input  wire       rst,

    // A frame may begin; taken when `free` is high
    input  wire       start,
    output wire       free,

    input  wire [7:0] data,
    input  wire       last,
    output wire       ready,

    // GMII
    output reg  [7:0] gmii_txd,
    output reg        gmii_tx_en,
    output wire       gmii_tx_er
);

localparam [2:0] STATE_IDLE = 3'd0, STATE_PREAMBLE = 3'd1, STATE_DATA = 3'd2, STATE_PAD = 3'd3, STATE_FCS = 3'd4,
    STATE_GAP = 3'd5;

function [31:0] crc_next(input [31:0] crc, input [7:0] character);
    integer i;
    reg [31:0] c;
    begin
        c = crc ^ {24'h0, character};
        for (i = 0; i < 8; i = i + 1)
            c = {1'b0, c[31:1]} ^ (c[0] ? 32'hEDB88320 : 32'h0);
        crc_next = c;
    end
endfunction

reg [2:0]  state_reg;
reg [5:0]  count_reg; // characters of the preamble, bytes up to 60, of the FCS, of the gap
reg [31:0] crc_reg;

assign free = state_reg == STATE_IDLE;
assign ready = state_reg == STATE_DATA;
assign gmii_tx_er = 1'b0;

wire [31:0] fcs = ~crc_reg;

always @(posedge clk) begin
    case (state_reg)
        STATE_IDLE: begin
            gmii_tx_en <= start;
            gmii_txd <= start ? 8'h55 : 8'h00;
            crc_reg <= 32'hFFFFFFFF;
            count_reg <= 6'd1;
            if (start) state_reg <= STATE_PREAMBLE;
        end
        STATE_PREAMBLE: begin
            count_reg <= count_reg + 6'd1;
            if (count_reg == 6'd7) begin
                gmii_txd <= 8'hD5;
                count_reg <= 6'd0;
                state_reg <= STATE_DATA;
            end
        end
        STATE_DATA: begin
            gmii_txd <= data;
            crc_reg <= crc_next(crc_reg, data);
            if (count_reg != 6'd60) count_reg <= count_reg + 6'd1;
            if (last) begin
                if (count_reg >= 6'd59) begin
                    count_reg <= 6'd0;
                    state_reg <= STATE_FCS;
                end else state_reg <= STATE_PAD;
            end
        end
        STATE_PAD: begin
            gmii_txd <= 8'h00;
            crc_reg <= crc_next(crc_reg, 8'h00);
            count_reg <= count_reg + 6'd1;
            if (count_reg == 6'd59) begin
                count_reg <= 6'd0;
                state_reg <= STATE_FCS;
            end
        end
        STATE_FCS: begin
            case (count_reg[1:0])
                2'd0: gmii_txd <= fcs[7:0];
                2'd1: gmii_txd <= fcs[15:8];
                2'd2: gmii_txd <= fcs[23:16];
                default: gmii_txd <= fcs[31:24];
            endcase
            count_reg <= count_reg + 6'd1;
            if (count_reg == 6'd3) begin
                count_reg <= 6'd1;
                state_reg <= STATE_GAP;
            end
        end
        STATE_GAP: begin
            gmii_tx_en <= 1'b0;
            gmii_txd <= 8'h00;
            count_reg <= count_reg + 6'd1;
            // The edge that takes the next start is the one behind the gap.
            if (count_reg == GAP) state_reg <= STATE_IDLE;
        end
        default: state_reg <= STATE_IDLE;
    endcase

    if (rst) begin
        state_reg <= STATE_IDLE;
        gmii_tx_en <= 1'b0;
    end
end

initial begin
    state_reg = STATE_IDLE;
    count_reg = 6'd0;
    crc_reg = 32'hFFFFFFFF;
    gmii_txd = 8'h00;
    gmii_tx_en = 1'b0;
end

endmodule

`resetall
