// Whether the 56 bits of a block of type 0x1E are eight control characters by their codes in table
// 49-1 of IEEE 802.3: idle, low-power idle,
// error or reserved ones. Else they are a message of DTP (`nodes::dtp::message`).

`resetall
`default_nettype none
`timescale 1ns / 1ps

module dtp_characters (
    input  wire [55:0] bits,
    output reg         are_characters
);

reg [6:0] code;
integer lane;

always @* begin
    are_characters = 1'b1;
    for (lane = 0; lane < 8; lane = lane + 1) begin
        code = bits[7*lane +: 7];
        if (code != 7'h00 && code != 7'h06 && code != 7'h1E && code != 7'h2D && code != 7'h33 && code != 7'h4B
            && code != 7'h55 && code != 7'h66 && code != 7'h78) are_characters = 1'b0;
    end
end

endmodule

`resetall
