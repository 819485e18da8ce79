// An acceptor of Paxos in an L2 switch and L3 router.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "paxos.p4"
#include "forwarding.p4"

control Route(inout headers_t hdr,
              inout metadata_t meta,
              inout standard_metadata_t standard_metadata) {
    PaxosAcceptor() paxos;
    Forward() forwarding;

    // The answer goes back where the question came from, in the switch's own name.
    action answer(bit<48> mac, bit<32> address) {
        standard_metadata.egress_spec = standard_metadata.ingress_port;
        hdr.ethernet.srcAddr = mac;
        hdr.ipv4.srcAddr = address;
        hdr.udp.checksum = 0;
    }

    action drop_packet() {
        mark_to_drop(standard_metadata);
    }

    table own {
        actions = {
            answer;
            drop_packet;
        }
        default_action = drop_packet();
    }

    apply {
        bool mine = hdr.paxos.isValid()
            && (hdr.paxos.msgtype == PAXOS_1A
                || hdr.paxos.msgtype == PAXOS_2A
                || hdr.paxos.msgtype == PAXOS_ADMIT
                || hdr.paxos.msgtype == PAXOS_TRIM);
        if (mine) {
            bool answers;
            paxos.apply(hdr.paxos, answers);
            if (answers) {
                own.apply();
            } else {
                drop_packet();
            }
        } else {
            forwarding.apply(hdr, standard_metadata);
        }
    }
}

V1Switch(Parse(), Verify(), Route(), Leave(), Update(), Deparse()) main;
