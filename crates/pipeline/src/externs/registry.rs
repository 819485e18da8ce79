//! Externs of the user's own: declared in P4, written in Rust (paper 002, section 3.2.4).
//!
//! A program declares an extern function or object; a [`Registry`] in the [`Options`](crate::environment::Options) has what it does. Both engines
//! call it as they call the externs of the architectures: arguments and results in cells, found once when the program is loaded.
//! What each method takes and gives is a [`Signature`], which is held against every call of the program before the first packet.
//!
//! ```
//! use p4::ir::Ty;
//! use pipeline::externs::registry::{Method, Registry, Signature};
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use std::sync::Arc;
//!
//! let registry = Registry::default()
//!     // extern bit<8> popcount(in bit<32> x);
//!     .function(
//!         "popcount",
//!         Method::new(
//!             Signature::default().input(Ty::Bits(32)).returns(Ty::Bits(8)),
//!             |call| call.give(0, u64::from(call.number(0).count_ones())),
//!         ),
//!     )
//!     // extern Tally { Tally(bit<32> step); void add(out bit<64> sum); }
//!     .object("Tally", |instance| {
//!         let step = instance.number("step").ok_or("`step` is a number")?;
//!         let sum = Arc::new(AtomicU64::new(0));
//!         let add = Method::new(Signature::default().output(Ty::Bits(64)), move |call| {
//!             call.give(0, sum.fetch_add(step, Ordering::Relaxed) + step);
//!         });
//!         Ok(vec![("add", add)])
//!     });
//! ```

use super::{Call, InputIndex};
use crate::layout::limbs;
use crate::unsupported::Unsupported;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use node::Time;
use p4::ir::{Constant, Object, Ty};
use p4::value::Bits;

/// What Rust code does for the externs that a program declares itself. A name that is here goes before an extern of an architecture with that name.
#[derive(Clone, Default)]
pub struct Registry {
    functions: BTreeMap<String, Method>,
    objects: BTreeMap<String, Make>,
}

/// Makes the methods of an instance.
type Make = Arc<dyn Fn(&Instance<'_>) -> Result<Methods, Unsupported> + Send + Sync>;

/// The methods of an instance by their names. Together they hold its state.
pub type Methods = Vec<(&'static str, Method)>;

impl Registry {
    /// With what an extern function does.
    #[must_use]
    pub fn function(mut self, name: &str, method: Method) -> Self {
        self.functions.insert(name.to_owned(), method);
        self
    }

    /// With what the instances of an extern object do. `make` is called for each instance when the program is loaded; an `Err` refuses the
    /// program.
    #[must_use]
    pub fn object(
        mut self,
        extern_: &str,
        make: impl Fn(&Instance<'_>) -> Result<Methods, Unsupported> + Send + Sync + 'static,
    ) -> Self {
        self.objects.insert(extern_.to_owned(), Arc::new(make));
        self
    }

    pub(crate) fn find(&self, function: &str) -> Option<&Method> {
        self.functions.get(function)
    }

    /// The methods for an instance, if its extern is here.
    pub(crate) fn make(&self, object: &Object) -> Option<Result<Methods, Unsupported>> {
        let make = self.objects.get(object.kind.name())?;
        Some(make(&Instance { object }))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.functions.keys().chain(self.objects.keys());
        f.debug_set().entries(names).finish()
    }
}

impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        let makers = |registry: &Registry| {
            let makers = registry.objects.iter();
            makers
                .map(|(name, make)| (name.clone(), Arc::as_ptr(make).cast::<()>()))
                .collect::<Vec<_>>()
        };
        self.functions == other.functions && makers(self) == makers(other)
    }
}

impl Eq for Registry {}

/// An instance of an extern as the program makes it.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    object: &'a Object,
}

