//! P4Runtime over TLS, asked by gRPC's own client.

use super::{PORTS, PROGRAM, Running, certificates};
use crate::shell::Place;
use std::path::PathBuf;
use std::process::Command;

/// A Python with gRPC, or why there is none.
fn python() -> Option<PathBuf> {
    let own =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/p4runtime-venv/bin/python");
    [own, "python3".into()].into_iter().find(|python| {
        let found = Command::new(python)
            .args(["-c", "import grpc, p4.v1.p4runtime_pb2_grpc"])
            .output();
        found.is_ok_and(|output| output.status.success())
    })
}

const ASK: &str = "
import sys, grpc
from p4.v1 import p4runtime_pb2 as p4rt, p4runtime_pb2_grpc
address, files = sys.argv[1], [open(name, 'rb').read() for name in sys.argv[2:]]
if files:
    authority, key, certificate = (files + [None, None])[:3]
    channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(authority, key, certificate))
else:
    channel = grpc.insecure_channel(address)
try:
    stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
    print(stub.Capabilities(p4rt.CapabilitiesRequest(), timeout=20).p4runtime_api_version)
except grpc.RpcError as error:
    print(error.code().name)
";

/// What gRPC's client gets to hear, with these files.
fn asked(place: &Place, address: &str, files: &[&str]) -> String {
    let python = python().expect("it was there");
    let output = Command::new(python)
        .args(["-c", ASK, address])
        .args(files)
        .current_dir(&place.path)
        .env("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn p4runtime_asks_who_a_controller_is() {
    let place = Place::new("p4runtime-tls");
    let test = "P4Runtime over TLS";
    if python().is_none() {
        return println!(
            "skipped: {test} needs grpc and p4runtime for Python: .ci/setup test gets them"
        );
    }
    if !certificates::make(&place, test) {
        return;
    }
    let keys = "--private-key server.key --certificate server.pem";
    let serve = |authority: &str| {
        let script = format!(
            "exec wire p4 run {PROGRAM} {PORTS} --p4runtime 127.0.0.1:0 {keys} --ca-cert {authority}"
        );
        Running::start(&place, &script)
    };
    let mut running = serve("ca.pem");
    let address = running.told("P4Runtime at ");
    let client = ["ca.pem", "client.key", "client.pem"];
    assert_eq!(asked(&place, &address, &client), "1.4.1");
    // Another authority's certificate, none at all, and no TLS.
    for files in [
        &["ca.pem", "stranger.key", "stranger.pem"][..],
        &["ca.pem"],
        &[],
    ] {
        assert_eq!(asked(&place, &address, files), "UNAVAILABLE", "{files:?}");
    }
    // And the client knows the server by its certificate.
    assert_eq!(
        asked(&place, &address, &["other.pem", "client.key", "client.pem"]),
        "UNAVAILABLE"
    );
    let said = running.stop();
    let line = said
        .lines()
        .find(|line| line.contains(": connections: "))
        .expect(&said);
    assert!(line.contains("untrusted "), "{line}");

    // With `none` the controller is not asked who it is.
    let mut running = serve("none");
    let address = running.told("P4Runtime at ");
    assert_eq!(asked(&place, &address, &["ca.pem"]), "1.4.1");
}

#[test]
fn keys_without_their_files_are_refused_with_the_reason() {
    let place = Place::new("p4runtime-keys");
    let run = |keys: &str| {
        let script = format!("wire p4 run {PROGRAM} {PORTS} --p4runtime 127.0.0.1:0 {keys}");
        let ended = place.run(&script);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        ended.err
    };
    assert!(run("--ca-cert none").contains("--private-key"));
    assert!(run("--private-key no.key --certificate no.pem --ca-cert none").contains("no.key"));
}
