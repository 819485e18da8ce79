// Between the halves of a pipeline: a packet goes on once, or as a copy for each place of its multicast group, behind clones for each place of its
// clone session. Only what the pipeline has
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
    input  wire [7:0]          in_clone_start,
    input  wire [7:0]          in_clone_count, // places of its clone session
    input  wire                in_only,      // nothing but the clones
    output wire                job_taken,    // all copies of a packet are made
    // to the second half
    output reg                 out_valid,
    output reg  [VECTOR_W-1:0] out_vector,
    output reg                 out_is_copy,
    output reg                 out_is_clone,
    output reg                 out_none,     // its group has no places, or there is nothing but clones and none of them
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
    wire group, only, waiting, room_for_job;
    wire [7:0] start, count, clone_start, clone_count;
    p4_fifo #(.WIDTH(VECTOR_W + 34), .DEPTH_LOG2(DEPTH_LOG2)) jobs (
        .clk(clk), .rst(rst),
        .in_data({in_vector, in_group, in_start, in_count, in_clone_start, in_clone_count, in_only}), .in_valid(in_valid), .in_ready(room_for_job),
        .out_data({vector, group, start, count, clone_start, clone_count, only}), .out_valid(waiting), .out_ready(job_taken)
    );

    reg [RESULTS_LOG2:0] under_way;
    // Clones first, then all others.
    reg [7:0] made;
    reg others;
    wire clones = !others && clone_count != 8'd0;
    wire [7:0] place = (clones ? clone_start : start) + made;
    wire [31:0] here = places[place];
    wire go = waiting && !under_way[RESULTS_LOG2];
    wire last_clone = clones && clone_count == made + 8'd1;
    wire last_other = !clones && (!group || count <= made + 8'd1);
    wire last = last_other || (last_clone && only);
    assign job_taken = go && last;
    assign none_under_way = under_way == 0;

    always @(posedge clk) begin
        out_vector <= vector;
        out_is_copy <= group && !clones;
        out_is_clone <= clones;
        out_none <= !clones && (only || (group && count == 8'd0));
        out_port <= here[15:0];
        out_instance <= here[31:16];
        out_keep <= !last;
        out_replay <= made != 8'd0 || others;
        out_valid <= go && !rst;
        if (rst) begin
            made <= 8'd0;
            others <= 1'b0;
            under_way <= 0;
        end else begin
            if (go) made <= last || last_clone ? 8'd0 : made + 8'd1;
            if (go) others <= !last && (others || last_clone);
            under_way <= under_way + {{RESULTS_LOG2{1'b0}}, go} - {{RESULTS_LOG2{1'b0}}, result_taken};
        end
    end

    wire unused = room_for_job;
endmodule

`resetall