impl<'a> Instance<'a> {
    /// Its name for the control plane: `ingress.sketch`.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.object.name
    }

    /// An argument of the constructor by the parameter's name, if that is a number (or a bool) of at most 64 bits.
    #[must_use]
    pub fn number(&self, parameter: &str) -> Option<u64> {
        match self.argument(parameter)? {
            Constant::Bits(value) => value.to_u64(),
            _ => None,
        }
    }

    /// An argument of the constructor by the parameter's name.
    #[must_use]
    pub fn argument(&self, parameter: &str) -> Option<&'a Constant> {
        let mut arguments = self.object.arguments.iter();
        arguments
            .find(|(name, _)| &**name == parameter)
            .map(|(_, value)| value)
    }

    /// The scalars of the type argument with this index, from 0: one, or the fields of a struct.
    #[must_use]
    pub fn type_argument(&self, index: usize) -> Option<Vec<Ty>> {
        let fields = self.object.types.get(index)?;
        Some(fields.iter().map(|(_, ty)| *ty).collect())
    }
}

/// What a method or function takes and gives, in the order of its parameters. A struct or header counts as its scalars, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    inputs: Vec<Ty>,
    outputs: Vec<Ty>,
    returned: Vec<Ty>,
}

impl Signature {
    /// A parameter with the direction `in`, or none.
    #[must_use]
    pub fn input(mut self, ty: Ty) -> Self {
        self.inputs.push(ty);
        self
    }

    /// A parameter with the direction `out`.
    #[must_use]
    pub fn output(mut self, ty: Ty) -> Self {
        self.outputs.push(ty);
        self
    }

    /// A parameter with the direction `inout`: an input, and an output.
    #[must_use]
    pub fn inout(self, ty: Ty) -> Self {
        self.input(ty).output(ty)
    }

    /// What is returned; of a struct its scalars in order. It comes behind all outputs.
    #[must_use]
    pub fn returns(mut self, ty: Ty) -> Self {
        self.returned.push(ty);
        self
    }

    /// Whether a call gives and wants what this says.
    pub(crate) fn fits(&self, call: &Call) -> bool {
        let given = call.inputs.iter().map(|input| &input.ty);
        let wanted = call.outputs.iter().map(|output| &output.ty);
        given.eq(&self.inputs) && wanted.eq(self.outputs.iter().chain(&self.returned))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs: Vec<Ty> = self.outputs.iter().chain(&self.returned).copied().collect();
        shape(&self.inputs, &outputs, f)
    }
}

/// What a call gives and wants, as a [`Signature`] is written.
pub(crate) struct Requested<'a>(pub(crate) &'a Call);

impl fmt::Display for Requested<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs: Vec<Ty> = self.0.inputs.iter().map(|input| input.ty).collect();
        let outputs: Vec<Ty> = self.0.outputs.iter().map(|output| output.ty).collect();
        shape(&inputs, &outputs, f)
    }
}

/// `(bit<32>, bool) -> (bit<8>)`
fn shape(inputs: &[Ty], outputs: &[Ty], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let list = |types: &[Ty], f: &mut fmt::Formatter<'_>| {
        f.write_str("(")?;
        for (at, ty) in types.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            match ty {
                Ty::Bool => f.write_str("bool")?,
                Ty::Bits(width) => write!(f, "bit<{width}>")?,
                Ty::Signed(width) => write!(f, "int<{width}>")?,
                Ty::Varbit(width) => write!(f, "varbit<{width}>")?,
            }
        }
        f.write_str(")")
    };
    list(inputs, f)?;
    f.write_str(" -> ")?;
    list(outputs, f)
}

type Run = dyn Fn(&mut Invocation<'_>) + Send + Sync;

/// A function, or a method of one instance: its signature, and what it does.
#[derive(Clone)]
pub struct Method {
    pub(crate) signature: Signature,
    run: Arc<Run>,
    hardware: Option<Arc<Hardware>>,
}

/// The same method as a module in Verilog, for a program in hardware (paper 002, section 3.2.4). The module has these ports:
///
/// | port | direction, bits | |
/// |---|---|---|
/// | `clk`, `rst` | in, 1 | the pipeline's clock, and its reset, active high |
/// | `request_valid`, `request_ready` | in, out, 1 | a request is taken in a cycle in which both are high |
/// | `request_data` | in | the inputs of the signature, the first in the highest bits; one bit if there are none |
/// | `response_valid`, `response_ready` | out, in, 1 | a response is taken in a cycle in which both are high; `response_ready` is always high |
/// | `response_data` | out | the outputs of the signature, the first in the highest bits; one bit if there are none |
/// | `request_id`, `response_id` | in, out | only with [`Timing::Asynchronous`]: the identifier of the request |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The module's name, an identifier.
    pub module: &'static str,
    /// Its text in Verilog 2005, and that of the modules in it.
    pub text: &'static str,
    /// Parameters of the instance, such as arguments of the constructor.
    pub parameters: Vec<(&'static str, u64)>,
    /// When responses come.
    pub timing: Timing,
}

/// When the responses of a module come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// `cycles` after the request, 1 to 1,024. `request_ready` is always high.
    Fixed {
        /// From the cycle in which the request is taken to that of the response.
        cycles: u32,
    },
    /// In any cycle after the request, and in any order, with the request's identifier in `response_id`. Other packets stay under way meanwhile.
    Asynchronous {
        /// Bits of an identifier, 1 to 8: 2 to the power of this requests are outstanding at most.
        id_bits: u32,
    },
}

