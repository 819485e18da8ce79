//! Connections: how many, from whom, and where.

use super::{PORTS, PROGRAM, Running, eventually};
use crate::shell::{Place, has, is_root};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Waits until the process has used its time, or a second has gone by: the share of a core that it took.
#[allow(
    clippy::disallowed_methods,
    reason = "the load of another program is watched for a while"
)]
fn share(running: &Running) -> f64 {
    let (begin, ticks) = (Instant::now(), running.ticks());
    std::thread::sleep(Duration::from_secs(1));
    (running.ticks() - ticks) as f64 / 100.0 / begin.elapsed().as_secs_f64()
}

/// Asks a pipeline for its tables; whether it answers.
fn answers(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return false;
    };
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let mut answer = [0; 1];
    stream.write_all(b"table ls\n").is_ok() && stream.read(&mut answer).is_ok_and(|read| read == 1)
}

/// At 40 descriptors the loops that accept took a core each: accepting failed, and they tried again at once.
#[test]
fn a_flood_of_connections_takes_neither_a_core_nor_the_last_descriptors() {
    let place = Place::new("flood");
    let script = format!(
        "ulimit -n 40; exec wire p4 run {PROGRAM} {PORTS} --control s.sock --p4runtime 127.0.0.1:0"
    );
    let mut running = Running::start(&place, &script);
    let address = running.told("P4Runtime at ");
    let socket = place.path.join("s.sock");
    assert!(eventually(|| answers(&socket)));
    let local: Vec<_> = (0..100)
        .filter_map(|_| UnixStream::connect(&socket).ok())
        .collect();
    assert!(
        share(&running) < 0.5,
        "flooded by {} at --control",
        local.len()
    );
    let remote: Vec<_> = (0..100)
        .filter_map(|_| TcpStream::connect(&address).ok())
        .collect();
    assert!(
        share(&running) < 0.5,
        "flooded by {} at --p4runtime",
        remote.len()
    );
    let folder = format!("/proc/{}/fd", running.child.id());
    assert!(std::fs::read_dir(folder).unwrap().count() <= 32);
    // Who waited gets in when the others have gone.
    drop((local, remote));
    assert!(eventually(|| answers(&socket)));
    let said = running.stop();
    for name in [
        "s.sock: connections: ",
        &format!("P4Runtime at {address}: connections: "),
    ] {
        let line = said.lines().find(|line| line.contains(name)).expect(&said);
        assert!(line.contains("no_descriptor"), "{line}");
    }
}

#[test]
fn a_control_socket_is_private_whatever_the_umask() {
    for (number, umask) in ["000", "022", "077"].iter().enumerate() {
        let place = Place::new(&format!("umask-{number}"));
        let script = format!("umask {umask}; exec wire p4 run {PROGRAM} {PORTS} --control s.sock");
        let running = Running::start(&place, &script);
        let socket = place.path.join("s.sock");
        assert!(eventually(|| answers(&socket)), "{umask}");
        assert_eq!(socket.metadata().unwrap().mode() & 0o777, 0o600, "{umask}");
        drop(running);
    }
}

#[test]
fn another_user_is_not_answered_even_where_the_file_lets_him_in() {
    let test = "a control socket and another user";
    if !is_root(test) || !has("setpriv", test) || !has("nc", test) {
        return;
    }
    // The folder of the build may be one that only its owner may enter.
    let path = std::env::temp_dir().join(format!("wire-other-user-{}.sock", std::process::id()));
    let place = Place::new("other-user");
    let script = format!(
        "exec wire p4 run {PROGRAM} {PORTS} --control {}",
        path.display()
    );
    let running = Running::start(&place, &script);
    assert!(eventually(|| answers(&path)));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
    let ask = |user: &str| {
        let ids = format!("--reuid={user} --regid={user} --clear-groups");
        let script = format!(
            "echo table ls | setpriv {ids} nc -N -U -w 10 {}",
            path.display()
        );
        place.run(&script).out
    };
    assert_eq!(ask("65534"), "");
    assert!(ask("0").contains("done"));
    let said = running.stop();
    assert!(said.contains("other_user 1"), "{said}");
}

#[test]
fn a_listener_without_an_address_is_reached_from_this_machine_alone() {
    let place = Place::new("loopback");
    for (listen, at, note) in [
        ("ptcp:0", "127.0.0.1", "from this machine alone"),
        (
            "ptcp:0:0.0.0.0",
            "0.0.0.0",
            "whoever reaches this address is believed",
        ),
    ] {
        let script = format!("exec wire of controller learning --listen {listen}");
        let mut running = Running::start(&place, &script);
        let name = running.told("controller on ");
        let (_, host) = name["ptcp:".len()..].split_once(':').unwrap();
        assert_eq!(host, at);
        running.told(note);
    }
}
