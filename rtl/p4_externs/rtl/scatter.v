// An asynchronous extern with random latency: it multiplies a number of 32 bits by 9E3779B1. A response waits for a random number of cycles below
// 2 to the power of SPREAD, so that responses come out of order. In one cycle of four no request is taken.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module scatter #(
    // Bits of identifiers
    parameter ID_W = 4,
    // 1 to 8
    parameter SPREAD = 6
) (
    input  wire            clk,
    input  wire            rst,
    input  wire            request_valid,
    output wire            request_ready,
    input  wire [ID_W-1:0] request_id,
    input  wire [31:0]     request_data,
    output reg             response_valid,
    input  wire            response_ready,
    output reg  [ID_W-1:0] response_id,
    output reg  [31:0]     response_data
);

localparam IDS = 1 << ID_W;

reg  [31:0]       random_reg;
reg  [31:0]       data [0:IDS-1];
// Cycles that each has to wait, number 0 lowest
reg  [IDS*SPREAD-1:0] rest_reg;
reg  [IDS-1:0]    held_reg;
reg  [ID_W-1:0]   chosen;
reg               any;
integer           id;

always @* begin
    any = 1'b0;
    chosen = {ID_W{1'b0}};
    for (id = 0; id < IDS; id = id + 1)
        if (held_reg[id] && rest_reg[SPREAD*id +: SPREAD] == {SPREAD{1'b0}}) begin
            any = 1'b1;
            chosen = id[ID_W-1:0];
        end
end

wire gives = any && (!response_valid || response_ready);
assign request_ready = random_reg[31:30] != 2'b00;

always @(posedge clk) begin
    random_reg <= {random_reg[30:0], random_reg[31] ^ random_reg[21] ^ random_reg[1] ^ random_reg[0]};
    for (id = 0; id < IDS; id = id + 1)
        if (rest_reg[SPREAD*id +: SPREAD] != {SPREAD{1'b0}}) rest_reg[SPREAD*id +: SPREAD] <= rest_reg[SPREAD*id +: SPREAD] - 1'b1;
    if (!response_valid || response_ready) begin
        response_valid <= any;
        response_id <= chosen;
        response_data <= data[chosen] * 32'h9E3779B1;
    end
    if (gives) held_reg[chosen] <= 1'b0;
    if (request_valid && request_ready) begin
        held_reg[request_id] <= 1'b1;
        data[request_id] <= request_data;
        rest_reg[SPREAD*request_id +: SPREAD] <= random_reg[SPREAD-1:0];
    end
    if (rst) begin
        random_reg <= 32'd1;
        held_reg <= {IDS{1'b0}};
        response_valid <= 1'b0;
    end
end

initial begin
    random_reg = 32'd1;
    held_reg = {IDS{1'b0}};
    response_valid = 1'b0;
end

endmodule

`resetall
