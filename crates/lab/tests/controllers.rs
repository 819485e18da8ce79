//! Live labs in which switch and controller, or hosts and routers, are whoever they are: ours, Open vSwitch, os-ken, the kernel.
//! Needs root, and says what it skips where a peer is missing.

use lab::{Command, Options, Report, World};
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::channel::Tls;
use live::port::{self, Options as PortOptions};
use node::Time;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs a lab live; `None` where this user may not.
fn live(text: &str, options: &Options) -> Option<Report> {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    crate::live_runs::report(&lab, options)
}

/// A learning switch on os-ken as a command, if that is there.
fn os_ken() -> Option<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = here.join("../../target/os-ken-venv/bin/python");
    if !python.exists() {
        println!("skipped: no os-ken in target/os-ken-venv (.ci/setup test makes it)");
        return None;
    }
    let script = here.join("tests/peer_os_ken.py");
    Some(format!("{} {}", python.display(), script.display()))
}

fn has_open_vswitch() -> bool {
    let there = Path::new("/usr/sbin/ovs-vswitchd").exists();
    if !there {
        println!("skipped in part: no Open vSwitch");
    }
    there
}

/// Two hosts at a switch of this kind, and a controller: the first pings the second.
fn pinged(switch: &str, controller: &str) -> Option<Report> {
    let text = format!(
        "[topology]\nkind = 'single'\nhost = {{ kind = 'process' }}\nlink = {{ delay = '1 ms' }}\n\
         [topology.switch]\nkind = '{switch}'\n[topology.controller]\n{controller}\n\
         [node.h1]\nrun = 'for i in $(seq 600); do ping -n -c 1 -W 1 h2 >/dev/null && break; sleep 0.1; done; ping -n -c 3 -i 0.1 -W 20 h2'\n"
    );
    let report = live(&text, &Options::default())?;
    let job = report.jobs.iter().find(|job| job.name == "h1").unwrap();
    assert!(job.output.contains("3 received"), "{report}");
    Some(report)
}

#[test]
fn every_switch_works_with_every_controller() {
    let mut switches = vec!["openflow-switch"];
    if has_open_vswitch() {
        switches.push("openvswitch");
    }
    for switch in &switches {
        let Some(report) = pinged(switch, "") else {
            return;
        };
        let nodes = report.outcome.nodes.iter();
        let ours = nodes.clone().find(|node| node.name == "c0").unwrap();
        let of = |name: &str| {
            let mut counters = ours.counters.iter();
            counters.find(|(known, _)| known == name).map_or(0, |c| c.1)
        };
        assert_eq!((of("switches"), of("nonsense")), (1, 0), "{report}");
        assert!(of("packet_ins") > 0, "{report}");
    }
    let Some(os_ken) = os_ken() else { return };
    for switch in &switches {
        let keys = format!("kind = 'process'\nrun = {{ command = '{os_ken}', listens = 6653 }}");
        let Some(report) = pinged(switch, &keys) else {
            return;
        };
        let job = report.jobs.iter().find(|job| job.name == "c0").unwrap();
        assert!(job.output.contains("switch "), "{report}");
        assert!(!job.output.contains("Traceback"), "{report}");
    }
}

#[test]
fn process_hosts_have_routers_between_them_of_ipv4_and_ipv6() {
    let text = "
        [node.h1]
        kind = 'process'
        address = '10.1.0.1/24 fd00:1::1/64'
        routes = ['10.2.0.0/16 via 10.1.0.254', 'fd00:2::/64 via fd00:1::fe']
        run = ['ping -n -c 2 -i 0.2 10.2.0.1', 'ping -6 -n -c 2 -i 0.2 fd00:2::1', 'ip route; ip -6 route']
        [node.r1]
        kind = 'process'
        address = ['10.1.0.254/24 fd00:1::fe/64', '10.2.0.254/24 fd00:2::fe/64']
        forward = true
        [node.h2]
        kind = 'process'
        address = '10.2.0.1/24 fd00:2::1/64'
        gateway = '10.2.0.254'
        routes = 'default via fd00:2::fe'
        [[link]]
        ends = ['h1.0', 'r1.0']
        delay = '2 ms'
        [[link]]
        ends = ['r1.1', 'h2.0']
        delay = '3 ms'
    ";
    let Some(report) = live(text, &Options::default()) else {
        return;
    };
    for job in &report.jobs[..2] {
        assert!(job.output.contains("2 received"), "{report}");
        // One router on the way, and twice 5 ms.
        assert!(job.output.contains("ttl=63"), "{report}");
        let least = job.output.split("= ").last().unwrap_or_default();
        let least: f64 = least.split('/').next().unwrap().parse().unwrap();
        assert!(least >= 10.0, "{report}");
    }
    let routes = &report.jobs[2].output;
    assert!(
        routes.contains("10.2.0.0/16 via 10.1.0.254 dev eth0"),
        "{routes}"
    );
    assert!(
        routes.contains("fd00:2::/64 via fd00:1::fe dev eth0"),
        "{routes}"
    );
}

