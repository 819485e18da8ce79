// The hash of a frame's five-tuple, a byte a cycle: CRC-32C over addresses, protocol and ports; zero for what is not IP. The same
// function as packet::flow::hash (docs/decisions/0004-five-tuple-hash.md).
//
// Addresses are taken up as they come. Protocol and ports go in behind the frame, so that the hash stands 5 cycles behind the last
// byte; the next frame may not begin earlier, which the gap between frames sees to.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module five_tuple_hash (
    input  wire        clk,
    input  wire        rst,

    // Bytes of frames
    input  wire [7:0]  data,
    input  wire        valid,
    input  wire        last,

    output wire [31:0] hash,
    // High for the one cycle from which on the hash stands, until the next frame
    output reg         done,
    output wire        idle
);

localparam [3:0] STATE_MACS = 4'd0, STATE_TYPE = 4'd1, STATE_TAG = 4'd2, STATE_IPV4 = 4'd3, STATE_IPV6 = 4'd4,
    STATE_EXTENSION = 4'd5, STATE_PORTS = 4'd6, STATE_REST = 4'd7, STATE_FINISH = 4'd8;

// Castagnoli's polynomial, reflected
function [31:0] crc_next(input [31:0] crc, input [7:0] character);
    integer i;
    reg [31:0] c;
    begin
        c = crc ^ {24'h0, character};
        for (i = 0; i < 8; i = i + 1)
            c = {1'b0, c[31:1]} ^ (c[0] ? 32'h82F63B78 : 32'h0);
        crc_next = c;
    end
endfunction

function has_ports(input [7:0] protocol);
    has_ports = protocol == 8'd6 || protocol == 8'd17 || protocol == 8'd33 || protocol == 8'd132 || protocol == 8'd136;
endfunction

function is_extension(input [7:0] protocol);
    is_extension = protocol == 8'd0 || protocol == 8'd43 || protocol == 8'd44 || protocol == 8'd51 || protocol == 8'd60
        || protocol == 8'd135 || protocol == 8'd139 || protocol == 8'd140;
endfunction

reg [3:0]  state_reg;
reg [11:0] place_reg;   // of the next byte, in the part of the frame that the state is for
reg [11:0] end_reg;     // the place of the last byte of a header
reg [2:0]  tags_reg;
reg [3:0]  extensions_reg;
reg [7:0]  first_reg;   // the high byte of a type; the next header of an extension
reg [7:0]  protocol_reg;
reg        later_reg;   // a fragment but the first
reg [31:0] ports_reg;
reg        is_ip_reg;
reg [31:0] crc_reg;

wire [15:0] kind = {first_reg, data};
wire is_tag = kind == 16'h8100 || kind == 16'h88A8 || kind == 16'h9100;
wire at_end = place_reg == end_reg;

// What comes behind a header of IPv6, the byte at hand being its last.
wire [7:0] next_protocol = state_reg == STATE_EXTENSION ? first_reg : protocol_reg;
wire [3:0] next_extensions = state_reg == STATE_EXTENSION ? extensions_reg + 4'd1 : 4'd0;

assign hash = is_ip_reg ? ~crc_reg : 32'h0;
assign idle = state_reg == STATE_MACS && place_reg == 12'd0 && !valid && !done;

always @(posedge clk) begin
    done <= 1'b0;

    if (valid) begin
        place_reg <= place_reg + 12'd1;
        case (state_reg)
            STATE_MACS: begin
                if (place_reg == 12'd0) begin
                    tags_reg <= 3'd0;
                    later_reg <= 1'b0;
                    is_ip_reg <= 1'b0;
                    ports_reg <= 32'h0;
                    crc_reg <= 32'hFFFFFFFF;
                end
                if (place_reg == 12'd11) begin
                    state_reg <= STATE_TYPE;
                    place_reg <= 12'd0;
                end
            end
            STATE_TYPE: begin
                first_reg <= data;
                if (place_reg == 12'd1) begin
                    place_reg <= 12'd0;
                    end_reg <= 12'd39;
                    if (is_tag) begin
                        tags_reg <= tags_reg + 3'd1;
                        state_reg <= tags_reg == 3'd4 ? STATE_REST : STATE_TAG;
                    end else state_reg <= kind == 16'h0800 ? STATE_IPV4 : kind == 16'h86DD ? STATE_IPV6 : STATE_REST;
                end
            end
            STATE_TAG: if (place_reg == 12'd1) begin
                state_reg <= STATE_TYPE;
                place_reg <= 12'd0;
            end
            STATE_IPV4: begin
                case (place_reg)
                    12'd0: begin
                        end_reg <= {6'd0, data[3:0], 2'd3} - 12'd4;
                        if (data[7:4] != 4'd4 || data[3:0] < 4'd5) state_reg <= STATE_REST;
                    end
                    12'd6: later_reg <= data[4:0] != 5'd0;
                    12'd7: later_reg <= later_reg || data != 8'd0;
                    12'd9: protocol_reg <= data;
                    default: ;
                endcase
                if (place_reg >= 12'd12 && place_reg < 12'd20) crc_reg <= crc_next(crc_reg, data);
                if (place_reg != 12'd0 && at_end) begin
                    is_ip_reg <= 1'b1;
                    place_reg <= 12'd0;
                    state_reg <= !later_reg && has_ports(protocol_reg) ? STATE_PORTS : STATE_REST;
                end
            end
            STATE_IPV6: begin
                if (place_reg == 12'd0 && data[7:4] != 4'd6) state_reg <= STATE_REST;
                if (place_reg == 12'd6) protocol_reg <= data;
                if (place_reg >= 12'd8) crc_reg <= crc_next(crc_reg, data);
                if (at_end) is_ip_reg <= 1'b1;
            end
            STATE_EXTENSION: begin
                if (place_reg == 12'd0) first_reg <= data;
                if (place_reg == 12'd1 && protocol_reg == 8'd51) end_reg <= {2'd0, data, 2'd3} + 12'd4;
                else if (place_reg == 12'd1 && protocol_reg != 8'd44) end_reg <= {1'd0, data, 3'd7};
                if (protocol_reg == 8'd44) begin
                    if (place_reg == 12'd2) later_reg <= data != 8'd0;
                    if (place_reg == 12'd3) later_reg <= later_reg || data[7:3] != 5'd0;
                end
            end
            STATE_PORTS: begin
                if (place_reg < 12'd4) ports_reg <= {ports_reg[23:0], data};
                if (place_reg == 12'd3) state_reg <= STATE_REST;
            end
            default: ;
        endcase

        if ((state_reg == STATE_IPV6 && at_end) || (state_reg == STATE_EXTENSION && place_reg >= 12'd7 && at_end)) begin
            protocol_reg <= next_protocol;
            extensions_reg <= next_extensions;
            place_reg <= 12'd0;
            end_reg <= 12'd7;
            state_reg <= later_reg ? STATE_REST
                : is_extension(next_protocol) && next_extensions != 4'd8 ? STATE_EXTENSION
                : has_ports(next_protocol) ? STATE_PORTS : STATE_REST;
        end

        if (last) begin
            // Ports that the frame cuts off are zero.
            if (state_reg == STATE_PORTS && place_reg != 12'd3) ports_reg <= 32'h0;
            state_reg <= STATE_FINISH;
            place_reg <= 12'd0;
        end
    end else if (state_reg == STATE_FINISH) begin
        place_reg <= place_reg + 12'd1;
        crc_reg <= crc_next(crc_reg, place_reg == 12'd0 ? protocol_reg : ports_reg[31:24]);
        if (place_reg != 12'd0) ports_reg <= {ports_reg[23:0], 8'h0};
        if (place_reg == 12'd4) begin
            done <= 1'b1;
            state_reg <= STATE_MACS;
            place_reg <= 12'd0;
        end
    end

    if (rst) begin
        state_reg <= STATE_MACS;
        place_reg <= 12'd0;
        done <= 1'b0;
    end
end

initial begin
    state_reg = STATE_MACS;
    place_reg = 12'd0;
    end_reg = 12'd0;
    tags_reg = 3'd0;
    extensions_reg = 4'd0;
    first_reg = 8'h0;
    protocol_reg = 8'h0;
    later_reg = 1'b0;
    ports_reg = 32'h0;
    is_ip_reg = 1'b0;
    crc_reg = 32'hFFFFFFFF;
    done = 1'b0;
end

endmodule

`resetall
