//! `wire p4 run` between real kernels: a router in P4, controlled while pings go through it.

use crate::shell::{Place, has, is_root};
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use serde_json::Value;

/// Two hosts in networks of their own, and the router's machine between them.
struct Bed {
    hosts: [Namespace; 2],
    router: Namespace,
    place: Place,
}

const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/p4-l2l3/l2l3.p4"
);

impl Bed {
    fn new(test: &str) -> Option<Bed> {
        if !is_root(test) || !has("ping", test) {
            return None;
        }
        let made = || -> Result<_, NetnsError> {
            let [a, b, router] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
            for (host, port, number) in [(&a, "x0", 1), (&b, "x1", 2)] {
                let inner = VethEnd {
                    namespace: &router,
                    name: port,
                    mac: None,
                };
                let outer = VethEnd {
                    namespace: host,
                    name: "eth0",
                    mac: Some([2, 0, 0, 0, 0, number]),
                };
                veth([inner, outer], 1500)?;
                host.add_address("eth0", [10, 79, number, 2].into(), 24)?;
            }
            Ok(([a, b], router))
        };
        match made() {
            Ok((hosts, router)) => Some(Bed {
                hosts,
                router,
                place: Place::new(&test.replace(' ', "-")),
            }),
            Err(error) => {
                println!("skipped: {test}: {error}");
                None
            }
        }
    }
}

#[test]
fn real_hosts_ping_through_a_router_in_p4_and_its_routes_change_meanwhile() {
    if let Some(bed) = Bed::new("ping through wire p4 run") {
        let report = routed(&bed, "fast");
        let ports = report["ports"].as_array().unwrap().iter();
        let sent: u64 = ports.map(|port| port["sent"].as_u64().unwrap()).sum();
        assert!(sent >= 30, "{report}");
    }
}

#[test]
fn real_hosts_ping_through_a_router_in_the_kernel_and_its_routes_change_meanwhile() {
    if let Some(bed) = Bed::new("ping through wire p4 run in the kernel") {
        let report = routed(&bed, "xdp");
        // Packets to 10.79.2.2 without a route, and what hosts send by themselves.
        let counts = ["sent", "dropped", "left", "beyond", "no_room", "no_port"];
        let [sent, dropped, lost @ ..] = counts.map(|name| report[name].as_u64().unwrap());
        assert!(sent >= 30 && dropped >= 3 && lost == [0; 4], "{report}");
    }
}

/// Pings through the router while its routes come and go; gives its report.
fn routed(bed: &Bed, engine: &str) -> Value {
    let place = &bed.place;
    let entries = [
        "table add dmac 02:00:00:00:00:fe do to_router",
        "table add route 10.79.1.0/24 do set_nhop 1",
        "table add route 10.79.2.0/24 do set_nhop 2",
        "table add next_hop 1 do via 0 02:00:00:00:00:01",
        "table add next_hop 2 do via 1 02:00:00:00:00:02",
        "table add smac 0 do rewrite 02:00:00:00:00:fe",
        "table add smac 1 do rewrite 02:00:00:00:00:fe",
    ];
    let write: String = entries
        .iter()
        .map(|line| format!("echo {line}; "))
        .collect();
    place.run(&format!("({write}) > entries.txt")).good();
    // The router has no ARP: its address is known to the hosts.
    for (host, number) in bed.hosts.iter().zip([1, 2]) {
        let gateway = format!("10.79.{number}.1");
        let script = format!(
            "ip neigh add {gateway} lladdr 02:00:00:00:00:fe dev eth0 && ip route add default via {gateway}"
        );
        place.run_by(host.command("timeout"), &script).good();
    }
    let machine = &bed.router;
    std::thread::scope(|scope| {
        let run = format!(
            "exec wire p4 run {PROGRAM} --on x0 --on x1 --engine {engine} --entries entries.txt --control s.sock --json"
        );
        let job = format!("{run} & echo $! > router.pid; wait $!");
        let router = scope.spawn(move || place.run_by(machine.command("timeout"), &job));
        place
            .run("for i in $(seq 1200); do [ -S s.sock ] && break; sleep 0.05; done")
            .good();
        // What is answered is waited for, however much else the machine does.
        let ping = |count: u32, patience: u32| {
            let script = format!("ping -c {count} -i 0.02 -W {patience} 10.79.2.2 || true");
            place
                .run_by(bed.hosts[0].command("timeout"), &script)
                .good()
        };
        let through = ping(10, 20);
        // The router takes one from each packet's time to live.
        assert!(
            through.contains(" 0% packet loss") && through.contains("ttl=63"),
            "{through}"
        );

        place
            .run("wire p4 table rm route 10.79.2.0/24 --at s.sock")
            .good();
        let gone = ping(3, 1);
        assert!(gone.contains("100% packet loss"), "{gone}");
        let refused = place.run("wire p4 table rm route 10.79.2.0/24 --at s.sock");
        assert_eq!(refused.code, Some(1), "what is not there cannot be removed");

        place
            .run("wire p4 table add route 10.79.2.0/24 do set_nhop 2 --at s.sock")
            .good();
        let again = ping(5, 20);
        assert!(again.contains(" 0% packet loss"), "{again}");
        let dump = place.run("wire p4 table dump route --at s.sock").good();
        assert!(
            dump.contains("table add") && dump.contains("10.79.2.0/24"),
            "{dump}"
        );

        place.run("kill -INT $(cat router.pid)").good();
        serde_json::from_str(&router.join().unwrap().good_on_ports()).unwrap()
    })
}

