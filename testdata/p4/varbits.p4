// Options of a length that the header tells, read by a lookahead and an extract of two arguments.
#include <core.p4>
#include <v1model.p4>
header head_t { bit<8> words; bit<8> op; }
header options_t { bit<8> tag; varbit<64> bytes; }
header tail_t { bit<8> end; }
struct headers { head_t head; options_t options; options_t copy; tail_t tail; }
struct meta { bit<16> ahead; }
error { TooManyWords }
#include "rest.p4i"
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.head);
        verify(h.head.words != 9, error.TooManyWords);
        m.ahead = packet.lookahead<bit<16>>();
        transition select(h.head.op) {
            0xf0 &&& 0xf0: skip;
            default: options;
        }
    }
    state options {
        packet.extract(h.options, (bit<32>)h.head.words * 8);
        transition tail;
    }
    state skip {
        packet.advance((bit<32>)h.head.words * 8);
        transition tail;
    }
    state tail {
        packet.extract(h.tail);
        transition accept;
    }
}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (s.parser_error == error.TooManyWords) { h.head.op = 0xe1; }
        else if (s.parser_error == error.HeaderTooShort) { h.head.op = 0xe2; }
        else if (s.parser_error == error.PacketTooShort) { h.head.op = 0xe3; }
        else if (h.head.op == 1) { h.copy = h.options; }
        else if (h.head.op == 2) { h.head.op = h.options == h.copy ? 8w0xa : 8w0xb; }
        else if (h.head.op == 3) { h.head.op = m.ahead[15:8] ^ m.ahead[7:0]; }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
