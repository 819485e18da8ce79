// The core library of P4_16 1.2.5 (appendix D): what every architecture builds on.

#ifndef _CORE_P4_
#define _CORE_P4_

/// The errors that the language itself can give. Programs may declare more. The order is part of the interface.
error {
    NoError,
    /// `extract`, `advance` or `lookahead` wanted more than the packet has.
    PacketTooShort,
    /// No case of a `select` matched.
    NoMatch,
    /// An element outside a header stack was used.
    StackOutOfBounds,
    /// A `varbit` field was to take more bits than it can hold.
    HeaderTooShort,
    /// The parser took too long.
    ParserTimeout,
    /// An argument that this target does not support, such as a number of bits that is no multiple of eight.
    ParserInvalidArgument
}

/// The packet as a parser reads it.
extern packet_in {
    /// Reads a header of fixed size and makes it valid.
    void extract<T>(out T hdr);
    /// Reads a header whose one `varbit` field has this many bits.
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    /// The next bits as a value of a type of fixed size, without reading past them.
    T lookahead<T>();
    /// Skips this many bits.
    void advance(in bit<32> sizeInBits);
    /// The whole packet's length in bytes.
    bit<32> length();
}

/// The packet as a deparser writes it.
extern packet_out {
    /// Appends a header if it is valid; of a stack, union or struct all that are valid, in order.
    void emit<T>(in T hdr);
}

/// Goes on when `check` is true, otherwise sets the parser's error and goes to `reject`.
extern void verify(in bool check, in error toSignal);

/// Does nothing; the default of a table that names none.
@noWarn("unused")
action NoAction() {}

match_kind {
    /// The same in each bit.
    exact,
    /// The same where the mask has ones.
    ternary,
    /// The entry with the longest prefix in common.
    lpm
}

/// Ends the compilation with the message when `check`, a constant, is false. The result is always true, so that a constant
/// declaration can hold the call.
extern bool static_assert(bool check, string message);

/// The same with a message of the compiler's own.
extern bool static_assert(bool check);

#endif  // _CORE_P4_
