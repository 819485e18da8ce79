// Records of two ports over a serial line: a byte with the port's number, 00 or 01, and then the record (FORMATS section 2), both ways, 8N1.
//
// Towards the ports a record for which there is no room at its first word is passed over, and a pause of 2^17 cycles within a record ends
// it, so that both sides are in step again; the port counts what is not whole as no record. There is no flow control.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module uart_records #(
    // Cycles a bit: 1 Mbaud at 125 MHz
    parameter BIT = 125
) (
    input  wire        clk,
    input  wire        rst,

    input  wire        uart_rxd,
    output reg         uart_txd,

    // Records to be sent: one stream, and which port it is for
    output reg  [63:0] m_axis_tdata,
    output reg  [7:0]  m_axis_tkeep,
    output reg         m_axis_tlast,
    output reg         m_axis_tvalid,
    output reg         m_axis_tdest,
    input  wire [1:0]  m_axis_tready,

    // Records received, of each port
    input  wire [63:0] s_axis_tdata_0,
    input  wire [7:0]  s_axis_tkeep_0,
    input  wire        s_axis_tlast_0,
    input  wire [63:0] s_axis_tdata_1,
    input  wire [7:0]  s_axis_tkeep_1,
    input  wire        s_axis_tlast_1,
    input  wire [1:0]  s_axis_tvalid,
    output reg  [1:0]  s_axis_tready,

    // High for a cycle when a record to be sent was not, or not as a whole
    output reg         dropped
);

// Bytes from the line
reg [1:0] sync_reg;
reg [7:0] bit_reg;   // cycles until the next bit is taken
reg [3:0] place_reg; // of it: 0 the start bit, 9 the stop bit; 15 for none
reg [7:0] byte_reg;
reg       came_reg;

