// The hash of a frame's five-tuple, eight bytes a cycle: what five_tuple_hash makes of bytes, and packet::flow::hash in Rust
// (docs/decisions/0004-five-tuple-hash.md).
//
// Behind the addresses of a frame everything up to the ports lies in groups of four bytes: the last two bytes of an address with the type, a
// tag with the type behind it, and headers of IP. They begin two bytes before a word and in its middle, two in a word. In the first
// cycle it is made out what they are, in the second addresses are taken up, in the third protocol and ports are.
//
// Latency: the hash stands behind the third edge from the one at which a frame's last word is taken, for a cycle at least.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module five_tuple_hash64 (
    input  wire        clk,
    input  wire        rst,

    // Words of frames, the first byte lowest; `rest` are the bytes of the last one, 0 for 8.
    input  wire [63:0] data,
    input  wire        valid,
    input  wire        last,
    input  wire [2:0]  rest,

    output wire [31:0] hash
);

// CRC-32C's polynomial, bit-reversed.
localparam [31:0] CASTAGNOLI = 32'h82F63B78;
localparam [2:0] PART_MACS = 3'd0, PART_TYPE = 3'd1, PART_IPV4 = 3'd2, PART_IPV6 = 3'd3, PART_EXTENSION = 3'd4, PART_PORTS = 3'd5,
    PART_REST = 3'd6;

function has_ports(input [7:0] protocol);
    has_ports = protocol == 8'd6 || protocol == 8'd17 || protocol == 8'd33 || protocol == 8'd132 || protocol == 8'd136;
endfunction

function is_extension(input [7:0] protocol);
    is_extension = protocol == 8'd0 || protocol == 8'd43 || protocol == 8'd44 || protocol == 8'd51 || protocol == 8'd60
        || protocol == 8'd135 || protocol == 8'd139 || protocol == 8'd140;
endfunction

// First cycle: what a group is
reg        begins_reg;     // the next word is a frame's first
reg [15:0] before_reg;     // the last two bytes of the word before
reg [2:0]  part_reg;       // of the frame, that the next group is
reg [9:0]  place_reg;      // of the next group, in the header that it is of
reg [9:0]  end_reg;        // of the last group of a header
reg [2:0]  tags_reg;
reg [3:0]  extensions_reg;
reg [7:0]  next_reg;       // the next header of an extension
reg [7:0]  protocol_reg;
reg        later_reg;      // a fragment but the first
reg [31:0] ports_reg;
reg        is_ip_reg;
reg [63:0] groups_reg;
reg [1:0]  take_reg;       // which of them are of addresses
reg        first_reg, last_reg;

reg [2:0]  part;
reg [9:0]  place, ends;
reg [2:0]  tags;
reg [3:0]  extensions;
reg [7:0]  following, protocol;
reg        later, is_ip, over;
reg [31:0] ports;
reg [1:0]  take;
reg [63:0] groups;
reg [31:0] group;
reg [15:0] kind;
reg [1:0]  whole;
integer    i;

