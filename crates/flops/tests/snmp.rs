//! The SNMP client against the real snmpd, on loopback, with a configuration of its own.

use flops::agent::Snmp;
use openflow::flops::{Agent, Value};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An agent that ends with this value.
struct Daemon(Child, PathBuf);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_dir_all(&self.1);
    }
}

fn daemon() -> Option<(Daemon, String)> {
    let program = ["/usr/sbin/snmpd", "/usr/local/sbin/snmpd"];
    let Some(program) = program
        .into_iter()
        .find(|path| PathBuf::from(path).exists())
    else {
        println!("skipped: snmpd is not installed (Debian: snmpd)");
        return None;
    };
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("snmpd-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("snmpd.conf");
    std::fs::write(&file, "rocommunity open 127.0.0.1\n").unwrap();
    let mut command = Command::new(program);
    command
        .args(["-f", "-Ln", "-C", "-c"])
        .arg(&file)
        .arg("-p")
        .arg(folder.join("pid"));
    command.arg(format!("udp:{address}"));
    command.env("SNMP_PERSISTENT_DIR", &folder);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Some((Daemon(command.spawn().unwrap(), folder), address))
}

/// The answer, as long as it may take; a client always gives one.
fn ask(client: &mut Snmp, name: &str) -> Option<i64> {
    client.ask(name);
    loop {
        if let Some(Value { name: of, number }) = client.take() {
            assert_eq!(of, name);
            return number;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn a_real_agent_tells_processor_times_and_what_it_has_not_is_told_as_nothing() {
    let Some((_daemon, address)) = daemon() else {
        return;
    };
    let mut client = Snmp::new(&address, "open").unwrap();
    let up = "1.3.6.1.2.1.1.3.0";
    // It takes a while until it listens; until then nothing is answered.
    let first = (0..40).find_map(|_| ask(&mut client, up));
    let first = first.expect("the agent tells how long it has been up");
    let idle = "1.3.6.1.4.1.2021.11.53.0";
    // It looks at the processor every 5 s, and until the second time it tells of none.
    let told = (0..4_000).find_map(|_| {
        std::thread::park_timeout(Duration::from_millis(5));
        ask(&mut client, idle).filter(|&ticks| ticks > 0)
    });
    let before = told.expect("snmpd has UCD-SNMP-MIB");
    assert!(ask(&mut client, idle).unwrap() >= before);
    assert!(ask(&mut client, up).unwrap() >= first);
    // No such object, and a text in place of a number.
    assert_eq!(ask(&mut client, "1.3.6.1.4.1.2021.11.99.0"), None);
    assert_eq!(ask(&mut client, "1.3.6.1.2.1.1.1.0"), None);
    assert_eq!(ask(&mut client, "no.name"), None);
    // It does not answer strangers.
    let mut stranger = Snmp::new(&address, "stranger").unwrap();
    assert_eq!(ask(&mut stranger, up), None);
}
