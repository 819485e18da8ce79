// A bump in the wire: what comes in at one side leaves at the other, unless the program drops it.

#ifndef _BUMP_P4_
#define _BUMP_P4_

#include <core.p4>
#include <externs.p4>

/// What the device tells a program about the packet, and is told.
struct bump_metadata_t {
    /// At which side it came in: 0 or 1. It leaves at the other.
    bit<1> side;
    /// Drops the packet.
    bool drop;
    /// How the parser ended.
    error parser_error;
    /// In bytes.
    bit<32> length;
    /// When it came in, in nanoseconds.
    bit<64> timestamp;
}

/// A packet that the parser rejects goes on; `parser_error` says why.
parser Parser<H, M>(packet_in packet, out H headers, inout M metadata, inout bump_metadata_t standard);
@pipeline
control Pipe<H, M>(inout H headers, inout M metadata, inout bump_metadata_t standard);
/// Behind what it emits follows what the parser has not extracted.
@deparser
control Deparser<H>(packet_out packet, in H headers);

package Bump<H, M>(Parser<H, M> p, Pipe<H, M> pipe, Deparser<H> dep);

#endif
