// Properties of nic_registers, for a solver: any reads and writes of any address, at any time, and
// a host that takes answers when it likes.
//
//   no alias      an address of the list at the top of nic_registers.v is answered with OKAY, any
//                 other with SLVERR and 0
//   one answer    each read and each write is answered once
//   flush         comes of a write of 1 to its register, and of nothing else

`default_nettype none

module registers #(
    // Not zero: claims that no second read is answered, which has to be refuted, or the rest says
    // nothing.
    parameter REACH = 0
) (input wire clk);

// Everything here is the solver's to choose.
(* anyseq *) wire        read, write, takes_read, takes_write, flushing;
(* anyseq *) wire [7:0]  address;
(* anyseq *) wire [31:0] data;
(* anyseq *) wire [3:0]  strobes;
(* anyseq *) wire [55:0] counter, timer;
(* anyseq *) wire [7:0]  events;

wire        awready, wready, bvalid, arready, rvalid, flush;
wire [1:0]  bresp, rresp;
wire [31:0] rdata;
wire [2:0]  timer_number;

nic_registers dut (
    .clk(clk), .rst(1'b0),
    .s_axil_awaddr(address), .s_axil_awvalid(write), .s_axil_awready(awready),
    .s_axil_wdata(data), .s_axil_wstrb(strobes), .s_axil_wvalid(write), .s_axil_wready(wready),
    .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(takes_write),
    .s_axil_araddr(address), .s_axil_arvalid(read), .s_axil_arready(arready),
    .s_axil_rdata(rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(takes_read),
    .counter(counter), .timer_number(timer_number), .timer(timer), .flush(flush), .flushing(flushing),
    .sent_frame(events[0]), .late_frame(events[1]), .bad_record(events[2]), .flushed_record(events[3]),
    .good_frame(events[4]), .bad_frame(events[5]), .fragment(events[6]), .overflow(events[7])
);

wire [7:0] word = {address[7:2], 2'b00};
wire       is_flush = word == 8'h30;
wire       is_known = word <= 8'h28 || is_flush || (word >= 8'h48 && word <= 8'h7C);

// Requests without an answer yet
reg       reads = 0, writes = 0, known = 0, flushes = 0;
reg [1:0] answers = 0;

always @(posedge clk) begin
    if (read && arready) begin
        reads <= 1;
        known <= is_known;
    end else if (rvalid && takes_read) reads <= 0;
    if (write && awready) begin
        writes <= 1;
        flushes <= is_flush;
    end else if (bvalid && takes_write) writes <= 0;
    if (rvalid && takes_read && answers != 3) answers <= answers + 1;

    assert (REACH == 0 || answers < 2);
    assert (rvalid == reads);
    assert (bvalid == writes);
    assert (awready == wready);
    if (rvalid) begin
        assert (rresp == (known ? 2'b00 : 2'b10));
        assert (known || rdata == 0);
    end
    if (bvalid) assert (bresp == (flushes ? 2'b00 : 2'b10));
    assert (flush == (write && awready && is_flush && strobes[0] && data[0]));
end

endmodule
