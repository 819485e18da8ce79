// A stack: next, last, lastIndex, push, pop, an index known only when the packet comes, and what lies beyond.
#include <core.p4>
#include <v1model.p4>
header head_t { bit<8> op; bit<8> index; bit<8> result; }
header item_t { bit<7> value; bit<1> more; }
struct headers { head_t head; item_t[3] items; }
struct meta { bit<8> seen; }
#include "rest.p4i"
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.head);
        transition items;
    }
    state items {
        packet.extract(h.items.next);
        m.seen = (bit<8>)h.items.lastIndex + (bit<8>)h.items.last.value;
        transition select(h.items.last.more) {
            1: items;
            0: accept;
        }
    }
}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        h.head.result = m.seen;
        if (s.parser_error == error.StackOutOfBounds) {
            h.head.result = 0xee;
        } else if (h.head.op == 1) {
            h.items.push_front(1);
            h.items[0].setValid();
            h.items[0] = { 7w0x55, 1w1 };
        } else if (h.head.op == 2) {
            h.items.pop_front(2);
        } else if (h.head.op == 3) {
            h.items[h.head.index].value = 0x7f;
        } else if (h.head.op == 4) {
            h.head.result = (bit<8>)h.items[h.head.index].value;
        } else if (h.head.op == 5) {
            h.items[2] = h.items[0];
            h.items[0].setInvalid();
        } else if (h.head.op == 6) {
            h.head.result = h.items[0] == h.items[1] ? 8w1 : 8w0;
        } else if (h.head.op == 7) {
            h.head.result = h.items.size[7:0];
        }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
