//! The Portable NIC Architecture: the draft of version 0.7.
//!
//! A packet passes the main parser, the pre control, the main control and the main deparser. The
//! draft has the pre control before a
//! parser of its own that its package does not have; it sees what the main parser found, as in
//! DPDK's pipelines.

use super::fields::{self, Field, Transfer};
use super::{Cause, Drop, Egress, Job, Machine, Output};
use crate::engine::{Detours, Ended, Nic, Passed, Path, Source, Step};
use crate::environment::{Environment, Unsupported};
use crate::learning;
use crate::state::nic::Side;
use crate::state::replication::Replica;
use crate::table::{MatchKind, Table};
use alloc::format;
use alloc::vec::Vec;
use p4::ir::{Argument, Callee, Function, Role, SectionId, SectionParameter, StatementKind, Ty};

/// `PNA_MIRROR_SESSION_TO_CPU`
const TO_CPU: u32 = 0;

/// How a packet came to the main parser, in [`Job::kind`].
#[derive(Clone, Copy)]
struct Way(u64);

impl Way {
    const HOST_TO_NET: u64 = 1;
    const LOOPED: u64 = 2;
    const PASS: u32 = 2;
    const CLASS: u32 = 16;

    fn arriving(side: Option<Side>) -> Self {
        Way(match side {
            Some(Side::Host) => Way::HOST_TO_NET,
            Some(Side::Net) | None => 0,
        })
    }

    /// `PNA_Direction_t`: 0 to the host, 1 to the network.
    fn direction(self) -> u64 {
        self.0 & Way::HOST_TO_NET
    }

    /// Whether it came back from the other side without leaving the NIC.
    fn looped(self) -> u64 {
        (self.0 & Way::LOOPED) >> 1
    }

    /// How often it was recirculated.
    fn pass(self) -> u64 {
        self.0 >> Way::PASS & 0x3FFF
    }

    fn class(self) -> u64 {
        self.0 >> Way::CLASS
    }

    fn recirculated(self, class: u64) -> Self {
        let pass = (self.pass() + 1) & 0x3FFF;
        Way(self.0 & 3 | pass << Way::PASS | class << Way::CLASS)
    }

    /// In the other direction.
    fn turned(self, class: u64) -> Self {
        Way(self.direction() ^ Way::HOST_TO_NET | Way::LOOPED | class << Way::CLASS)
    }
}

/// Fields that all `pna_*_input_metadata_t` have.
struct Inputs {
    direction: Field,
    pass: Field,
    loopedback: Field,
    input_port: Field,
}

impl Inputs {
    fn new(environment: &Environment, parameter: &SectionParameter) -> Self {
        let field = |name| Field::of(environment, parameter, name);
        Inputs {
            direction: field("direction"),
            pass: field("pass"),
            loopedback: field("loopedback"),
            input_port: field("input_port"),
        }
    }

    fn set(&self, cells: &mut [u64], way: Way, port: u32) {
        self.direction.set(cells, way.direction());
        self.pass.set(cells, way.pass());
        self.loopedback.set(cells, way.looped());
        self.input_port.set(cells, u64::from(port));
    }

    /// For a packet that arrives while no port is on a side.
    fn steps(&self) -> impl Iterator<Item = Step> {
        let zeros = [self.direction, self.pass, self.loopedback];
        let zeros = zeros.map(|field| field.step(Source::Number(0)));
        zeros
            .into_iter()
            .chain([self.input_port.step(Source::Port)])
            .flatten()
    }
}

/// The pre control, unless it is empty.
struct Pre {
    section: SectionId,
    inputs: Inputs,
    parser_error: Field,
    decrypt: Field,
    /// Headers that the main parser found, where both have the same types.
    before: Vec<Transfer>,
    /// The metadata, back.
    after: Option<Transfer>,
}

/// PNA's blocks, their metadata, and what goes from one to the other.
pub(super) struct Pna {
    parser: SectionId,
    pre: Option<Pre>,
    main: SectionId,
    deparser: SectionId,
    error: Field,
    parser_inputs: Inputs,
    main_inputs: Inputs,
    timestamp: Field,
    parser_error: Field,
    class_of_service: Field,
    output_class: Field,
    port: Field,
    drop: Field,
    recirculate: Field,
    /// Of each mirror slot: whether there is a copy, and by which session.
    mirrors: Vec<(Field, Field)>,
}

