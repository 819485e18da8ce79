// Gigabit MAC, receive: characters of the GMII to bytes of frames, without preamble and FCS.
//
// A byte comes out when the fifth one behind it, or the frame's end, is in: 6 cycles. The stamp is the counter at the first byte
// behind the SFD, less LATENCY: the cycles from a frame's first bit on the medium to that byte on the GMII.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module gmii_rx #(
    parameter LATENCY = 8
) (
    input  wire        clk,
    input  wire        rst,

    // GMII
    input  wire [7:0]  gmii_rxd,
    input  wire        gmii_rx_dv,
    input  wire        gmii_rx_er,

    // What the counter shows before this edge
    input  wire [55:0] counter,

    // Bytes of a frame. With the last one it is told whether the frame is bad: FCS, an error of the PHY.
    output reg  [7:0]  data,
    output reg         valid,
    output reg         last,
    output reg         bad,
    // Of the frame that comes out
    output reg  [55:0] stamp,
    // No frame is on its way
    output wire        idle,
    // A carrier without a frame behind it: no SFD, or fewer than 5 bytes
    output reg         fragment
);

localparam [1:0] STATE_IDLE = 2'd0, STATE_PREAMBLE = 2'd1, STATE_DATA = 2'd2, STATE_IGNORE = 2'd3;

// The CRC-32 of IEEE 802.3, a byte on: reflected, so that bit 0 of a byte goes first.
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

reg [1:0]  state_reg;
reg [39:0] held_reg;  // the newest in the low byte
reg [2:0]  count_reg; // bytes, up to 6
reg [31:0] crc_reg;
reg        error_reg;
reg [55:0] stamp_reg;

assign idle = state_reg == STATE_IDLE && !valid && !fragment && !gmii_rx_dv;

always @(posedge clk) begin
    valid <= 1'b0;
    last <= 1'b0;
    bad <= 1'b0;
    fragment <= 1'b0;

    case (state_reg)
        STATE_IDLE: if (gmii_rx_dv) begin
            state_reg <= gmii_rxd == 8'hD5 ? STATE_DATA : gmii_rxd == 8'h55 ? STATE_PREAMBLE : STATE_IGNORE;
            count_reg <= 3'd0;
            crc_reg <= 32'hFFFFFFFF;
            error_reg <= gmii_rx_er;
        end
        STATE_PREAMBLE: begin
            if (!gmii_rx_dv) begin
                state_reg <= STATE_IDLE;
                fragment <= 1'b1;
            end else if (gmii_rxd == 8'hD5) state_reg <= STATE_DATA;
            else if (gmii_rxd != 8'h55) state_reg <= STATE_IGNORE;
            error_reg <= error_reg || gmii_rx_er;
        end
        STATE_DATA: if (gmii_rx_dv) begin
            if (count_reg == 3'd0) stamp_reg <= counter - LATENCY;
            held_reg <= {held_reg[31:0], gmii_rxd};
            crc_reg <= crc_next(crc_reg, gmii_rxd);
            error_reg <= error_reg || gmii_rx_er;
            if (count_reg != 3'd6) count_reg <= count_reg + 3'd1;
            if (count_reg >= 3'd5) begin
                data <= held_reg[39:32];
                valid <= 1'b1;
            end
            if (count_reg == 3'd5) stamp <= stamp_reg;
        end else begin
            state_reg <= STATE_IDLE;
            data <= held_reg[39:32];
            if (count_reg < 3'd5) fragment <= 1'b1;
            else begin
                valid <= 1'b1;
                last <= 1'b1;
                // What the CRC of a frame with its FCS behind it always is.
                bad <= error_reg || crc_reg != 32'hDEBB20E3;
            end
            if (count_reg == 3'd5) stamp <= stamp_reg;
        end
        STATE_IGNORE: if (!gmii_rx_dv) begin
            state_reg <= STATE_IDLE;
            fragment <= 1'b1;
        end
    endcase

    if (rst) begin
        state_reg <= STATE_IDLE;
        valid <= 1'b0;
        fragment <= 1'b0;
    end
end

initial begin
    state_reg = STATE_IDLE;
    held_reg = 40'h0;
    count_reg = 3'd0;
    crc_reg = 32'hFFFFFFFF;
    error_reg = 1'b0;
    stamp_reg = 56'd0;
    data = 8'h0;
    valid = 1'b0;
    last = 1'b0;
    bad = 1'b0;
    stamp = 56'd0;
    fragment = 1'b0;
end

endmodule

`resetall
