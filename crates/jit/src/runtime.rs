//! What the code calls, and what it shares with who runs it.

use crate::Shared;
use p4::ir::{Expr, Statement, TableId, Terminator};
use pipeline::apply;
use pipeline::context::{Context, Hit, Stop};
use pipeline::engine::Packet;
use pipeline::externs::Call;
use pipeline::interpreter::{self, Stepped};
use pipeline::table::{Choice, Table};
use std::slice;

/// What a section's function is given beside the cells. The first fields are read and written by the code.
#[repr(C)]
pub(crate) struct State {
    /// The packet's bytes.
    pub(crate) bytes: *const u8,
    /// How many bits they have.
    pub(crate) bits: u64,
    /// How far the parser has read, in bits.
    pub(crate) position: u64,
    /// The start of what is emitted; there is room for all that the section can append.
    pub(crate) out: *mut u8,
    /// How many bits are emitted.
    pub(crate) out_bits: u64,
    /// How many jumps backwards are left.
    pub(crate) steps: u64,
    /// Whether an action runs for an entry with direct objects; then `context.hit` says which.
    pub(crate) hit: u64,
    pub(crate) cells: *mut u64,
    pub(crate) packet: *mut Packet,
    pub(crate) tables: *const Table,
    pub(crate) tables_length: usize,
    pub(crate) context: *mut Context,
    pub(crate) shared: *const Shared,
    pub(crate) section: u64,
    /// How many bytes the code can append.
    pub(crate) room: usize,
    /// Whether the program has asked for anything but to know of checksum errors.
    pub(crate) asked: u64,
    /// Whether a checksum was found wrong.
    pub(crate) checksum_error: u64,
    /// By which port the packet came.
    pub(crate) from: u64,
    /// By which port it leaves.
    pub(crate) port: u64,
    /// In microseconds.
    pub(crate) now: u64,
    pub(crate) nanoseconds: u64,
}

/// Nothing special.
const ON: u64 = 0;
/// The parser fails; the error is in its slot.
pub(crate) const FAILED: u64 = 1;
/// The packet is given up.
const STOPPED: u64 = 2;

/// What the code can call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shim {
    /// `(table, key, selectors)`: looks up in a table with an action profile, and puts the arguments into their slots. Gives the action, and at
    /// bit 32 whether it was a hit.
    Choose,
    /// `(call, input, output)`
    Invoke,
    /// `(statement, call)`: one statement by the interpreter.
    Statement,
    /// `(expression, output, cells)`: an expression by the interpreter.
    Evaluate,
    /// `(terminator)`: the number of the case of a select.
    Select,
    /// `(position, width, target)`: bits of the packet, beginning with a whole byte.
    Copy,
    /// `(before, words, width)`: appends bits that do not begin with a whole byte.
    Append,
    OutOfSteps,
    /// All cells become zero.
    Clear,
    /// A checksum is not as it should be.
    ChecksumError,
    /// `(port)`: how many packets wait there.
    WaitingPackets,
    /// `(port)`: for how many microseconds.
    WaitingTime,
}

/// Lookups that are calls, and give a [`Row`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum LookupCall {
    /// `(address of the table, address of the key)`.
    Any,
    /// `(state, number of the table, address of the key)`: counts the hit too.
    Hit,
}

/// Where the code of a lookup is, which gives a [`Row`].
pub(crate) fn lookup_address(call: LookupCall) -> usize {
    match call {
        LookupCall::Any => lookup as *const () as usize,
        LookupCall::Hit => hit as *const () as usize,
    }
}

