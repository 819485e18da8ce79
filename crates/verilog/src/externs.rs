//! Externs of the user in Verilog (paper 002, section 3.2.4): calls, and the instances of their modules.
//!
//! With a fixed latency a call is a lookup: its response comes in a known cycle. For an asynchronous one packets wait in a queue between
//! two cycles, while those before and behind it are worked on.

use crate::build::Build;
use crate::design::LIBRARY;
use crate::graph::Id;
use crate::schedule::Stage;
use crate::state::{Lookup, State, Target, Walk, reason};
use crate::text::{bus, queued};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write;
use p4::ir::{LValue, Ty};
use pipeline::environment::Unsupported;
use pipeline::externs::registry::{Method, Timing};

/// Limits of [`Timing`].
const MAX_CYCLES: u32 = 1_024;
const MAX_ID_BITS: u32 = 8;

impl Walk<'_> {
    /// Calls a function or method; the packet is dropped if the module breaks its contract.
    pub(crate) fn call_hardware(
        &mut self,
        name: &str,
        method: &Method,
        inputs: &[(Id, Option<Id>)],
        results: &[LValue],
        when: Id,
        state: &mut State,
    ) -> Result<(), Unsupported> {
        let Some(hardware) = method.hardware() else {
            return self.cannot(format!(
                "`{name}` is an extern without a module in Verilog; give it one with `Method::with_hardware`, or use another engine"
            ));
        };
        let hardware = Arc::clone(hardware);
        let latency = match hardware.timing {
            Timing::Fixed { cycles } if (1..=MAX_CYCLES).contains(&cycles) => cycles,
            Timing::Asynchronous { id_bits } if (1..=MAX_ID_BITS).contains(&id_bits) => 1,
            _ => {
                return self.cannot(format!(
                    "`{name}` has {:?}; a fixed latency is 1 to {MAX_CYCLES} cycles, an identifier has 1 to {MAX_ID_BITS} bits",
                    hardware.timing
                ));
            }
        };
        let of_method = name.contains('.');
        let other = |lookup: &Lookup| matches!(&lookup.asked, Target::Extern(other) if Arc::ptr_eq(other, &hardware));
        if of_method && self.lookups.iter().any(other) {
            return self.cannot(format!(
                "`{name}` is called at two places, and its module takes one request in a cycle; call it at one place"
            ));
        }
        let mut widths = Vec::new();
        for result in results {
            match result.ty(&self.program.slots) {
                Ty::Varbit(_) => {
                    return self.cannot(format!(
                        "`{name}` gives a varbit, which a module in Verilog cannot"
                    ));
                }
                ty => widths.push(ty.width()),
            }
        }
        if inputs.iter().any(|(_, length)| length.is_some()) {
            return self.cannot(format!(
                "`{name}` is given a varbit, which a module in Verilog cannot take"
            ));
        }
        let mut above = widths.iter().sum::<u32>().max(1);
        let width = 1 + above;
        let result = self.graph.lookup(self.lookups.len() as u32, width);
        let inputs = inputs.iter().map(|(input, _)| *input);
        self.lookups.push(Lookup {
            keys: core::iter::once(when).chain(inputs).collect(),
            asked: Target::Extern(hardware),
            result,
            when: None,
            latency,
            second: self.split.is_some(),
        });
        self.graph.name(result, || format!("{name} response"));
        let good = self.graph.slice(result, width - 1, width - 1);
        let bad = self.graph.not(good);
        let stopped = self.graph.and(when, bad);
        self.ends.push((stopped, reason::NO_RESPONSE));
        for (place, width) in results.iter().zip(widths) {
            let value = self.graph.slice(result, above - 1, above - width);
            above -= width;
            self.assign(place, value, None, state)?;
        }
        Ok(())
    }

    /// Requests that all asynchronous externs may have outstanding.
    pub(crate) fn outstanding(&self) -> u32 {
        let calls = self.lookups.iter().map(|lookup| match &lookup.asked {
            Target::Extern(hardware) => match hardware.timing {
                Timing::Asynchronous { id_bits } => 1 << id_bits,
                Timing::Fixed { .. } => 0,
            },
            Target::Table(_) => 0,
        });
        calls.sum()
    }

    /// Files of the modules, each once.
    pub(crate) fn modules(&self, design: &str) -> Result<Vec<(String, String)>, Unsupported> {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for lookup in &self.lookups {
            let Target::Extern(hardware) = &lookup.asked else {
                continue;
            };
            let file = format!("{}.v", hardware.module);
            let own = [format!("{design}.v"), format!("{design}_pipeline.v")];
            let taken = own.contains(&file) || LIBRARY.iter().any(|(name, _)| *name == file);
            let text = hardware.text.to_string();
            let before = files.insert(file, text);
            if taken || before.is_some_and(|before| before != hardware.text) {
                return Err(Unsupported::from(format!(
                    "two modules of the hardware have the name `{}`; give the extern's module another one",
                    hardware.module
                )));
            }
        }
        Ok(files.into_iter().collect())
    }
}