/// A namespace with cables from `x0` to `y0` and from `x1` to `y1`.
fn two_cables() -> Namespace {
    let machine = Namespace::new().expect("root may make namespaces");
    for [near, far] in [["x0", "y0"], ["x1", "y1"]] {
        let end = |name| VethEnd {
            namespace: &machine,
            name,
            mac: None,
        };
        veth([end(near), end(far)], 1500).expect("a cable");
    }
    machine
}

#[test]
fn ptf_programs_the_pipeline_and_sees_its_packets() {
    let test = "PTF against wire p4 run";
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let ptf = format!("{root}/target/p4runtime-venv/bin/ptf");
    if !is_root(test) || !has(&ptf, test) {
        return;
    }
    let machine = two_cables();
    let place = Place::new("ptf");
    let script = format!(
        "wire p4 run {root}/crates/p4runtime/tests/router.p4 --p4runtime 127.0.0.1:9559 --cpu-port 510 --device-id 1 \
             --on x0 --on x1 > router.txt 2>&1 & router=$!
         trap 'kill -TERM $router' EXIT
         for i in $(seq 1200); do grep -q ' 0100007F:2557 ' /proc/self/net/tcp && break; sleep 0.05; done
         {ptf} --test-dir {root}/crates/cli/tests/ptf --interface 0@y0 --interface 1@y1 \
             --test-params \"grpcaddr='127.0.0.1:9559'\" --log-file ptf.log 2>&1"
    );
    let said = place.run_by(machine.command("timeout"), &script).good();
    assert!(
        // Its other output comes before or after, as Python buffers it.
        said.contains("Ran 3 tests") && said.lines().any(|line| line == "OK"),
        "{said}"
    );
}

#[test]
fn the_p4runtime_shell_steers_a_program_in_the_kernel() {
    let test = "p4runtime-shell against a program in the kernel";
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let python = format!("{root}/target/p4runtime-venv/bin/python");
    if !is_root(test) || !has(&python, test) {
        return;
    }
    let machine = two_cables();
    let place = Place::new("p4runtime-kernel");
    // When an entry was last hit the kernel does not know, and there is no port of the controller.
    let script = format!(
        "sed '/support_timeout/d' {root}/crates/p4runtime/tests/router.p4 > router.p4
         sed 's/hits.count();/hits.count(); clone(CloneType.I2E, 5);/' router.p4 > cloning.p4
         wire p4 info router.p4 --p4info router.txtpb > info.txt && wire p4 info cloning.p4 --p4info cloning.p4.txtpb > info.txt
         wire p4 run router.p4 --engine xdp --p4runtime 127.0.0.1:9559 --device-id 1 --on x0 --on x1 > router.txt 2>&1 & router=$!
         trap 'kill -TERM $router' EXIT
         for i in $(seq 1200); do grep -q ' 0100007F:2557 ' /proc/self/net/tcp && break; sleep 0.05; done
         export PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python
         {python} {root}/crates/cli/tests/p4_live/kernel.py 127.0.0.1:9559 router.txtpb router.p4 cloning.p4 2>&1"
    );
    let told = place.run_by(machine.command("timeout"), &script);
    // The shell says much in between.
    let steps = ["counters", "digests", "selectors", "done"];
    let words: Vec<&str> = told
        .out
        .lines()
        .filter(|line| steps.contains(line))
        .collect();
    assert!(
        words == steps,
        "{told:?} {}",
        String::from_utf8_lossy(&place.read("router.txt"))
    );
    let refused = place.run(&format!(
        "wire p4 run {root}/crates/p4runtime/tests/router.p4 --engine xdp --cpu-port 510 --on lo"
    ));
    assert!(
        refused.err.contains("no port of the controller"),
        "{refused:?}"
    );
}

