// The same coordinator for the architecture `switch`, in an L2 switch.

#include <core.p4>
#include <switch.p4>
#include "paxos.p4"
#define STANDARD switch_metadata_t
#include "headers.p4"
#include "forwarding_switch.p4"

control Route(inout headers_t hdr, inout metadata_t meta, inout switch_metadata_t standard) {
    PaxosCoordinator() paxos;
    Forward() forwarding;

    // In the switch's own name, to whom it is for.
    action say(bit<48> mac, bit<32> address) {
        standard.multicast_group = meta.audience;
        meta.own = true;
        hdr.ethernet.srcAddr = mac;
        hdr.ipv4.srcAddr = address;
        hdr.udp.checksum = 0;
        hdr.ipv4.hdrChecksum = 0;
        hdr.ipv4.hdrChecksum = checksum({ hdr.ipv4 });
    }

    action drop_packet() {
        standard.drop = true;
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
            forwarding.apply(hdr, meta, standard);
        }
    }
}

Switch(Parse(), Route(), Leave(), Deparse()) main;