impl Pna {
    pub(super) fn new(
        environment: &Environment,
        machine: &mut Machine,
    ) -> Result<Self, Unsupported> {
        let program = &*environment.program;
        learners(environment)?;
        let parser = fields::section(program, &Role::MainParser)?;
        let main = fields::section(program, &Role::MainControl)?;
        let deparser = fields::section(program, &Role::MainDeparser)?;
        let parameter = |section, index| fields::parameter(program, section, index);
        let input = parameter(main, 2)?;
        let output = parameter(main, 3)?;
        let field = |of, name| Field::of(environment, of, name);
        let mirrors = output.fields.iter().filter_map(|(name, _)| {
            let slot = name.strip_prefix("$mirror.")?;
            let session = format!("$session.{slot}");
            let session = Field::of(environment, output, &session);
            Some((field(output, &**name), session))
        });
        let pna = Pna {
            parser,
            pre: Pre::new(environment, parser)?,
            main,
            deparser,
            error: Field::at(environment, program.sections[parser.index()].error),
            parser_inputs: Inputs::new(environment, parameter(parser, 2)?),
            main_inputs: Inputs::new(environment, input),
            timestamp: field(input, "timestamp"),
            parser_error: field(input, "parser_error"),
            class_of_service: field(input, "class_of_service"),
            output_class: field(output, "class_of_service"),
            port: field(output, "$port"),
            drop: field(output, "$drop"),
            recirculate: field(output, "$recirculate"),
            mirrors: mirrors.collect(),
        };
        let path = pna.path();
        machine.prepare(path.as_ref())?;
        Ok(pna)
    }

    /// Fate of a packet that arrives while no port is on a side, if it is sent by one port.
    fn path(&self) -> Option<Path> {
        let mut steps: Vec<Step> = Vec::new();
        let (port, drop) = (self.port.slot()?, self.drop.slot()?);
        let error = |field: Field| {
            let (to, from) = (field.slot()?, self.error.slot()?);
            Some(Step::Set(to, Source::Slot(from)))
        };
        steps.extend(self.parser_inputs.steps());
        steps.push(Step::Run(self.parser));
        if let Some(pre) = &self.pre {
            steps.extend(pre.before.iter().flat_map(Transfer::steps));
            steps.extend(pre.inputs.steps());
            steps.extend(error(pre.parser_error));
            steps.extend(pre.decrypt.step(Source::Number(0)));
            steps.push(Step::Run(pre.section));
            steps.extend(pre.after.iter().flat_map(Transfer::steps));
        }
        steps.extend(self.main_inputs.steps());
        steps.extend(self.timestamp.step(Source::Nanoseconds));
        steps.extend(error(self.parser_error));
        steps.extend(self.class_of_service.step(Source::Number(0)));
        steps.extend(self.output_class.step(Source::Number(0)));
        steps.push(Step::Set(port, Source::Number(0)));
        steps.push(Step::Set(drop, Source::Number(1)));
        let flags = self.mirrors.iter().map(|(on, _)| *on);
        let flags = flags.chain([self.recirculate]).filter_map(Field::slot);
        let flags: Vec<_> = flags.collect();
        steps.extend(flags.iter().map(|slot| Step::Set(*slot, Source::Number(0))));
        steps.push(Step::Run(self.main));
        steps.extend(flags.into_iter().map(Step::LeaveIf));
        steps.push(Step::DropIf(drop, 1));
        steps.push(Step::Port(port));
        steps.push(Step::Run(self.deparser));
        steps.push(Step::Send);
        Some(Path {
            steps,
            detours: Detours {
                nic: Some(self.slots()),
                ..Detours::default()
            },
            ..Path::default()
        })
    }

    /// The slots that depend on how a packet came.
    fn slots(&self) -> Nic {
        let pre = self.pre.as_ref().map(|pre| &pre.inputs);
        let inputs = [Some(&self.parser_inputs), pre, Some(&self.main_inputs)];
        let of = |field: fn(&Inputs) -> Field| {
            let fields = inputs.iter().flatten().map(|inputs| field(inputs));
            fields.filter_map(Field::slot).collect()
        };
        let mirrors = self.mirrors.iter();
        Nic {
            direction: of(|inputs| inputs.direction),
            pass: of(|inputs| inputs.pass),
            looped: of(|inputs| inputs.loopedback),
            class: self.class_of_service.slot(),
            class_given: self.output_class.slot(),
            port: self.port.slot(),
            drop: self.drop.slot(),
            recirculate: self.recirculate.slot(),
            mirrors: mirrors
                .filter_map(|(on, session)| on.slot().zip(session.slot()))
                .collect(),
        }
    }

