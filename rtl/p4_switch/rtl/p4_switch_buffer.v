// A packet buffer that all ports of a switch share, and the crossbar that follows it (paper 002, sections 3.2.2 and D.1: malloc, free, and 65,536 bytes by
// default). Frames come as one stream, with the port that they leave by; each gets cells of 256 bytes from a list of free ones, which are linked. A
// frame that is whole goes to the queue of its port. Cells leave in turns, one of each port that has room for it, and are free again.
//
// Nothing waits at the input. A frame that finds no free cell is dropped as a whole, and counted by its port; its cells go to a queue of their own,
// which gives one back in each round. A frame for a port that is not there is dropped and counted.
//
// A word leaves two cycles after its turn. Ports whose rates add up to no more than the stream's, as 8 of 64 bits a cycle with words of 512, have a frame's
// next cell in time once it has begun.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_switch_buffer #(
    parameter PORTS = 4,
    parameter WIDTH = 512,
    // Words of a cell and cells: 2 to the power of these
    parameter WORD_W = 2,
    parameter CELL_W = 8
) (
    input  wire                 clk,
    input  wire                 rst,

    // Frames, with the port that each leaves by
    input  wire [WIDTH-1:0]     s_axis_tdata,
    input  wire [WIDTH/8-1:0]   s_axis_tkeep,
    input  wire                 s_axis_tlast,
    input  wire                 s_axis_tvalid,
    input  wire [15:0]          s_axis_tuser,

    // Words for the ports; `m_valid` has one bit of a port, which has said that it has room for a cell
    output reg  [WIDTH-1:0]     m_data,
    output reg  [WIDTH/8-1:0]   m_keep,
    output reg                  m_last,
    output reg  [PORTS-1:0]     m_valid,
    input  wire [PORTS-1:0]     ready,

    // Cells that are free; high for a cycle for each frame that is dropped
    output wire [CELL_W:0]      free_cells,
    output reg  [PORTS-1:0]     no_room,
    output reg                  no_port
);

// Of a queue's number
localparam PORT_W = $clog2(PORTS + 1);
localparam CELLS = 1 << CELL_W;
localparam WORDS = 1 << WORD_W;
localparam [31:0] COUNT = PORTS;
// The queue of frames that are dropped
localparam [PORT_W-1:0] DROPPED = PORTS;

reg [WIDTH+WIDTH/8:0]   words [0:CELLS*WORDS-1];
reg [CELL_W-1:0]        next_cell [0:CELLS-1];
reg [WORD_W-1:0]        last_word [0:CELLS-1]; // of a cell

// malloc: cells that were never used, and then those that are free again.
reg [CELL_W-1:0] freed [0:CELLS-1];
reg [CELL_W:0]   fresh_reg, freed_write_reg, freed_read_reg;
wire             has_fresh = !fresh_reg[CELL_W];
wire [CELL_W:0]  freed_count = freed_write_reg - freed_read_reg;
wire             has_free = has_fresh || freed_count != 0;
wire [CELL_W-1:0] free_cell = has_fresh ? fresh_reg[CELL_W-1:0] : freed[freed_read_reg[CELL_W-1:0]];

assign free_cells = {1'b1, {CELL_W{1'b0}}} - fresh_reg + freed_count;

// The frame that comes
reg              in_frame_reg, lost_reg;
reg [WORD_W-1:0] word_reg;           // the next of its cell
reg [CELL_W-1:0] first_reg, cell_reg;
reg [CELL_W:0]   cells_reg;          // of it, up to now