/// Where a shim is, and whether it gives a value.
pub(crate) fn address(shim: Shim) -> (usize, bool) {
    match shim {
        Shim::Choose => (choose as *const () as usize, true),
        Shim::Invoke => (invoke as *const () as usize, true),
        Shim::Statement => (statement as *const () as usize, true),
        Shim::Evaluate => (evaluate as *const () as usize, false),
        Shim::Select => (select as *const () as usize, true),
        Shim::Copy => (copy as *const () as usize, false),
        Shim::Append => (append as *const () as usize, false),
        Shim::ChecksumError => (checksum_error as *const () as usize, false),
        Shim::Clear => (clear as *const () as usize, false),
        Shim::WaitingPackets => (waiting_packets as *const () as usize, true),
        Shim::WaitingTime => (waiting_time as *const () as usize, true),
        Shim::OutOfSteps => (out_of_steps as *const () as usize, false),
    }
}

impl State {
    /// Brings the packet up to date at the end.
    pub(crate) fn finish(&mut self) {
        self.save_packet();
    }

    fn tables(&self) -> &[Table] {
        // SAFETY: the engine made it of a slice that outlives the run.
        unsafe { slice::from_raw_parts(self.tables, self.tables_length) }
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the engine that runs the code owns it and keeps it where it is.
        unsafe { &*self.shared }
    }

    /// The context. The state is borrowed for as long, so that there is one reference at a time.
    fn context(&mut self) -> &mut Context {
        // SAFETY: made of a `&mut` that the engine holds for the run, and reached through the state alone.
        unsafe { &mut *self.context }
    }

    /// Values that the code wants written: another piece of memory than the cells.
    ///
    /// # Safety
    /// The code has made room for `count` of them there, and uses them only when the shim has come back.
    unsafe fn output<'a>(&self, output: *mut u64, count: usize) -> &'a mut [u64] {
        let cells = self.cells as usize;
        let end = cells + size_of::<u64>() * self.shared().environment.layout.cells();
        let (from, to) = (output as usize, output as usize + size_of::<u64>() * count);
        assert!(
            count == 0 || to <= cells || end <= from,
            "output among the cells"
        );
        // SAFETY: by the caller's word; the cells are elsewhere.
        unsafe { slice::from_raw_parts_mut(output, count) }
    }

    /// Brings the packet up to date with the code.
    fn save_packet(&self) {
        // SAFETY: as of the context.
        let packet = unsafe { &mut *self.packet };
        packet.position = self.position;
        let written = self.out_bits.div_ceil(8) as usize;
        assert!(
            written <= packet.emitted.capacity(),
            "emitted past the room for it"
        );
        // SAFETY: the code has written `length` bytes, within the capacity.
        unsafe { packet.emitted.set_len(written) };
        packet.emitted_bits = self.out_bits;
    }

    /// And the other way round.
    fn load_packet(&mut self) {
        // SAFETY: as of the context.
        let packet = unsafe { &mut *self.packet };
        self.position = packet.position;
        packet.emitted.reserve(self.room);
        self.out = packet.emitted.as_mut_ptr();
        self.out_bits = packet.emitted_bits;
    }

    /// Tells the code what a call, whoever made it, has left in the context's effects.
    fn note_effects(&mut self, call: &Call, context: &Context) {
        self.asked |= u64::from(call.operation.asks());
        self.checksum_error |= u64::from(context.effects.checksum_error);
    }

    fn cells(&mut self) -> &mut [u64] {
        let length = self.shared().environment.layout.cells();
        // SAFETY: the engine found the cells to be as many as the layout has.
        unsafe { slice::from_raw_parts_mut(self.cells, length) }
    }
}

/// What a lookup gives to the code, in two registers.
#[repr(C)]
pub(crate) struct Row {
    /// The action's arguments.
    arguments: *const u64,
    /// The action, and at bit 32 whether it was a hit.
    action: u64,
}

impl Row {
    fn of(found: &pipeline::table::Found<'_>) -> Self {
        Row {
            arguments: found.arguments.as_ptr(),
            action: action(found.choice, found.entry.is_some()),
        }
    }
}

fn action(choice: Choice, hit: bool) -> u64 {
    let action = match choice {
        Choice::Action(action) => action,
        // Tables with an action profile go by `choose`.
        Choice::Member(_) | Choice::Group(_) => u32::MAX,
    };
    u64::from(action) | u64::from(hit) << 32
}

