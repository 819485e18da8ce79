// Received frames to records (FORMATS section 2) in a ring, and out of it as a stream of 64 bits.
//
// A frame goes into the ring as it comes, and is told when it is whole: its record's two words of header are written last. A bad
// frame leaves nothing. One for which there is no room is counted as an overflow.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module record_rx #(
    // Words of the ring: 2 to the power of this; 12 are 32 KiB.
    parameter RING = 12
) (
    input  wire        clk,
    input  wire        rst,

    // from the MAC
    input  wire [7:0]  data,
    input  wire        valid,
    input  wire        last,
    input  wire        bad,
    input  wire [55:0] stamp,

    // The hash of the frame that has just ended
    input  wire [31:0] hash,
    input  wire        hash_done,

    // Records
    output wire [63:0] m_axis_tdata,
    output wire [7:0]  m_axis_tkeep,
    output wire        m_axis_tlast,
    output wire        m_axis_tvalid,
    input  wire        m_axis_tready,

    // High for a cycle for each
    output reg         good_frame,
    output reg         bad_frame,
    output reg         overflow,
    // Nothing is here
    output wire        idle
);

reg [63:0] ring [0:(1 << RING) - 1];

// Write side. Places have a bit more than the ring, to tell full from empty.
reg [RING:0] begin_reg;  // of the frame that comes in; what is before it may be read
reg [RING:0] place_reg;  // of its next word of data
reg [15:0]   length_reg; // bytes
reg [55:0]   bytes_reg;  // of the word that is not whole, its first byte lowest
reg          lost_reg;   // no room
reg          bad_reg;
reg          open_reg;   // a frame has begun, or waits for its hash
reg          second_reg; // the header's second word is to be written

reg  [RING:0] read_reg;
wire [RING:0] used = place_reg - read_reg;
wire          full = used >= (1 << RING);

reg [63:0]   word;
integer      i;

always @* begin
    word = {8'h0, bytes_reg};
    for (i = 0; i < 8; i = i + 1)
        if (length_reg[2:0] == i[2:0]) word[8*i +: 8] = data;
end

wire word_done = valid && (last || length_reg[2:0] == 3'd7);
wire first = hash_done && open_reg && !bad_reg && !lost_reg;

reg              write;
reg [RING-1:0]   write_place;
reg [63:0]       write_word;

always @* begin
    write = word_done && !full && !lost_reg;
    write_place = place_reg[RING-1:0];
    write_word = word;
    if (first) begin
        write = 1'b1;
        write_place = begin_reg[RING-1:0];
        write_word = {stamp[39:32], stamp[47:40], stamp[55:48], 8'h00, length_reg[7:0], length_reg[15:8], 16'h7637};
    end else if (second_reg) begin
        write = 1'b1;
        write_place = begin_reg[RING-1:0] + 1'b1;
        write_word = {hash[7:0], hash[15:8], hash[23:16], hash[31:24], stamp[7:0], stamp[15:8], stamp[23:16], stamp[31:24]};
    end
end

always @(posedge clk) if (write) ring[write_place] <= write_word;

always @(posedge clk) begin
    good_frame <= 1'b0;
    bad_frame <= 1'b0;
    overflow <= 1'b0;
    second_reg <= first;

    if (valid) begin
        open_reg <= 1'b1;
        length_reg <= length_reg + 16'd1;
        if (word_done) begin
            place_reg <= place_reg + 1'b1;
            bytes_reg <= 56'h0;
            if (full) lost_reg <= 1'b1;
        end else bytes_reg <= word[55:0];
        if (last) bad_reg <= bad;
    end
    if (hash_done && open_reg && !first) begin
        bad_frame <= bad_reg;
        overflow <= !bad_reg;
    end
    if (second_reg) begin
        begin_reg <= place_reg;
        good_frame <= 1'b1;
    end
    if (second_reg || (hash_done && open_reg && !first)) begin
        open_reg <= 1'b0;
        place_reg <= (second_reg ? place_reg : begin_reg) + 2;
        length_reg <= 16'd0;
        lost_reg <= 1'b0;
        bad_reg <= 1'b0;
    end

    if (rst) begin
        begin_reg <= 0;
        place_reg <= 2;
        length_reg <= 16'd0;
        bytes_reg <= 56'h0;
        lost_reg <= 1'b0;
        bad_reg <= 1'b0;
        open_reg <= 1'b0;
        second_reg <= 1'b0;
    end
end

// Read side: a word in three cycles, more than twice what a gigabit port receives. A ring's output is slow, and is looked at a cycle later.
reg [63:0] ring_reg;
reg        fetching_reg; // ring_reg is the word at read_reg
reg [63:0] word_reg;
reg        fetched_reg;  // word_reg is
reg        header_reg;  // it is a record's first
reg [12:0] left_reg;    // words behind it
reg [2:0]  rest_reg;    // bytes in the last word, 0 for 8

wire [15:0] length_out = {word_reg[23:16], word_reg[31:24]};
wire [12:0] left_out = 13'd1 + length_out[15:3] + {12'd0, |length_out[2:0]};

assign m_axis_tdata = word_reg;
assign m_axis_tvalid = fetched_reg;
assign m_axis_tlast = !header_reg && left_reg == 13'd0;
assign m_axis_tkeep = m_axis_tlast && rest_reg != 3'd0 ? ~(8'hFF << rest_reg) : 8'hFF;
assign idle = begin_reg == read_reg && !open_reg && !second_reg && !good_frame && !bad_frame && !overflow && !hash_done;

always @(posedge clk) ring_reg <= ring[read_reg[RING-1:0]];

always @(posedge clk) begin
    fetching_reg <= 1'b0;
    if (!fetched_reg) begin
        fetching_reg <= begin_reg != read_reg && !fetching_reg;
        fetched_reg <= fetching_reg;
        word_reg <= ring_reg;
    end else if (m_axis_tready) begin
        fetched_reg <= 1'b0;
        read_reg <= read_reg + 1'b1;
        header_reg <= m_axis_tlast;
        left_reg <= header_reg ? left_out - 13'd1 : left_reg - 13'd1;
        if (header_reg) rest_reg <= length_out[2:0];
    end

    if (rst) begin
        read_reg <= 0;
        fetching_reg <= 1'b0;
        fetched_reg <= 1'b0;
        header_reg <= 1'b1;
        left_reg <= 13'd0;
    end
end

initial begin
    begin_reg = 0;
    place_reg = 2;
    length_reg = 16'd0;
    bytes_reg = 56'h0;
    lost_reg = 1'b0;
    bad_reg = 1'b0;
    open_reg = 1'b0;
    second_reg = 1'b0;
    good_frame = 1'b0;
    bad_frame = 1'b0;
    overflow = 1'b0;
    read_reg = 0;
    ring_reg = 64'h0;
    fetching_reg = 1'b0;
    word_reg = 64'h0;
    fetched_reg = 1'b0;
    header_reg = 1'b1;
    left_reg = 13'd0;
    rest_reg = 3'd0;
end

endmodule

`resetall
