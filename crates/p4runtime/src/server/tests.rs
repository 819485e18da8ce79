use super::*;
use pipeline::environment::Unsupported;
use prost::Message;

mod strings;

const PROGRAM: &str = include_str!("../../tests/router.p4");

struct Nowhere;

impl Device for Nowhere {
    fn install(&self, _: &Arc<Environment>) -> Result<(), Unsupported> {
        Ok(())
    }
    fn now(&self) -> Time {
        Time::ZERO
    }
}

fn config(bytes: Vec<u8>) -> pb::ForwardingPipelineConfig {
    pb::ForwardingPipelineConfig {
        p4_device_config: bytes,
        ..Default::default()
    }
}

fn wrapped(text: &str) -> Vec<u8> {
    let config = P4DeviceConfig {
        reassign: true,
        extras: Vec::new(),
        device_data: text.into(),
    };
    config.encode_to_vec()
}

#[test]
fn a_program_may_come_as_it_is_or_wrapped_as_for_bmv2() {
    let server = Server::new(Nowhere, None, Settings::default());
    let gone = Gone::default();
    for bytes in [PROGRAM.into(), wrapped(PROGRAM)] {
        let pipeline = server
            .verify(&config(bytes), &gone)
            .map_err(|s| s.to_string());
        let pipeline = pipeline.unwrap();
        assert_eq!(pipeline.device_config, PROGRAM.as_bytes());
        *server.pipeline.write() = Some(Arc::new(pipeline));
    }
    // What p4c makes for bmv2 stands for the program that the device has, however long it is.
    for length in [10, 200, 100_000] {
        let json = format!("{{{}}}", " ".repeat(length));
        assert!(server.verify(&config(wrapped(&json)), &gone).is_ok());
        assert!(server.verify(&config(json.into()), &gone).is_ok());
    }
    let wrong = server.verify(&config(wrapped("no program")), &gone);
    assert_eq!(wrong.err().unwrap().code(), Code::InvalidArgument);
}

#[test]
fn nobody_compiles_for_a_client_that_has_gone() {
    let server = Server::new(Nowhere, None, Settings::default());
    let gone = Gone::default();
    gone.notify();
    let refused = server.verify(&config(PROGRAM.into()), &gone);
    assert_eq!(refused.err().unwrap().code(), Code::Cancelled);
    // Nor does it wait for another program to be compiled.
    let busy = server.compiler.lock();
    let refused = server.verify(&config(PROGRAM.into()), &gone);
    assert_eq!(refused.err().unwrap().code(), Code::Cancelled);
    drop(busy);
    assert!(
        server
            .verify(&config(PROGRAM.into()), &Gone::default())
            .is_ok()
    );
}