wire             here = s_axis_tuser < COUNT[15:0];
wire             takes = s_axis_tvalid && here && !(in_frame_reg && lost_reg);
wire             new_cell = !in_frame_reg || word_reg == 0;
wire             allocates = takes && new_cell && has_free;
wire             loses = takes && new_cell && !has_free;
wire             writes = takes && !loses;
wire [CELL_W-1:0] write_cell = new_cell ? free_cell : cell_reg;
wire [WORD_W-1:0] write_word = in_frame_reg ? word_reg : {WORD_W{1'b0}};
wire             links = allocates && in_frame_reg;
wire             ends_cell = writes && (s_axis_tlast || (&write_word));
wire [CELL_W:0]  cells_now = (in_frame_reg ? cells_reg : {(CELL_W+1){1'b0}}) + {{CELL_W{1'b0}}, allocates};

// A cycle later: the frame goes to its queue, or what there is of one that is dropped to that queue. There is no link to be made then: the next
// word, if one comes, is a frame's first, or is not taken.
reg              commit_reg;
reg [PORT_W-1:0] commit_to_reg;
reg [CELL_W-1:0] commit_first_reg, commit_last_reg;
reg [CELL_W:0]   commit_cells_reg;

// Queues
reg [CELL_W*(PORTS+1)-1:0]     head, tail;
reg [(CELL_W+1)*(PORTS+1)-1:0] held; // cells
reg [PORTS:0]    waits;              // queues with a cell

// The turn: a cell's words, one a cycle.
reg              busy_reg;
reg [PORT_W-1:0] turn_reg;           // whose, or whose was the last one
reg [WORD_W-1:0] at_reg;
wire [PORTS:0]   wants = waits & {1'b1, ready};
reg [PORT_W-1:0] chosen;
reg              any;
integer step;
reg [PORT_W-1:0] candidate;

always @* begin
    chosen = turn_reg;
    any = 1'b0;
    candidate = turn_reg;
    for (step = 0; step <= PORTS; step = step + 1) begin
        candidate = candidate == DROPPED ? {PORT_W{1'b0}} : candidate + 1'b1;
        if (!any && wants[candidate]) begin
            any = 1'b1;
            chosen = candidate;
        end
    end
end

wire [PORT_W-1:0] turn = busy_reg ? turn_reg : chosen;
wire             reads = busy_reg || any;
wire             drops = turn == DROPPED;
wire [CELL_W-1:0] read_cell = head[CELL_W*turn +: CELL_W];
wire [WORD_W-1:0] read_word = busy_reg ? at_reg : {WORD_W{1'b0}};
wire             ends_turn = reads && (drops || read_word == last_word[read_cell]);

wire [CELL_W:0]  held_there = held[(CELL_W+1)*commit_to_reg +: CELL_W+1];
wire             joins_empty = held_there == 0 || (ends_turn && turn == commit_to_reg && held_there == 1);

reg [WIDTH+WIDTH/8:0] fetched_reg;
reg [PORTS-1:0]       fetched_for_reg;
integer q;

always @(posedge clk) begin
    // The frame that comes.
    if (writes) begin
        words[{write_cell, write_word}] <= {s_axis_tlast, s_axis_tkeep, s_axis_tdata};
        word_reg <= write_word + 1'b1;
        cell_reg <= write_cell;
        cells_reg <= cells_now;
        if (!in_frame_reg) first_reg <= free_cell;
    end
    if (ends_cell) last_word[write_cell] <= write_word;
    if (allocates) begin
        if (has_fresh) fresh_reg <= fresh_reg + 1'b1;
        else freed_read_reg <= freed_read_reg + 1'b1;
    end
    if (s_axis_tvalid) begin
        in_frame_reg <= !s_axis_tlast;
        lost_reg <= !s_axis_tlast && (loses || (in_frame_reg && lost_reg));
    end
    no_port <= s_axis_tvalid && s_axis_tlast && !here;
    for (q = 0; q < PORTS; q = q + 1) no_room[q] <= loses && s_axis_tuser == q[15:0];

    // Into a queue.
    commit_reg <= (writes && s_axis_tlast) || (loses && in_frame_reg);
    commit_to_reg <= loses ? DROPPED : s_axis_tuser[PORT_W-1:0];
    commit_first_reg <= in_frame_reg ? first_reg : free_cell;
    commit_last_reg <= loses ? cell_reg : write_cell;
    commit_cells_reg <= loses ? cells_reg : cells_now;
    if (links) next_cell[cell_reg] <= free_cell;
    else if (commit_reg && !joins_empty) next_cell[tail[CELL_W*commit_to_reg +: CELL_W]] <= commit_first_reg;
    if (ends_turn) head[CELL_W*turn +: CELL_W] <= next_cell[read_cell];
    if (commit_reg) begin
        tail[CELL_W*commit_to_reg +: CELL_W] <= commit_last_reg;
        if (joins_empty) head[CELL_W*commit_to_reg +: CELL_W] <= commit_first_reg;
    end
    for (q = 0; q <= PORTS; q = q + 1) begin
        held[(CELL_W+1)*q +: CELL_W+1] <= held[(CELL_W+1)*q +: CELL_W+1] + (commit_reg && commit_to_reg == q[PORT_W-1:0] ? commit_cells_reg : {(CELL_W+1){1'b0}})
            - {{CELL_W{1'b0}}, ends_turn && turn == q[PORT_W-1:0]};
        waits[q] <= (commit_reg && commit_to_reg == q[PORT_W-1:0])
            || held[(CELL_W+1)*q +: CELL_W+1] > {{CELL_W{1'b0}}, ends_turn && turn == q[PORT_W-1:0]};
    end

    // Out of one, and free.
    if (reads) turn_reg <= turn;
    busy_reg <= reads && !ends_turn;
    at_reg <= read_word + 1'b1;
    fetched_reg <= words[{read_cell, read_word}];
    for (q = 0; q < PORTS; q = q + 1) fetched_for_reg[q] <= reads && turn == q[PORT_W-1:0];
    {m_last, m_keep, m_data} <= fetched_reg;
    m_valid <= fetched_for_reg;
    if (ends_turn) begin
        freed[freed_write_reg[CELL_W-1:0]] <= read_cell;
        freed_write_reg <= freed_write_reg + 1'b1;
    end

    if (rst) begin
        {in_frame_reg, lost_reg, commit_reg, busy_reg, no_port} <= 5'd0;
        {fresh_reg, freed_write_reg, freed_read_reg} <= {(3*CELL_W+3){1'b0}};
        {m_valid, fetched_for_reg, no_room} <= {3*PORTS{1'b0}};
        waits <= {(PORTS+1){1'b0}};
        held <= {(CELL_W+1)*(PORTS+1){1'b0}};
    end
end

initial begin
    {in_frame_reg, lost_reg, commit_reg, busy_reg, no_port} = 5'd0;
    {fresh_reg, freed_write_reg, freed_read_reg} = {(3*CELL_W+3){1'b0}};
    {m_valid, fetched_for_reg, no_room} = {3*PORTS{1'b0}};
    waits = {(PORTS+1){1'b0}};
    turn_reg = {PORT_W{1'b0}};
    held = {(CELL_W+1)*(PORTS+1){1'b0}};
end

endmodule

`resetall
