//! From a program to machine code.

use crate::origin::{Clean, Origins};
use crate::plan::Plan;
use crate::unit::{Target, Unit};
use crate::{Code, Compiled, CompiledPath, Jit, Section, Shared};
use cranelift_codegen::ir::{AbiParam, UserFuncName, types::I64};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, ModuleError, default_libcall_names};
use p4::ir::{Body, ParserError, Program, StatementKind};
use p4::value::Bits;
use pipeline::engine::{Path, Step};
use pipeline::environment::{Environment, Unsupported};
use pipeline::externs::Call;
use pipeline::interpreter::Interpreter;
use std::collections::BTreeMap;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether time is spent on better code.
    pub optimize: bool,
    /// Whether Cranelift's input is looked through for faults of this crate.
    pub verify: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            optimize: true,
            verify: cfg!(debug_assertions),
        }
    }
}

/// Why a program cannot be compiled.
#[derive(Debug)]
pub enum Error {
    /// It calls for something that is not known here.
    Unsupported(Unsupported),
    /// There is no code generator for this machine.
    Machine(String),
    /// So many statements are too many for a function: the interpreter has to run them.
    TooLarge(usize),
    /// A fault of this crate or of Cranelift.
    Code(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unsupported(unsupported) => unsupported.fmt(f),
            Error::Machine(why) => write!(f, "no machine code can be made here: {why}"),
            Error::TooLarge(statements) => {
                write!(
                    f,
                    "{statements} statements are too many for the fast engine"
                )
            }
            Error::Code(why) => write!(f, "the program could not be compiled: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Unsupported> for Error {
    fn from(unsupported: Unsupported) -> Self {
        Error::Unsupported(unsupported)
    }
}

impl From<Error> for Unsupported {
    fn from(error: Error) -> Self {
        match error {
            Error::Unsupported(unsupported) => unsupported,
            error => error.to_string().into(),
        }
    }
}

impl From<ModuleError> for Error {
    fn from(error: ModuleError) -> Self {
        Error::Code(error.to_string())
    }
}

/// Owns the memory of the code.
pub(crate) struct Memory(ManuallyDrop<JITModule>);

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: not used again.
        let module = unsafe { ManuallyDrop::take(&mut self.0) };
        // SAFETY: only the engine that owns this calls the code, and it is being dropped.
        unsafe { module.free_memory() };
    }
}

/// An engine without any code yet.
pub(crate) fn new(environment: &Arc<Environment>, options: &Options) -> Result<Jit, Error> {
    let interpreter = Interpreter::new(environment)?;
    let program = &environment.program;
    let mut calls = BTreeMap::new();
    for body in bodies(program) {
        find_calls(environment, body, &mut calls)?;
    }
    let module = module(options)?;
    Ok(Jit {
        shared: Box::new(Shared {
            environment: Arc::clone(environment),
            calls,
        }),
        interpreter,
        sections: program.sections.iter().map(|_| Compiled::NotYet).collect(),
        path: None,
        plan: Plan::new(program),
        memory: Memory(ManuallyDrop::new(module)),
    })
}

/// Maximum number of statements of one function. Compile time and memory grow faster than the
/// function.
const MAX_FUNCTION_STATEMENTS: usize = 20_000;

/// A function's code, and whether it needs the packet's own bytes.
struct Made {
    code: Code,
    reads_bytes: bool,
}

/// Source of a function.
enum What<'a> {
    Section(usize),
    Path(&'a Path),
}

impl Jit {
    /// Compiles a section.
    pub(crate) fn section(&mut self, index: usize) -> Result<Section, Error> {
        let made = make(
            &self.shared,
            &mut self.memory.0,
            &self.plan,
            &What::Section(index),
        )?;
        Ok(Section {
            code: made.code,
            room: self.plan.room(index),
            aligned: self.plan.aligned(index),
        })
    }

    /// Compiles a path.
    pub(crate) fn path(&mut self, path: &Path) -> Result<CompiledPath, Error> {
        let plan = Plan::of_path(&self.shared.environment.program, path, &self.plan);
        let made = make(&self.shared, &mut self.memory.0, &plan, &What::Path(path))?;
        let sections = path.steps.iter().filter_map(|step| match step {
            Step::Run(id) => Some(id.index()),
            _ => None,
        });
        Ok(CompiledPath {
            code: made.code,
            room: sections.map(|index| plan.room(index)).sum(),
            reads_bytes: made.reads_bytes,
        })
    }
}