unsafe extern "C" fn lookup(table: *const Table, key: *const u64) -> Row {
    // SAFETY: one of the tables that the engine was given.
    let table = unsafe { &*table };
    // SAFETY: the code has written a key for this table there; without keys it is the cells, which are never looked at.
    let key = unsafe { slice::from_raw_parts(key, table.key_cells()) };
    Row::of(&table.lookup(key))
}

unsafe extern "C" fn hit(state: *mut State, table: u64, key: *const u64) -> Row {
    // SAFETY: the code passes on what the engine gave it, and nobody else has it meanwhile.
    let state = unsafe { &mut *state };
    // SAFETY: the tables outlive the run.
    let entries = unsafe { &(&*std::ptr::from_ref(state.tables()))[table as usize] };
    // SAFETY: as in `lookup`.
    let key = unsafe { slice::from_raw_parts(key, entries.key_cells()) };
    let found = entries.lookup(key);
    let id = TableId(table as u32);
    let context = state.context();
    context.hit = found.entry.map(|entry| Hit { table: id, entry });
    match found.entry {
        Some(entry) => apply::hit(id, entries, entry, context),
        None => apply::miss(id, key, context),
    }
    state.hit = 1;
    Row::of(&found)
}

unsafe extern "C" fn choose(
    state: *mut State,
    table: u64,
    key: *const u64,
    selectors: *const u64,
) -> u64 {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    let id = TableId(table as u32);
    let count = state.shared().environment.selector_cells(id);
    // SAFETY: the code has written the values of the selector keys there, one behind the other; without such keys it is the cells, of which none is read.
    let selectors = unsafe { slice::from_raw_parts(selectors, count) };
    // SAFETY: the tables outlive the run.
    let entries = unsafe { &(&*std::ptr::from_ref(state.tables()))[table as usize] };
    // SAFETY: as in `lookup`.
    let key = unsafe { slice::from_raw_parts(key, entries.key_cells()) };
    // SAFETY: as in `State::context`; the cells are another piece of memory.
    let context = unsafe { &mut *state.context };
    let chosen = apply::choose(id, entries, key, selectors, state.cells(), context);
    state.hit = 1;
    u64::from(chosen.action.unwrap_or(u32::MAX)) | u64::from(chosen.entry.is_some()) << 32
}

unsafe extern "C" fn invoke(
    state: *mut State,
    call: *const Call,
    input: *const u64,
    output: *mut u64,
) -> u64 {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    // SAFETY: the engine keeps the calls where they are as long as the code lives.
    let call = unsafe { &*call };
    // SAFETY: the code has written as many cells as the call wants.
    let input = unsafe { slice::from_raw_parts(input, call.input_cells) };
    // SAFETY: the code has made room for as many cells as the call gives, and cleared them.
    let output = unsafe { state.output(output, call.output_cells) };
    state.save_packet();
    // SAFETY: as of the context.
    let packet = unsafe { &mut *state.packet };
    // SAFETY: as in `State::context`; the cells are another piece of memory.
    let context = unsafe { &mut *state.context };
    if state.hit == 0 {
        context.leave_action();
    }
    call.invoke(input, output, state.cells(), packet, context);
    state.note_effects(call, context);
    if context.stop.is_some() { STOPPED } else { ON }
}

unsafe extern "C" fn statement(
    state: *mut State,
    statement: *const Statement,
    call: *const Call,
) -> u64 {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    // SAFETY: a part of the program, which the engine keeps where it is.
    let statement = unsafe { &*statement };
    // SAFETY: null, or as in `invoke`.
    let call = unsafe { call.as_ref() };
    state.save_packet();
    // SAFETY: as of the context.
    let packet = unsafe { &mut *state.packet };
    // SAFETY: as in `State::context`; the cells are another piece of memory.
    let context = unsafe { &mut *state.context };
    if state.hit == 0 {
        context.leave_action();
    }
    let section = p4::ir::SectionId(state.section as u32);
    let stepped = interpreter::statement(section, statement, call, state.cells(), packet, context);
    if let Some(call) = call {
        state.note_effects(call, context);
    }
    state.load_packet();
    match stepped {
        Stepped::On => ON,
        Stepped::Failed => FAILED,
        Stepped::Stopped => STOPPED,
    }
}

