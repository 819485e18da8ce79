//! Real controllers against the server: a client in the way of PTF's, and `p4runtime-shell`. Where Python lacks their packages, the tests say
//! that they were skipped.
#![expect(
    clippy::disallowed_methods,
    reason = "the test is the world: its thread lets time pass"
)]

use node::{Node, Out, Time};
use p4::compile::{Options, compile};
use p4::source::{IncludeError, Includes};
use p4runtime::{Pipeline, Running, Settings, SwitchNode, serve};
use pipeline::architecture::{Config, Pipeline as Forwarding};
use pipeline::environment::{self, Environment};
use pipeline::interpreter::Interpreter;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = p4::library::file(name).ok_or("only the library is here")?;
        Ok((name.into(), text.into()))
    }
}

/// A Python that has the packages, or why there is none.
fn python(module: &str) -> Result<PathBuf, String> {
    let own =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/p4runtime-venv/bin/python");
    for python in [own, PathBuf::from("python3")] {
        let found = Command::new(&python)
            .args(["-c", &format!("import {module}")])
            .output();
        if found.is_ok_and(|output| output.status.success()) {
            return Ok(python);
        }
    }
    Err(format!(
        "no Python here has {module}: .ci/setup test gets it"
    ))
}

/// The router with a server before it, and a thread that lets its time pass.
struct Device {
    running: Running,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Device {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

const PROGRAM: &str = include_str!("router.p4");

fn device() -> (Device, String) {
    let compiled = compile("router.p4", PROGRAM, &mut Library, &Options::default());
    let errors = compiled.diagnostics.sorted();
    let errors: String = errors.iter().map(|d| d.render(&compiled.sources)).collect();
    let program = Arc::new(compiled.program.unwrap_or_else(|| panic!("{errors}")));
    let options = environment::Options {
        cpu_port: Some(510),
        ..environment::Options::default()
    };
    let forwarding = |environment: &Arc<Environment>| {
        let engine = Interpreter::new(environment)?;
        Forwarding::new(environment, Box::new(engine), &Config::default())
    };
    let environment = Arc::new(Environment::new(program, options.clone()).unwrap());
    let (mut node, handle) =
        SwitchNode::new(forwarding(&environment).unwrap(), 4, Box::new(forwarding));
    let pipeline = Pipeline::new(
        compiled.checked.as_ref().unwrap(),
        &environment,
        PROGRAM.as_bytes().to_vec(),
    );
    let info = p4runtime::p4info::text(&pipeline.message);
    let settings = Settings {
        device_id: Some(1),
        options,
        tls: None,
    };
    let running = serve(
        std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
        handle,
        Some(pipeline),
        settings,
    )
    .unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        let (start, mut out) = (Instant::now(), Out::default());
        while !stopped.load(Ordering::Relaxed) {
            let now = Time::from_ns(start.elapsed().as_nanos() as u64);
            node.wake(now, &mut out);
            for _ in out.sends() {}
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let device = Device {
        running,
        stop,
        thread: Some(thread),
    };
    (device, info)
}

fn scenario(name: &str) {
    let python = match python("grpc, google.rpc.code_pb2, p4.v1.p4runtime_pb2_grpc") {
        Ok(python) => python,
        Err(why) => return println!("skipped: {why}"),
    };
    let (device, _) = device();
    run(Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client.py"))
        .arg(device.running.address.to_string())
        .arg(name));
}

fn run(command: &mut Command) {
    let output = command
        .env("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
        .output()
        .unwrap();
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("done"),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

macro_rules! scenarios {
    ($($test:ident: $name:literal;)*) => {$(
        #[test]
        fn $test() {
            scenario($name);
        }
    )*};
}

scenarios! {
    a_controller_installs_routes_and_reads_them_and_their_counters: "routes";
    packets_go_to_the_controller_and_come_from_it: "packets";
    digests_are_gathered_and_acknowledged: "digests";
    multicast_groups_and_clone_sessions_are_written_and_read: "groups";
    an_entry_that_nobody_hits_is_told_of: "timeouts";
    two_controllers_and_one_primary: "arbitration";
    a_batch_is_taken_back_and_each_update_has_its_error: "batches";
    selectors_have_members_groups_and_sets_of_one_entry: "selectors";
    meters_value_sets_matches_and_new_programs: "others";
}

#[test]
fn messages_are_defined_as_the_packages_of_controllers_define_them() {
    let python = match python("p4.v1.p4runtime_pb2") {
        Ok(python) => python,
        Err(why) => return println!("skipped: {why}"),
    };
    run(Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/definitions.py"))
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/generated/definitions.bin"
        )));
}

#[test]
fn the_real_p4runtime_shell_installs_a_route() {
    let python = match python("p4runtime_sh.shell") {
        Ok(python) => python,
        Err(why) => return println!("skipped: {why}"),
    };
    let (device, info) = device();
    let folder = std::env::temp_dir().join(format!("p4runtime-shell-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (info_file, program) = (folder.join("p4info.txtpb"), folder.join("router.p4"));
    std::fs::write(&info_file, info).unwrap();
    std::fs::write(&program, PROGRAM).unwrap();
    run(Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shell.py"))
        .arg(device.running.address.to_string())
        .args([&info_file, &program]));
    std::fs::remove_dir_all(&folder).unwrap();
}