always @* begin
    part = begins_reg ? PART_MACS : part_reg;
    place = begins_reg ? 10'd0 : place_reg;
    ends = end_reg;
    tags = begins_reg ? 3'd0 : tags_reg;
    extensions = begins_reg ? 4'd0 : extensions_reg;
    following = next_reg;
    protocol = protocol_reg;
    later = !begins_reg && later_reg;
    is_ip = !begins_reg && is_ip_reg;
    ports = begins_reg ? 32'h0 : ports_reg;
    take = 2'b00;
    groups = {data[47:0], before_reg};
    // Those that the frame cuts off are none.
    whole = !last || rest == 3'd0 ? 2'b11 : {rest >= 3'd6, rest >= 3'd2};
    group = 32'h0;
    kind = 16'h0;
    over = 1'b0;

    for (i = 0; i < 2; i = i + 1) if (whole[i]) begin
        group = groups[32*i +: 32];
        // As it is on the line
        kind = {group[23:16], group[31:24]};
        over = place == ends;
        // The fourth group, since the first one is before the frame's beginning.
        if (part == PART_MACS && place == 10'd3) part = PART_TYPE;
        place = place + 10'd1;
        case (part)
            PART_TYPE: begin
                place = 10'd0;
                ends = 10'd9;
                if (kind == 16'h8100 || kind == 16'h88A8 || kind == 16'h9100) begin
                    if (tags == 3'd4) part = PART_REST;
                    tags = tags + 3'd1;
                end else part = kind == 16'h0800 ? PART_IPV4 : kind == 16'h86DD ? PART_IPV6 : PART_REST;
            end
            PART_IPV4: begin
                case (place)
                    10'd1: begin
                        ends = {6'd0, group[3:0]} - 10'd1;
                        if (group[7:4] != 4'd4 || group[3:0] < 4'd5) part = PART_REST;
                    end
                    10'd2: later = group[20:16] != 5'd0 || group[31:24] != 8'd0;
                    10'd3: protocol = group[15:8];
                    10'd4, 10'd5: take[i] = 1'b1;
                    default: ;
                endcase
                if (place >= 10'd5 && over) begin
                    is_ip = 1'b1;
                    place = 10'd0;
                    part = !later && has_ports(protocol) ? PART_PORTS : PART_REST;
                end
            end
            PART_IPV6, PART_EXTENSION: begin
                if (part == PART_IPV6) begin
                    if (place == 10'd1 && group[7:4] != 4'd6) part = PART_REST;
                    if (place == 10'd2) following = group[23:16];
                    if (place >= 10'd3) take[i] = 1'b1;
                end else if (place == 10'd1) begin
                    following = group[7:0];
                    ends = protocol == 8'd51 ? {2'd0, group[15:8]} + 10'd1 : protocol == 8'd44 ? 10'd1 : {1'b0, group[15:8], 1'b1};
                    if (protocol == 8'd44) later = group[23:16] != 8'd0 || group[31:27] != 5'd0;
                end
                if (place >= 10'd2 && over) begin
                    if (part == PART_EXTENSION) extensions = extensions + 4'd1;
                    is_ip = 1'b1;
                    protocol = following;
                    place = 10'd0;
                    ends = 10'd1;
                    part = later ? PART_REST : is_extension(protocol) && extensions != 4'd8 ? PART_EXTENSION
                        : has_ports(protocol) ? PART_PORTS : PART_REST;
                end
            end
            PART_PORTS: begin
                ports = group;
                part = PART_REST;
            end
            default: ;
        endcase
    end
end

always @(posedge clk) begin
    last_reg <= valid && last;
    take_reg <= valid ? take : 2'b00;
    if (valid) begin
        begins_reg <= last;
        before_reg <= data[63:48];
        part_reg <= part;
        place_reg <= place;
        end_reg <= ends;
        tags_reg <= tags;
        extensions_reg <= extensions;
        next_reg <= following;
        protocol_reg <= protocol;
        later_reg <= later;
        ports_reg <= ports;
        is_ip_reg <= is_ip;
        groups_reg <= groups;
        first_reg <= begins_reg;
    end

    if (rst) begin
        begins_reg <= 1'b1;
        last_reg <= 1'b0;
        take_reg <= 2'b00;
    end
end

// Second cycle: addresses
reg  [31:0] crc_reg;
reg  [7:0]  end_protocol_reg;
reg  [31:0] end_ports_reg;
reg         end_is_ip_reg;
wire [31:0] one, both;
wire [31:0] begun = crc_reg | {32{first_reg}};
wire [31:0] behind_one = take_reg[0] ? one : begun;

crc32_word #(.BITS(32), .POLYNOMIAL(CASTAGNOLI)) low (.state(begun), .word(groups_reg[31:0]), .next(one));
crc32_word #(.BITS(32), .POLYNOMIAL(CASTAGNOLI)) high (.state(behind_one), .word(groups_reg[63:32]), .next(both));

always @(posedge clk) begin
    crc_reg <= take_reg[1] ? both : behind_one;
    if (last_reg) begin
        end_protocol_reg <= protocol_reg;
        end_ports_reg <= ports_reg;
        end_is_ip_reg <= is_ip_reg;
    end
end

// Third cycle: protocol and ports
function [31:0] crc_byte(input [31:0] crc, input [7:0] character);
    integer j;
    reg [31:0] c;
    begin
        c = crc ^ {24'h0, character};
        for (j = 0; j < 8; j = j + 1)
            c = {1'b0, c[31:1]} ^ (c[0] ? CASTAGNOLI : 32'h0);
        crc_byte = c;
    end
endfunction

reg  [31:0] hash_reg;
wire [31:0] with_ports;

crc32_word #(.BITS(32), .POLYNOMIAL(CASTAGNOLI)) ports_behind (.state(crc_byte(crc_reg, end_protocol_reg)), .word(end_ports_reg), .next(with_ports));

assign hash = hash_reg;

always @(posedge clk) hash_reg <= end_is_ip_reg ? ~with_ports : 32'h0;

initial begin
    begins_reg = 1'b1;
    before_reg = 16'h0;
    part_reg = PART_MACS;
    place_reg = 10'd0;
    end_reg = 10'd0;
    tags_reg = 3'd0;
    extensions_reg = 4'd0;
    next_reg = 8'h0;
    protocol_reg = 8'h0;
    later_reg = 1'b0;
    ports_reg = 32'h0;
    is_ip_reg = 1'b0;
    groups_reg = 64'h0;
    take_reg = 2'b00;
    first_reg = 1'b0;
    last_reg = 1'b0;
    crc_reg = 32'hFFFFFFFF;
    end_protocol_reg = 8'h0;
    end_ports_reg = 32'h0;
    end_is_ip_reg = 1'b0;
    hash_reg = 32'h0;
end

endmodule

`resetall