fn make(
    shared: &Shared,
    module: &mut JITModule,
    plan: &Plan,
    what: &What<'_>,
) -> Result<Made, Error> {
    let environment = &shared.environment;
    let program = &*environment.program;
    let statements: usize = match what {
        What::Section(index) => crate::plan::statements(&program.sections[*index], program),
        What::Path(path) => {
            let sections = path.steps.iter().filter_map(|step| match step {
                Step::Run(id) => Some(&program.sections[id.index()]),
                _ => None,
            });
            sections
                .map(|one| crate::plan::statements(one, program))
                .sum()
        }
    };
    if statements > MAX_FUNCTION_STATEMENTS {
        return Err(Error::TooLarge(statements));
    }
    let error = |error| program.error(error).and_then(Bits::to_u64);
    let target = Target {
        convention: module.target_config().default_call_conv,
        too_short: error(ParserError::PacketTooShort),
        out_of_bounds: error(ParserError::StackOutOfBounds),
    };
    let mut context = module.make_context();
    let mut builder_context = FunctionBuilderContext::new();
    let mut signature = module.make_signature();
    signature.params.push(AbiParam::new(I64));
    signature.params.push(AbiParam::new(I64));
    signature.returns.push(AbiParam::new(I64));
    let id = module.declare_anonymous_function(&signature)?;
    context.func.signature = signature;
    context.func.name = UserFuncName::user(0, id.as_u32());
    let mut b = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let (cells, state) = (b.block_params(entry)[0], b.block_params(entry)[1]);
    let position = b.declare_var(I64);
    let emitted = b.declare_var(I64);
    let index = match what {
        What::Section(index) => *index,
        What::Path(_) => 0,
    };
    let unit = Unit {
        b,
        program,
        layout: &environment.layout,
        plan,
        shared,
        target: &target,
        section: &program.sections[index],
        index: index as u32,
        cells,
        state,
        signatures: BTreeMap::new(),
        variables: BTreeMap::new(),
        known: BTreeMap::new(),
        position,
        bytes: None,
        emitted,
        aligned: plan.aligned(index),
        bounded: plan.bounded(index),
        fail: None,
        backwards: Vec::new(),
        trampolines: Vec::new(),
        scratch: None,
        after: None,
        asks: false,
        reads_bytes: false,
        origins: match what {
            What::Section(_) => None,
            What::Path(_) => Some(Origins::new(environment)),
        },
        clean: Clean::default(),
        bases: BTreeMap::new(),
    };
    let config = module.target_config();
    let reads_bytes = match what {
        What::Section(_) => {
            unit.build(config);
            true
        }
        What::Path(path) => unit.build_path(path, config),
    };
    module.define_function(id, &mut context)?;
    module.clear_context(&mut context);
    module.finalize_definitions()?;
    let address = module.get_finalized_function(id);
    Ok(Made {
        // SAFETY: it was compiled with this signature.
        code: unsafe { std::mem::transmute::<*const u8, Code>(address) },
        reads_bytes,
    })
}

fn module(options: &Options) -> Result<JITModule, Error> {
    let mut flags = settings::builder();
    let level = if options.optimize { "speed" } else { "none" };
    for (name, value) in [
        ("opt_level", level),
        (
            "enable_verifier",
            if options.verify { "true" } else { "false" },
        ),
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("probestack_strategy", "inline"),
    ] {
        flags
            .set(name, value)
            .map_err(|error| Error::Machine(error.to_string()))?;
    }
    let isa = cranelift_native::builder().map_err(|error| Error::Machine(error.to_string()))?;
    let isa = isa.finish(settings::Flags::new(flags));
    let isa = isa.map_err(|error| Error::Machine(error.to_string()))?;
    if isa.pointer_bytes() != 8 {
        return Err(Error::Machine("pointers do not have 64 bits".into()));
    }
    Ok(JITModule::new(JITBuilder::with_isa(
        isa,
        default_libcall_names(),
    )))
}

fn bodies(program: &Program) -> impl Iterator<Item = &Body> {
    let sections = program.sections.iter().map(|section| &section.body);
    sections.chain(program.actions.iter().map(|action| &action.body))
}

fn find_calls(
    environment: &Environment,
    body: &Body,
    calls: &mut BTreeMap<usize, Box<Call>>,
) -> Result<(), Error> {
    for statement in body.blocks.iter().flat_map(|block| &block.statements) {
        if let StatementKind::Call {
            callee,
            arguments,
            results,
        } = &statement.kind
        {
            let call = Call::resolve(environment, callee, arguments, results);
            let call = call.map_err(|error| Unsupported {
                span: Some(statement.span),
                ..error
            })?;
            calls.insert(std::ptr::from_ref(statement) as usize, Box::new(call));
        }
    }
    Ok(())
}
