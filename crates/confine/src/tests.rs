use super::*;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

/// Runs this test again in a process of its own, where `body` is what it does.
fn apart(name: &str, body: impl FnOnce()) -> Option<Output> {
    if std::env::var_os("WIRE_TEST_APART").is_some() {
        body();
        println!("still there");
        return None;
    }
    let own = std::env::current_exe().unwrap();
    let test = format!("tests::{name}");
    let mut command = Command::new(own);
    command.args(["--exact", &test, "--nocapture"]);
    Some(command.env("WIRE_TEST_APART", "1").output().unwrap())
}

#[track_caller]
fn ends(output: &Output, call: i64) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGSYS), "{errors}");
    assert!(
        errors.contains(&format!("wire: system call {call} ")),
        "{errors}"
    );
}

#[track_caller]
fn goes_on(output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?} {errors}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains("still there"));
}

fn forbids() -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
}

#[test]
fn who_reads_opens_no_socket() {
    let output = apart("who_reads_opens_no_socket", || {
        reader(Permissions::default()).unwrap();
        let _ = std::net::UdpSocket::bind("127.0.0.1:0");
    });
    if let Some(output) = output.filter(|_| forbids()) {
        ends(&output, libc::SYS_socket);
    }
}

#[test]
fn who_reads_opens_no_file_to_write() {
    let path = std::env::temp_dir().join(format!("wire-confine-{}", std::process::id()));
    let output = apart("who_reads_opens_no_file_to_write", || {
        reader(Permissions::default()).unwrap();
        let _ = std::fs::write(&path, "x");
    });
    if let Some(output) = output.filter(|_| forbids()) {
        ends(&output, libc::SYS_openat);
    }
}

#[test]
fn who_reads_has_threads_files_and_clocks() {
    let output = apart("who_reads_has_threads_files_and_clocks", || {
        reader(Permissions::default()).unwrap();
        let thread = std::thread::spawn(|| std::fs::read("/proc/self/status").unwrap().len());
        assert!(thread.join().unwrap() > 0);
        assert!(std::fs::read_dir("/").unwrap().count() > 0);
        ::capture::clock::now_ns();
        drop(vec![1u8; 50 << 20]);
    });
    if let Some(output) = output {
        goes_on(&output);
    }
}

#[test]
fn who_still_writes_puts_a_file_in_place() {
    let output = apart("who_still_writes_puts_a_file_in_place", || {
        let writes = Permissions {
            writes: true,
            ..Permissions::default()
        };
        reader(writes).unwrap();
        let path = std::env::temp_dir().join(format!("wire-confine-{}", std::process::id()));
        let other = path.with_extension("other");
        std::fs::write(&path, "x").unwrap();
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        std::fs::rename(&path, &other).unwrap();
        std::fs::remove_file(&other).unwrap();
    });
    if let Some(output) = output {
        goes_on(&output);
    }
}

#[test]
fn who_has_ports_starts_no_program() {
    let output = apart("who_has_ports_starts_no_program", || {
        ports([], false).unwrap();
        let _socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let thread = std::thread::spawn(|| 1);
        assert_eq!(thread.join().unwrap(), 1);
        let _ = Command::new("true").status();
    });
    if let Some(output) = output.filter(|_| forbids()) {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.signal(), Some(libc::SIGSYS), "{errors}");
    }
}

/// Runs `body` after `restrict` for each case by name, each in a process of its own; the process must end at this call.
fn each_ends(name: &str, restrict: impl FnOnce(), cases: &[(&str, i64, fn())]) {
    if let Some(wanted) = std::env::var_os("WIRE_TEST_CASE") {
        let (.., body) = cases.iter().find(|(case, ..)| wanted == *case).unwrap();
        restrict();
        body();
        println!("still there");
        return;
    }
    for (case, call, _) in cases {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("tests::{name}"), "--nocapture"]);
        let output = command.env("WIRE_TEST_CASE", case).output().unwrap();
        if forbids() {
            ends(&output, *call);
        }
    }
}

