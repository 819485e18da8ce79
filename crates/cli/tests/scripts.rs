//! The scripts of examples/scripts, on a mount whose ports lead to kernel stacks.

#![allow(
    clippy::disallowed_methods,
    reason = "these tests wait for other programs"
)]

use crate::testbed::{Job, Testbed, await_packet_sockets, can_run, eventually, text};
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A port of a mount as standard input or output of a script.
fn port(bed: &Testbed, name: &str, write: bool) -> Stdio {
    let mut options = File::options();
    options.read(!write).write(write);
    options
        .open(bed.file(name))
        .expect("the port is there")
        .into()
}

fn run(command: &mut Command) -> String {
    text(command.output().expect("it starts"))
}

#[test]
fn captured_packets_are_sent_out_of_another_port() {
    if !can_run(&["ping"]) {
        return;
    }
    let bed = Testbed::new(2, &[]);
    let kept = bed.folder.path("packets");
    let mut capture = Job::start(bed.script("02-capture.sh").arg(&kept));
    bed.await_readers(0, 1);
    // Nobody answers: what is captured are questions for the address of host 2.
    let mut ping = bed.host(0, "ping");
    let _ = ping.args(["-c", "1", "-W", "1", "10.77.0.2"]).output();
    assert!(
        eventually(|| fs::metadata(&kept).is_ok_and(|kept| kept.len() >= 58)),
        "{}",
        bed.log()
    );
    capture.signal("TERM");
    assert!(capture.ends());

    let answers = bed.folder.path("answers");
    let _reader = Job::start(bed.script("02-capture.sh").arg(&answers).arg("1"));
    bed.await_readers(1, 1);
    run(bed.script("01-generate.sh").arg(&kept).arg("1"));
    let answered = || fs::metadata(&answers).is_ok_and(|answers| answers.len() >= 58);
    assert!(eventually(answered), "{}", bed.log());
    let record = fs::read(&answers).expect("it is there");
    assert_eq!(
        (&record[16 + 12..16 + 14], record[16 + 21]),
        (&[8, 6][..], 2),
        "an ARP answer"
    );
}

#[test]
fn headers_are_taken_off() {
    if !can_run(&["ping"]) {
        return;
    }
    let mut bed = Testbed::new(1, &["--no-time"]);
    let kept = bed.folder.path("kept");
    let mut script = Job::start(bed.script("03-decapsulate.sh").arg(&kept));
    bed.await_readers(0, 1);
    let mut ping = bed.host(0, "ping");
    let _ = ping
        .args(["-b", "-c", "3", "-i", "0.2", "-W", "1", "10.77.0.255"])
        .output();
    assert!(
        eventually(|| bed.counter(0, "rx_packets") >= 3),
        "{}",
        bed.log()
    );
    // cut writes what it has when its input ends, as it does when the mount is taken away.
    bed.wire().signal("TERM");
    assert!(bed.wire().ends());
    assert!(script.ends());
    let text = fs::read_to_string(&kept).expect("it is there");
    assert!(
        text.lines()
            .filter(|line| line.starts_with("45 00 00 54 "))
            .count()
            >= 3,
        "{text}"
    );
}

#[test]
fn a_dump_is_a_capture_for_other_tools() {
    if !can_run(&["ping", "tcpdump"]) {
        return;
    }
    let bed = Testbed::new(1, &[]);
    let kept = bed.folder.path("dump.pcapng");
    let mut dump = Job::start(bed.script("04-dump.sh").arg(&kept));
    bed.await_readers(0, 1);
    let mut ping = bed.host(0, "ping");
    let _ = ping
        .args(["-b", "-c", "2", "-i", "0.2", "-W", "1", "10.77.0.255"])
        .output();
    assert!(eventually(|| bed.counter(0, "rx_packets") >= 2));
    std::thread::sleep(Duration::from_millis(300));
    dump.signal("INT");
    assert!(dump.ends());
    let shown = run(Command::new("tcpdump").args(["-nr"]).arg(&kept));
    assert!(
        shown.contains("10.77.0.1 > 10.77.0.255: ICMP echo request"),
        "{shown}"
    );
}

