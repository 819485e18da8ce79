// The same acceptor for the architecture `switch`: what it answers goes back, all else goes to the port by its MAC address.

#include <core.p4>
#include <switch.p4>
#include "paxos.p4"
#define STANDARD switch_metadata_t
#include "headers.p4"

control Route(inout headers_t hdr, inout metadata_t meta, inout switch_metadata_t standard) {
    PaxosAcceptor() paxos;

    action answer(bit<48> mac, bit<32> address) {
        standard.egress_port = standard.ingress_port;
        hdr.ethernet.srcAddr = mac;
        hdr.ipv4.srcAddr = address;
        hdr.udp.checksum = 0;
        hdr.ipv4.hdrChecksum = 0;
        hdr.ipv4.hdrChecksum = checksum({ hdr.ipv4 });
    }

    action forward(port_t port) {
        standard.egress_port = port;
    }

    action everywhere() {
        standard.multicast_group = 1;
    }

    action drop_packet() {
        standard.drop = true;
    }

    table own {
        actions = {
            answer;
            drop_packet;
        }
        default_action = drop_packet();
    }

    table dmac {
        key = {
            hdr.ethernet.dstAddr: exact;
        }
        actions = {
            forward;
            everywhere;
        }
        const default_action = everywhere();
        size = 4096;
    }

    apply {
        if (FOR_ACCEPTOR(hdr.paxos)) {
            bool answers;
            paxos.apply(hdr.paxos, answers);
            if (answers) {
                own.apply();
            } else {
                drop_packet();
            }
        } else {
            dmac.apply();
        }
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout switch_metadata_t standard) {
    apply {
        if (standard.multicast_group != 0 && standard.egress_port == standard.ingress_port) {
            standard.drop = true;
        }
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

Switch(Parse(), Route(), Leave(), Deparse()) main;
