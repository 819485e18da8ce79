// What every switch for the architecture `switch` does here besides Paxos: frames go where a MAC address is known to be, and everywhere else when nobody
// knows; messages of Paxos that it does not answer itself go to whom they are for. Split horizon as in forwarding.p4.

#ifndef _FORWARDING_SWITCH_P4_
#define _FORWARDING_SWITCH_P4_

/// The multicast group that has all ports; those below are for messages of Paxos.
const bit<16> EVERYWHERE = 16;

control Forward(inout headers_t hdr, inout metadata_t meta, inout switch_metadata_t standard) {
    PaxosAudience() audience;

    action behind(bit<16> number) {
        meta.horizon = number;
    }

    table horizon {
        key = {
            standard.ingress_port: exact;
        }
        actions = {
            behind;
        }
        const default_action = behind(0);
        size = 64;
    }

    action forward(port_t port) {
        standard.egress_port = port;
    }

    action everywhere() {
        standard.multicast_group = EVERYWHERE;
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
        horizon.apply();
        if (hdr.paxos.isValid()) {
            audience.apply(hdr.paxos, standard.multicast_group);
        } else {
            dmac.apply();
        }
    }
}

/// A copy of what the switch did not make does not leave where it came in, nor behind the same horizon.
control Leave(inout headers_t hdr, inout metadata_t meta, inout switch_metadata_t standard) {
    apply {
        bool back = standard.egress_port == standard.ingress_port
            || (meta.horizon != 0 && standard.instance == meta.horizon);
        if (standard.multicast_group != 0 && !meta.own && back) {
            standard.drop = true;
        }
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#endif
