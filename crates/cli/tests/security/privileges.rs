//! What a command may do once it has opened what it needs, as the system tells it.

use super::{PORTS, PROGRAM, Running, eventually, free_address, rest};
use crate::shell::{Place, has, is_root, lines};
use live::netns::{Namespace, VethEnd, veth};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};

/// CAP_DAC_READ_SEARCH, as root has it who reads the files of others.
const READS: u64 = 1 << 2;
/// CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER, for files that are put in place.
const WRITES: u64 = 0b1111;
/// CAP_NET_ADMIN, CAP_NET_RAW; CAP_IPC_LOCK and CAP_SYS_NICE for threads that keep time.
const PORT: u64 = 1 << 12 | 1 << 13 | 1 << 14 | 1 << 23;

/// What the system says of each thread: effective capabilities, no_new_privs, filters of system calls.
fn threads(process: &Path) -> Vec<(u64, bool, bool)> {
    let tasks = std::fs::read_dir(process.join("task")).unwrap();
    let status =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
    status
        .map(|status| {
            let field = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.expect(name).trim().to_owned()
            };
            let capabilities = u64::from_str_radix(&field("CapEff:"), 16).unwrap();
            (
                capabilities,
                field("NoNewPrivs:") == "1",
                field("Seccomp:") == "2",
            )
        })
        .collect()
}

/// A namespace with the interfaces `x0` and `x1`, which are joined; `None`, with the reason, where there is none.
fn pair(test: &str) -> Option<Namespace> {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(error) => {
            println!("skipped: {test}: {error}");
            return None;
        }
    };
    let end = |name| VethEnd {
        namespace: &namespace,
        name,
        mac: None,
    };
    veth([end("x0"), end("x1")], 1500).unwrap();
    Some(namespace)
}

