// The registers of a port of the timing NIC, by AXI-Lite of 32 bits. An address that is not in this
// list is answered with SLVERR, and so is a
// write to any but 30; a read of it gives 0.
//
//   00 identification, 57495245 ("WIRE")          04 version, 2
//   08 counter, low word; keeps the high one      0C counter, high word, of the time when 08 was read
//   10 frames sent          14 of those, late     18 records passed over
//   1C records flushed
//   20 frames received      24 bad frames, and fragments that are none
//   28 frames for which there was no room
//   30 write 1: records that have not started are flushed, as one that waits for a tick years
//      ahead; 1 is read until none is left
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
    output reg  [1:0]  s_axil_bresp,
    output reg         s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [7:0]  s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output reg  [31:0] s_axil_rdata,
    output reg  [1:0]  s_axil_rresp,
    output reg         s_axil_rvalid,
    input  wire        s_axil_rready,

    input  wire [55:0] counter,
    output wire [2:0]  timer_number,
    input  wire [55:0] timer,
    output wire        flush,
    input  wire        flushing,

    // High for a cycle for each
    input  wire        sent_frame,
    input  wire        late_frame,
    input  wire        bad_record,
    input  wire        flushed_record,
    input  wire        good_frame,
    input  wire        bad_frame,
    input  wire        fragment,
    input  wire        overflow
);

localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;
localparam [5:0] FLUSH = 6'd12;

reg [31:0] sent_reg, late_reg, bad_record_reg, flushed_reg, good_reg, bad_reg, overflow_reg;
reg [23:0] high_reg;

// An address and its word are taken together.
assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
assign s_axil_wready = s_axil_awready;
assign s_axil_arready = !s_axil_rvalid;
assign timer_number = s_axil_araddr[5:3];

// A bus of 32 bits has no lower bits of an address.
wire unused = &{1'b0, s_axil_awaddr[1:0], s_axil_wdata[31:1], s_axil_wstrb[3:1], s_axil_araddr[1:0]};

wire writes_flush = s_axil_awaddr[7:2] == FLUSH;
assign flush = s_axil_awready && writes_flush && s_axil_wstrb[0] && s_axil_wdata[0];

always @(posedge clk) begin
    sent_reg <= sent_reg + {31'd0, sent_frame};
    late_reg <= late_reg + {31'd0, late_frame};
    bad_record_reg <= bad_record_reg + {31'd0, bad_record};
    flushed_reg <= flushed_reg + {31'd0, flushed_record};
    good_reg <= good_reg + {31'd0, good_frame};
    bad_reg <= bad_reg + {31'd0, bad_frame} + {31'd0, fragment};
    overflow_reg <= overflow_reg + {31'd0, overflow};

    if (s_axil_awready) begin
        s_axil_bvalid <= 1'b1;
        s_axil_bresp <= writes_flush ? OKAY : SLVERR;
    end else if (s_axil_bready) s_axil_bvalid <= 1'b0;

    if (s_axil_arvalid && s_axil_arready) begin
        s_axil_rvalid <= 1'b1;
        s_axil_rresp <= OKAY;
        case (s_axil_araddr[7:2])
            6'd0: s_axil_rdata <= 32'h57495245;
            6'd1: s_axil_rdata <= 32'd2;
            6'd2: begin
                s_axil_rdata <= counter[31:0];
                high_reg <= counter[55:32];
            end
            6'd4: s_axil_rdata <= sent_reg;
            6'd5: s_axil_rdata <= late_reg;
            6'd6: s_axil_rdata <= bad_record_reg;
            6'd7: s_axil_rdata <= flushed_reg;
            6'd8: s_axil_rdata <= good_reg;
            6'd9: s_axil_rdata <= bad_reg;
            6'd10: s_axil_rdata <= overflow_reg;
            FLUSH: s_axil_rdata <= {31'd0, flushing};
            6'd18, 6'd20, 6'd22, 6'd24, 6'd26, 6'd28, 6'd30: begin
                s_axil_rdata <= timer[31:0];
                high_reg <= timer[55:32];
            end
            6'd3, 6'd19, 6'd21, 6'd23, 6'd25, 6'd27, 6'd29, 6'd31: s_axil_rdata <= {8'h0, high_reg};
            default: begin
                s_axil_rdata <= 32'h0;
                s_axil_rresp <= SLVERR;
            end
        endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;

    if (rst) begin
        {sent_reg, late_reg, bad_record_reg, flushed_reg, good_reg, bad_reg, overflow_reg} <= 224'd0;
        high_reg <= 24'h0;
        s_axil_bvalid <= 1'b0;
        s_axil_rvalid <= 1'b0;
    end
end

initial begin
    {sent_reg, late_reg, bad_record_reg, flushed_reg, good_reg, bad_reg, overflow_reg} = 224'd0;
    high_reg = 24'h0;
    s_axil_bvalid = 1'b0;
    s_axil_rvalid = 1'b0;
    s_axil_rdata = 32'h0;
    s_axil_bresp = SLVERR;
    s_axil_rresp = OKAY;
end

endmodule

`resetall
