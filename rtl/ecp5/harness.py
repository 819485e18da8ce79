#!/usr/bin/env python3
"""A module between shift registers, so that it has few pins and nothing of it is left out: to learn how fast its clock may be.

usage: harness.py MODULE < what write_json of Yosys says of it
Clocks are the inputs whose name ends with `clk`: all of them are one here.
"""
import json
import sys

name = sys.argv[1]
ports = json.load(sys.stdin)["modules"][name]["ports"]
clocks = [port for port, told in ports.items() if told["direction"] == "input" and port.endswith("clk")]
widths = {"input": 0, "output": 0}
connected = [f".{port}(clk)" for port in clocks]
for port, told in ports.items():
    if port in clocks:
        continue
    way, width = told["direction"], len(told["bits"])
    connected.append(f".{port}({'in' if way == 'input' else 'out'}[{widths[way]} +: {width}])")
    widths[way] += width
bits = max(1, (widths["output"] - 1).bit_length())
print(f"""module harness (
    input  wire clk,
    input  wire serial_in,
    output reg  serial_out
);
    localparam INPUTS = {widths["input"]};
    localparam OUTPUTS = {widths["output"]};
    reg [INPUTS-1:0] in;
    wire [OUTPUTS-1:0] out;
    reg [OUTPUTS-1:0] left;
    reg [{bits - 1}:0] count;
    always @(posedge clk) begin
        in <= {{in[INPUTS-2:0], serial_in}};
        count <= count == OUTPUTS - 1 ? {bits}'d0 : count + {bits}'d1;
        left <= count == {bits}'d0 ? out : {{left[OUTPUTS-2:0], 1'b0}};
        serial_out <= left[OUTPUTS-1];
    end
    {name} design (
        {(","+chr(10)+"        ").join(connected)}
    );
endmodule""")
