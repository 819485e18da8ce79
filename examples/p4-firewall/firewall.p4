// A firewall that lets in only answers: what comes from outside must belong to a flow that was opened from inside, and that
// was quiet for no longer than IDLE. When each flow was last seen stands in two registers under two hashes of the flow; an
// answer must be found under both, so that of 4096 flows a stranger meets one by chance once in millions.
#include <core.p4>
#include <v1model.p4>

const bit<48> IDLE = 30_000_000; // microseconds
const bit<32> CELLS = 65536;

header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> source; bit<32> destination;
}
header ports_t { bit<16> source; bit<16> destination; }

struct headers { ethernet_t ethernet; ipv4_t ipv4; ports_t ports; }
struct meta { bit<1> outside; bit<32> one; bit<32> two; }

parser Parse(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.type) {
            0x0800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(h.ipv4);
        transition select(h.ipv4.ihl, h.ipv4.fragment, h.ipv4.protocol) {
            (5, 0, 6): ports;
            (5, 0, 17): ports;
            default: accept;
        }
    }
    state ports {
        packet.extract(h.ports);
        transition accept;
    }
}

control Verify(inout headers h, inout meta m) {
    apply { }
}

control Guard(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<bit<48>>(CELLS) first;
    register<bit<48>>(CELLS) second;
    counter(3, CounterType.packets) verdicts; // passed, without a flow, of no known kind

    action inside(bit<9> port) { m.outside = 0; s.egress_spec = port; }
    action outside(bit<9> port) { m.outside = 1; s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table side {
        key = { s.ingress_port: exact; }
        actions = { inside; outside; drop; }
        default_action = drop();
    }

    // The flow as the inside sees it: its own address and port first.
    action flow(bit<32> ours, bit<32> theirs, bit<16> our_port, bit<16> their_port) {
        hash(m.one, HashAlgorithm.crc16, 32w0, { ours, theirs, h.ipv4.protocol, our_port, their_port }, CELLS);
        hash(m.two, HashAlgorithm.crc32, 32w0, { ours, theirs, h.ipv4.protocol, our_port, their_port }, CELLS);
    }

    action refuse(bit<32> why) {
        verdicts.count(why);
        mark_to_drop(s);
    }

    apply {
        if (!side.apply().hit) { return; }
        if (!h.ipv4.isValid()) {
            // ARP and the like pass.
            return;
        }
        if (!h.ports.isValid()) {
            refuse(2);
            return;
        }
        bit<48> now = s.ingress_global_timestamp + 1; // never 0, which means not seen
        if (m.outside == 0) {
            flow(h.ipv4.source, h.ipv4.destination, h.ports.source, h.ports.destination);
        } else {
            flow(h.ipv4.destination, h.ipv4.source, h.ports.destination, h.ports.source);
            bit<48> seen_one;
            bit<48> seen_two;
            first.read(seen_one, m.one);
            second.read(seen_two, m.two);
            if (seen_one == 0 || seen_two == 0 || now - seen_one > IDLE || now - seen_two > IDLE) {
                refuse(1);
                return;
            }
        }
        first.write(m.one, now);
        second.write(m.two, now);
        verdicts.count(0);
    }
}

control Leave(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply { }
}

control Compute(inout headers h, inout meta m) {
    apply { }
}

control Deparse(packet_out packet, in headers h) {
    apply { packet.emit(h); }
}

V1Switch(Parse(), Verify(), Guard(), Leave(), Compute(), Deparse()) main;
