//! `bridge`'s switch next to bridges of Linux, over veth pairs: one spanning tree, and the same ports for groups. Without the rights to
//! make namespaces, or without a bridge in the kernel, the tests say that they were skipped.
#![allow(
    clippy::disallowed_methods,
    reason = "these tests wait for other programs"
)]

use bridge::snooping;
use bridge::stp::Version;
use bridge::switch::{Config, PortConfig, Switch};
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options, Port};
use multicast::message::{self, Message, Query, Record, RecordKind};
use node::random::Random;
use node::{Frame, Node, Out, Time};
use packet::ethernet::Mac;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Runs a script in a namespace; `false` and its error if it fails.
fn run(namespace: &Namespace, script: &str) -> Result<String, String> {
    let output = namespace
        .command("sh")
        .args(["-ec", script])
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        false => Err(String::from_utf8_lossy(&output.stderr).to_string()),
    }
}

/// Namespaces: one with Linux's bridges, one with the far ends of their links.
struct Bed {
    kernel: Namespace,
    outside: Namespace,
}

/// `None`, and why, if it cannot be made here.
fn bed() -> Option<Bed> {
    let spaces = Namespace::new().and_then(|kernel| Ok((kernel, Namespace::new()?)));
    let (kernel, outside) = match spaces {
        Ok(spaces) => spaces,
        Err(NetnsError::Permission { doing }) => {
            println!("skipped: {doing} is not allowed here");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    if let Err(error) = run(&kernel, "ip link add probe type bridge; ip link del probe") {
        println!("skipped: this kernel has no bridges: {error}");
        return None;
    }
    Some(Bed { kernel, outside })
}

impl Bed {
    /// A link between a port `inner` of the kernel and a port for us.
    fn link(&self, inner: &str, outer: &str) -> Port {
        let end = |namespace, name| VethEnd {
            namespace,
            name,
            mac: None,
        };
        veth([end(&self.kernel, inner), end(&self.outside, outer)], 1500).expect("a veth pair");
        let open = || port::open(&outer.parse().expect("a name"), &Options::default());
        self.outside
            .enter(open)
            .expect("the namespace")
            .expect("a port")
    }
}

/// A switch on live ports, run by the test's thread.
struct Live {
    switch: Switch,
    ports: Vec<Port>,
    out: Out,
    began: Instant,
}

impl Live {
    fn new(config: Config, ports: Vec<Port>, began: Instant) -> Live {
        Live {
            switch: Switch::new(config).expect("good"),
            ports,
            out: Out::default(),
            began,
        }
    }

    fn now(&self) -> Time {
        Time::from_ns(self.began.elapsed().as_nanos() as u64)
    }

    fn send(&mut self) {
        for sent in self.out.sends() {
            if let Some(port) = self.ports.get_mut(sent.port.index()) {
                port.tx.send(&[&sent.frame]).expect("sent");
            }
        }
    }

    fn step(&mut self) {
        for number in 0..self.ports.len() {
            let mut frames = Vec::new();
            let take = &mut |packet: port::Received<'_>| frames.push(Frame::new(packet.bytes));
            self.ports[number]
                .rx
                .receive(Duration::from_millis(1), take)
                .expect("received");
            if !frames.is_empty() {
                let now = self.now();
                self.switch
                    .frames(now, node::Port(number as u16), &mut frames, &mut self.out);
                self.send();
            }
        }
        let now = self.now();
        if self.switch.next_wake().is_some_and(|at| at <= now) {
            self.switch.wake(now, &mut self.out);
            self.send();
        }
    }

    fn tree(&self) -> Vec<String> {
        let tables = self.switch.tables(self.now());
        tables
            .into_iter()
            .find(|table| table.name == "spanning tree")
            .expect("a tree")
            .entries
    }
}

fn run_for(switches: &mut [Live], time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        switches.iter_mut().for_each(Live::step);
    }
}

/// Number in the priority and the address of a bridge.
fn mac(number: u8) -> Mac {
    Mac([2, 0xBB, 0, 0, 0, number])
}

/// The ring 0 - 1 - 2 - 3 - 0: the bridges 0 and 2 are Linux's, 1 and 3 ours, each of another version. The link of the ports that must be
/// blocked is opposite to the root, for all costs are equal.
#[test]
fn a_ring_of_linuxs_bridges_and_ours_has_one_root_and_one_blocked_port() {
    let mut random = Random::new(5);
    for round in 0..3 {
        let Some(bed) = bed() else { return };
        let mut priorities: Vec<u16> = (0..4).map(|n| 4096 * (n + 1)).collect();
        for at in (1..4).rev() {
            priorities.swap(at, random.index(at + 1));
        }
        let mut script = String::new();
        for (name, number) in [("b0", 0), ("b2", 2)] {
            script += &format!(
                "ip link add {name} address {} type bridge stp_state 1 priority {} forward_delay 400 hello_time 100 max_age 600; ip link set {name} up\n",
                mac(number),
                priorities[usize::from(number)]
            );
        }
        run(&bed.kernel, &script).expect("bridges");
        // Ports 0 towards the next bridge of the ring, 1 towards the one before.
        let ports: Vec<Vec<Port>> = [(1, "b2", "b0"), (3, "b0", "b2")]
            .into_iter()
            .map(|(number, next, before)| {
                let names = [(next, format!("n{number}")), (before, format!("p{number}"))];
                let ports = names.map(|(bridge, name)| {
                    let port = bed.link(&format!("k{name}"), &name);
                    let join = format!("ip link set k{name} master {bridge}; bridge link set dev k{name} cost 100; ip link set k{name} up");
                    run(&bed.kernel, &join).expect("a port of a bridge");
                    port
                });
                ports.into()
            })
            .collect();
        let began = Instant::now();
        let mut switches: Vec<Live> = [
            (1, Version::Rstp),
            (
                3,
                if round == 1 {
                    Version::Rstp
                } else {
                    Version::Stp
                },
            ),
        ]
        .into_iter()
        .zip(ports)
        .map(|((number, version), ports)| {
            let config = Config {
                ports: 2,
                stp: Some(version),
                mac: Some(mac(number)),
                bridge_priority: priorities[usize::from(number)],
                hello: Time::from_secs(1),
                max_age: Time::from_secs(6),
                forward_delay: Time::from_secs(4),
                port: (0..2)
                    .map(|port| PortConfig {
                        port,
                        cost: Some(100),
                        ..PortConfig::default()
                    })
                    .collect(),
                ..Config::default()
            };
            Live::new(config, ports, began)
        })
        .collect();
        run_for(&mut switches, Duration::from_secs(14));
        let root = (0..4).min_by_key(|&n| priorities[n]).expect("a bridge");
        let identifier = format!("{}.{}", priorities[root], mac(root as u8));
        let as_linux = format!(
            "{:x}.{}",
            priorities[root],
            mac(root as u8).to_string().replace(':', "")
        );
        for number in [0, 2] {
            // The system's files are those of the namespace in which they are mounted; `ip -d link` has named the bridge itself as the root
            // for years.
            let script = format!(
                "unshare -m sh -ec 'mount -t sysfs none /sys; cd /sys/class/net/b{number}/bridge; cat root_id root_path_cost'"
            );
            let text = run(&bed.kernel, &script).expect("the bridge");
            let cost = match number {
                _ if number == root => 0,
                _ if number % 2 == root % 2 => 200,
                _ => 100,
            };
            assert_eq!(text, format!("{as_linux}\n{cost}"), "b{number}");
        }
        for (live, number) in switches.iter().zip([1, 3]) {
            let line = &live.tree()[0];
            match number == root {
                true => assert_eq!(*line, format!("bridge {identifier} is the root")),
                false => assert!(
                    line.contains(&format!(
                        " root {identifier} cost {} ",
                        if number % 2 == root % 2 { 200 } else { 100 }
                    )),
                    "{line}"
                ),
            }
        }
        // The bridge opposite the root blocks one of its ports: that towards the neighbour with the worse identifier.
        let opposite = (root + 2) % 4;
        let [next, before] = [(opposite + 1) % 4, (opposite + 3) % 4];
        let blocks_next = priorities[next] > priorities[before];
        let expected: Vec<(usize, &str, bool)> = (0..4)
            .flat_map(|number| [(number, "n"), (number, "p")])
            .map(|(number, side)| {
                (
                    number,
                    side,
                    !(number == opposite && (side == "n") == blocks_next),
                )
            })
            .collect();
        let state = |number: usize, side: &str| match number % 2 {
            // The port of a Linux bridge has the name of our port at the other end of its link.
            0 => {
                let name = if side == "n" {
                    format!("kp{}", (number + 1) % 4)
                } else {
                    format!("kn{}", (number + 3) % 4)
                };
                run(&bed.kernel, &format!("bridge link show dev {name}"))
                    .expect("a port")
                    .contains(" state forwarding ")
            }
            _ => {
                let line = &switches[number / 2].tree()[if side == "n" { 1 } else { 2 }];
                line.contains(" forwarding ")
            }
        };
        let found: Vec<(usize, &str, bool)> = expected
            .iter()
            .map(|&(number, side, _)| (number, side, state(number, side)))
            .collect();
        assert_eq!(found, expected, "priorities {priorities:?}");
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn written(message: &Message, source: &str) -> Vec<u8> {
    let mut frame = Frame::new(&[]);
    message::build_frame(message, ip(source), Mac([2, 0, 0, 0, 0, 9]), &mut frame);
    frame.to_vec()
}

/// A UDP datagram to a group, with a number.
fn datagram(source: &str, group: IpAddr, number: u32) -> Vec<u8> {
    let mut frame = Frame::new(&message::mac_of(group).0);
    frame.extend(&[2, 0, 0, 0, 0, 7]);
    frame.extend(if group.is_ipv4() {
        &[8, 0]
    } else {
        &[0x86, 0xDD]
    });
    frame.resize(14 + ip::header::length(group) + 40);
    ip::header::write(&mut frame, ip(source), group, 17);
    let at = frame.len() - 4;
    frame[at..].copy_from_slice(&number.to_be_bytes());
    frame.to_vec()
}

/// Random reports and leaves of both families at the ports of Linux's bridge and of ours, which both have a router at port 0: packets to
/// groups leave by the same ports. Hosts speak version 2 of IGMP and 1 of MLD, and version 3 with whole groups.
#[test]
fn packets_to_groups_leave_by_the_same_ports_as_from_linuxs_bridge() {
    let Some(bed) = bed() else { return };
    const PORTS: usize = 5;
    let script = "ip link add snoop type bridge mcast_snooping 1; ip link set snoop up";
    run(&bed.kernel, script).expect("a bridge");
    let mut ports: Vec<Port> = (0..PORTS)
        .map(|number| {
            let port = bed.link(&format!("k{number}"), &format!("n{number}"));
            let join = format!("ip link set k{number} master snoop; ip link set k{number} up");
            run(&bed.kernel, &join).expect("a port of a bridge");
            port
        })
        .collect();
    // Fast leave on two ports.
    run(
        &bed.kernel,
        "bridge link set dev k1 fastleave on; bridge link set dev k2 fastleave on",
    )
    .expect("fast leave");
    std::thread::sleep(Duration::from_millis(300));
    let fast = |port| PortConfig {
        port,
        fast_leave: true,
        ..PortConfig::default()
    };
    let config = Config {
        ports: PORTS as u16,
        snooping: Some(snooping::Config::default()),
        port: vec![fast(1), fast(2)],
        ..Config::default()
    };
    let (mut switch, mut out) = (Switch::new(config).expect("good"), Out::default());
    let began = Instant::now();
    let mut random = Random::new(11);
    let groups = [
        ip("239.1.1.1"),
        ip("239.2.2.2"),
        ip("ff05::1:3"),
        ip("ff15::42"),
        ip("224.0.0.251"),
        ip("ff02::fb"),
    ];
    let query = |is_v4: bool| {
        let query = Query {
            version: message::Version::Two,
            group: None,
            sources: Vec::new(),
            max_response: Time::from_secs(1),
            suppress: false,
            robustness: 0,
            interval: Time::ZERO,
        };
        (
            Message::Query(query),
            if is_v4 { "10.0.0.1" } else { "fe80::1" },
        )
    };
    let mut compared = [0; PORTS];
    for step in 0..1_500u32 {
        // Members have had the time to answer the queries.
        if step == 2 {
            std::thread::sleep(Duration::from_millis(1_300));
        }
        let group = groups[random.index(groups.len())];
        let (source, local) = match group {
            IpAddr::V4(_) => ("10.0.0.9", "10.0.0.8"),
            IpAddr::V6(_) => ("fd00::9", "fe80::8"),
        };
        let port = 1 + random.index(PORTS - 1);
        let records = |kind| {
            Message::Records(vec![Record {
                kind,
                group,
                sources: Vec::new(),
            }])
        };
        let (port, frame) = match random.below(6) {
            _ if step < 2 => {
                let (message, from) = query(step == 0);
                (0, written(&message, from))
            }
            0 => (
                port,
                written(&Message::Report(message::Version::Two, group), local),
            ),
            1 => (port, written(&records(RecordKind::ToExclude), local)),
            2 => (1 + random.index(2), written(&Message::Leave(group), local)),
            _ => (
                if random.chance(0.5) { port } else { 0 },
                datagram(source, group, step),
            ),
        };
        let is_data = frame.ends_with(&step.to_be_bytes()) && frame.len() > 60;
        let now = Time::from_ns(began.elapsed().as_nanos() as u64);
        switch.frames(
            now,
            node::Port(port as u16),
            &mut vec![Frame::new(&frame)],
            &mut out,
        );
        let mut ours = vec![false; PORTS];
        for sent in out.sends().filter(|sent| sent.frame[..] == frame[..]) {
            ours[sent.port.index()] = true;
        }
        ports[port].tx.send(&[&frame]).expect("sent");
        // A broadcast, which leaves by all ports, ends the wait.
        let mut last = [0xFFu8; 60];
        last[6..12].copy_from_slice(&[2, 0, 0, 0, 1, port as u8]);
        last[12..14].copy_from_slice(&[0x88, 0xB5]);
        last[14..18].copy_from_slice(&step.to_be_bytes());
        ports[port].tx.send(&[&last]).expect("sent");
        let mut theirs = vec![false; PORTS];
        for other in (0..PORTS).filter(|&other| other != port) {
            let mut ended = false;
            let until = Instant::now() + Duration::from_secs(5);
            while !ended && Instant::now() < until {
                let take = &mut |packet: port::Received<'_>| {
                    // Linux has cut the padding off.
                    theirs[other] |= packet.bytes.len() > 34 && frame.starts_with(packet.bytes);
                    ended |= packet.bytes == &last[..];
                };
                ports[other]
                    .rx
                    .receive(Duration::from_millis(50), take)
                    .expect("received");
            }
            assert!(
                ended,
                "step {step}: the broadcast has not come to port {other}"
            );
        }
        // Linux floods leaves, and reports of version 3; RFC 4541 section 2.1.1 1 has them go to routers alone.
        if !is_data {
            continue;
        }
        let mdb = || run(&bed.kernel, "bridge mdb show").unwrap_or_default();
        assert_eq!(
            ours,
            theirs,
            "step {step}: group {group} from port {port}\n{}\n{:?}",
            mdb(),
            switch.tables(now)
        );
        ours.iter()
            .enumerate()
            .filter(|(_, left)| **left)
            .for_each(|(port, _)| compared[port] += 1);
    }
    assert!(compared.iter().all(|&count| count > 100), "{compared:?}");
}

/// Open vSwitch in the kernel's namespace, with a folder of its own; stopped at the end.
struct OpenVswitch<'a> {
    bed: &'a Bed,
    folder: std::path::PathBuf,
}

impl OpenVswitch<'_> {
    /// `None`, and why, where it is not installed.
    fn start<'a>(bed: &'a Bed, name: &str) -> Option<OpenVswitch<'a>> {
        let folder = std::env::temp_dir().join(format!("wireline-{name}-{}", std::process::id()));
        let ovs = OpenVswitch { bed, folder };
        let made = ovs.run(
            "command -v ovs-vswitchd >/dev/null || { echo 'no ovs-vswitchd' >&2; exit 1; }\n\
             rm -rf $OVS_RUNDIR; mkdir -p $OVS_RUNDIR; cd $OVS_RUNDIR; ovsdb-tool create conf.db /usr/share/openvswitch/vswitch.ovsschema\n\
             ovsdb-server conf.db --remote=punix:$OVS_RUNDIR/db.sock --unixctl=$OVS_RUNDIR/db.ctl --pidfile=$OVS_RUNDIR/db.pid --detach -vconsole:off -vsyslog:off -vfile:off\n\
             ovs-vswitchd unix:$OVS_RUNDIR/db.sock --disable-system --unixctl=$OVS_RUNDIR/ctl --pidfile=$OVS_RUNDIR/ovs.pid --detach -vconsole:off -vsyslog:off -vfile:off",
        );
        match made {
            Ok(_) => Some(ovs),
            Err(error) => {
                println!("skipped: Open vSwitch does not run here: {error}");
                None
            }
        }
    }

    fn run(&self, script: &str) -> Result<String, String> {
        let folder = self.folder.display();
        run(
            &self.bed.kernel,
            &format!(
                "PATH=$PATH:/usr/sbin:/sbin OVS_RUNDIR={folder}; export PATH OVS_RUNDIR\n{script}"
            ),
        )
    }

    fn ask(&self, what: &str) -> String {
        self.run(&format!("ovs-appctl -t $OVS_RUNDIR/ctl {what}"))
            .expect("an answer")
    }
}

