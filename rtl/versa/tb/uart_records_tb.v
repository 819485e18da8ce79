// Records of two ports up over the serial line, and the same line back down: each has to come out at its port whole. Then a record for
// which there is no room, one that breaks off, and one behind them. Tells PASS, or the first difference.

`timescale 1ns / 1ps

module uart_records_tb;

reg clk = 0;
always #4 clk = ~clk;

reg         rst = 1;
reg  [63:0] data = 0;
reg  [7:0]  keep = 8'hFF;
reg         last = 0, port = 0, valid = 0;
reg  [1:0]  room = 2'b11;
reg         cut = 0;      // the line is idle, whatever is sent
wire        line;
wire [1:0]  ready;
wire [63:0] down_data;
wire [7:0]  down_keep;
wire        down_last, down_valid, down_port, dropped;

uart_records #(.BIT(8)) dut (
    .clk(clk), .rst(rst), .uart_rxd(line || cut), .uart_txd(line),
    .m_axis_tdata(down_data), .m_axis_tkeep(down_keep), .m_axis_tlast(down_last), .m_axis_tvalid(down_valid),
    .m_axis_tdest(down_port), .m_axis_tready(room),
    .s_axis_tdata_0(data), .s_axis_tkeep_0(keep), .s_axis_tlast_0(last),
    .s_axis_tdata_1(data), .s_axis_tkeep_1(keep), .s_axis_tlast_1(last),
    .s_axis_tvalid({valid && port, valid && !port}), .s_axis_tready(ready), .dropped(dropped)
);

// What is to come, by word: port, last, keep, data
reg [73:0] expected [0:255];
integer    put = 0, got = 0, drops = 0, i;

always @(posedge clk) begin
    drops <= drops + dropped;
    if (down_valid && room[down_port]) begin
        got <= got + 1;
        if ({down_port, down_last, down_keep, down_data} !== expected[got]) begin
            $display("FAIL: word %0d is %h, not %h", got, {down_port, down_last, down_keep, down_data}, expected[got]);
            $finish;
        end
    end
end

task word(input [63:0] what, input [7:0] which, input ends, input expect_it);
    begin
        data <= what;
        keep <= which;
        last <= ends;
        valid <= 1;
        if (expect_it) begin
            for (i = 0; i < 8; i = i + 1) expected[put][8*i +: 8] = which[i] ? what[8*i +: 8] : 8'h00;
            expected[put][73:64] = {port, ends, which};
            put = put + 1;
        end
        @(posedge clk);
        while (!ready[port]) @(posedge clk);
        valid <= 0;
        @(posedge clk);
    end
endtask

task record(input integer length, input which, input expect_it);
    integer left;
    begin
        port = which;
        word({32'h0, length[7:0], length[15:8], 16'h7637}, 8'hFF, 0, expect_it);
        word(64'h1122334455667788, 8'hFF, 0, expect_it);
        for (left = length; left > 0; left = left - 8)
            word({8{left[7:0]}}, left >= 8 ? 8'hFF : ~(8'hFF << left), left <= 8, expect_it);
    end
endtask

initial begin
    repeat (4) @(posedge clk);
    rst <= 0;
    record(14, 0, 1);
    record(60, 1, 1);
    record(63, 0, 1);
    record(16, 1, 1);
    repeat (2000) @(posedge clk);
    if (drops != 0) $display("FAIL: %0d were dropped", drops);
    // No room at its first word
    room <= 2'b10;
    record(20, 0, 0);
    repeat (2000) @(posedge clk);
    room <= 2'b11;
    record(20, 0, 1);
    repeat (2000) @(posedge clk);
    // Cut off behind its header: a word that ends it, which the port takes for no record
    port = 1;
    word({32'h0, 8'd30, 8'd0, 16'h7637}, 8'hFF, 0, 1);
    repeat (2000) @(posedge clk);
    expected[put] = {1'b1, 1'b1, 8'h01, {32'h0, 8'd30, 8'd0, 16'h7637}};
    put = put + 1;
    cut <= 1;
    word(64'h0, 8'h01, 1, 0);
    repeat (140000) @(posedge clk);
    cut <= 0;
    record(14, 1, 1);
    repeat (2000) @(posedge clk);
    if (got == put && drops == 2) $display("PASS: %0d words, %0d records dropped", got, drops);
    else $display("FAIL: %0d of %0d words, %0d dropped", got, put, drops);
    $finish;
end

endmodule
