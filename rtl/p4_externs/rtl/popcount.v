// An extern with a fixed latency of 3 cycles: how many bits of a number of 32 bits are set. It takes a request in each cycle.

`resetall
`default_nettype none
`timescale 1ns / 1ps

module popcount (
    input  wire        clk,
    input  wire        rst,
    input  wire        request_valid,
    output wire        request_ready,
    input  wire [31:0] request_data,
    output wire        response_valid,
    input  wire        response_ready,
    output wire [7:0]  response_data
);

reg [2:0]  valid_reg;
reg [23:0] eighths_reg; // of 4 bits each, 3 bits
reg [9:0]  halves_reg;  // of 16 bits each, 5 bits
reg [5:0]  sum_reg;
reg [23:0] eighths;
integer    part;

always @*
    for (part = 0; part < 8; part = part + 1)
        eighths[3*part +: 3] = {2'd0, request_data[4*part]} + {2'd0, request_data[4*part+1]} + {2'd0, request_data[4*part+2]}
            + {2'd0, request_data[4*part+3]};

assign request_ready = 1'b1;
assign response_valid = valid_reg[2];
assign response_data = {2'd0, sum_reg};

// A response of a fixed latency is always taken.
wire unused = &{1'b0, response_ready};

always @(posedge clk) begin
    valid_reg <= rst ? 3'd0 : {valid_reg[1:0], request_valid};
    eighths_reg <= eighths;
    for (part = 0; part < 2; part = part + 1)
        halves_reg[5*part +: 5] <= {2'd0, eighths_reg[12*part +: 3]} + {2'd0, eighths_reg[12*part+3 +: 3]}
            + {2'd0, eighths_reg[12*part+6 +: 3]} + {2'd0, eighths_reg[12*part+9 +: 3]};
    sum_reg <= {1'b0, halves_reg[4:0]} + {1'b0, halves_reg[9:5]};
end

initial valid_reg = 3'd0;

endmodule

`resetall