/// The exercise of our own, in a folder of the test's.
fn exercise(place: &Place) {
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/p4-exercise");
    place.run(&format!("cp -r {from} exercise")).good();
    let told = place.run("wire p4 tutorial exercise");
    assert_eq!(
        (told.code, told.err.trim()),
        (
            Some(0),
            "wire: wrote exercise/lab.toml; as root `wire lab exercise/lab.toml` brings it up"
        )
    );
}

/// Brings the exercise up, runs a script beside it, which can say `at 'NODE COMMAND'`, and takes it down.
fn beside(script: &str) -> String {
    format!(
        "wire lab exercise/lab.toml > report.txt 2> told.txt & lab=$!
         trap 'kill -TERM $lab; wait $lab' EXIT
         at() {{ wire lab exercise/lab.toml --attach \"$1\"; }}
         for i in $(seq 1200); do at 'h1 true' 2> /dev/null && break; sleep 0.05; done
         {script}"
    )
}

#[test]
fn an_exercise_of_the_p4_tutorials_is_up_and_its_hosts_run_what_other_terminals_ask_for() {
    let test = "an exercise of the P4 tutorials";
    if !is_root(test) || !has("ping", test) {
        return;
    }
    let machine = Namespace::new().expect("root may make namespaces");
    let place = Place::new("p4-exercise");
    exercise(&place);
    let run = |script: &str| place.run_by(machine.command("timeout"), &beside(script));
    let said = run(
        "at 'h1 ping -c 2 -i 0.1 -W 20 h2'; at 'h1 ping -c 1 -W 1 -s 1000 h2'; echo \"code $?\"",
    )
    .good();
    assert!(said.contains("2 received, 0% packet loss"), "{said}");
    // The sX-runtime.json refuses echoes of this length.
    assert!(
        said.contains("1 packets transmitted, 0 received") && said.ends_with("code 1\n"),
        "{said}"
    );
    let told = String::from_utf8(place.read("told.txt")).unwrap();
    assert!(
        told.contains("--attach h1") && told.contains("s1 127.0.0.1:50051, s2 127.0.0.1:50052"),
        "{told}"
    );
    let report = String::from_utf8(place.read("report.txt")).unwrap();
    assert!(
        report.contains("s1     dropped in ingress       1"),
        "{report}"
    );

    // Nobody is found in a lab that is not up, or in a node that it has not.
    let none = run("at 'h9 true'");
    assert_eq!(none.code, Some(2));
    assert!(none.err.contains("there are: h1, h2"), "{none:?}");
    let down = place.run_by(
        machine.command("timeout"),
        "wire lab exercise/lab.toml --attach h1",
    );
    assert!(down.err.contains("exercise/lab.toml is not up"), "{down:?}");
}

#[test]
fn a_controller_brings_the_exercises_program_to_a_lab_and_its_routes() {
    let test = "a controller of an exercise";
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let python = format!("{root}/target/p4runtime-venv/bin/python");
    if !is_root(test) || !has("ping", test) || !has(&python, test) {
        return;
    }
    let machine = Namespace::new().expect("root may make namespaces");
    let place = Place::new("p4-exercise-controller");
    exercise(&place);
    // As the controller finds them: without entries.
    place
        .run("sed -i '/^control/,/^]/d' exercise/lab.toml; printf '\\n' >> exercise/lab.toml")
        .good();
    let controller = format!("{root}/crates/cli/tests/p4_live/controller.py");
    let script = format!(
        "export PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python
         at 'h1 ping -c 1 -W 1 h2'
         {python} {controller} 127.0.0.1:50051 0 exercise/build
         sed 's/0a000202\", \"080000000200\", 3/0a000202\", \"080000000222\", 1/; s/0a000101\", \"080000000111\", 1/0a000101\", \"080000000100\", 2/' \
             {controller} > s2.py
         {python} s2.py 127.0.0.1:50052 1 exercise/build
         {python} s2.py 127.0.0.1:50052 7 exercise/build 2>&1 | grep -o 'this is device 1, not 7' | head -n 1
         at 'h1 ping -c 2 -i 0.1 -W 20 h2'"
    );
    let said = place
        .run_by(machine.command("timeout"), &beside(&script))
        .good();
    let told: Vec<&str> = said
        .lines()
        .filter(|line| {
            line.contains("received") || line.contains("entries") || line.contains("device")
        })
        .collect();
    assert!(
        told.len() == 5
            && told[0].contains(" 0 received")
            && told[1] == "2 entries"
            && told[2] == "2 entries"
            && told[3] == "this is device 1, not 7"
            && told[4].contains(" 2 received"),
        "{said}"
    );
}

/// What `depths.py` printed where the first packet found nothing waiting, and the link carries three sevenths of what it is offered.
#[track_caller]
fn assert_deep(said: &str) {
    let words: Vec<&str> = said.split_ascii_whitespace().collect();
    let ["listening", "first", first, "deepest", deepest] = words[..] else {
        panic!("{said}");
    };
    let deepest: u32 = deepest.parse().unwrap();
    assert!(first == "0" && (20..=63).contains(&deepest), "{said}");
}

#[test]
fn a_program_sees_what_waits_for_a_slow_link_of_a_live_lab() {
    let test = "depths of queues in a live lab";
    if !is_root(test) || !has("python3", test) {
        return;
    }
    let machine = Namespace::new().expect("root may make namespaces");
    let place = Place::new("p4-exercise-depths");
    exercise(&place);
    let depths = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/p4_live/depths.py");
    let script = format!(
        "at 'h2 python3 {depths}' > heard.txt & heard=$!
         for i in $(seq 1200); do grep -qs listening heard.txt && break; sleep 0.05; done
         at 'h1 python3 {depths} h2'
         wait $heard; cat heard.txt"
    );
    let said = place
        .run_by(machine.command("timeout"), &beside(&script))
        .good();
    assert_deep(&said);
}

#[test]
fn a_program_on_real_ports_sees_what_waits_for_the_kernels_queueing_discipline() {
    let test = "depths of queues behind wire p4 run";
    let Some(bed) = Bed::new(test) else {
        return;
    };
    if !has("python3", test) || !has("tc", test) {
        return;
    }
    let (place, router, [near, far]) = (&bed.place, &bed.router, &bed.hosts);
    let shape = "tc qdisc add dev x1 root tbf rate 500kbit burst 1600 limit 200000";
    let shaped = place.run_by(router.command("timeout"), shape);
    if shaped.code != Some(0) {
        return println!("skipped: {test}: {}", shaped.err.trim());
    }
    place.write(
        "entries.txt",
        "table add route 10.79.1.0/24 do forward 02:00:00:00:00:01 0\n\
         table add route 10.79.2.0/24 do forward 02:00:00:00:00:02 1\n",
    );
    for (host, number) in [near, far].into_iter().zip([1, 2]) {
        let script = format!(
            "ip neigh add 10.79.{number}.1 lladdr 02:00:00:00:00:fe dev eth0 && ip route add default via 10.79.{number}.1"
        );
        place.run_by(host.command("timeout"), &script).good();
    }
    let depths = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/p4_live/depths.py");
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/p4-exercise/pair.p4"
    );
    let run =
        format!("exec wire p4 run {program} --on x0 --on x1 --entries entries.txt 2> /dev/null");
    std::thread::scope(|scope| {
        let job = format!("{run} & echo $! > router.pid; wait $!");
        let running = scope.spawn(move || place.run_by(router.command("timeout"), &job));
        place
            .run_by(router.command("timeout"), "listening 2")
            .good();
        let hears = format!("python3 {depths} > heard.txt");
        let hears = scope.spawn(move || place.run_by(far.command("timeout"), &hears).good());
        let sends = format!(
            "for i in $(seq 1200); do grep -qs listening heard.txt && break; sleep 0.05; done; python3 {depths} 10.79.2.2"
        );
        place.run_by(near.command("timeout"), &sends).good();
        hears.join().unwrap();
        place.run("kill -TERM $(cat router.pid)").good();
        running.join().unwrap();
    });
    let said = String::from_utf8(place.read("heard.txt")).unwrap();
    assert_deep(&said);
}
