// Market data: the book refresh messages of paper 002, figure 2.4, parsed with all their entries. Two feeds carry each message
// for safety; the first to come passes, the second is dropped. What passes goes to a server by the security that it is about.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

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

header mdp_t {
    bit<32> msgSeqNum;
    bit<64> sendingTime;
    bit<16> msgSize;
    bit<16> blockLength;
    bit<16> templateID;
    bit<16> schemaID;
    bit<16> version;
}

header refreshBook_t {
    bit<64> transactTime;
    bit<16> matchEventIndicator;
    bit<16> blockLength;
    bit<16> numEntries;
}

header refreshBookEntry_t {
    bit<64> mdEntryPx;
    bit<32> mdEntrySize;
    bit<32> securityID;
    bit<32> rptReq;
    bit<32> numberOfOrders;
    bit<8> mdPriceLevel;
    bit<8> mdUpdateAction;
    bit<8> mdEntryType;
    bit<40> padding;
}

#define MOST_ENTRIES 16
#define TEMPLATE_REFRESH_BOOK 32
#define CHANNELS 256

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    mdp_t mdp;
    refreshBook_t refreshBook;
    refreshBookEntry_t[MOST_ENTRIES] entries;
}

struct metadata_t {
    bit<16> left;
    bit<32> securityID;
    bit<8> channel;
}

error {
    TooManyEntries
}

parser Parse(packet_in packet,
             out headers_t hdr,
             inout metadata_t meta,
             inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.etherType) {
            0x0800: parse_ipv4;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragOffset, hdr.ipv4.protocol) {
            (5, 0, 17): parse_udp;
        }
    }
    state parse_udp {
        packet.extract(hdr.udp);
        packet.extract(hdr.mdp);
        transition select(hdr.mdp.templateID) {
            TEMPLATE_REFRESH_BOOK: parse_refresh;
        }
    }
    state parse_refresh {
        packet.extract(hdr.refreshBook);
        meta.left = hdr.refreshBook.numEntries;
        verify(meta.left <= MOST_ENTRIES, error.TooManyEntries);
        transition select(meta.left) {
            0: accept;
            default: parse_entry;
        }
    }
    state parse_entry {
        packet.extract(hdr.entries.next);
        meta.left = meta.left - 1;
        transition select(meta.left) {
            0: accept;
            default: parse_entry;
        }
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Route(inout headers_t hdr,
                inout metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    // For each channel the highest number that came, and for it and the 63 below it a bit that says whether they came.
    register<bit<32>, bit<8>>(CHANNELS) highest;
    register<bit<64>, bit<8>>(CHANNELS) window;
    counter<bit<8>>(CHANNELS, CounterType.packets) duplicates;

    action _drop() {
        mark_to_drop(standard_metadata);
    }

    action channel(bit<8> number) {
        meta.channel = number;
    }

    action to_server(PortId_t port, bit<48> dmac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.dstAddr = dmac;
    }

    // The same security always goes to the same port, from `first` on.
    action spread(PortId_t first, bit<16> count) {
        hash(standard_metadata.egress_spec, HashAlgorithm.crc16, first, { meta.securityID }, count);
    }

    table feed {
        key = {
            hdr.ipv4.dstAddr: exact;
            hdr.udp.dstPort: exact;
        }
        actions = {
            channel;
            _drop;
        }
        const default_action = _drop();
        size = 512;
    }

    table server {
        key = {
            meta.securityID: exact;
        }
        actions = {
            to_server;
            spread;
            _drop;
        }
        default_action = _drop();
        size = 8192;
    }

    /// Whether the message came before, or is too old to tell.
    action is_known(out bool known) {
        bit<32> high;
        bit<64> seen;
        highest.read(high, meta.channel);
        window.read(seen, meta.channel);
        // As numbers wrap around, ahead is what is less than half of all numbers away.
        bit<32> ahead = hdr.mdp.msgSeqNum - high;
        bit<32> behind = high - hdr.mdp.msgSeqNum;
        known = false;
        if (seen == 0 || (ahead != 0 && ahead < 0x80000000)) {
            seen = seen == 0 || ahead > 63 ? 1 : (seen << (bit<8>)ahead) | 1;
            highest.write(meta.channel, hdr.mdp.msgSeqNum);
        } else if (behind > 63) {
            known = true;
        } else {
            bit<64> mine = 64w1 << (bit<8>)behind;
            known = seen & mine != 0;
            seen = seen | mine;
        }
        window.write(meta.channel, seen);
    }

    apply {
        if (standard_metadata.parser_error != error.NoError || !hdr.entries[0].isValid()) {
            _drop();
        } else if (feed.apply().hit) {
            bool known;
            @atomic {
                is_known(known);
            }
            if (known) {
                duplicates.count(meta.channel);
                _drop();
            } else {
                meta.securityID = hdr.entries[0].securityID;
                server.apply();
            }
        }
    }
}

control Leave(inout headers_t hdr,
               inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    apply { }
}

control Update(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Parse(), Verify(), Route(), Leave(), Update(), Deparse()) main;
