// The registers of a port of the timing NIC, read by AXI-Lite of 32 bits. Writes are answered with SLVERR: there is nothing to set.
//
//   00 identification, 57495245 ("WIRE")          04 version, 1
//   08 counter, low word; keeps the high one      0C counter, high word, of the time when 08 was read
//   10 frames sent          14 of those, late     18 records passed over
//   20 frames received      24 bad frames, and fragments that are none
//   28 frames for which there was no room
//   48 + 8 * (T - 1) timer T, low word; keeps the high one, which is 4 behind it

`resetall
`default_nettype none
`timescale 1ns / 1ps

module nic_registers (
    input  wire        clk,
    input  wire        rst,

    input  wire [7:0]  s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output wire [1:0]  s_axil_bresp,
    output reg         s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [7:0]  s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output reg  [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output reg         s_axil_rvalid,
    input  wire        s_axil_rready,

    input  wire [55:0] counter,
    output wire [2:0]  timer_number,
    input  wire [55:0] timer,

    // High for a cycle for each
    input  wire        sent_frame,
    input  wire        late_frame,
    input  wire        bad_record,
    input  wire        good_frame,
    input  wire        bad_frame,
    input  wire        fragment,
    input  wire        overflow
);

reg [31:0] sent_reg, late_reg, bad_record_reg, good_reg, bad_reg, overflow_reg;
reg [23:0] high_reg;

// An address and its word are taken together.
assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
assign s_axil_wready = s_axil_awready;
assign s_axil_bresp = 2'b10;
assign s_axil_arready = !s_axil_rvalid;
assign s_axil_rresp = 2'b00;
assign timer_number = s_axil_araddr[5:3];

wire unused = &{1'b0, s_axil_awaddr, s_axil_wdata, s_axil_wstrb, s_axil_araddr[7], s_axil_araddr[1:0]};

always @(posedge clk) begin
    sent_reg <= sent_reg + {31'd0, sent_frame};
    late_reg <= late_reg + {31'd0, late_frame};
    bad_record_reg <= bad_record_reg + {31'd0, bad_record};
    good_reg <= good_reg + {31'd0, good_frame};
    bad_reg <= bad_reg + {31'd0, bad_frame} + {31'd0, fragment};
    overflow_reg <= overflow_reg + {31'd0, overflow};

    if (s_axil_awready) s_axil_bvalid <= 1'b1;
    else if (s_axil_bready) s_axil_bvalid <= 1'b0;

    if (s_axil_arvalid && s_axil_arready) begin
        s_axil_rvalid <= 1'b1;
        case (s_axil_araddr[6:2])
            5'd0: s_axil_rdata <= 32'h57495245;
            5'd1: s_axil_rdata <= 32'd1;
            5'd2: begin
                s_axil_rdata <= counter[31:0];
                high_reg <= counter[55:32];
            end
            5'd4: s_axil_rdata <= sent_reg;
            5'd5: s_axil_rdata <= late_reg;
            5'd6: s_axil_rdata <= bad_record_reg;
            5'd8: s_axil_rdata <= good_reg;
            5'd9: s_axil_rdata <= bad_reg;
            5'd10: s_axil_rdata <= overflow_reg;
            5'd18, 5'd20, 5'd22, 5'd24, 5'd26, 5'd28, 5'd30: begin
                s_axil_rdata <= timer[31:0];
                high_reg <= timer[55:32];
            end
            5'd3, 5'd19, 5'd21, 5'd23, 5'd25, 5'd27, 5'd29, 5'd31: s_axil_rdata <= {8'h0, high_reg};
            default: s_axil_rdata <= 32'h0;
        endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;

    if (rst) begin
        {sent_reg, late_reg, bad_record_reg, good_reg, bad_reg, overflow_reg} <= 192'd0;
        s_axil_bvalid <= 1'b0;
        s_axil_rvalid <= 1'b0;
    end
end

initial begin
    {sent_reg, late_reg, bad_record_reg, good_reg, bad_reg, overflow_reg} = 192'd0;
    high_reg = 24'h0;
    s_axil_bvalid = 1'b0;
    s_axil_rvalid = 1'b0;
    s_axil_rdata = 32'h0;
end

endmodule

`resetall