fn ip_socket() {
    let _ = std::net::UdpSocket::bind("127.0.0.1:0");
}

fn listener() -> PortSpec {
    "ptcp:0".parse().unwrap()
}

/// The call by which a standard library starts a program differs.
#[test]
fn a_server_starts_no_program() {
    let output = apart("a_server_starts_no_program", || {
        let _kept = server([&listener()], Service::default()).unwrap();
        let _ = Command::new("true").status();
    });
    if let Some(output) = output.filter(|_| forbids()) {
        assert_eq!(output.status.signal(), Some(libc::SIGSYS), "{output:?}");
    }
}

#[test]
fn a_server_that_connects_to_no_host_makes_no_call_of_other_servers() {
    let restrict = || std::mem::forget(server([&listener()], Service::default()).unwrap());
    each_ends(
        "a_server_that_connects_to_no_host_makes_no_call_of_other_servers",
        restrict,
        &[
            ("socket", libc::SYS_socket, ip_socket),
            ("file", libc::SYS_openat, || {
                let _ = std::fs::write("/tmp/wire-confine-server", "x");
            }),
            ("mode", libc::SYS_fchmod, || {
                let _ = rustix::fs::fchmod(std::io::stdout(), rustix::fs::Mode::RUSR);
            }),
            ("removal", libc::SYS_unlinkat, || {
                let none = rustix::fs::AtFlags::empty();
                let _ = rustix::fs::unlinkat(rustix::fs::CWD, "wire-confine-none", none);
            }),
            ("signal", libc::SYS_kill, || {
                let _ = rustix::process::test_kill_process(rustix::process::getpid());
            }),
            ("session", libc::SYS_setsid, || {
                let _ = rustix::process::setsid();
            }),
            ("namespace", libc::SYS_setns, || {
                let own = std::fs::File::open("/proc/self/ns/net").unwrap();
                let none = rustix::thread::LinkNameSpaceType::Network;
                let _ = rustix::thread::move_into_link_name_space(own.as_fd(), Some(none));
            }),
        ],
    );
}

#[test]
fn a_server_that_connects_makes_sockets_of_ip_only() {
    let name = "a_server_that_connects_makes_sockets_of_ip_only";
    let restrict = || {
        let service = Service {
            connects: true,
            ..Service::default()
        };
        std::mem::forget(server([&listener()], service).unwrap());
        ip_socket();
    };
    let unix = || drop(std::os::unix::net::UnixDatagram::unbound());
    each_ends(name, restrict, &[("unix", libc::SYS_socket, unix)]);
}

#[test]
fn a_member_writes_its_state_and_makes_no_socket() {
    let name = "a_member_writes_its_state_and_makes_no_socket";
    let restrict = || {
        let group: PortSpec = "multicast:239.0.0.1:57021".parse().unwrap();
        member([&group], true).unwrap();
        let path = std::env::temp_dir().join(format!("wire-confine-{}", std::process::id()));
        let other = path.with_extension("other");
        std::fs::write(&path, "x").unwrap();
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        std::fs::rename(&path, &other).unwrap();
        std::fs::remove_file(&other).unwrap();
    };
    each_ends(name, restrict, &[("socket", libc::SYS_socket, ip_socket)]);
}

#[test]
fn a_server_serves_connections_with_threads_files_and_clocks() {
    use std::io::{Read, Write};
    let output = apart(
        "a_server_serves_connections_with_threads_files_and_clocks",
        || {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let mut far = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let _kept = server([&self::listener()], Service::default()).unwrap();
            let serve = move || {
                let (mut near, _) = listener.accept().unwrap();
                near.set_nodelay(true).unwrap();
                near.write_all(b"x").unwrap();
            };
            std::thread::spawn(serve).join().unwrap();
            far.read_exact(&mut [0]).unwrap();
            assert!(!std::fs::read("/proc/self/status").unwrap().is_empty());
            ::capture::clock::now_ns();
            drop(vec![1u8; 50 << 20]);
        },
    );
    if let Some(output) = output {
        goes_on(&output);
    }
}
