// A coordinator of Paxos in an L2 switch and L3 router.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "paxos.p4"
#include "forwarding.p4"

control Route(inout headers_t hdr,
              inout metadata_t meta,
              inout standard_metadata_t standard_metadata) {
    PaxosCoordinator() paxos;
    Forward() forwarding;

    // What it asks for goes everywhere, back too, in the switch's own name.
    action ask(bit<48> mac, bit<32> address) {
        standard_metadata.mcast_grp = EVERYWHERE + 1;
        hdr.ethernet.srcAddr = mac;
        hdr.ipv4.srcAddr = address;
        hdr.udp.checksum = 0;
    }

    action drop_packet() {
        mark_to_drop(standard_metadata);
    }

    table own {
        actions = {
            ask;
            drop_packet;
        }
        default_action = drop_packet();
    }

    apply {
        bool asks = false;
        if (hdr.paxos.isValid()) {
            paxos.apply(hdr.paxos, asks);
        }
        if (asks) {
            own.apply();
        } else {
            forwarding.apply(hdr, standard_metadata);
        }
    }
}

V1Switch(Parse(), Verify(), Route(), Leave(), Update(), Deparse()) main;