impl Drop for OpenVswitch<'_> {
    fn drop(&mut self) {
        let _ = self.run("kill $(cat $OVS_RUNDIR/ovs.pid $OVS_RUNDIR/db.pid); rm -rf $OVS_RUNDIR");
    }
}

/// Two links between Open vSwitch and our switch: one of them is blocked, at once, by the side that is not the root.
#[test]
fn open_vswitch_and_a_switch_agree_on_rstp_within_a_second() {
    let Some(bed) = bed() else { return };
    let Some(ovs) = OpenVswitch::start(&bed, "rstp") else {
        return;
    };
    for (priority, ours_is_root) in [(4096, true), (61_440, false)] {
        let ports: Vec<Port> = ["x", "y"]
            .map(|name| bed.link(&format!("k{name}"), &format!("n{name}")))
            .into();
        ovs.run(
            "ip link set kx up; ip link set ky up\n\
             ovs-vsctl --db=unix:$OVS_RUNDIR/db.sock --timeout=15 add-br o -- set bridge o datapath_type=netdev rstp_enable=true other_config:rstp-priority=32768 other_config:hwaddr=02:bb:00:00:00:77 \
             -- add-port o kx -- add-port o ky -- set port kx other_config:rstp-path-cost=100 -- set port ky other_config:rstp-path-cost=100",
        )
        .expect("a bridge");
        let config = Config {
            ports: 2,
            stp: Some(Version::Rstp),
            mac: Some(mac(1)),
            bridge_priority: priority,
            port: (0..2)
                .map(|port| PortConfig {
                    port,
                    cost: Some(100),
                    ..PortConfig::default()
                })
                .collect(),
            ..Config::default()
        };
        let mut switches = [Live::new(config, ports, Instant::now())];
        // RSTP bridges that do not know each other's state exchange proposals; STP would take 30 s.
        let began = Instant::now();
        let (ours, theirs) = loop {
            run_for(&mut switches, Duration::from_millis(200));
            let ours = switches[0].tree();
            let theirs = ovs.ask("rstp/show o");
            let forwarding = |text: &str| text.matches("orwarding").count();
            let count = [forwarding(&ours[1..].join("\n")), forwarding(&theirs)];
            if count == if ours_is_root { [2, 1] } else { [1, 2] }
                || began.elapsed() > Duration::from_secs(10)
            {
                break (ours, theirs);
            }
        };
        println!("settled after {:?}", began.elapsed());
        assert!(
            began.elapsed() < Duration::from_secs(8),
            "{ours:#?}\n{theirs}"
        );
        match ours_is_root {
            true => {
                assert!(ours[0].ends_with("is the root"), "{ours:?}");
                assert!(
                    theirs.contains("Root") && theirs.contains("Alternate"),
                    "{theirs}"
                );
            }
            false => {
                assert!(
                    ours[0].contains(" root 32768.02:bb:00:00:00:77 cost 100 port "),
                    "{ours:?}"
                );
                // Open vSwitch numbers its ports as it likes.
                let alternate = " alternate discarding cost 100 designated 32768.02:bb:00:00:00:77";
                assert!(
                    ours[1..].iter().any(|line| line.ends_with(alternate)),
                    "{ours:?}"
                );
                assert!(theirs.contains("This bridge is the root"), "{theirs}");
            }
        }
        assert!(
            ours[1..].iter().all(|line| !line.ends_with(" STP")),
            "{ours:?}"
        );
        ovs.run("ovs-vsctl --db=unix:$OVS_RUNDIR/db.sock del-br o; ip link del kx; ip link del ky")
            .expect("gone");
    }
}

