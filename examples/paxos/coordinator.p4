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

    // In the switch's own name, to whom it is for.
    action say(bit<48> mac, bit<32> address) {
        standard_metadata.mcast_grp = meta.audience;
        meta.own = true;
        hdr.ethernet.srcAddr = mac;
        hdr.ipv4.srcAddr = address;
        hdr.udp.checksum = 0;
    }

    action drop_packet() {
        mark_to_drop(standard_metadata);
    }

    table own {
        actions = {
            say;
            drop_packet;
        }
        default_action = drop_packet();
    }

    apply {
        if (hdr.paxos.isValid()) {
            paxos.apply(hdr.paxos, meta.audience);
        }
        if (meta.audience != 0) {
            own.apply();
        } else {
            forwarding.apply(hdr, meta, standard_metadata);
        }
    }
}

V1Switch(Parse(), Verify(), Route(), Leave(), Update(), Deparse()) main;
