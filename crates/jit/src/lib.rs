//! The fast engine: sections of a P4 program as machine code.