/// Starts `wire` in a namespace, in silence.
fn start(namespace: &Namespace, place: &Place, command: &str) -> Child {
    super::prepare(&mut namespace.command(env!("CARGO_BIN_EXE_wire")))
        .args(command.split(' '))
        .current_dir(&place.path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until all threads of a process are guarded, and asserts that none has more than these capabilities.
#[track_caller]
fn is_guarded(id: u32, most: u64, what: &str) {
    let process = format!("/proc/{id}");
    let process = Path::new(&process);
    let guarded = || {
        threads(process)
            .iter()
            .all(|&(_, new, filtered)| new && filtered)
    };
    assert!(eventually(guarded), "{what}: {:x?}", threads(process));
    for (capabilities, ..) in threads(process) {
        assert_eq!(capabilities & !most, 0, "{what}: {capabilities:x}");
    }
}

#[test]
fn who_reads_files_keeps_nothing_but_reading_them() {
    let place = Place::new("guarded-readers");
    place.write("lines", lines(4));
    place.write(
        "lab.toml",
        "[node.a]\nkind = 'generator'\ngap = '1 us'\n[node.b]\nkind = 'filter'\nexpression = 'udp'\n\
         [node.c]\nkind = 'capture'\nfile = 'c.pcap'\n\
         [[link]]\nends = ['a.0', 'b.0']\n[[link]]\nends = ['b.1', 'c.0']\n",
    );
    place
        .run("mkfifo in; wire phy encode -o bits < lines 2> report")
        .good();
    for (command, most) in [
        ("cat -", READS),
        ("undump -", READS),
        ("cut ip.dst -", READS),
        ("match type=0800 -f -", READS),
        ("profile -", READS),
        ("phy decode -", READS),
        ("phy lock -", READS),
        ("phy lock - -o copy.phy", WRITES),
        ("phy inspect -", READS),
        ("phy encode - -o new.phy", WRITES),
        ("plot - -o new.svg", WRITES),
        ("covert encode attack -", READS),
        ("covert decode -", READS),
        ("relay train - -o new.dict", WRITES),
        ("p4 info /dev/stdin", READS),
        ("p4 fmt /dev/stdin", READS),
        ("p4 trace /dev/stdin -", READS),
        ("p4 graph /dev/stdin -o new.svg", WRITES),
        ("gen --replay /dev/stdin", READS),
        // It has no end, and reads no input.
        ("lab lab.toml --dry", READS),
        ("lab lab.toml", WRITES),
        ("p4 check /dev/stdin", READS),
        ("dump - -o out.pcapng", WRITES),
    ] {
        let input = if command.starts_with("phy") && !command.contains("encode") {
            "bits"
        } else {
            "lines"
        };
        // It waits for more, since the fifo's other end is held open.
        let script = format!("exec 3<> in; cat {input} >&3; exec wire {command} < in > out");
        let running = Running::start(&place, &script);
        is_guarded(running.child.id(), most, command);
    }
}

#[test]
fn who_serves_keeps_nothing_in_any_thread() {
    let place = Place::new("guarded-servers");
    let script =
        format!("exec wire p4 run {PROGRAM} {PORTS} --control s.sock --p4runtime 127.0.0.1:0");
    let mut running = Running::start(&place, &script);
    running.told("P4Runtime at ");
    assert!(eventually(|| place.path.join("s.sock").exists()));
    let timed = 1 << 14 | 1 << 23;
    is_guarded(running.child.id(), timed, "p4 run");
    let script = "exec wire of controller learning --listen ptcp:0 --rest 127.0.0.1:0";
    let mut running = Running::start(&place, script);
    running.told("Bearer ");
    is_guarded(running.child.id(), 0, "of controller");
    let mut controller = Running::start(&place, "exec wire of controller learning --listen ptcp:0");
    let at = controller.told("controller on ptcp:");
    let (port, host) = at.split_once(':').unwrap();
    let script = format!("exec wire of cbench --connect tcp:{host}:{port} --loops 1000");
    let running = Running::start(&place, &script);
    is_guarded(running.child.id(), timed, "of cbench");
    let switch = "of switch --on udp:127.0.0.1:9 --listen ptcp:0";
    let answer = format!("probe --answer --on {}", free_address());
    let group = "multicast:239.255.1.1:57021@127.0.0.1";
    let keys = "--set group=239.255.1.1 --set state=state";
    let acceptor = format!("run paxos-acceptor --set id=0 {keys} --on {group}");
    let replica = format!("run paxos-replica --set id=0 {keys} --on {group}");
    let learner = format!("paxos learn --on {group}");
    for command in [switch, &answer, &acceptor, &replica, &learner] {
        let running = Running::start(&place, &format!("exec wire {command}"));
        is_guarded(running.child.id(), timed, command);
    }
}

#[test]
fn who_has_interfaces_keeps_what_opens_them_again() {
    let test = "capabilities of wire run";
    if !is_root(test) || !has("timeout", test) {
        return;
    }
    let place = Place::new("guarded-ports");
    let Some(namespace) = pair(test) else {
        return;
    };
    place.write("lines", lines(4));
    for (command, most) in [
        ("run switch --on x0 --on x1", PORT),
        ("of switch --on x0,x1 --listen ptcp:0", PORT),
        ("delay 1ms --on x0 x1", PORT),
        ("cat x0", PORT),
        ("gen x0 --gap 100ms", PORT),
        ("send x0 lines --gap 100ms --loop 0", PORT | WRITES),
        ("ping x0 10.9.9.9 --source 10.9.9.8 --arp --quiet", PORT),
        ("tap wl-tap --keep", PORT),
        (
            "relay run through --hook forward --on x0 --on x1",
            PORT | WRITES,
        ),
    ] {
        let mut child = start(&namespace, &place, command);
        let id = child.id();
        let guarded = std::panic::catch_unwind(|| is_guarded(id, most, command));
        let raw = threads(Path::new(&format!("/proc/{id}")))
            .iter()
            .all(|&(own, ..)| own & 1 << 13 != 0);
        let _ = child.kill();
        let _ = child.wait();
        assert!(guarded.is_ok() && raw, "{command}");
    }
}

/// A list that lacks a call for one kind of port would end the server by SIGSYS.
#[test]
fn no_server_is_ended_by_its_list_on_any_kind_of_port() {
    let place = Place::new("guarded-kinds");
    let servers = [
        format!("wire p4 run {PROGRAM}"),
        format!("wire p4 run {PROGRAM} --p4runtime 127.0.0.1:0 --control s.sock"),
        "wire of switch --listen ptcp:0:127.0.0.1".into(),
        "wire of switch --listen punix:l.sock".into(),
        "wire run paxos-acceptor --set id=0 --set state=state".into(),
    ];
    for port in [
        "dummy",
        "-",
        "udp:127.0.0.1:9",
        "multicast:239.77.1.1:57022@127.0.0.1",
        "pcap:out.pcapng",
    ] {
        for server in &servers {
            let ended = place.run(&format!(
                "{server} --on {port} --duration 0.1 < /dev/null > /dev/null"
            ));
            assert!(
                ended.code.is_some() && !ended.err.contains("system call"),
                "{server} --on {port}: {}",
                ended.err
            );
        }
    }
}

#[test]
fn a_users_own_program_is_started_with_the_users_rights() {
    let place = Place::new("unguarded");
    place.write("lines.txt", lines(4));
    let script = "wire cut ip.dst lines.txt --command 'tee /dev/null | grep -c . >&2; grep NoNewPrivs /proc/self/status >&2'";
    let ended = place.run(script);
    assert!(ended.err.contains("NoNewPrivs:\t0"), "{ended:?}");
}

#[test]
fn without_the_guard_all_is_as_it_was() {
    let place = Place::new("guard-off");
    let script = "mkfifo in; exec 3<> in; export WIRE_CONFINE=off; exec wire of controller learning --listen ptcp:0";
    let mut running = Running::start(&place, script);
    running.told("controller on ");
    let process = format!("/proc/{}", running.child.id());
    assert!(
        threads(Path::new(&process))
            .iter()
            .all(|&(_, _, filtered)| !filtered)
    );
}

/// The file of a socket belongs to root, but the server has another user: a second process removes it, however the server ends.
#[test]
fn a_server_with_a_socket_at_a_path_does_not_run_as_root_and_leaves_no_file() {
    if !is_root("a server gives up root") {
        return;
    }
    let place = Place::new("no-root-paths");
    let program = format!("p4 run {PROGRAM} {PORTS} --control control.sock");
    for (command, path) in [
        (&program[..], "control.sock"),
        (
            "of switch --on udp:127.0.0.1:9 --listen punix:listen.sock",
            "listen.sock",
        ),
        (
            "of controller learning --listen punix:listen.sock",
            "listen.sock",
        ),
    ] {
        let socket = place.path.join(path);
        for (option, user) in [("", None), ("--user 1234", Some("1234"))] {
            for signal in ["TERM", "KILL"] {
                let (head, rest) = command.split_once(" --").unwrap();
                let script = format!("exec wire {head} {option} --{rest}");
                let mut running = Running::start(&place, &script);
                let id = running.child.id();
                let wanted = |all: &String| match user {
                    Some(user) => all.split(' ').all(|one| one == user),
                    None => !all.split(' ').any(|one| one == "0"),
                };
                let settled = || {
                    let users = users(id);
                    socket.exists() && !users.is_empty() && users.iter().all(wanted)
                };
                assert!(eventually(settled), "{script}: {:?}", users(id));
                is_guarded(id, 1 << 14 | 1 << 23, command);
                assert!(UnixStream::connect(&socket).is_ok(), "{script}");
                let owner = std::fs::metadata(&socket).unwrap().uid().to_string();
                assert_eq!(owner, user.unwrap_or("0"), "{script}");
                running.signal(signal);
                running.child.wait().unwrap();
                // After a signal that it handles, the server waits until the file is gone.
                let gone = || !socket.exists();
                assert!(
                    if signal == "TERM" {
                        gone()
                    } else {
                        eventually(gone)
                    },
                    "{script}"
                );
            }
        }
    }
}

/// A Unix socket is for processes of its user and of root: as another user the switch would not be let in.
#[test]
fn a_switch_that_connects_to_a_socket_of_root_stays_root() {
    if !is_root("a switch stays root to connect to a socket of root") {
        return;
    }
    let place = Place::new("root-connects");
    let script =
        "exec wire of controller learning --listen punix:c.sock --rest 127.0.0.1:0 --no-token";
    let mut controller = Running::start(&place, script);
    let address = controller.told("metrics on http://");
    let script = "exec wire of switch --on udp:127.0.0.1:9 --controller unix:c.sock";
    let switch = Running::start(&place, script);
    let connected = || {
        let (_, answer) = rest::ask(&address, "GET /switches", &[rest::HERE], "");
        answer.contains("\"id\"")
    };
    assert!(eventually(connected));
    is_guarded(switch.child.id(), WRITES | 1 << 14 | 1 << 23, "of switch");
    let root = |users: Vec<String>| users.iter().all(|all| all.split(' ').all(|one| one == "0"));
    assert!(root(users(switch.child.id())) && !root(users(controller.child.id())));
}

#[test]
fn a_server_with_an_interface_over_xdp_does_not_run_as_root() {
    let test = "a server over XDP gives up root";
    if !is_root(test) {
        return;
    }
    let place = Place::new("no-root-xdp");
    let Some(namespace) = pair(test) else {
        return;
    };
    // CAP_BPF and CAP_PERFMON besides those of a port.
    let most = PORT | 1 << 38 | 1 << 39;
    let program = format!(
        "p4 run {PROGRAM} --engine xdp --on x0 --on x1 --control s.sock --p4runtime 127.0.0.1:0"
    );
    for command in ["of switch --on xdp:x0 --listen ptcp:0", &program] {
        let mut child = start(&namespace, &place, command);
        let id = child.id();
        let settled = || {
            let users = users(id);
            !users.is_empty() && !users.iter().any(|all| all.split(' ').any(|one| one == "0"))
        };
        let settled = eventually(settled) || child.try_wait().unwrap().is_some();
        let guarded = std::panic::catch_unwind(|| is_guarded(id, most, command));
        let running = child.try_wait().unwrap().is_none();
        let _ = child.kill();
        let _ = child.wait();
        assert!(settled && running && guarded.is_ok(), "{command}");
    }
}

/// The users of all threads of a process, real and effective.
fn users(id: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let status =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
    let users = status.filter_map(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    users.collect()
}

#[test]
fn a_server_with_a_listener_does_not_run_as_root() {
    if !is_root("a server gives up root") {
        return;
    }
    let place = Place::new("no-root");
    let controller = "of controller learning --listen ptcp:0 --rest 127.0.0.1:0";
    let answer = format!("probe --answer --on {}", free_address());
    let program = format!("p4 run {PROGRAM} {PORTS} --p4runtime 127.0.0.1:0");
    for (command, told) in [
        (controller.to_owned(), "metrics on http://"),
        (format!("{answer} >&2"), "answering at "),
        (program, "P4Runtime at "),
        (
            "of switch --on udp:127.0.0.1:9 --listen ptcp:0 --controller tcp:127.0.0.1:9"
                .to_owned(),
            "until Ctrl-C",
        ),
    ] {
        for (option, user) in [
            ("", None),
            ("--user 1234", Some("1234")),
            ("--user root", Some("0")),
        ] {
            let (head, rest) = command.split_once(" --").unwrap();
            let script = format!("exec wire {head} {option} --{rest}");
            let mut running = Running::start(&place, &script);
            running.told(told);
            let id = running.child.id();
            let settled = || {
                let users = users(id);
                let wanted = |all: &String| match user {
                    Some(user) => all.split(' ').all(|one| one == user),
                    None => !all.split(' ').any(|one| one == "0"),
                };
                !users.is_empty() && users.iter().all(wanted)
            };
            assert!(eventually(settled), "{script}: {:?}", users(id));
        }
    }
}