impl Method {
    /// `run` is called for each call of each packet, from all threads that run the program. It must not panic: what called it from machine code cannot be
    /// unwound, and the process ends.
    #[must_use]
    pub fn new(
        signature: Signature,
        run: impl Fn(&mut Invocation<'_>) + Send + Sync + 'static,
    ) -> Self {
        Method {
            signature,
            run: Arc::new(run),
            hardware: None,
        }
    }

    /// With the same in Verilog.
    #[must_use]
    pub fn with_hardware(self, hardware: Hardware) -> Self {
        Method {
            hardware: Some(Arc::new(hardware)),
            ..self
        }
    }

    /// The same in Verilog, if it is known.
    #[must_use]
    pub fn hardware(&self) -> Option<&Arc<Hardware>> {
        self.hardware.as_ref()
    }

    pub(crate) fn invoke(&self, call: &Call, input: &[u64], output: &mut [u64], now: Time) {
        output.fill(0);
        (self.run)(&mut Invocation {
            call,
            input,
            output,
            now,
        });
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Method{}", self.signature)
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.run, &other.run)
    }
}

/// A call: what it is given, and where its results go. Inputs and outputs are counted from 0 in the order of the [`Signature`].
pub struct Invocation<'a> {
    call: &'a Call,
    input: &'a [u64],
    output: &'a mut [u64],
    now: Time,
}

impl Invocation<'_> {
    /// The time of the packet, in the world where it runs.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The low 64 bits of an input; a bool is 0 or 1, an `int<N>` its two's complement in N bits.
    ///
    /// # Panics
    /// When the signature has no such input.
    #[must_use]
    pub fn number(&self, input: InputIndex) -> u64 {
        self.call.number(self.input, input)
    }

    /// An input of any width.
    ///
    /// # Panics
    /// When the signature has no such input.
    #[must_use]
    pub fn bits(&self, input: InputIndex) -> Bits {
        self.call.bits(self.input, input)
    }

    /// Sets an output, cut to its width. An output that is not set is zero, and a varbit empty.
    ///
    /// # Panics
    /// When the signature has no such output.
    pub fn give(&mut self, output: usize, value: u64) {
        let argument = self.call.outputs[output];
        let width = argument.ty.width();
        if let Ty::Varbit(_) = argument.ty {
            self.give_bits(output, &Bits::new(64, value));
        } else if width > 0 {
            let cut = u64::MAX >> 64_u32.saturating_sub(width);
            self.output[argument.at..argument.at + limbs(width)].fill(0);
            self.output[argument.at] = value & cut;
        }
    }

    /// Sets an output of any width, cut to it; a varbit gets the value's width.
    ///
    /// # Panics
    /// When the signature has no such output.
    pub fn give_bits(&mut self, output: usize, value: &Bits) {
        let argument = self.call.outputs[output];
        let most = argument.ty.width();
        let count = limbs(most);
        let width = match argument.ty {
            Ty::Varbit(most) => {
                let width = value.width().min(most);
                self.output[argument.at + count] = u64::from(width);
                width
            }
            _ => most,
        };
        let cut = Bits::new(width, value.unsigned().clone());
        cut.to_limbs(&mut self.output[argument.at..argument.at + count]);
    }
}
