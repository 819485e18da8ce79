//! A filter, whose expression libpcap compiles.

use crate::fault::Fault;
use crate::kind::{Context, Kind, Made};
use crate::tree::Value;
use live::bpf::Target;
use nodes::filter::{Config, Filter, Program};

/// What a matching program returns: the whole frame.
const WHOLE: u32 = 262_144;

/// The kind.
pub(super) fn kinds() -> Vec<Kind> {
    vec![Kind::made("filter", make)]
}

fn make(config: &Value, context: Context<'_>) -> Made {
    let read: Config = config.read()?;
    let at = |key, message: String| {
        let span = config.get(key).unwrap_or(config).span.clone();
        Err(Fault::new(span, message))
    };
    let program = match &read.program {
        Some(_) if !read.expression.is_empty() => {
            return at(
                "program",
                "either `expression` or `program`, not both".into(),
            );
        }
        Some(text) => match text.parse::<Program>() {
            Ok(program) => program,
            Err(error) => return at("program", error.to_string()),
        },
        None if read.expression.is_empty() || context.folder.is_none() => Program::everything(),
        None => match live::bpf::compile(&read.expression, &Target::ETHERNET, WHOLE) {
            Err(error) => return at("expression", error.to_string()),
            Ok(instructions) => match Program::new(instructions) {
                Err(error) => return at("expression", error.to_string()),
                Ok(program) => program,
            },
        },
    };
    if program.reads_direction() || program.reads_interface() {
        let key = match read.program {
            Some(_) => "program",
            None => "expression",
        };
        return at(
            key,
            "a node's frames have no direction and no number of an interface; leave `inbound`, `outbound` and `ifindex` out, and use `back`"
                .into(),
        );
    }
    Ok(Box::new(Filter::new(read, program)))
}