unsafe extern "C" fn evaluate(
    state: *mut State,
    expression: *const Expr,
    output: *mut u64,
    cells: u64,
) {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    // SAFETY: a part of the program, or of a call, which the engine keeps where it is.
    let expression = unsafe { &*expression };
    // SAFETY: the code has made room for them.
    let output = unsafe { state.output(output, cells as usize) };
    let environment = state.shared().environment.clone();
    interpreter::evaluate(&environment, expression, state.cells(), output);
}

unsafe extern "C" fn select(state: *mut State, terminator: *const Terminator) -> u64 {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    // SAFETY: a part of the program, which the engine keeps where it is.
    let terminator = unsafe { &*terminator };
    // SAFETY: as in `State::context`; the cells are another piece of memory.
    let context = unsafe { &mut *state.context };
    // SAFETY: as of the context.
    let packet = unsafe { &mut *state.packet };
    let section = p4::ir::SectionId(state.section as u32);
    let chosen = interpreter::select(section, terminator, state.cells(), packet, context);
    chosen.map_or(u64::MAX, |index| index as u64)
}

unsafe extern "C" fn copy(state: *mut State, position: u64, width: u64, target: *mut u8) {
    // SAFETY: as in `hit`.
    let state = unsafe { &*state };
    // SAFETY: the engine made it of the packet's bytes.
    let bytes = unsafe { slice::from_raw_parts(state.bytes, (state.bits / 8) as usize) };
    let count = width.div_ceil(8) as usize;
    // SAFETY: the code has made room for them.
    let target = unsafe { slice::from_raw_parts_mut(target, count) };
    let (first, shift) = ((position / 8) as usize, (position % 8) as u32);
    for (index, byte) in target.iter_mut().enumerate() {
        let here = bytes.get(first + index).copied().unwrap_or(0);
        let next = bytes.get(first + index + 1).copied().unwrap_or(0);
        *byte = (u16::from_be_bytes([here, next]) << shift >> 8) as u8;
    }
}

unsafe extern "C" fn append(state: *mut State, before: u64, words: *const u64, width: u64) {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    state.out_bits = before;
    state.save_packet();
    // SAFETY: as of the context.
    let packet = unsafe { &mut *state.packet };
    // SAFETY: the code has written them.
    let words = unsafe { slice::from_raw_parts(words, width.div_ceil(64) as usize) };
    let mut left = width;
    for word in words {
        let take = left.min(64);
        pipeline::bits::append(
            &mut packet.emitted,
            &mut packet.emitted_bits,
            &[*word],
            take as u32,
        );
        left -= take;
    }
    state.load_packet_emitted();
}

unsafe extern "C" fn checksum_error(state: *mut State) {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    state.checksum_error = 1;
    state.context().effects.checksum_error = true;
}

unsafe extern "C" fn clear(state: *mut State) {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    state.cells().fill(0);
}

unsafe extern "C" fn waiting_packets(state: *mut State, port: u64) -> u64 {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    u64::from(state.context().waiting(port).packets)
}

unsafe extern "C" fn waiting_time(state: *mut State, port: u64) -> u64 {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    u64::from(state.context().waiting(port).time)
}

unsafe extern "C" fn out_of_steps(state: *mut State) {
    // SAFETY: as in `hit`.
    let state = unsafe { &mut *state };
    state.context().stop = Some(Stop::Steps);
}

impl State {
    fn load_packet_emitted(&mut self) {
        let position = self.position;
        self.load_packet();
        self.position = position;
    }
}
