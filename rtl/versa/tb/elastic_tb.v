// Frames through the elastic buffer, from a clock 100 ppm fast to one 100 ppm slow and the other way round: short ones back to back and
// the longest. Each has to come out whole, a few cycles later. Tells PASS, or the first difference.

`timescale 100fs / 100fs

module elastic_tb;

// In units of 100 fs: half a period of the sender's clock, and of the receiver's
parameter IN = 39996, OUT = 40004;
localparam FRAMES = 40, GAP = 12;

reg in_clk = 0, out_clk = 0;
always #IN in_clk = ~in_clk;
always #OUT out_clk = ~out_clk;

function integer length(input integer frame);
    length = frame % 8 == 7 ? 16012 : 72 + frame;
endfunction

reg [7:0] in_data = 0;
reg       in_valid = 0;
integer   frame = 0, place = -20;
wire [7:0] out_data;
wire       out_valid, out_error;

elastic dut (
    .in_clk(in_clk), .in_data(in_data), .in_valid(in_valid), .in_error(1'b0),
    .out_clk(out_clk), .out_data(out_data), .out_valid(out_valid), .out_error(out_error)
);

always @(posedge in_clk) begin
    place <= place + 1;
    in_valid <= place >= 0 && place < length(frame) && frame < FRAMES;
    in_data <= frame * 7 + place;
    if (place == length(frame) + GAP - 1) begin
        place <= 0;
        frame <= frame + 1;
    end
end

integer came = 0, at = 0;
time    first_in, first_out, delay, least = 100000000, most = 0;
reg     was_in = 0;

always @(posedge in_clk) begin
    was_in <= in_valid;
    if (in_valid && !was_in) first_in = $time;
end

always @(posedge out_clk) begin
    if (out_error) begin
        $display("FAIL: frame %0d ran dry at %0d", came, at);
        $finish;
    end
    if (out_valid) begin
        if (at == 0) begin
            delay = $time - first_in;
            if (delay < least) least = delay;
            if (delay > most) most = delay;
        end
        at <= at + 1;
        if (out_data !== ((came * 7 + at) & 8'hFF)) begin
            $display("FAIL: frame %0d, byte %0d is %h", came, at, out_data);
            $finish;
        end
    end else if (at != 0) begin
        if (at != length(came)) begin
            $display("FAIL: frame %0d has %0d of %0d bytes", came, at, length(came));
            $finish;
        end
        came <= came + 1;
        at <= 0;
        if (came == FRAMES - 1) begin
            $display("PASS: %0d frames, %0d to %0d ns later", came + 1, least / 10000, most / 10000);
            $finish;
        end
    end
end

endmodule