impl Build<'_> {
    /// The modules' instances.
    pub(crate) fn externs(&mut self) -> String {
        let mut text = String::new();
        for number in 0..self.walk.lookups.len() {
            let lookup = &self.walk.lookups[number];
            let Target::Extern(hardware) = &lookup.asked else {
                continue;
            };
            if !self.writer.is_used(lookup.result) {
                continue;
            }
            let stage = self.writer.stage(lookup.result);
            let result = self.writer.at(lookup.result, stage);
            let asked = Stage(stage.0 - lookup.latency);
            let keys = lookup.keys.iter();
            let mut keys = keys.map(|key| self.writer.at(*key, asked));
            let when = keys.next().unwrap_or_default();
            let mut inputs: Vec<String> = keys.collect();
            let widths = lookup.keys[1..].iter();
            let widths = widths.map(|key| self.walk.graph.width(*key));
            let request = widths.sum::<u32>().max(1);
            if inputs.is_empty() {
                inputs.push("1'b0".into());
            }
            let inputs = inputs.join(", ");
            let top = self.walk.graph.width(lookup.result) - 1;
            let name = self.writer.reserve(&format!("extern_{}", hardware.module));
            let parameters = hardware.parameters.iter();
            let parameters: Vec<String> = parameters
                .map(|(name, value)| format!(".{name}({value})"))
                .collect();
            let parameters = match parameters.is_empty() {
                true => String::new(),
                false => format!("#({}) ", parameters.join(", ")),
            };
            let module = hardware.module;
            let (asked, response) = (asked.0, bus(top));
            match hardware.timing {
                Timing::Fixed { cycles } => {
                    let _ = write!(
                        text,
                        "
    // ---- extern {module}: asked in cycle {asked}, answers in cycle {} ----
    wire {name}_ready, {name}_valid;
    wire {name}_asks = valid_s{asked} && {when};
    p4_extern_fixed #(.CYCLES({cycles})) {name}_contract (
        .clk(clk), .rst(rst), .request_valid({name}_asks), .request_ready({name}_ready), .response_valid({name}_valid), .good({result}[{top}])
    );
    {module} {parameters}{name} (
        .clk(clk), .rst(rst), .request_valid({name}_asks), .request_ready({name}_ready), .request_data({{{inputs}}}),
        .response_valid({name}_valid), .response_ready(1'b1), .response_data({result}[{}:0])
    );
",
                        stage.0,
                        top - 1,
                    );
                }
                Timing::Asynchronous { id_bits } => {
                    let (parts, width) = self.writer.queued(asked);
                    let (vector, flight) = (queued(asked), self.flight().trailing_zeros());
                    let _ = write!(
                        text,
                        "
    // ---- extern {module}: behind cycle {asked} packets wait for its responses ----
    wire {name}_valid, {name}_ready, {name}_answers, {name}_taken;
    wire [{id_top}:0] {name}_id, {name}_answered;
    wire {}{name}_request;
    wire {response}{name}_response;
    p4_extern_queue #(.VECTOR_W({width}), .REQUEST_W({request}), .RESPONSE_W({top}), .DEPTH_LOG2({flight}), .ID_W({id_bits})) {name}_queue (
        .clk(clk), .rst(rst), .in_valid(valid_s{asked}), .in_vector({{{parts}}}), .in_asks({when}), .in_request({{{inputs}}}),
        .out_valid(valid_s{}), .out_vector({vector}), .out_asked({result}[{top}]), .out_response({result}[{}:0]),
        .request_valid({name}_valid), .request_ready({name}_ready), .request_id({name}_id), .request_data({name}_request),
        .response_valid({name}_answers), .response_ready({name}_taken), .response_id({name}_answered), .response_data({name}_response)
    );
    {module} {parameters}{name} (
        .clk(clk), .rst(rst),
        .request_valid({name}_valid), .request_ready({name}_ready), .request_id({name}_id), .request_data({name}_request),
        .response_valid({name}_answers), .response_ready({name}_taken), .response_id({name}_answered), .response_data({name}_response)
    );
",
                        bus(request),
                        stage.0,
                        top - 1,
                        id_top = id_bits - 1,
                    );
                }
            }
        }
        text
    }
}
