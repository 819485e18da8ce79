// In-band telemetry: the first switch of a path puts a shim behind the Ethernet header of chosen packets, each switch writes what it
// knows into it - who it is, from and to which port, when - and the last one takes it all off again and sends it to the
// collector in a packet of its own. A switch is first or last by its entries, not by its program.
#include <core.p4>
#include <v1model.p4>

const bit<16> TELEMETRY = 0x88b6; // an EtherType for local experiments
const bit<8> MOST = 8;
const bit<32> TO_COLLECTOR = 1; // the mirror session

header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header shim_t { bit<8> hops; bit<8> left; bit<16> type; }
header hop_t {
    bit<16> switch_id;
    bit<8> from;
    bit<8> to;
    bit<48> time;  // of arrival, microseconds
    bit<16> queue; // the queue's depth that the packet met
}

struct headers { ethernet_t ethernet; shim_t shim; hop_t[8] hops; }
struct meta {
    bit<16> switch_id;
    bit<1> last;
}

parser Parse(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    bit<8> left;
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.type) {
            TELEMETRY: shim;
            default: accept;
        }
    }
    state shim {
        packet.extract(h.shim);
        left = h.shim.hops;
        transition hops;
    }
    state hops {
        transition select(left) {
            0: accept;
            default: hop;
        }
    }
    state hop {
        packet.extract(h.hops.next);
        left = left - 1;
        transition hops;
    }
}

control Verify(inout headers h, inout meta m) {
    apply { }
}

control Forward(inout headers h, inout meta m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action forward(bit<9> port) { s.egress_spec = port; }
    table addresses {
        key = { h.ethernet.destination: exact; }
        actions = { forward; drop; }
        default_action = drop();
    }

    // Where telemetry begins, and of which packets.
    action watch(bit<8> hops) {
        h.shim.setValid();
        h.shim.hops = 0;
        h.shim.left = hops;
        h.shim.type = h.ethernet.type;
        h.ethernet.type = TELEMETRY;
    }
    table begin {
        key = { s.ingress_port: exact; h.ethernet.type: ternary; }
        actions = { watch; NoAction; }
        default_action = NoAction();
    }

    apply {
        if (s.parser_error != error.NoError) { drop(); return; }
        addresses.apply();
        if (!h.shim.isValid()) { begin.apply(); }
    }
}

control Leave(inout headers h, inout meta m, inout standard_metadata_t s) {
    action identify(bit<16> id) { m.switch_id = id; }
    table identity {
        actions = { identify; }
        default_action = identify(0);
    }
    action finish() { m.last = 1; }
    table end {
        key = { s.egress_port: exact; }
        actions = { finish; NoAction; }
        default_action = NoAction();
    }

    apply {
        if (!h.shim.isValid()) { return; }
        if (s.instance_type == 2) {
            // The collector's copy has all that was written, and nothing more.
            truncate(14 + 4 + 12 * (bit<32>)h.shim.hops);
            return;
        }
        identity.apply();
        if (h.shim.left > 0 && h.shim.hops < MOST) {
            h.hops.push_front(1);
            h.hops[0] = {
                m.switch_id, (bit<8>)s.ingress_port, (bit<8>)s.egress_port,
                s.ingress_global_timestamp, (bit<16>)s.enq_qdepth
            };
            h.shim.hops = h.shim.hops + 1;
            h.shim.left = h.shim.left - 1;
        }
        end.apply();
        if (m.last == 1) {
            clone(CloneType.E2E, TO_COLLECTOR);
        }
    }
}

// The copy for the collector is made before the deparser, so that the headers are taken off here, where the copy no longer comes by with `last` set.
control Compute(inout headers h, inout meta m) {
    apply {
        if (m.last == 1) {
            h.ethernet.type = h.shim.type;
            h.shim.setInvalid();
            h.hops.pop_front(8);
        }
    }
}

control Deparse(packet_out packet, in headers h) {
    apply { packet.emit(h); }
}

V1Switch(Parse(), Verify(), Forward(), Leave(), Compute(), Deparse()) main;
