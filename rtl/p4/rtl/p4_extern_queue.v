// Between two cycles of a pipeline: packets wait here for the responses of an asynchronous extern, and leave in the order in which they came. Requests
// have identifiers, which the responses repeat in any order: 2 to the power of ID_W requests are outstanding at most. A packet without a request waits
// for those before it only. A response whose identifier is not outstanding changes nothing.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_extern_queue #(
    parameter VECTOR_W = 64,
    parameter REQUEST_W = 32,
    parameter RESPONSE_W = 32,
    // Packets that may wait: 2 to the power of this. No more come.
    parameter DEPTH_LOG2 = 5,
    parameter ID_W = 4
) (
    input  wire                  clk,
    input  wire                  rst,

    // A packet from the cycle before
    input  wire                  in_valid,
    input  wire [VECTOR_W-1:0]   in_vector,
    input  wire                  in_asks,
    input  wire [REQUEST_W-1:0]  in_request,
    // to the cycle behind
    output reg                   out_valid,
    output reg  [VECTOR_W-1:0]   out_vector,
    output reg                   out_asked,
    output reg  [RESPONSE_W-1:0] out_response,

    // The extern
    output wire                  request_valid,
    input  wire                  request_ready,
    output wire [ID_W-1:0]       request_id,
    output wire [REQUEST_W-1:0]  request_data,
    input  wire                  response_valid,
    output wire                  response_ready,
    input  wire [ID_W-1:0]       response_id,
    input  wire [RESPONSE_W-1:0] response_data
);

localparam IDS = 1 << ID_W;

wire                  packet_room, request_room, waiting, asks, asking;
wire [VECTOR_W-1:0]   vector;

// Requests that the extern has taken, and those of packets that have left
reg  [ID_W:0]         issued_reg, left_reg;
wire [ID_W:0]         outstanding = issued_reg - left_reg;
reg  [RESPONSE_W-1:0] responses [0:IDS-1];
reg  [IDS-1:0]        done_reg;
wire [ID_W-1:0]       first = left_reg[ID_W-1:0];
wire [ID_W-1:0]       behind = response_id - first;
wire                  known = {1'b0, behind} < outstanding;
wire                  leaves = waiting && (!asks || done_reg[first]);
wire                  issues = request_valid && request_ready;

p4_fifo #(.WIDTH(VECTOR_W + 1), .DEPTH_LOG2(DEPTH_LOG2)) packets (
    .clk(clk), .rst(rst), .in_data({in_vector, in_asks}), .in_valid(in_valid), .in_ready(packet_room),
    .out_data({vector, asks}), .out_valid(waiting), .out_ready(leaves)
);

p4_fifo #(.WIDTH(REQUEST_W), .DEPTH_LOG2(DEPTH_LOG2)) requests (
    .clk(clk), .rst(rst), .in_data(in_request), .in_valid(in_valid && in_asks), .in_ready(request_room),
    .out_data(request_data), .out_valid(asking), .out_ready(issues)
);

assign request_valid = asking && !outstanding[ID_W];
assign request_id = issued_reg[ID_W-1:0];
assign response_ready = 1'b1;

// The pipeline has room for what it lets in.
wire unused = &{1'b0, packet_room, request_room};

always @(posedge clk) begin
    out_valid <= leaves && !rst;
    out_vector <= vector;
    out_asked <= asks;
    out_response <= responses[first];
    if (response_valid) responses[response_id] <= response_data;
    if (leaves && asks) done_reg[first] <= 1'b0;
    if (response_valid && known) done_reg[response_id] <= 1'b1;
    if (issues) issued_reg <= issued_reg + 1'b1;
    if (leaves && asks) left_reg <= left_reg + 1'b1;
    if (rst) begin
        done_reg <= {IDS{1'b0}};
        {issued_reg, left_reg} <= {(2*ID_W+2){1'b0}};
    end
end

initial begin
    out_valid = 1'b0;
    done_reg = {IDS{1'b0}};
    {issued_reg, left_reg} = {(2*ID_W+2){1'b0}};
end

endmodule

`resetall
