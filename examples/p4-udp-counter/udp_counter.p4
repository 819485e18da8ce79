// Counts UDP packets by destination port: paper 002, figure 3.1, with what the figure leaves out.

header_type eth_t {
    fields {
        dstAddr : 48;
        srcAddr : 48;
        etherType : 16;
    }
}

header_type ipv4_t {
    fields {
        version : 4;
        ihl : 4;
        diffserv : 8;
        totalLen : 16;
        identification : 16;
        flags : 3;
        fragOffset : 13;
        ttl : 8;
        protocol : 8;
        hdrChecksum : 16;
        srcAddr : 32;
        dstAddr : 32;
    }
}

header_type udp_t {
    fields {
        srcPort : 16;
        dstPort : 16;
        length : 16;
        checksum : 16;
    }
}

header eth_t eth;
header ipv4_t ipv4;
header udp_t udp;

parser start {
    extract(eth);
    return select(eth.etherType) {
        0x0800 : parse_ipv4;
        default : ingress;
    }
}

// Only packets without options, and of fragments only the first, have the UDP header here.
parser parse_ipv4 {
    extract(ipv4);
    return select(ipv4.ihl, ipv4.fragOffset, ipv4.protocol) {
        0x0a00011 : parse_udp;
        default : ingress;
    }
}

parser parse_udp {
    extract(udp);
    return ingress;
}

counter c1 {
    type : packets;
    instance_count : 32;
}

action count_c1(index) {
    count(c1, index);
}

action _drop() {
    drop();
}

// What comes in by port 0 leaves by port 1, and the other way round.
action cross() {
    bit_xor(standard_metadata.egress_spec, standard_metadata.ingress_port, 1);
}

table wire {
    actions { cross; }
    default_action : cross();
}

table table_count {
    reads { udp.dstPort : exact; }
    actions { count_c1; _drop; }
}

control ingress {
    apply(wire);
    if (valid(eth)) {
        if (valid(ipv4)) {
            if (valid(udp)) {
                apply(table_count);
            }
        }
    }
}