#[test]
fn a_link_may_end_at_an_interface_that_is_there_already() {
    let spaces = (|| Ok::<_, NetnsError>([Namespace::new()?, Namespace::new()?]))();
    let [here, far] = match spaces {
        Ok(spaces) => spaces,
        Err(error) => return println!("skipped: {error}"),
    };
    let end = |namespace, name| VethEnd {
        namespace,
        name,
        mac: None,
    };
    veth([end(&here, "w0"), end(&far, "w1")], 1500).unwrap();
    far.add_address("w1", [10, 7, 0, 2].into(), 24).unwrap();
    let text = "
        [node.h1]
        kind = 'process'
        address = '10.7.0.1/24'
        [node.s1]
        kind = 'switch'
        ports = 2
        [[link]]
        ends = ['h1.0', 's1.0']
        delay = '4 ms'
        [[link]]
        ends = ['s1.1', 'port:w0']
        delay = '1 ms'
    ";
    let ping = Command {
        node: "h1".into(),
        command: "ping -n -c 3 -i 0.2 10.7.0.2 > /tmp/lab-real-port".into(),
    };
    let folder = std::env::temp_dir().join(format!("lab-port-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let out = folder.join("ping");
    let command = ping
        .command
        .replace("/tmp/lab-real-port", &out.display().to_string());
    let options = Options {
        commands: Some(vec![Command { command, ..ping }]),
        ..Options::default()
    };
    let report = here.enter(|| live(text, &options)).unwrap().unwrap();
    let said = std::fs::read_to_string(&out).unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(said.contains("3 received"), "{said}\n{report}");
    let least = said.split("= ").last().unwrap_or_default();
    let least: f64 = least.split('/').next().unwrap().parse().unwrap();
    assert!(least >= 10.0, "{said}");
}

/// Keys and certificates of a switch and a controller, by one authority.
struct Keys(PathBuf);

impl Keys {
    fn new() -> Option<Keys> {
        Keys::named("keys")
    }

    fn made_in(folder: PathBuf) -> Option<Keys> {
        std::fs::create_dir_all(&folder).unwrap();
        let script = "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 9 -subj /CN=authority &&
            printf 'basicConstraints=CA:FALSE\\n' > end.ext &&
            for side in switch controller; do
                openssl req -new -newkey rsa:2048 -nodes -keyout $side.key -out $side.csr -subj /CN=$side &&
                openssl x509 -req -in $side.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 -extfile end.ext -out $side.pem || exit 1
            done";
        let mut shell = std::process::Command::new("sh");
        let made = shell.args(["-c", script]).current_dir(&folder).output();
        let keys = Keys(folder);
        match made.unwrap().status.success() {
            true => Some(keys),
            false => {
                println!("skipped: openssl is not there, or makes no keys");
                None
            }
        }
    }

    /// In a folder of this name.
    fn named(name: &str) -> Option<Keys> {
        Keys::made_in(std::env::temp_dir().join(format!("lab-{name}-{}", std::process::id())))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn our_switch_has_a_controller_on_os_ken_by_tls() {
    let (Some(os_ken), Some(keys)) = (os_ken(), Keys::new()) else {
        return;
    };
    let space = match Namespace::new() {
        Ok(space) => space,
        Err(error) => return println!("skipped: {error}"),
    };
    let end = |namespace, name| VethEnd {
        namespace,
        name,
        mac: None,
    };
    let hosts = Namespace::new().unwrap();
    veth([end(&hosts, "a"), end(&space, "s1")], 1500).unwrap();
    let file = |name: &str| keys.file(name).display().to_string();
    let words = [
        file("controller.key"),
        file("controller.pem"),
        file("ca.pem"),
    ]
    .join(" ");
    let mut shell = space.command("sh");
    let said = keys.file("said");
    let output = std::fs::File::create(&said).unwrap();
    let mut controller = shell
        .args(["-c", &format!("exec {os_ken} ssl {words}")])
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap();
    let options = PortOptions {
        tls: Some(Tls {
            private_key: Some(keys.file("switch.key")),
            certificate: Some(keys.file("switch.pem")),
            ca_cert: Some(keys.file("ca.pem")),
        }),
        ..PortOptions::default()
    };
    let ports = space.enter(|| {
        let open = |spec: &str| port::open(&spec.parse().unwrap(), &options).unwrap();
        vec![open("s1"), open("ssl:127.0.0.1:6653")]
    });
    let config = openflow::switch::Config {
        ports: 1,
        datapath_id: 77,
        ..openflow::switch::Config::default()
    };
    let switch = Box::new(openflow::switch::Switch::new(config).unwrap());
    // Python takes its time until os-ken listens; from then on it takes little.
    let listens = || {
        let sockets = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
        sockets.contains(":19FD 00000000:0000 0A ")
    };
    for _ in 0..600 {
        if space.enter(listens).unwrap() {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(100));
    }
    let end = Some(Time::from_secs(8));
    let ran = live::world::on_ports("s1", switch, ports.unwrap(), end).unwrap();
    let _ = controller.kill();
    let _ = controller.wait();
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(said.contains("switch 77"), "{said}");
    let counters = &ran.outcome.nodes[0].counters;
    let flows = counters.iter().find(|(name, _)| name == "flows").unwrap();
    assert_eq!(flows.1, 1, "{counters:?}");
}

/// Hosts at a switch of ours, whose controller is Open vSwitch's at the other end of TLS, and whose own socket for TLS
/// ovs-ofctl asks. Its keys are the switch's, but the authority's is this.
///
/// Each tries as often until it has what it asks for.
fn by_tls(authority: &str, tries: u32) -> String {
    let own = "-p $KEYS/controller.key -c $KEYS/controller.pem";
    let until =
        |command: &str| format!("for i in $(seq {tries}); do {command} && break; sleep 0.2; done");
    let ask = until(&format!(
        "ovs-ofctl -O OpenFlow13 {own} -C $KEYS/ca.pem dump-ports-desc ssl:127.0.0.1:6654"
    ));
    let ping = until("ping -n -c 1 -W 1 10.0.0.2 >/dev/null");
    format!(
        "[node.s1]\nkind = 'openflow-switch'\nports = 2\nlisteners = 1\nprotocols = ['1.3']\nprivate_key = 'switch.key'\n\
         certificate = 'switch.pem'\nca_cert = '{authority}'\n\
         [node.h2]\nkind = 'process'\naddress = '10.0.0.2/24'\nrun = [\n\
         {{ command = 'ovs-testcontroller {own} -C $KEYS/ca.pem pssl:6653', listens = 6653 }},\n\
         '{ask}']\n\
         [node.h1]\nkind = 'process'\naddress = '10.0.0.1/24'\n\
         run = '{ping}; ping -n -c 3 -i 0.1 -W 1 10.0.0.2'\n\
         [[link]]\nends = ['h1.0', 's1.0']\n[[link]]\nends = ['h2.0', 's1.1']\n\
         [[link]]\nends = ['s1.2', 'port:ssl:127.0.0.1:6653@h2']\n\
         [[link]]\nends = ['s1.3', 'port:pssl:6654@h2']\n"
    )
}

#[test]
fn keys_of_a_lab_file_let_switch_and_controller_speak_tls_and_a_wrong_authority_does_not() {
    let (Some(keys), Some(other)) = (Keys::named("tls"), Keys::named("tls-other")) else {
        return;
    };
    if !Path::new("/usr/bin/ovs-testcontroller").exists() || !has_open_vswitch() {
        return println!("skipped: no ovs-testcontroller (Debian: openvswitch-testcontroller)");
    }
    std::fs::copy(other.file("ca.pem"), keys.file("other.pem")).unwrap();
    let run = |authority: &str, tries| {
        let text = by_tls(authority, tries).replace("$KEYS", &keys.0.display().to_string());
        let options = Options {
            folder: keys.0.clone(),
            duration: Some(Time::from_secs(90)),
            ..Options::default()
        };
        live(&text, &options)
    };
    let said = |report: &Report, node: &str| {
        let jobs = report.jobs.iter().filter(|job| job.name.starts_with(node));
        jobs.map(|job| &job.output[..]).collect::<String>()
    };
    let Some(report) = run("ca.pem", 300) else {
        return;
    };
    let (ping, ports) = (said(&report, "h1"), said(&report, "h2"));
    assert!(ping.contains("3 received"), "{report}");
    assert!(
        ports.contains("OFPST_PORT_DESC") && ports.contains("eth2"),
        "{report}"
    );

    let report = run("other.pem", 3).unwrap();
    let (ping, ports) = (said(&report, "h1"), said(&report, "h2"));
    assert!(!ping.contains("3 received"), "{report}");
    let s1 = report.outcome.nodes.iter().find(|node| node.name == "s1");
    let missed = |(reason, count): &(String, u64)| reason == "no entry matches" && *count > 0;
    assert!(s1.unwrap().drops.iter().any(missed), "{report}");
    assert!(
        ports.contains("failed to connect") && !ports.contains("eth2"),
        "{report}"
    );
}

#[test]
fn our_controller_and_switch_speak_tls_with_the_keys_of_a_lab_file() {
    let Some(keys) = Keys::named("own") else {
        return;
    };
    // It lasts until the switch has a connection with the controller, and a little longer.
    let text = "[lab]\nduration = '90 s'\n
        [node.s1]\nkind = 'openflow-switch'\nports = 1\nprivate_key = 'switch.key'\ncertificate = 'switch.pem'\nca_cert = 'ca.pem'
        [node.c0]\nkind = 'controller'\nprivate_key = 'controller.key'\ncertificate = 'controller.pem'\nca_cert = 'ca.pem'
        [node.x]\nkind = 'process'\naddress = '10.0.0.1/24'
        run = 'for i in $(seq 600); do grep -qE \":19FD [0-9A-F]+:[0-9A-F]+ 01 \" /proc/self/net/tcp && break; sleep 0.1; done; sleep 2'
        [[link]]\nends = ['x.0', 's1.0']
        [[link]]\nends = ['c0.0', 'port:pssl:6653@x']
        [[link]]\nends = ['s1.1', 'port:ssl:127.0.0.1:6653@x']";
    let options = Options {
        folder: keys.0.clone(),
        ..Options::default()
    };
    let Some(report) = live(text, &options) else {
        return;
    };
    let nodes = &report.outcome.nodes;
    let controller = nodes.iter().find(|node| node.name == "c0").unwrap();
    let switches = controller
        .counters
        .iter()
        .find(|(name, _)| name == "switches");
    assert_eq!(switches.unwrap().1, 1, "{report}");

    // Somebody else's lab uses no keys of ours.
    let out = text.replace("'controller.key'", "'../controller.key'");
    let lab = lab::parse(&out).unwrap();
    let refused = lab::run(&lab, World::Live, &options)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("`../controller.key` leads out of"),
        "{refused}"
    );
    // And none of its own without a use, or not all.
    for (from, to, wanted) in [
        (
            "private_key = 'switch.key'\n",
            "",
            "`s1` uses TLS, but has no `private_key`",
        ),
        (
            "'port:ssl:127.0.0.1:6653@x'",
            "'port:tcp:127.0.0.1:6653@x'",
            "`s1` has files for TLS, but none of its channels uses TLS",
        ),
        ("'switch.key'", "7", "a string"),
    ] {
        let faults = lab::parse(&text.replace(from, to)).unwrap_err().to_string();
        assert!(faults.contains(wanted), "{faults}");
    }
}
