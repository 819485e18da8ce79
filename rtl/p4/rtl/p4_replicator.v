// Between the halves of a pipeline: a packet goes on once, or as a copy for each place of its multicast group. Only what the pipeline has
// worked out is copied here; the packet itself is read again for each copy by whoever puts packets together.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_replicator #(
    parameter VECTOR_W = 64,
    parameter DEPTH_LOG2 = 4,      // packets that may wait
    parameter RESULTS_LOG2 = 4     // copies that may be under way behind this
) (
    input  wire                clk,
    input  wire                rst,
    // from the first half
    input  wire                in_valid,
    input  wire [VECTOR_W-1:0] in_vector,
    input  wire                in_group,     // it goes to a group
    input  wire [7:0]          in_start,     // the group's first place
    input  wire [7:0]          in_count,     // how many places it has
    output wire                job_taken,    // all copies of a packet are made
    // to the second half
    output reg                 out_valid,
    output reg  [VECTOR_W-1:0] out_vector,
    output reg                 out_is_copy,
    output reg                 out_none,     // its group has no places
    output reg  [15:0]         out_port,
    output reg  [15:0]         out_instance,
    output reg                 out_keep,     // another copy comes
    output reg                 out_replay,   // it is not the first
    input  wire                result_taken, // a copy has left the second half and what is behind it
    output wire                none_under_way,
    // control: places of groups
    input  wire                write,
    input  wire [7:0]          write_row,
    input  wire [31:0]         write_entry   // instance, port
);
    reg [31:0] places [0:255];
    always @(posedge clk) if (write) places[write_row] <= write_entry;

    wire [VECTOR_W-1:0] vector;
    wire group, waiting, room_for_job;
    wire [7:0] start, count;
    p4_fifo #(.WIDTH(VECTOR_W + 17), .DEPTH_LOG2(DEPTH_LOG2)) jobs (
        .clk(clk), .rst(rst),
        .in_data({in_vector, in_group, in_start, in_count}), .in_valid(in_valid), .in_ready(room_for_job),
        .out_data({vector, group, start, count}), .out_valid(waiting), .out_ready(job_taken)
    );

    reg [RESULTS_LOG2:0] under_way;
    reg [7:0] made;
    wire [7:0] place = start + made;
    wire [31:0] here = places[place];
    wire go = waiting && !under_way[RESULTS_LOG2];
    wire last = !group || count <= made + 8'd1;
    assign job_taken = go && last;
    assign none_under_way = under_way == 0;

    always @(posedge clk) begin
        out_vector <= vector;
        out_is_copy <= group;
        out_none <= group && count == 8'd0;
        out_port <= here[15:0];
        out_instance <= here[31:16];
        out_keep <= !last;
        out_replay <= made != 8'd0;
        out_valid <= go && !rst;
        if (rst) begin
            made <= 8'd0;
            under_way <= 0;
        end else begin
            if (go) made <= last ? 8'd0 : made + 8'd1;
            under_way <= under_way + {{RESULTS_LOG2{1'b0}}, go} - {{RESULTS_LOG2{1'b0}}, result_taken};
        end
    end

    wire unused = room_for_job;
endmodule

`resetall
