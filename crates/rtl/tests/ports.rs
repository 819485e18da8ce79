//! Ports in Verilog under the commands and the scripts that work on any port.

use super::{EXAMPLES, why_not, wire};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Two numbers of UDP ports that nobody has.
fn free() -> [u16; 2] {
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port())
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wire-rtl"));
    command.args(arguments).stdin(Stdio::null());
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What it said, unless there is no Verilog to run.
fn ended(child: Child) -> Option<(String, String)> {
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    let (out, told) = (
        String::from_utf8(stdout).unwrap(),
        String::from_utf8(stderr).unwrap(),
    );
    if told.contains("built without Verilator") {
        println!("skipped: {}", told.trim());
        return None;
    }
    assert!(status.success(), "{out}{told}");
    Some((out, told))
}

/// Waits until somebody listens there.
fn until_bound(port: u16) {
    while UdpSocket::bind(("127.0.0.1", port)).is_ok() {
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
}

#[test]
fn two_processes_have_the_ends_of_a_link_and_a_third_delays_between_them() {
    if ended(start(&["gen", "rtl:cable:nowhere.0", "--count", "1"])).is_none() {
        return;
    }
    let [front, back] = free();
    let cat = start(&[
        "cat",
        &format!("rtl:udp:@127.0.0.1:{back}"),
        "--count",
        "20",
    ]);
    let delay = start(&[
        "delay",
        "300ms",
        "--on",
        &format!("rtl:udp:@127.0.0.1:{front}"),
        &format!("rtl:udp:127.0.0.1:{back}"),
        "--duration",
        "60",
        "--json",
    ]);
    for port in [front, back] {
        until_bound(port);
    }
    let to = format!("rtl:udp:127.0.0.1:{front}");
    let sent = ended(start(&["gen", &to, "--count", "20", "--gap", "10ms"]));
    let (out, told) = sent.unwrap();
    assert!(
        out.contains("20 packets sent at ") && out.contains(", departures exact to 0 s"),
        "{out}"
    );
    assert!(told.contains("cycles of ports in Verilog"), "{told}");
    assert!(told.contains("20 frames went out by cables"), "{told}");
    let (lines, _) = ended(cat).unwrap();
    assert_eq!(lines.lines().count(), 20);
    let pid = delay.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let Output { stdout, .. } = delay.wait_with_output().unwrap();
    let report = String::from_utf8(stdout).unwrap();
    // Each leaves at the tick of its arrival and 300 ms, though it entered by a stamp of the kernel.
    assert!(report.contains("\"scheduled\":20,\"late\":0"), "{report}");
    assert!(report.contains("\"error\":{\"p50_ns\":0"), "{report}");
    assert!(report.contains("\"stamps\":\"hardware\""), "{report}");
}

#[test]
fn the_papers_scripts_run_unchanged_on_ports_in_verilog() {
    if let Some(why) = why_not() {
        println!("skipped: {why}");
        return;
    }
    let place = Path::new(wire()).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("./run.sh")
        .current_dir(format!("{EXAMPLES}/scripts"))
        .env("PATH", format!("{}:{path}", place.display()))
        .env("PORTS", "rtl:wa rtl:wb")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        println!("skipped: {told}");
        return;
    }
    let expected = std::fs::read_to_string(format!("{EXAMPLES}/scripts/expected.txt")).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{told}");
}

/// Two namespaces with a pair of interfaces between them, gone with this.
struct Pair([String; 2]);

impl Pair {
    fn new() -> Option<Pair> {
        let id = std::process::id();
        let names = ["a", "b"].map(|end| format!("wl-rtl-{id}-{end}"));
        let [a, b] = &names;
        let script = format!(
            "set -e; ip netns add {a}; ip netns add {b}
             ip link add va netns {a} type veth peer name vb netns {b}
             ip -n {a} link set va up; ip -n {b} link set vb up; ip -n {b} addr add 10.78.0.2/24 dev vb"
        );
        let made = Command::new("sh").args(["-c", &script]).status().unwrap();
        let pair = Pair(names);
        made.success().then_some(pair)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.0 {
            let delete = ["netns", "del", name];
            let _ = Command::new("ip")
                .args(delete)
                .stderr(Stdio::null())
                .status();
        }
    }
}

#[test]
fn ping_goes_by_a_port_in_verilog_over_an_interface() {
    let Some(pair) = Pair::new() else {
        println!("skipped: network namespaces need root, and ip (Debian: iproute2)");
        return;
    };
    let wire = env!("CARGO_BIN_EXE_wire-rtl");
    let ask = [
        "ping",
        "rtl:va",
        "10.78.0.2",
        "--source",
        "10.78.0.1",
        "--count",
        "5",
        "--interval",
        "10ms",
    ];
    let inside = ["netns", "exec", &pair.0[0], wire];
    let child = Command::new("ip")
        .args(inside.iter().chain(&ask))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Some((out, _)) = ended(child) {
        assert!(out.contains("5 sent, 5 answered, 0 lost"), "{out}");
    }
}