#[test]
fn a_mirror_sends_to_both_sides() {
    if !can_run(&["ping"]) {
        return;
    }
    let bed = Testbed::new(2, &[]);
    let _there = Job::start(&mut bed.script("05-mirror.sh"));
    let _back = bed.sh("cat $DIR/1 > $DIR/0");
    bed.await_readers(0, 1);
    bed.await_readers(1, 1);
    assert!(bed.pings(0, "10.77.0.2"));
    assert!(
        bed.counter(0, "tx_packets") > bed.counter(1, "tx_packets"),
        "{}",
        bed.log()
    );
}

#[test]
fn only_packets_to_the_address_pass_the_filter() {
    if !can_run(&["ping", "gawk"]) {
        return;
    }
    let bed = Testbed::new(2, &["--no-time"]);
    let _there = Job::start(bed.script("06-filter-destination.sh").arg("020000000002"));
    let _back = bed.sh("cat $DIR/1 > $DIR/0");
    bed.await_readers(0, 1);
    bed.await_readers(1, 1);
    // Broadcasts do not pass, so the address has to be known.
    run(bed.host(0, "ip").args([
        "neigh",
        "add",
        "10.77.0.2",
        "lladdr",
        "02:00:00:00:00:02",
        "dev",
        "eth0",
    ]));
    assert!(bed.pings(0, "10.77.0.2"));
    let passed = bed.counter(1, "tx_packets");
    let mut ping = bed.host(0, "ping");
    let _ = ping
        .args(["-b", "-c", "2", "-i", "0.2", "-W", "1", "10.77.0.255"])
        .output();
    assert_eq!(bed.counter(1, "bad"), 0, "{}", bed.log());
    assert!(bed.counter(1, "tx_packets") - passed <= 2, "{}", bed.log());
}

/// Two mounts, each with a host at port 0, and a cable between their ports 1.
fn trunk(flags: &[&str]) -> [Testbed; 2] {
    let mut sites = [Testbed::bare(1, 1), Testbed::bare(2, 1)];
    let ends = [0, 1].map(|site: usize| live::netns::VethEnd {
        namespace: &sites[site].ports,
        name: "w1",
        mac: None,
    });
    live::netns::veth(ends, 1500).expect("root may make veth pairs");
    for site in &mut sites {
        site.names.push("w1".into());
        site.mount(flags);
    }
    sites
}

#[test]
fn tags_are_put_on_and_taken_off() {
    if !can_run(&["ping"]) {
        return;
    }
    for flags in [&[][..], &["--no-time"]] {
        let sites = trunk(flags);
        let _scripts = [0, 1].map(|site: usize| {
            let site = &sites[site];
            let scripts = [
                Job::start(&mut site.script("07-vlan-tag.sh")),
                Job::start(site.script("08-vlan-untag.sh").args(["1", "0"])),
            ];
            site.await_readers(0, 1);
            site.await_readers(1, 1);
            scripts
        });
        let kept = sites[0].folder.path("kept");
        let _between = sites[0].sh(&format!("cat $DIR/1 > {}", kept.display()));
        assert!(sites[0].pings(0, "10.77.0.2"), "{}", sites[1].log());
        for site in &sites {
            assert_eq!(
                (site.counter(0, "bad"), site.counter(1, "bad")),
                (0, 0),
                "{}",
                site.log()
            );
        }
        let text = fs::read_to_string(&kept).expect("it is there");
        assert!(
            text.lines()
                .all(|line| line.contains(" 020000000001 8100 00 01 08 0")
                    || line.contains(" 020000000002 8100 00 01 08 0")),
            "{text}"
        );
    }
}

#[test]
fn the_papers_own_commands_for_tags_run_unchanged() {
    if !can_run(&["sed"]) {
        return;
    }
    let bed = Testbed::new(2, &["--no-time"]);
    let kept = bed.folder.path("kept");
    let _reader = bed.sh(&format!("cat $DIR/1 > {}", kept.display()));
    bed.await_readers(1, 1);
    // One packet, so that nothing waits in sed's buffer; host 2 knows no VLAN, but the mount's own
    // counter tells what left.
    let line = "001122334455 66778899AABB 0800 45 00";
    for (command, input) in [
        (r"sed -e 's/^\([^ ]* \)\{2\}/&8100 00 01 /'", line),
        (
            "sed -e 's/8100 00 01 //'",
            "001122334455 66778899AABB 8100 00 01 08 00 45 00",
        ),
        (
            "sed -e 's/8100 00 02 /8100 00 01 /'",
            "001122334455 66778899AABB 8100 00 02 08 00 45 00",
        ),
    ] {
        let mut job = bed.sh(&format!("echo '{input}' | {command} > $DIR/1"));
        assert!(job.ends());
    }
    assert!(
        eventually(|| bed.counter(1, "tx_packets") == 3),
        "{}",
        bed.log()
    );
    assert_eq!(bed.counter(1, "bad"), 0, "{}", bed.log());
}

