// What the programs for `switch` and `bump` read of a packet: as far as the message, if it is one. STANDARD is what the architecture calls its
// metadata.

#ifndef _HEADERS_P4_
#define _HEADERS_P4_

header ethernet_t {
    bit<48> dstAddr;
    bit<48> srcAddr;
    bit<16> etherType;
}

header ipv4_t {
    bit<8> versionIhl;
    bit<8> diffserv;
    bit<16> totalLen;
    bit<16> identification;
    bit<16> fragment;
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

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout STANDARD standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.etherType) {
            0x0800: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.versionIhl, hdr.ipv4.fragment & 0x3FFF, hdr.ipv4.protocol) {
            (0x45, 0, 17): parse_udp;
            default: accept;
        }
    }
    state parse_udp {
        packet.extract(hdr.udp);
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

#endif
