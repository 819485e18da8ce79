// What every switch here does besides Paxos, for v1model: frames go where a MAC address is known to be, to a router's next hop when they are for the
// switch's own address, and everywhere else when nobody knows. Messages of Paxos that a switch does not answer itself go to whom they are for.
//
// Switches may be wired in rings, as in figure 3.12 of paper 002, where each coordinator has a link to each acceptor: what came in by a port behind
// a horizon (table `horizon`) leaves by no other port behind it (copies of that number). That is split horizon, as VPLS has it.

#ifndef _FORWARDING_P4_
#define _FORWARDING_P4_

header ethernet_t {
    bit<48> dstAddr;
    bit<48> srcAddr;
    bit<16> etherType;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> diffserv;
    bit<16> totalLen;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragOffset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> hdrChecksum;
    bit<32> srcAddr;
    bit<32> dstAddr;
}

header udp_t {
    bit<16> srcPort;
    bit<16> dstPort;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    paxos_t paxos;
}

struct metadata_t {
    /// Who a message is for: a sum.
    bit<16> audience;
    /// Copies with this number do not leave, as they came from where these go; 0 is none.
    bit<16> horizon;
    /// Whether the switch made the message: it may go back.
    bool own;
}

/// The multicast group that has all ports; those below are for messages of Paxos.
const bit<16> EVERYWHERE = 16;

parser Parse(packet_in packet,
             out headers_t hdr,
             inout metadata_t meta,
             inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.etherType) {
            0x0800: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragOffset, hdr.ipv4.protocol) {
            (5, 0, 17): parse_udp;
            default: accept;
        }
    }
    state parse_udp {
        packet.extract(hdr.udp);
        // 8 bytes of UDP, 64 of the message's fields, and the value.
        transition select(hdr.udp.dstPort, hdr.udp.length) {
            (PAXOS_PORT, 72 + PAXOS_VALUE / 8): parse_paxos;
            default: accept;
        }
    }
    state parse_paxos {
        packet.extract(hdr.paxos);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
                        {
                            hdr.ipv4.version,
                            hdr.ipv4.ihl,
                            hdr.ipv4.diffserv,
                            hdr.ipv4.totalLen,
                            hdr.ipv4.identification,
                            hdr.ipv4.flags,
                            hdr.ipv4.fragOffset,
                            hdr.ipv4.ttl,
                            hdr.ipv4.protocol,
                            hdr.ipv4.srcAddr,
                            hdr.ipv4.dstAddr
                        },
                        hdr.ipv4.hdrChecksum,
                        HashAlgorithm.csum16);
    }
}

control Forward(inout headers_t hdr,
                inout metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    PaxosAudience() audience;

    action behind(bit<16> number) {
        meta.horizon = number;
    }

    table horizon {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            behind;
        }
        const default_action = behind(0);
        size = 64;
    }

    action forward(PortId_t port) {
        standard_metadata.egress_spec = port;
    }

    action everywhere() {
        standard_metadata.mcast_grp = EVERYWHERE;
    }

    action to_router() { }

    action drop_packet() {
        mark_to_drop(standard_metadata);
    }

    action via(PortId_t port, bit<48> smac, bit<48> dmac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.srcAddr = smac;
        hdr.ethernet.dstAddr = dmac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    table dmac {
        key = {
            hdr.ethernet.dstAddr: exact;
        }
        actions = {
            forward;
            to_router;
            everywhere;
        }
        const default_action = everywhere();
        size = 4096;
    }

    table route {
        key = {
            hdr.ipv4.dstAddr: lpm;
        }
        actions = {
            via;
            drop_packet;
        }
        const default_action = drop_packet();
        size = 1024;
    }

    apply {
        horizon.apply();
        if (hdr.paxos.isValid()) {
            audience.apply(hdr.paxos, standard_metadata.mcast_grp);
        } else {
            switch (dmac.apply().action_run) {
                to_router: {
                    if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
                        route.apply();
                    } else {
                        drop_packet();
                    }
                }
            }
        }
    }
}

/// A copy of what the switch did not make does not leave where it came in, nor behind the same horizon.
control Leave(inout headers_t hdr,
              inout metadata_t meta,
              inout standard_metadata_t standard_metadata) {
    apply {
        bool back = standard_metadata.egress_port == standard_metadata.ingress_port
            || (meta.horizon != 0 && standard_metadata.egress_rid == meta.horizon);
        if (standard_metadata.mcast_grp != 0 && !meta.own && back) {
            mark_to_drop(standard_metadata);
        }
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
                        {
                            hdr.ipv4.version,
                            hdr.ipv4.ihl,
                            hdr.ipv4.diffserv,
                            hdr.ipv4.totalLen,
                            hdr.ipv4.identification,
                            hdr.ipv4.flags,
                            hdr.ipv4.fragOffset,
                            hdr.ipv4.ttl,
                            hdr.ipv4.protocol,
                            hdr.ipv4.srcAddr,
                            hdr.ipv4.dstAddr
                        },
                        hdr.ipv4.hdrChecksum,
                        HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#endif
