// An L2 switch and L3 router (paper 002, table 3.1). The same tables as in l2l3_14.p4.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

// How many entries the tables have.
#ifndef MACS
#define MACS 4096
#endif
#ifndef PREFIXES
#define PREFIXES 10240
#endif
#ifndef NEXT_HOPS
#define NEXT_HOPS 512
#endif

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

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct routing_t {
    bool routed;
    bit<16> nhop;
}

struct metadata_t {
    routing_t routing;
}

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

control Route(inout headers_t hdr,
                inout metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    action _drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(PortId_t port) {
        standard_metadata.egress_spec = port;
    }

    action to_router() {
        meta.routing.routed = true;
    }

    action set_nhop(bit<16> nhop) {
        meta.routing.nhop = nhop;
    }

    action via(PortId_t port, bit<48> dmac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.dstAddr = dmac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    // Where a MAC address is; the router's own lead to the tables below.
    table dmac {
        key = {
            hdr.ethernet.dstAddr: exact;
        }
        actions = {
            forward;
            to_router;
            _drop;
        }
        const default_action = _drop();
        size = MACS;
    }

    table route {
        key = {
            hdr.ipv4.dstAddr: lpm;
        }
        actions = {
            set_nhop;
            _drop;
        }
        const default_action = _drop();
        size = PREFIXES;
    }

    table next_hop {
        key = {
            meta.routing.nhop: exact;
        }
        actions = {
            via;
            _drop;
        }
        const default_action = _drop();
        size = NEXT_HOPS;
    }

    apply {
        switch (dmac.apply().action_run) {
            to_router: {
                bool good = standard_metadata.checksum_error == 0 && standard_metadata.parser_error == error.NoError;
                if (good && hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
                    switch (route.apply().action_run) {
                        set_nhop: {
                            next_hop.apply();
                        }
                    }
                } else {
                    _drop();
                }
            }
        }
    }
}

control Leave(inout headers_t hdr,
               inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    action _drop() {
        mark_to_drop(standard_metadata);
    }

    action rewrite(bit<48> smac) {
        hdr.ethernet.srcAddr = smac;
    }

    // The router's own MAC address at each port.
    table smac {
        key = {
            standard_metadata.egress_port: exact;
        }
        actions = {
            rewrite;
            _drop;
        }
        const default_action = _drop();
        size = 64;
    }

    apply {
        if (meta.routing.routed) {
            smac.apply();
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

V1Switch(Parse(), Verify(), Route(), Leave(), Update(), Deparse()) main;
