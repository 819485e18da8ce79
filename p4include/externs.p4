// What programs for the architectures `switch` and `bump` can keep and compute beyond the packet. v1model's externs of the same name mean the same.

#ifndef _EXTERNS_P4_
#define _EXTERNS_P4_

#include <core.p4>

match_kind {
    /// From a lowest to a highest value.
    range,
    /// One value, or any.
    optional,
    /// Not matched: an input of the hash that chooses a member of an action selector's group.
    selector
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

/// An array of counters, which only the control plane can read.
extern counter<I> {
    counter(bit<32> size, CounterType type);
    /// Counts the packet; an index outside counts nothing.
    void count(in I index);
}

/// A counter for each entry of the table that names it in its property `counters`. It counts whenever the entry is hit.
extern direct_counter {
    direct_counter(CounterType type);
    /// Permitted in the table's actions; the hit has counted already.
    void count();
}

/// An array of meters with two rates and three colours (RFC 2698).
extern meter<I> {
    meter(bit<32> size, MeterType type);
    /// Meters the packet; `result` becomes 0 for green, 1 for yellow, 2 for red.
    void execute_meter<T>(in I index, out T result);
}

/// A meter for each entry of the table that names it in its property `meters`.
extern direct_meter<T> {
    direct_meter(MeterType type);
    /// The colour that the hit of this action's entry gave.
    void read(out T result);
}

/// An array of cells that packets and control plane read and write; all begin as zero.
extern register<T, I> {
    register(bit<32> size);
    /// Zero for an index outside.
    @noSideEffects
    void read(out T result, in I index);
    /// Nothing for an index outside.
    void write(in I index, in T value);
}

/// Actions with their arguments, which entries of tables refer to by number.
extern action_profile {
    action_profile(bit<32> size);
}

/// The same with groups, of which a hash of the table's `selector` keys chooses a member.
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

/// A number from `lo` to `hi`, both included.
extern void random<T>(out T result, in T lo, in T hi);

/// `base` and a hash of the data modulo `max`; just `base` if `max` is 0.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

/// The Internet checksum (RFC 1071) of the data. Headers that are invalid count nothing.
@pure
extern bit<16> checksum<D>(in D data);

/// The same, with what the parser has not extracted behind the data.
@noSideEffects
extern bit<16> checksum_with_payload<D>(in D data);

/// Sends the data to the control plane.
extern void digest<T>(in bit<32> receiver, in T data);

/// Lets no more than so many bytes leave.
extern void truncate(in bit<32> length);

/// The packet is dropped, and counted, when this is false.
extern void assert(in bool check);

/// A message with `{}` for each of the data.
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

#endif
