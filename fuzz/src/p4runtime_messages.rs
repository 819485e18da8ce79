//! P4Runtime's requests: decoded, written, read back. What is accepted can be read, in words and as messages, and what is read can be written again.

use p4::compile::{Options, compile};
use p4::source::{IncludeError, Includes};
use p4runtime::Pipeline;
use p4runtime::messages::runtime::{
    self as pb, ReadRequest, StreamMessageRequest, WriteRequest, entity::Entity, update::Type,
    write_request::Atomicity,
};
use pipeline::environment::Environment;
use prost::Message;
use std::sync::{Arc, LazyLock};

/// Maximum number of updates of one request; more repeat the same.
const MAX_UPDATES: usize = 64;

/// A program with tables of each kind, an action profile, counters, meters, registers, a digest and a value set.
static CHECKED: LazyLock<(p4::check::Checked, Arc<p4::ir::Program>)> = LazyLock::new(|| {
    let text = include_str!("../../crates/p4runtime/tests/router.p4");
    let compiled = compile("fuzz.p4", text, &mut Library, &Options::default());
    let program = compiled.program.expect("our own program compiles");
    (compiled.checked.expect("and is checked"), Arc::new(program))
});

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = p4::library::file(name).ok_or_else(|| format!("there is no {name}"))?;
        Ok((name.to_owned(), text.to_owned()))
    }
}

/// The first byte says what the rest is.
pub fn target(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    match kind % 3 {
        0 => {
            if let Ok(request) = WriteRequest::decode(rest) {
                write(request);
            }
        }
        1 => {
            if let Ok(request) = ReadRequest::decode(rest) {
                let _ = pipeline().read(&request, node::Time::ZERO);
            }
        }
        _ => {
            if let Ok(message) = StreamMessageRequest::decode(rest) {
                assert_eq!(
                    StreamMessageRequest::decode(&*message.encode_to_vec()),
                    Ok(message)
                );
            }
        }
    }
}

fn environment() -> Environment {
    Environment::new(Arc::clone(&CHECKED.1), Default::default()).expect("it fits")
}

fn pipeline() -> Pipeline {
    Pipeline::new(&CHECKED.0, &Arc::new(environment()), Vec::new())
}

fn write(mut request: WriteRequest) {
    request.updates.truncate(MAX_UPDATES);
    let all = ReadRequest {
        entities: vec![entity(Entity::TableEntry(pb::TableEntry::default()))],
        ..ReadRequest::default()
    };
    let read = |pipeline: &Pipeline| {
        pipeline
            .read(&all, node::Time::ZERO)
            .expect("all entries can be read")
    };
    let written = pipeline();
    let done = written.write(&request).is_ok();
    let entries = read(&written);
    // Or nothing was written.
    if !done && request.atomicity != Atomicity::ContinueOnError as i32 {
        assert_eq!(entries, read(&pipeline()));
    }
    let again = written.again(&Arc::new(environment()));
    for entity in &entries {
        // Those of a selector need its members.
        if !format!("{entity:?}").contains("ActionProfile") {
            again
                .write(&insert(entity))
                .expect("what is read can be written");
        }
    }
}

fn entity(of: Entity) -> pb::Entity {
    pb::Entity { entity: Some(of) }
}

fn insert(entity: &pb::Entity) -> WriteRequest {
    let default =
        matches!(&entity.entity, Some(Entity::TableEntry(entry)) if entry.is_default_action);
    let update = pb::Update {
        r#type: if default { Type::Modify } else { Type::Insert } as i32,
        entity: Some(entity.clone()),
    };
    WriteRequest {
        updates: vec![update],
        ..WriteRequest::default()
    }
}