#[test]
fn one_vlan_becomes_another() {
    if !can_run(&[]) {
        return;
    }
    let sites = trunk(&[]);
    let _translate = Job::start(sites[1].script("09-vlan-translate.sh").args(["1", "0"]));
    sites[1].await_readers(1, 1);
    let kept = sites[1].folder.path("kept");
    // What the host gets, as it comes in there.
    let mut capture = sites[1].hosts[0].command(crate::wire());
    capture
        .args(["cat", "eth0", "--count", "1"])
        .stdin(Stdio::null());
    let mut capture = Job::start(capture.stdout(File::create(&kept).expect("there is room")));
    let line = "020000000002 020000000001 8100 00 02 08 00 45 00";
    let sent = || {
        assert!(sites[0].sh(&format!("echo {line} > $DIR/1")).ends());
        capture.ends_within(Duration::from_millis(200))
    };
    assert!(eventually(sent), "{}", sites[1].log());
    let text = fs::read_to_string(&kept).expect("it is there");
    assert!(
        text.contains(" 020000000002 020000000001 8100 00 01 08 00 45 00"),
        "{text}"
    );
}

/// Two mounts on machines of their own, with a network of the kernel's between them.
fn two_sites() -> [Testbed; 2] {
    let sites = [
        Testbed::with_hosts(1, 1, &[]),
        Testbed::with_hosts(2, 1, &[]),
    ];
    let ends = [0, 1].map(|site: usize| live::netns::VethEnd {
        namespace: &sites[site].ports,
        name: "between",
        mac: None,
    });
    live::netns::veth(ends, 1500).expect("root may make veth pairs");
    for (site, number) in sites.iter().zip(1..) {
        let address = Ipv4Addr::new(10, 88, 0, number).into();
        site.ports
            .add_address("between", address, 24)
            .expect("root may add addresses");
    }
    sites
}

#[test]
fn two_networks_are_one_over_tcp() {
    if !can_run(&["ping", "nc"]) {
        return;
    }
    let [a, b] = two_sites();
    let _listen = Job::start(a.script("10-tunnel-tcp.sh").arg("listen"));
    a.await_readers(0, 1);
    // nc gives up at once if the other does not listen yet.
    let mut connect = Job::start(b.script("10-tunnel-tcp.sh").arg("10.88.0.1"));
    if connect.ends_within(Duration::from_secs(1)) {
        connect = Job::start(b.script("10-tunnel-tcp.sh").arg("10.88.0.1"));
    }
    b.await_readers(0, 1);
    assert!(a.pings(0, "10.77.0.2"), "{}", b.log());
    assert!(connect.is_running());
}

/// Makes keys for an ssh server, and runs one that takes them, inside a site.
fn ssh_server(site: &Testbed) -> Job {
    let folder = |name| site.folder.path(name);
    for key in ["host", "user"] {
        run(Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(folder(key)));
    }
    fs::copy(folder("user.pub"), folder("authorized")).expect("there is room");
    let _ = fs::create_dir_all("/run/sshd");
    let config = format!(
        "Port 2222\nListenAddress 0.0.0.0\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
         PermitRootLogin yes\nUsePAM no\n",
        folder("host").display(),
        folder("authorized").display()
    );
    fs::write(folder("sshd_config"), config).expect("there is room");
    let mut server = site.ports.command("timeout");
    server
        .args(["60", "/usr/sbin/sshd", "-D", "-f"])
        .arg(folder("sshd_config"));
    Job::start(server.stdin(Stdio::null()).stderr(Stdio::null()))
}

#[test]
fn two_networks_are_one_over_ssh() {
    if !can_run(&["ping", "ssh", "sshd", "ssh-keygen"]) {
        return;
    }
    let sites = two_sites();
    let _servers = [ssh_server(&sites[0]), ssh_server(&sites[1])];
    let _tunnels = [0, 1].map(|site: usize| {
        let (from, to) = (&sites[site], &sites[1 - site]);
        let ssh = format!(
            "ssh -p 2222 -i {} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
             -o ConnectionAttempts=20 -o LogLevel=ERROR",
            to.folder.path("user").display()
        );
        let mut script = from.script("11-tunnel-ssh.sh");
        script.env("SSH", ssh).env("THERE", to.dir());
        Job::start(script.arg(format!("root@10.88.0.{}", 2 - site)))
    });
    assert!(sites[0].pings(0, "10.77.0.2"), "{}", sites[1].log());
}

