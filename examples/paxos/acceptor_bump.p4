// The same acceptor for the architecture `bump`: in the wire, so that a question that comes in at one side leaves as the answer at the
// other, as in figure 3.12 of paper 002. All else passes.

#include <core.p4>
#include <bump.p4>
#include "paxos.p4"
#define STANDARD bump_metadata_t
#include "headers.p4"

control Vote(inout headers_t hdr, inout metadata_t meta, inout bump_metadata_t standard) {
    PaxosAcceptor() paxos;

    action say(bit<48> mac, bit<32> address) {
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
        if (FOR_ACCEPTOR(hdr.paxos)) {
            paxos.apply(hdr.paxos, meta.audience);
            if (meta.audience != 0) {
                own.apply();
            } else {
                drop_packet();
            }
        }
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

Bump(Parse(), Vote(), Deparse()) main;