#[test]
fn open_vswitch_and_a_switch_make_one_link_of_three_by_lacp() {
    let Some(bed) = bed() else { return };
    let Some(ovs) = OpenVswitch::start(&bed, "lacp") else {
        return;
    };
    let names = ["la", "lb", "lc", "free"];
    let ports: Vec<Port> = names
        .map(|name| bed.link(&format!("k{name}"), &format!("n{name}")))
        .into();
    ovs.run(
        "for port in kla klb klc kfree; do ip link set $port up; done\n\
         ovs-vsctl --db=unix:$OVS_RUNDIR/db.sock --timeout=15 add-br o -- set bridge o datapath_type=netdev \
         -- add-bond o bond kla klb klc lacp=active bond_mode=balance-tcp other_config:lacp-time=fast -- add-port o kfree",
    )
    .expect("a bond");
    let lag = bridge::lacp::Config {
        ports: vec![0, 1, 2],
        rate: bridge::lacp::Pace::Fast,
        ..Default::default()
    };
    let config = Config {
        ports: 4,
        lag: vec![lag],
        mac: Some(mac(1)),
        ..Config::default()
    };
    // The last port of the bed is a host of Open vSwitch; that of the switch has no link.
    let mut ports = ports;
    let mut host = ports.pop().expect("a port");
    let mut switches = [Live::new(config, ports, Instant::now())];
    run_for(&mut switches, Duration::from_secs(6));
    let table = |live: &Live| {
        live.switch
            .tables(live.now())
            .into_iter()
            .find(|table| table.name == "link aggregation")
            .expect("a table")
            .entries
    };
    let lines = table(&switches[0]);
    assert!(
        lines
            .iter()
            .all(|line| line.contains(" distributing partner ")),
        "{lines:?}"
    );
    let theirs = ovs.ask("lacp/show bond");
    assert_eq!(theirs.matches("current attached").count(), 3, "{theirs}");
    assert!(
        theirs.contains("partner sys_id: 02:bb:00:00:00:01"),
        "{theirs}"
    );
    // A broadcast of its host arrives once.
    let mut frame = [0xFFu8; 60];
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 0x44]);
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    let before = switches[0].switch.statistics().get("packets");
    host.tx.send(&[&frame]).expect("sent");
    run_for(&mut switches, Duration::from_millis(500));
    let flooded = switches[0].switch.statistics().get("flooded");
    assert!(flooded >= Some(1), "{before:?} {flooded:?}");
    // A link fails silently, as behind a converter: its port leaves the group after 3 s, on both sides.
    run(&bed.kernel, "ip link set klb down").expect("down");
    run_for(&mut switches, Duration::from_secs(5));
    let lines = table(&switches[0]);
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.contains(" distributing "))
            .count(),
        2,
        "{lines:?}"
    );
}