#[test]
fn a_switch_of_four_ports_learns() {
    if !can_run(&["arping", "ping"]) {
        return;
    }
    let bed = Testbed::new(4, &["--no-time"]);
    let _switch = Job::start(&mut bed.script("12-switch.sh"));
    (0..4).for_each(|port| bed.await_readers(port, 1));
    for (from, to) in [
        (0, "10.77.0.4"),
        (3, "10.77.0.2"),
        (1, "10.77.0.3"),
        (2, "10.77.0.1"),
    ] {
        assert!(bed.pings(from, to), "{from} {to}");
    }
    let mut arping = bed.host(0, "arping");
    let shown = run(arping.args(["-c", "2", "-w", "10", "-I", "eth0", "10.77.0.3"]));
    assert!(
        shown.contains("Unicast reply from 10.77.0.3"),
        "{shown}{}",
        bed.log()
    );

    // Both stations are known now: a ping reaches no third port. Host 3 hears ARP at most.
    let before = bed.counter(2, "tx_packets");
    assert!(bed.pings(0, "10.77.0.4"));
    assert!(bed.counter(2, "tx_packets") - before < 5, "{}", bed.log());
}

#[test]
fn a_stack_of_its_own_answers_behind_a_tap() {
    if !can_run(&["ping", "ip"]) {
        return;
    }
    let bed = Testbed::new(1, &[]);
    let _tap = Job::start(&mut bed.script("13-stack.sh"));
    bed.await_readers(0, 1);
    assert!(eventually(|| bed
        .ports
        .add_address("pipe0", [10, 77, 0, 99].into(), 24)
        .is_ok()));
    run(bed.ports.command("ip").args(["link", "set", "pipe0", "up"]));
    assert!(bed.pings(0, "10.77.0.99"));
}

#[test]
fn an_address_is_leased_through_a_tap() {
    if !can_run(&["ip", "dnsmasq", "udhcpc"]) {
        return;
    }
    let bed = Testbed::new(1, &[]);
    let mut server = bed.host(0, "dnsmasq");
    server.args([
        "--no-daemon",
        "--port=0",
        "--interface=eth0",
        "--bind-interfaces",
        "--conf-file=/dev/null",
    ]);
    server.arg(format!(
        "--dhcp-leasefile={}",
        bed.folder.path("leases").display()
    ));
    let _server = Job::start(
        server
            .arg("--dhcp-range=10.77.0.50,10.77.0.50,1h")
            .stderr(Stdio::null()),
    );
    let _tap = Job::start(&mut bed.script("13-stack.sh"));
    bed.await_readers(0, 1);
    let up = || run_quietly(bed.ports.command("ip").args(["link", "set", "pipe0", "up"]));
    assert!(eventually(up));
    // A script of the test's own: the system's would change the machine's resolver.
    let script = bed.folder.path("bound");
    write_script(
        &script,
        "#!/bin/sh\n[ \"$1\" != bound ] || ip addr add $ip/24 dev $interface\n",
    );
    let mut client = bed.ports.command("timeout");
    client.args([
        "30", "udhcpc", "-i", "pipe0", "-f", "-q", "-n", "-t", "10", "-T", "1", "-s",
    ]);
    run(client.arg(&script).stdin(Stdio::null()));
    let addresses = run(bed
        .ports
        .command("ip")
        .args(["-4", "addr", "show", "pipe0"]));
    assert!(addresses.contains("10.77.0.50/24"), "{addresses}");
}

