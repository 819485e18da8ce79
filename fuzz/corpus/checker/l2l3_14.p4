// An L2 switch and L3 router in P4_14, as programs of the time of paper 002 were written (table 3.1: l2l3.p4).

header_type ethernet_t {
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

header_type routing_t {
    fields {
        routed : 1;
        nhop : 16;
    }
}

header ethernet_t ethernet;
header ipv4_t ipv4;
metadata routing_t routing;

parser start {
    return parse_ethernet;
}

parser parse_ethernet {
    extract(ethernet);
    return select(latest.etherType) {
        0x0800 : parse_ipv4;
        default : ingress;
    }
}

parser parse_ipv4 {
    extract(ipv4);
    return ingress;
}

field_list ipv4_fields {
    ipv4.version;
    ipv4.ihl;
    ipv4.diffserv;
    ipv4.totalLen;
    ipv4.identification;
    ipv4.flags;
    ipv4.fragOffset;
    ipv4.ttl;
    ipv4.protocol;
    ipv4.srcAddr;
    ipv4.dstAddr;
}

field_list_calculation ipv4_checksum {
    input {
        ipv4_fields;
    }
    algorithm : csum16;
    output_width : 16;
}

// Options are not parsed, so that their checksum is left alone.
calculated_field ipv4.hdrChecksum {
    update ipv4_checksum if (ipv4.ihl == 5);
}

action _drop() {
    drop();
}

action forward(port) {
    modify_field(standard_metadata.egress_spec, port);
}

action to_router() {
    modify_field(routing.routed, 1);
}

action set_nhop(nhop) {
    modify_field(routing.nhop, nhop);
}

action via(port, dmac) {
    modify_field(standard_metadata.egress_spec, port);
    modify_field(ethernet.dstAddr, dmac);
    subtract_from_field(ipv4.ttl, 1);
}

action rewrite(smac) {
    modify_field(ethernet.srcAddr, smac);
}

// Where a MAC address is; the router's own lead to the tables below.
table dmac {
    reads {
        ethernet.dstAddr : exact;
    }
    actions {
        forward;
        to_router;
        _drop;
    }
    default_action : _drop();
    size : 4096;
}

table route {
    reads {
        ipv4.dstAddr : lpm;
    }
    actions {
        set_nhop;
        _drop;
    }
    default_action : _drop();
    size : 10240;
}

table next_hop {
    reads {
        routing.nhop : exact;
    }
    actions {
        via;
        _drop;
    }
    default_action : _drop();
    size : 512;
}

// The router's own MAC address at each port.
table smac {
    reads {
        standard_metadata.egress_port : exact;
    }
    actions {
        rewrite;
        _drop;
    }
    default_action : _drop();
    size : 64;
}

control ingress {
    apply(dmac) {
        to_router {
            if (valid(ipv4) and ipv4.ttl > 1) {
                apply(route) {
                    set_nhop {
                        apply(next_hop);
                    }
                }
            } else {
                apply(expired);
            }
        }
    }
}

table expired {
    actions {
        _drop;
    }
    default_action : _drop();
}

control egress {
    if (routing.routed == 1) {
        apply(smac);
    }
}