    /// Lets a packet that came in pass, up to where it has asked for something that must be done
    /// before it goes on.
    pub(super) fn process(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        port: u32,
        bytes: &[u8],
        out: &mut dyn Output,
    ) {
        let sides = machine.context.sides();
        let way = Way::arriving(sides.get(&port).copied());
        if sides.is_empty() || machine.knows_sides() {
            let dropped = |_| Drop::Program;
            if machine.pass_all(port, bytes, &mut |end| end.tell(out, dropped)) {
                return;
            }
            match machine.pass(port, bytes, tables) {
                Some(Passed::Sent(port)) => out.send(port, machine.passed()),
                Some(Passed::Dropped(_)) => out.drop(Drop::Program),
                Some(Passed::Stopped) => out.drop(machine.reason()),
                Some(Passed::Left(..)) => {
                    let job = machine.left(port, bytes, way.0);
                    self.after_main(machine, tables, job, out);
                }
                Some(Passed::Beside) | None => {
                    let job = machine.arrive(port, bytes, way.0);
                    self.pass(machine, tables, job, out);
                }
            }
        } else {
            let job = machine.arrive(port, bytes, way.0);
            self.pass(machine, tables, job, out);
        }
        machine.context.settle(tables);
        self.resume(machine, tables, out);
    }

    /// Goes on with what is left of a packet that came in.
    pub(super) fn resume(&self, machine: &mut Machine, tables: &[Table], out: &mut dyn Output) {
        while !machine.context.is_unsettled()
            && let Some(job) = machine.queue.pop_front()
        {
            self.pass(machine, tables, job, out);
            machine.context.settle(tables);
        }
    }

