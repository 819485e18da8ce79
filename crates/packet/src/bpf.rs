//! The classic BSD packet filter: programs that match frames.
//!
//! The machine of McCanne and Jacobson (1993): accumulator, index register, 16 words of memory, and
//! jumps that go forward; and, as in libpcap and not in kernels, unconditional jumps that go back,
//! by which `protochain` follows a chain of headers. A [`Program`] is verified when it is made;
//! then it ends within as many steps as it has instructions, once for each header that the packet
//! has room for. libpcap compiles expressions into such programs; `tcpdump -ddd EXPRESSION` prints
//! them, and [`Program`] reads that:
//!
//! ```
//! // ip
//! let program: packet::bpf::Program = "4\n40 0 0 12\n21 0 1 2048\n6 0 0 262144\n6 0 0 0".parse()?;
//! assert_eq!(program.run(&[0; 60]), 0);
//! # Ok::<(), packet::bpf::ProgramError>(())
//! ```
//!
//! [`Observed`] has all that a program may ask of a packet: its bytes, the length on the wire, the
//! direction, the interface.

mod instruction;
mod machine;
mod observed;
mod program;

pub use instruction::Instruction;
pub use observed::Observed;
pub use program::{MAX_INSTRUCTIONS, Program, ProgramError};