fn run_quietly(command: &mut Command) -> bool {
    command
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn write_script(path: &Path, text: &str) {
    fs::write(path, text).expect("there is room");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[test]
fn a_schedule_is_kept() {
    if !can_run(&[]) {
        return;
    }
    let bed = Testbed::new(2, &[]);
    // What leaves port 1 is seen by host 2's own capture, whose stamps are the kernel's.
    let kept = bed.folder.path("kept");
    let mut capture = bed.hosts[1].command(crate::wire());
    capture
        .args(["cat", "eth0", "--count", "100"])
        .stdin(Stdio::null());
    let mut capture = Job::start(capture.stdout(File::create(&kept).expect("there is room")));
    await_packet_sockets(&bed.hosts[1], 1);
    run(bed.script("oneway.sh").stdout(port(&bed, "1", true)));
    assert!(capture.ends(), "{}", bed.log());
    let text = fs::read_to_string(&kept).expect("it is there");
    let words: Vec<u64> = text
        .lines()
        .filter(|line| line.contains(" 88B5 "))
        .map(|line| u64::from_str_radix(&line[..16], 16).expect("a word comes first"))
        .collect();
    let timer = fs::read_to_string(bed.file("1.d/timer1")).expect("it is there");
    let timer = u64::from_str_radix(timer.trim(), 16).expect("16 digits");
    assert!(words.len() > 95, "{text}");
    // Never earlier than the bound that the book promises. How late is the machine's affair.
    // The conversion between the clocks of the stamps adds some 100 ns.
    let bound = (live::port::pace::MAX_LEAD_NS + 1_000) / 8;
    for (n, word) in words.iter().enumerate().skip(100 - words.len()) {
        assert!(
            word + bound >= timer + n as u64 * 1_250_000,
            "packet {n}: {} ticks",
            word.wrapping_sub(timer)
        );
    }
}

#[test]
fn packets_leave_after_exactly_the_delay() {
    if !can_run(&["ping"]) {
        return;
    }
    let bed = Testbed::new(2, &[]);
    let mut there = bed.script("delay.sh");
    there
        .arg("300000000")
        .stdin(port(&bed, "0", false))
        .stdout(port(&bed, "1", true));
    let _there = Job::start(&mut there);
    let _back = bed.sh("cat $DIR/1 > $DIR/0");
    bed.await_readers(0, 1);
    bed.await_readers(1, 1);
    let mut ping = bed.host(0, "ping");
    let shown = run(ping.args(["-n", "-c", "5", "-i", "0.5", "-W", "5", "10.77.0.2"]));
    let times: Vec<f64> = shown
        .lines()
        .filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok())
        .collect();
    assert!(!times.is_empty(), "{shown}");
    assert!(times.iter().all(|&ms| ms >= 300.0), "{times:?}");
}

#[test]
fn ping_without_a_stack_prints_a_round_trip_time() {
    if !can_run(&[]) {
        return;
    }
    let bed = Testbed::new(1, &[]);
    let mut ping = bed.script("ping.sh");
    ping.args(["10.77.0.100", "10.77.0.1", "3"])
        .env("INTERVAL", "0.1")
        .env("WAIT", "5");
    let ping = ping
        .stdin(port(&bed, "0", false))
        .stdout(port(&bed, "0", true));
    let output = ping
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|ping| ping.wait_with_output());
    let shown = text(output.expect("it starts"));
    assert!(
        shown.contains("answer from 10.77.0.1: number 1, RTT "),
        "{shown}"
    );
    assert!(shown.contains("3 sent, 3 answered"), "{shown}");
    let output = bed
        .script("ping.sh")
        .args(["10.77.0.100", "10.77.0.200", "1"])
        .env("WAIT", "1")
        .stdin(port(&bed, "0", false))
        .stdout(port(&bed, "0", true))
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1), "nobody is there");
}

#[test]
fn tcp_runs_through_two_cats() {
    if !can_run(&["iperf3"]) {
        return;
    }
    let bed = Testbed::new(2, &[]);
    let _there = bed.sh("cat $DIR/0 > $DIR/1");
    let _back = bed.sh("cat $DIR/r1 > $DIR/r0");
    bed.await_readers(0, 1);
    bed.await_readers(1, 1);
    let mut server = bed.host(1, "iperf3");
    let _server = Job::start(server.args(["-s", "-1"]).stdout(Stdio::null()));
    let mut shown = String::new();
    let client = || {
        let mut client = bed.host(0, "iperf3");
        let output = client
            .args(["-c", "10.77.0.2", "-t", "2", "-f", "m"])
            .output();
        let output = output.expect("it starts");
        shown = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success()
    };
    assert!(eventually(client), "{}", bed.log());
    eprintln!("{shown}");
    assert_eq!(
        (bed.counter(0, "bad"), bed.counter(1, "bad")),
        (0, 0),
        "{}",
        bed.log()
    );
}
