// Counts events: 64 bits each, in two words from BASE on. A read of the lower word latches the upper one, so both are of the same cycle.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module p4_performance #(
    parameter COUNT = 10,
    parameter BASE = 16'hE000
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [COUNT-1:0] events,
    input  wire [15:0]      ctl_address,
    output reg  [31:0]      ctl_read
);
    reg [64*COUNT-1:0] counts;
    reg [63:0] chosen;
    reg [31:0] upper;
    reg here;
    integer number;
    always @* begin
        chosen = 64'd0;
        here = 1'b0;
        for (number = 0; number < COUNT; number = number + 1)
            if (ctl_address[15:1] == BASE[15:1] + number[14:0]) begin
                chosen = counts[64*number +: 64];
                here = 1'b1;
            end
    end

    integer event_of;
    always @(posedge clk) begin
        for (event_of = 0; event_of < COUNT; event_of = event_of + 1)
            if (rst) counts[64*event_of +: 64] <= 64'd0;
            else counts[64*event_of +: 64] <= counts[64*event_of +: 64] + {63'd0, events[event_of]};
        ctl_read <= !here ? 32'd0 : ctl_address[0] ? upper : chosen[31:0];
        if (here && !ctl_address[0]) upper <= chosen[63:32];
    end
endmodule

`resetall
