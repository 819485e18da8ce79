//! `wire p4 run` between real kernels: a router in P4, controlled while pings go through it.

mod shell;

use live::netns::{Namespace, NetnsError, VethEnd, veth};
use serde_json::Value;
use shell::{Place, has, is_root};

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
    let Some(bed) = Bed::new("ping through wire p4 run") else {
        return;
    };
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
            "exec wire p4 run {PROGRAM} --on x0 --on x1 --entries entries.txt --control s.sock --json"
        );
        let job = format!("{run} & echo $! > router.pid; wait $!");
        let router = scope.spawn(move || place.run_by(machine.command("timeout"), &job));
        let wait = "for i in $(seq 200); do [ $(wc -l < /proc/self/net/packet) -ge 3 ] && break; sleep 0.05; done; sleep 0.1";
        place.run_by(machine.command("timeout"), wait).good();
        let ping = |count: u32| {
            let script = format!("ping -c {count} -i 0.02 -W 1 10.79.2.2 || true");
            place
                .run_by(bed.hosts[0].command("timeout"), &script)
                .good()
        };
        let through = ping(10);
        // The router takes one from each packet's time to live.
        assert!(
            through.contains(" 0% packet loss") && through.contains("ttl=63"),
            "{through}"
        );

        place
            .run("wire p4 table rm route 10.79.2.0/24 --at s.sock")
            .good();
        let gone = ping(3);
        assert!(gone.contains("100% packet loss"), "{gone}");
        let refused = place.run("wire p4 table rm route 10.79.2.0/24 --at s.sock");
        assert_eq!(refused.code, Some(1), "what is not there cannot be removed");

        place
            .run("wire p4 table add route 10.79.2.0/24 do set_nhop 2 --at s.sock")
            .good();
        let again = ping(5);
        assert!(again.contains(" 0% packet loss"), "{again}");
        let dump = place.run("wire p4 table dump route --at s.sock").good();
        assert!(
            dump.contains("table add") && dump.contains("10.79.2.0/24"),
            "{dump}"
        );

        place.run("kill -INT $(cat router.pid)").good();
        let report: Value = serde_json::from_str(&router.join().unwrap().good()).unwrap();
        let sent: u64 = report["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|port| port["sent"].as_u64().unwrap())
            .sum();
        assert!(sent >= 30, "{report}");
    });
}

#[test]
fn ptf_programs_the_pipeline_and_sees_its_packets() {
    let test = "PTF against wire p4 run";
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let ptf = format!("{root}/target/p4runtime-venv/bin/ptf");
    if !is_root(test) || !has(&ptf, test) {
        return;
    }
    let machine = Namespace::new().expect("root may make namespaces");
    let place = Place::new("ptf");
    for [near, far] in [["x0", "y0"], ["x1", "y1"]] {
        let end = |name| VethEnd {
            namespace: &machine,
            name,
            mac: None,
        };
        veth([end(near), end(far)], 1500).expect("a cable");
    }
    let script = format!(
        "wire p4 run {root}/crates/p4runtime/tests/router.p4 --p4runtime 127.0.0.1:9559 --cpu-port 510 --device-id 1 \
             --on x0 --on x1 2> router.txt & router=$!
         trap 'kill -TERM $router' EXIT
         for i in $(seq 200); do grep -q ' 0100007F:2557 ' /proc/self/net/tcp && break; sleep 0.05; done
         {ptf} --test-dir {root}/crates/cli/tests/ptf --interface 0@y0 --interface 1@y1 \
             --test-params \"grpcaddr='127.0.0.1:9559'\" --log-file ptf.log 2>&1"
    );
    let said = place.run_by(machine.command("timeout"), &script).good();
    assert!(
        said.contains("Ran 3 tests") && said.trim_end().ends_with("OK"),
        "{said}"
    );
}
