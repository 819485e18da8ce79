// A switch with many ports: parser, ingress, a crossbar with a queue for each port, and for each copy of the packet egress and deparser.
//
// A packet goes nowhere unless ingress gives it an egress port or a multicast group.

#ifndef _SWITCH_P4_
#define _SWITCH_P4_

#include <core.p4>
#include <externs.p4>

typedef bit<16> port_t;

/// No port: what `egress_port` begins with.
const port_t NO_PORT = 0xFFFF;

/// What the switch tells a program about the packet, and is told.
struct switch_metadata_t {
    /// Where the packet came in.
    port_t ingress_port;
    /// Ingress writes here where it is to go, egress reads here where it goes.
    port_t egress_port;
    /// Ingress writes a multicast group's number here; 0 is none. It comes before the egress port.
    bit<16> multicast_group;
    /// In egress: which of the group's copies this is.
    bit<16> instance;
    /// Drops the packet, or in egress this copy.
    bool drop;
    /// How the parser ended.
    error parser_error;
    /// In bytes, as it came in.
    bit<32> length;
    /// When it came in, in nanoseconds.
    bit<64> timestamp;
}

/// A packet that the parser rejects goes on; `parser_error` says why.
parser Parser<H, M>(packet_in packet, out H headers, inout M metadata, inout switch_metadata_t standard);
@pipeline
control Ingress<H, M>(inout H headers, inout M metadata, inout switch_metadata_t standard);
@pipeline
control Egress<H, M>(inout H headers, inout M metadata, inout switch_metadata_t standard);
/// Behind what it emits follows what the parser has not extracted.
@deparser
control Deparser<H>(packet_out packet, in H headers);

package Switch<H, M>(Parser<H, M> p, Ingress<H, M> ig, Egress<H, M> eg, Deparser<H> dep);

#endif