    fn pass(&self, machine: &mut Machine, tables: &[Table], mut job: Job, out: &mut dyn Output) {
        let way = Way(job.kind);
        machine.begin(
            &job,
            match (way.looped(), way.pass()) {
                (1, _) => Cause::Loopback,
                (_, 0) => Cause::Arrival,
                _ => Cause::Recirculate,
            },
        );
        let now = machine.context.now.as_ns();
        let port = job.port;
        self.parser_inputs.set(&mut job.cells, way, port);
        if machine.run(self.parser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        if let Some(pre) = &self.pre {
            let cells = &mut job.cells;
            for transfer in &pre.before {
                transfer.within(cells);
            }
            pre.inputs.set(cells, way, port);
            pre.parser_error.copy(cells, self.error);
            pre.decrypt.set(cells, 0);
            if machine.run(pre.section, &mut job, tables) == Ended::Stop {
                return machine.stopped(job, out);
            }
            if let Some(transfer) = &pre.after {
                transfer.within(&mut job.cells);
            }
        }
        let cells = &mut job.cells;
        self.main_inputs.set(cells, way, port);
        self.timestamp.set(cells, now);
        self.parser_error.copy(cells, self.error);
        self.class_of_service.set(cells, way.class());
        self.output_class.set(cells, 0);
        // A packet that came back from the other side goes on to where it was sent, unless the program says
        // otherwise.
        let destination = job.egress.map(|egress| u64::from(egress.port));
        self.port.set(cells, destination.unwrap_or(0));
        self.drop.set(cells, u64::from(destination.is_none()));
        self.recirculate.set(cells, 0);
        for (on, _) in &self.mirrors {
            on.set(cells, 0);
        }
        if machine.run(self.main, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        self.after_main(machine, tables, job, out);
    }

    /// Fate of a packet after the main control.
    fn after_main(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        mut job: Job,
        out: &mut dyn Output,
    ) {
        let cells = &job.cells;
        let drop = self.drop.get(cells) != 0;
        let recirculate = self.recirculate.get(cells) != 0;
        let port = self.port.get(cells) as u32;
        let mirrored = self.mirrors.iter().any(|(on, _)| on.get(cells) != 0);
        if drop && !recirculate && !mirrored {
            return machine.drop(job, Drop::Program, out);
        }
        if machine.run(self.deparser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        job.packet.emit_payload();
        core::mem::swap(&mut job.packet.bytes, &mut job.packet.emitted);
        let class = self.output_class.get(&job.cells);
        if recirculate {
            let way = Way(job.kind).recirculated(class);
            let mut again = machine.again(&job, job.port, way.0);
            again.packet.begin(&job.packet.bytes);
            again.length = job.packet.bytes.len() as u32;
            machine.enqueue(again, out);
        } else if !drop {
            self.send(machine, &job, port, None, class, out);
        }
        for (on, session) in &self.mirrors {
            if on.get(&job.cells) != 0 {
                let session = session.get(&job.cells) as u32;
                self.mirror(machine, &job, session, class, out);
            }
        }
        if drop && !recirculate {
            return machine.drop(job, Drop::Program, out);
        }
        machine.done(job);
    }

    /// Copies the packet, as its deparser made it, by a mirror session.
    fn mirror(
        &self,
        machine: &mut Machine,
        job: &Job,
        session: u32,
        class: u64,
        out: &mut dyn Output,
    ) {
        let Some(count) = machine.clones(session) else {
            let cpu = machine.context.environment.options.cpu_port;
            if let (TO_CPU, Some(port)) = (session, cpu) {
                machine.send(port, &job.packet.bytes, out);
            }
            return;
        };
        for index in 0..count {
            let Some((Replica { port, .. }, options)) = machine.clone_at(session, index) else {
                return;
            };
            self.send(machine, job, port, options.truncate, class, out);
        }
    }

    /// Lets a packet leave by a port; one on the side that it comes from lets it come back in the
    /// other direction first.
    fn send(
        &self,
        machine: &mut Machine,
        job: &Job,
        port: u32,
        truncate: Option<u32>,
        class: u64,
        out: &mut dyn Output,
    ) {
        let bytes = &job.packet.bytes;
        let most = truncate.map_or(bytes.len(), |most| bytes.len().min(most as usize));
        let bytes = &bytes[..most];
        let way = Way(job.kind);
        let to_host = way.direction() == 0;
        let loops = match machine.context.sides().get(&port) {
            Some(Side::Net) => to_host,
            Some(Side::Host) => !to_host,
            None => false,
        };
        if !loops {
            return machine.send(port, bytes, out);
        }
        let mut again = machine.again(job, job.port, way.turned(class).0);
        again.packet.begin(bytes);
        again.length = bytes.len() as u32;
        again.egress = Some(Egress {
            port,
            instance: 0,
            class: class as u8,
        });
        machine.enqueue(again, out);
    }
}

impl Pre {
    fn new(environment: &Environment, parser: SectionId) -> Result<Option<Self>, Unsupported> {
        let program = &*environment.program;
        let section = fields::section(program, &Role::PreControl)?;
        let Some(section) = fields::unless_empty(program, section) else {
            return Ok(None);
        };
        let parameter = |section, index| fields::parameter(program, section, index);
        let same = |index| -> Result<bool, Unsupported> {
            Ok(parameter(parser, index)?.ty == parameter(section, index)?.ty)
        };
        let transfer = |from, to| Transfer::new(environment, from, to);
        let mut before = Vec::new();
        let mut after = None;
        if same(0)? {
            before.push(transfer((parser, 0), (section, 0))?);
        }
        if same(1)? {
            before.push(transfer((parser, 1), (section, 1))?);
            after = Some(transfer((section, 1), (parser, 1))?);
        }
        let input = parameter(section, 2)?;
        let output = parameter(section, 3)?;
        Ok(Some(Pre {
            section,
            inputs: Inputs::new(environment, input),
            parser_error: Field::of(environment, input, "parser_error"),
            decrypt: Field::of(environment, output, "decrypt"),
            before,
            after,
        }))
    }
}

/// Refuses tables that add entries in a way that the architecture does not know.
fn learners(environment: &Environment) -> Result<(), Unsupported> {
    let program = &*environment.program;
    for (table, form) in program.tables.iter().zip(environment.tables.forms()) {
        let name = &table.name;
        if table.adds_on_miss() {
            if form.implementation.is_some() {
                return Err(Unsupported::new(format!(
                    "table `{name}` has `add_on_miss` and an action profile: a packet adds entries with actions of their own"
                )));
            }
            if let Some(key) = form.keys.iter().find(|key| key.kind != MatchKind::Exact) {
                return Err(Unsupported::new(format!(
                    "table `{name}` has `add_on_miss`, and its key `{}` is {}: make it exact",
                    key.name, key.kind
                )));
            }
        }
        for choice in &table.actions {
            let caller = &program.actions[choice.action.index()];
            let statements = caller
                .body
                .blocks
                .iter()
                .flat_map(|block| &block.statements);
            for statement in statements {
                let StatementKind::Call {
                    callee: Callee::Function(Function::AddEntry),
                    arguments,
                    ..
                } = &statement.kind
                else {
                    continue;
                };
                let fault = |message| Unsupported {
                    message,
                    span: Some(statement.span),
                };
                if !table.adds_on_miss() {
                    return Err(fault(format!(
                        "`{}` adds entries to table `{name}`, which has no `add_on_miss = true`",
                        caller.name
                    )));
                }
                let [Argument::Text(action), parameters, _] = arguments.as_slice() else {
                    continue;
                };
                let Some(number) = learning::action_of(form, action) else {
                    return Err(fault(format!(
                        "table `{name}` has no action `{action}` that `add_entry` could give an entry"
                    )));
                };
                let given: Vec<Ty> = match parameters {
                    Argument::Value(value) => alloc::vec![value.ty(&program.slots)],
                    Argument::List(list) => list
                        .iter()
                        .map(|item| item.value.ty(&program.slots))
                        .collect(),
                    _ => continue,
                };
                let wanted = &form.actions[number as usize].parameters;
                let fits = given.len() == wanted.len()
                    && given
                        .iter()
                        .zip(wanted)
                        .all(|(given, (_, ty))| given.width() == ty.width());
                if !fits {
                    return Err(fault(format!(
                        "`add_entry` gives action `{action}` other parameters than it has: {} with their widths",
                        wanted.len()
                    )));
                }
            }
        }
    }
    Ok(())
}
