// v1model: the switch of P4_14 1.0.5, section 2, as an architecture of P4_16.
//
// A packet goes through Parser, VerifyChecksum, Ingress, then - once for each copy that the replication engine makes - through
// Egress, ComputeChecksum and Deparser.
//
// V1MODEL_VERSION chooses between two forms, as programs written for this architecture expect. From 20200408 on the arrays of counters,
// meters and registers take the type of their index as a type parameter, and ports have a type name.

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#include <core.p4>

#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif

match_kind {
    /// From a lowest to a highest value.
    range,
    /// One value, or any.
    optional,
    /// Not matched: an input of the hash that chooses a member of an action selector's group.
    selector
}

const bit<32> __v1model_version = V1MODEL_VERSION;

#if V1MODEL_VERSION >= 20200408
typedef bit<9> PortId_t;
#define V1MODEL_PORT PortId_t
#define V1MODEL_INDEX I
#else
#define V1MODEL_PORT bit<9>
#define V1MODEL_INDEX bit<32>
#endif

/// What the switch tells a program about the packet, and is told. `@alias` is the field's name in P4_14.
@metadata
@name("standard_metadata")
struct standard_metadata_t {
    /// Where the packet came in.
    V1MODEL_PORT ingress_port;
    /// Ingress writes here where it is to go; 511 drops it.
    V1MODEL_PORT egress_spec;
    /// Where it goes; to be read in egress.
    V1MODEL_PORT egress_port;
    /// 0 normal, 1 cloned in ingress, 2 cloned in egress, 3 coalesced, 4 recirculated, 5 replicated, 6 resubmitted.
    bit<32> instance_type;
    /// In bytes.
    bit<32> packet_length;
    /// When it entered the queue, in microseconds.
    @alias("queueing_metadata.enq_timestamp")
    bit<32> enq_timestamp;
    /// How many packets the queue held then.
    @alias("queueing_metadata.enq_qdepth")
    bit<19> enq_qdepth;
    /// How long it was in the queue, in microseconds.
    @alias("queueing_metadata.deq_timedelta")
    bit<32> deq_timedelta;
    /// How many packets the queue held when it left.
    @alias("queueing_metadata.deq_qdepth")
    bit<19> deq_qdepth;
    /// When ingress began, in microseconds.
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48> ingress_global_timestamp;
    /// When egress began, in microseconds.
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48> egress_global_timestamp;
    /// Ingress writes a multicast group's number here; 0 is none.
    @alias("intrinsic_metadata.mcast_grp")
    bit<16> mcast_grp;
    /// Which of the group's nodes made this copy.
    @alias("intrinsic_metadata.egress_rid")
    bit<16> egress_rid;
    /// 1 when a `verify_checksum` found a wrong one.
    bit<1> checksum_error;
    /// How the parser ended.
    error parser_error;
    /// Which of the port's queues.
    @alias("intrinsic_metadata.priority")
    bit<3> priority;
}

enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

enum MeterType {
    packets,
    bytes
}

/// An array of counters, which only the control plane can read.
extern counter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    counter(bit<32> size, CounterType type);
    /// Counts the packet; an index outside counts nothing.
    void count(in V1MODEL_INDEX index);
}

/// A counter for each entry of the table that names it in its property `counters`. It counts whenever the entry is hit.
extern direct_counter {
    direct_counter(CounterType type);
    /// Permitted in the table's actions; the hit has counted already.
    void count();
}

#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

/// An array of meters with two rates and three colours (RFC 2698).
extern meter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    meter(bit<32> size, MeterType type);
    /// Meters the packet; `result` becomes one of the colours above.
    void execute_meter<T>(in V1MODEL_INDEX index, out T result);
}

/// A meter for each entry of the table that names it in its property `meters`.
extern direct_meter<T> {
    direct_meter(MeterType type);
    /// The colour that the hit of this action's entry gave.
    void read(out T result);
}

/// An array of cells that packets and control plane read and write.
extern register<T
#if V1MODEL_VERSION >= 20200408
, I
#endif
>
{
    register(bit<32> size);
    /// An index outside leaves `result` undefined.
    @noSideEffects
    void read(out T result, in V1MODEL_INDEX index);
    /// An index outside writes nothing.
    void write(in V1MODEL_INDEX index, in T value);
}

/// A table's property `implementation` may name one of these: the entries then refer to members, each an action with its data.
extern action_profile {
    action_profile(bit<32> size);
}

/// A number from `lo` to `hi`, both included.
extern void random<T>(out T result, in T lo, in T hi);

/// Sends values, as they are now, to the control plane.
extern void digest<T>(in bit<32> receiver, in T data);

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,
    xor16
}

@deprecated("Please use mark_to_drop(standard_metadata) instead.")
extern void mark_to_drop();

/// Drops the packet at the end of this control, unless `egress_spec` is written again: it sets it to 511, and `mcast_grp` to 0.
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

/// `base` plus the hash of `data` modulo `max`; only `base` when `max` is 0.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

/// An action profile with groups: the hash of the keys of kind `selector` chooses a member.
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

enum CloneType {
    I2E,
    E2E
}

@deprecated("Please use verify_checksum/update_checksum instead.")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

/// When `condition` holds and `checksum` is not that of `data`, `standard_metadata.checksum_error` is 1 from ingress on.
/// Only in VerifyChecksum.
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

/// When `condition` holds, `checksum` becomes that of `data`. Only in ComputeChecksum.
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

/// The same over `data` and all that the parser did not extract.
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

/// The same over `data` and all that the parser did not extract.
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

/// A copy for the ports of a clone session, without the program's metadata. The last call in a control counts.
extern void clone(in CloneType type, in bit<32> session);

@deprecated("Please use 'resubmit_preserving_field_list' instead")
extern void resubmit<T>(in T data);

/// At the end of ingress the packet, as it came in, goes to the parser again. The fields of the program's metadata whose annotation
/// `@field_list` has `index` keep their values.
extern void resubmit_preserving_field_list(bit<8> index);

@deprecated("Please use 'recirculate_preserving_field_list' instead")
extern void recirculate<T>(in T data);

/// At the end of egress the packet, as it was deparsed, goes to the parser again; metadata as above.
extern void recirculate_preserving_field_list(bit<8> index);

@deprecated("Please use 'clone_preserving_field_list' instead")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);

/// As `clone`; metadata as above.
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

/// Cuts the packet to so many bytes when it is sent.
extern void truncate(in bit<32> length);

/// What must hold; a packet for which it does not is reported and dropped.
extern void assert(in bool check);

/// The same; provers take it as given.
extern void assume(in bool check);

/// Writes to the log; each `{}` in the message stands for the next of the values.
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

/// `H` is a struct of headers, stacks and unions, `M` a struct.
parser Parser<H, M>(packet_in b,
                    out H parsedHdr,
                    inout M meta,
                    inout standard_metadata_t standard_metadata);

/// Calls of `verify_checksum` and `verify_checksum_with_payload` only.
control VerifyChecksum<H, M>(inout H hdr,
                             inout M meta);

@pipeline
control Ingress<H, M>(inout H hdr,
                      inout M meta,
                      inout standard_metadata_t standard_metadata);

@pipeline
control Egress<H, M>(inout H hdr,
                     inout M meta,
                     inout standard_metadata_t standard_metadata);

/// Calls of `update_checksum` and `update_checksum_with_payload` only.
control ComputeChecksum<H, M>(inout H hdr,
                              inout M meta);

/// Calls of `emit` only.
@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep);

#undef V1MODEL_PORT
#undef V1MODEL_INDEX

#endif  // _V1_MODEL_P4_