always @(posedge clk) begin
    sync_reg <= {sync_reg[0], uart_rxd};
    came_reg <= 1'b0;
    if (place_reg == 4'd15) begin
        bit_reg <= BIT / 2 - 1;
        if (!sync_reg[1]) place_reg <= 4'd0;
    end else if (bit_reg != 8'd0) bit_reg <= bit_reg - 8'd1;
    else begin
        bit_reg <= BIT - 1;
        place_reg <= place_reg + 4'd1;
        if (place_reg == 4'd0 && sync_reg[1]) place_reg <= 4'd15;
        if (place_reg >= 4'd1 && place_reg <= 4'd8) byte_reg <= {sync_reg[1], byte_reg[7:1]};
        if (place_reg == 4'd9) begin
            place_reg <= 4'd15;
            came_reg <= sync_reg[1];
        end
    end
    if (rst) place_reg <= 4'd15;
end

// Bytes to words of records
reg        in_record_reg;
reg        skip_reg;      // there was no room for it
reg [55:0] word_reg;
reg [16:0] count_reg;     // bytes of the record that have come
reg [16:0] length_reg;    // and there are, when its header is known
reg [17:0] pause_reg;     // cycles since the last one

wire [63:0] word = {byte_reg, word_reg};
wire [16:0] count = count_reg + 17'd1;
reg         ends_reg;      // the next byte is the record's last: known long before it comes
wire        timeout = in_record_reg && pause_reg[17];

always @(posedge clk) begin
    dropped <= 1'b0;
    if (m_axis_tvalid && m_axis_tready[m_axis_tdest]) m_axis_tvalid <= 1'b0;
    ends_reg <= count_reg >= 17'd16 && count == length_reg;
    pause_reg <= came_reg || !in_record_reg ? 18'd0 : pause_reg + 18'd1;

    if (came_reg && !in_record_reg) begin
        if (byte_reg[7:1] == 7'd0) begin
            in_record_reg <= 1'b1;
            m_axis_tdest <= byte_reg[0];
            count_reg <= 17'd0;
            length_reg <= 17'h1FFFF;
            skip_reg <= !m_axis_tready[byte_reg[0]] || m_axis_tvalid;
        end
    end else if (came_reg) begin
        word_reg <= word[63:8];
        count_reg <= count;
        if (count_reg == 17'd3) length_reg <= {1'b0, word[55:48], word[63:56]} + 17'd16;
        if (ends_reg) begin
            in_record_reg <= 1'b0;
            dropped <= skip_reg;
        end
        if ((count[2:0] == 3'd0 || ends_reg) && !skip_reg) begin
            m_axis_tdata <= word >> {3'd0 - count[2:0], 3'd0};
            m_axis_tkeep <= 8'hFF >> (3'd0 - count[2:0]);
            m_axis_tlast <= ends_reg;
            m_axis_tvalid <= 1'b1;
            if (m_axis_tvalid && !m_axis_tready[m_axis_tdest]) dropped <= 1'b1;
        end
    end else if (timeout) begin
        in_record_reg <= 1'b0;
        dropped <= 1'b1;
        if (!skip_reg) begin
            m_axis_tkeep <= 8'h01;
            m_axis_tlast <= 1'b1;
            m_axis_tvalid <= 1'b1;
        end
    end

    if (rst) begin
        in_record_reg <= 1'b0;
        m_axis_tvalid <= 1'b0;
    end
end

// Words of records to bytes
localparam [1:0] STATE_PICK = 2'd0, STATE_TAKE = 2'd1, STATE_BYTES = 2'd2;
reg [1:0]  state_reg;
reg        port_reg;
reg [63:0] out_reg;
reg [6:0]  keep_reg; // of the bytes behind the next one
reg        last_reg;

// A word has a byte at least.
wire unused = &{1'b0, s_axis_tkeep_0[0], s_axis_tkeep_1[0]};

// And to the line
reg [9:0]  shift_reg;
reg [3:0]  left_reg;    // bits that are still to be sent
reg [7:0]  out_bit_reg;

wire       free = left_reg == 4'd0;
wire       put = free && (state_reg == STATE_BYTES || (state_reg == STATE_PICK && |s_axis_tvalid));
wire       pick = s_axis_tvalid[1] && (!s_axis_tvalid[0] || !port_reg);
wire [7:0] put_byte = state_reg == STATE_BYTES ? out_reg[7:0] : {7'd0, pick};

always @(posedge clk) begin
    uart_txd <= shift_reg[0] || free;
    if (put) begin
        shift_reg <= {1'b1, put_byte, 1'b0};
        left_reg <= 4'd10;
        out_bit_reg <= BIT - 1;
    end else if (!free) begin
        out_bit_reg <= out_bit_reg - 8'd1;
        if (out_bit_reg == 8'd0) begin
            out_bit_reg <= BIT - 1;
            left_reg <= left_reg - 4'd1;
            shift_reg <= {1'b1, shift_reg[9:1]};
        end
    end

    s_axis_tready <= 2'b00;
    case (state_reg)
        STATE_PICK: if (put) begin
            port_reg <= pick;
            state_reg <= STATE_TAKE;
        end
        STATE_TAKE: if (s_axis_tready == 2'b00) s_axis_tready[port_reg] <= s_axis_tvalid[port_reg];
        else begin
            out_reg <= port_reg ? s_axis_tdata_1 : s_axis_tdata_0;
            keep_reg <= port_reg ? s_axis_tkeep_1[7:1] : s_axis_tkeep_0[7:1];
            last_reg <= port_reg ? s_axis_tlast_1 : s_axis_tlast_0;
            state_reg <= STATE_BYTES;
        end
        STATE_BYTES: if (put) begin
            out_reg <= {8'h00, out_reg[63:8]};
            keep_reg <= {1'b0, keep_reg[6:1]};
            if (!keep_reg[0]) state_reg <= last_reg ? STATE_PICK : STATE_TAKE;
        end
        default: state_reg <= STATE_PICK;
    endcase

    if (rst) begin
        state_reg <= STATE_PICK;
        left_reg <= 4'd0;
        s_axis_tready <= 2'b00;
    end
end

initial begin
    sync_reg = 2'b11;
    place_reg = 4'd15;
    bit_reg = 8'd0;
    byte_reg = 8'h0;
    came_reg = 1'b0;
    in_record_reg = 1'b0;
    skip_reg = 1'b0;
    word_reg = 56'h0;
    count_reg = 17'd0;
    ends_reg = 1'b0;
    length_reg = 17'h1FFFF;
    pause_reg = 18'd0;
    m_axis_tdata = 64'h0;
    m_axis_tkeep = 8'h0;
    m_axis_tlast = 1'b0;
    m_axis_tvalid = 1'b0;
    m_axis_tdest = 1'b0;
    dropped = 1'b0;
    state_reg = STATE_PICK;
    port_reg = 1'b0;
    out_reg = 64'h0;
    keep_reg = 7'h0;
    last_reg = 1'b0;
    shift_reg = 10'h3FF;
    left_reg = 4'd0;
    out_bit_reg = 8'd0;
    uart_txd = 1'b1;
    s_axis_tready = 2'b00;
end

endmodule

`resetall
