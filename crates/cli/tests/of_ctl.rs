//! `wire of ctl` against Open vSwitch: what ours adds ovs-ofctl shows, and the other way round. Skipped without
//! root or Open vSwitch.
#![allow(
    clippy::disallowed_methods,
    reason = "a test waits for other processes"
)]

use crate::testbed::eventually;
use openflow::text::Flow;
use openflow::version::Version;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Open vSwitch with a bridge br0, in a network namespace and a folder of its own.
struct Switch {
    folder: PathBuf,
    children: Vec<Child>,
}

impl Drop for Switch {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn wait_for(path: &Path) -> bool {
    eventually(|| path.exists())
}

impl Switch {
    fn start(name: &str) -> Option<Switch> {
        let skip = |why: &str| {
            eprintln!("skipped: {why}");
            None
        };
        if Command::new("ovs-vswitchd")
            .arg("--version")
            .output()
            .is_err()
        {
            return skip("no Open vSwitch (Debian: openvswitch-switch)");
        }
        let tried = Command::new("unshare").args(["-n", "true"]).output();
        if !tried.is_ok_and(|output| output.status.success()) {
            return skip("no network namespace can be made: run it as root");
        }
        let folder = std::env::temp_dir().join(format!("wire-of-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let mut switch = Switch {
            folder,
            children: Vec::new(),
        };
        let schema = "/usr/share/openvswitch/vswitch.ovsschema";
        let database = switch.folder.join("conf.db");
        let made = Command::new("ovsdb-tool")
            .arg("create")
            .arg(&database)
            .arg(schema)
            .output();
        assert!(made.expect("ovsdb-tool").status.success());
        let socket = switch.folder.join("db.sock");
        let server = switch
            .daemon("ovsdb-server")
            .arg(&database)
            .arg(format!("--remote=punix:{}", socket.display()))
            .spawn();
        switch.children.push(server.expect("ovsdb-server starts"));
        assert!(wait_for(&socket), "the database has no socket");
        switch.vsctl(&["--no-wait", "init"]);
        let remote = format!("unix:{}", socket.display());
        let daemon = switch.daemon("ovs-vswitchd").arg(remote).spawn();
        switch.children.push(daemon.expect("ovs-vswitchd starts"));
        switch.vsctl(&[
            "add-br",
            "br0",
            "--",
            "set",
            "bridge",
            "br0",
            "datapath_type=netdev",
            "protocols=OpenFlow10,OpenFlow13",
            "fail_mode=secure",
        ]);
        assert!(
            wait_for(&switch.folder.join("br0.mgmt")),
            "the bridge has no socket"
        );
        Some(switch)
    }

    fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for variable in ["OVS_RUNDIR", "OVS_DBDIR", "OVS_SYSCONFDIR", "OVS_LOGDIR"] {
            command.env(variable, &self.folder);
        }
        command
    }

    fn daemon(&self, program: &str) -> Command {
        let mut command = Command::new("unshare");
        self.environment(&mut command);
        command.args(["-n", program, "--no-chdir", "--log-file=/dev/null"]);
        command.arg(format!("--unixctl={}", self.folder.join(program).display()));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn vsctl(&self, arguments: &[&str]) {
        let mut command = Command::new("ovs-vsctl");
        let database = format!("--db=unix:{}", self.folder.join("db.sock").display());
        let output = self
            .environment(&mut command)
            .arg(database)
            .arg("--timeout=20")
            .args(arguments);
        let output = output.output().expect("ovs-vsctl");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn target(&self) -> String {
        format!("unix:{}", self.folder.join("br0.mgmt").display())
    }

    fn ofctl(&self, version: Version, arguments: &[&str]) -> String {
        let mut command = Command::new("ovs-ofctl");
        command.args([
            "-O",
            if version == Version::V10 {
                "OpenFlow10"
            } else {
                "OpenFlow13"
            },
        ]);
        command
            .arg(arguments[0])
            .arg(self.target())
            .args(&arguments[1..]);
        let output = self.environment(&mut command).output().expect("ovs-ofctl");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("text")
    }

    fn run(&self, version: Version, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_wire"))
            .args([
                "of",
                "ctl",
                "-O",
                if version == Version::V10 {
                    "1.0"
                } else {
                    "1.3"
                },
            ])
            .arg(self.target())
            .args(arguments)
            .output()
            .expect("wire runs")
    }

    fn ctl(&self, version: Version, arguments: &[&str]) -> String {
        let output = self.run(version, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{version} {arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }
}

/// What the lines of a dump say, in one form and order.
fn flows(version: Version, dump: &str) -> Vec<String> {
    let mut flows: Vec<String> = dump
        .lines()
        .filter(|line| line.contains("actions="))
        .map(|line| {
            let mut flow =
                Flow::parse(version, line).unwrap_or_else(|error| panic!("{line}: {error}"));
            flow.table = Some(flow.table.unwrap_or(0));
            flow.priority = Some(flow.priority.unwrap_or(0x8000));
            let mut text = String::new();
            flow.show(&mut text);
            text
        })
        .collect();
    flows.sort();
    flows
}

const BOTH: [&str; 11] = [
    "priority=100,ip,nw_dst=10.0.0.0/8,actions=mod_dl_dst:02:00:00:00:00:01,output:2",
    "priority=101,tcp,tp_dst=80,actions=mod_tp_dst:8080,output:1",
    "priority=102,arp,arp_op=1,nw_src=10.0.0.1,actions=FLOOD",
    "priority=103,udp,in_port=1,dl_vlan=5,dl_vlan_pcp=3,actions=strip_vlan,output:3",
    "priority=104,icmp,icmp_type=8,icmp_code=0,actions=CONTROLLER:128",
    "priority=105,dl_vlan=0xffff,dl_src=02:00:00:00:00:07,actions=mod_vlan_vid:9,NORMAL",
    "priority=106,dl_type=0x88cc,actions=drop",
    "cookie=0x1234,idle_timeout=600,hard_timeout=900,priority=107,in_port=LOCAL,actions=ALL",
    "priority=108,ip,nw_tos=32,nw_proto=89,actions=IN_PORT",
    "priority=109,ip,actions=mod_nw_src:1.2.3.4,mod_nw_dst:1.2.3.5,mod_nw_tos:64,output:7",
    "priority=110,dl_dst=ff:ff:ff:ff:ff:ff,actions=output:1,output:2,LOCAL",
];

const V13: [&str; 9] = [
    "table=1,priority=1,ipv6,ipv6_src=2001:db8::/32,actions=goto_table:2",
    "table=1,priority=2,tcp6,tcp_dst=443,actions=set_field:fe80::9->ipv6_dst,output:1",
    "table=1,priority=3,icmp6,icmp_type=135,nd_target=fe80::1,actions=output:2",
    "table=1,priority=4,mpls,mpls_label=5,mpls_bos=1,actions=pop_mpls:0x0800,output:1",
    "table=1,priority=5,metadata=0x3/0xf,actions=write_metadata:0x1/0xff,goto_table:9",
    "table=1,priority=6,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,actions=group:7",
    "table=1,priority=7,tun_id=0x9,actions=write_actions(output:2),goto_table:3",
    "table=1,priority=8,vlan_vid=0x1000/0x1000,actions=pop_vlan,dec_ttl,set_queue:1,output:1",
    "table=1,priority=9,sctp,tp_src=4,send_flow_rem,actions=clear_actions",
];

#[test]
fn flows_that_ours_adds_ovs_ofctl_shows_and_the_other_way_round() {
    let Some(switch) = Switch::start("flows") else {
        return;
    };
    for version in Version::ALL {
        let mut lines = BOTH.to_vec();
        if version == Version::V13 {
            switch.ctl(
                version,
                &[
                    "add-group",
                    "group_id=7,type=all,bucket=output:1,bucket=output:2",
                ],
            );
            lines.extend(V13.iter().filter(|line| !line.contains("dec_ttl")));
        }
        for line in &lines {
            switch.ctl(version, &["add-flow", line]);
        }
        let ours = flows(version, &switch.ctl(version, &["dump-flows"]));
        let theirs = flows(version, &switch.ofctl(version, &["dump-flows"]));
        assert_eq!(ours, theirs);
        assert_eq!(ours.len(), lines.len());
        let wanted = flows(version, &lines.join("\n"));
        // ovs-ofctl adds no lengths for ports, and numbers as we do.
        assert_eq!(ours, wanted);

        switch.ctl(version, &["del-flows"]);
        assert_eq!(
            flows(version, &switch.ofctl(version, &["dump-flows"])),
            [""; 0]
        );
        for line in &lines {
            switch.ofctl(version, &["add-flow", line]);
        }
        let again = flows(version, &switch.ctl(version, &["dump-flows"]));
        assert_eq!(again, ours);
        switch.ctl(
            version,
            &["del-flows", "--strict", "priority=106,dl_type=0x88cc"],
        );
        switch.ctl(
            version,
            &["mod-flows", "ip,nw_dst=10.0.0.0/8,actions=output:9"],
        );
        let left = switch.ofctl(version, &["dump-flows"]);
        assert!(
            !left.contains("88cc") && left.contains("output:9"),
            "{left}"
        );
        switch.ctl(version, &["del-flows"]);
    }
}

#[test]
fn files_of_flows_are_added_compared_and_put_in_place_also_as_bundles() {
    let Some(switch) = Switch::start("files") else {
        return;
    };
    let version = Version::V13;
    let file = switch.folder.join("flows.txt");
    std::fs::write(&file, format!("# a comment\n{}\n", BOTH.join("\n"))).expect("a file");
    let file = file.to_str().expect("text");
    switch.ctl(version, &["add-flows", file, "--bundle"]);
    assert_eq!(
        flows(version, &switch.ofctl(version, &["dump-flows"])).len(),
        BOTH.len()
    );
    assert_eq!(
        switch.run(version, &["diff-flows", file]).status.code(),
        Some(0)
    );
    switch.ofctl(version, &["add-flow", "priority=7,actions=drop"]);
    switch.ofctl(version, &["del-flows", "arp"]);
    let differs = switch.run(version, &["diff-flows", file]);
    assert_eq!(differs.status.code(), Some(1));
    let text = String::from_utf8_lossy(&differs.stdout).into_owned();
    assert!(
        text.contains("-table=0,priority=7") && text.contains("+priority=102"),
        "{text}"
    );
    switch.ctl(version, &["replace-flows", file]);
    assert_eq!(
        switch.run(version, &["diff-flows", file]).status.code(),
        Some(0)
    );

    let bad = switch.folder.join("bad.txt");
    std::fs::write(
        &bad,
        "priority=1,actions=output:1\npriority=2,colour=red,actions=drop\n",
    )
    .expect("a file");
    let refused = switch.run(version, &["add-flows", bad.to_str().expect("text")]);
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        told.contains("bad.txt:2: column 12: 'colour' is not a field"),
        "{told}"
    );
    // One of a bundle is refused by the switch: then none is there.
    let half = switch.folder.join("half.txt");
    std::fs::write(
        &half,
        "priority=1,actions=output:1\npriority=2,actions=group:99\n",
    )
    .expect("a file");
    let refused = switch.run(
        version,
        &["add-flows", "--bundle", half.to_str().expect("text")],
    );
    assert_eq!(
        refused.status.code(),
        Some(2),
        "{}",
        String::from_utf8_lossy(&refused.stderr)
    );
    assert_eq!(
        flows(version, &switch.ofctl(version, &["dump-flows"])).len(),
        BOTH.len()
    );
}

#[test]
fn groups_meters_ports_and_the_rest_are_shown() {
    let Some(switch) = Switch::start("rest") else {
        return;
    };
    let v13 = Version::V13;
    switch.ctl(
        v13,
        &[
            "add-group",
            "group_id=5,type=select,bucket=weight:2,actions=output:1",
        ],
    );
    let groups = switch.ofctl(v13, &["dump-groups"]);
    assert!(
        groups.contains("group_id=5,type=select") && groups.contains("output:1"),
        "{groups}"
    );
    let ours = switch.ctl(v13, &["dump-groups"]);
    assert!(
        ours.contains("group_id=5,type=select,bucket=weight:2,actions=output:1"),
        "{ours}"
    );
    assert!(
        switch
            .ctl(v13, &["dump-group-stats"])
            .contains("group_id=5")
    );
    switch.ctl(v13, &["del-groups", "group_id=5"]);
    assert!(!switch.ofctl(v13, &["dump-groups"]).contains("group_id=5"));

    switch.ctl(
        v13,
        &["add-meter", "meter=1,kbps,bands=type=drop,rate=1000"],
    );
    assert!(
        switch
            .ofctl(v13, &["dump-meters"])
            .contains("type=drop rate=1000")
    );
    assert!(
        switch
            .ctl(v13, &["dump-meters"])
            .contains("meter=1 kbps bands=type=drop rate=1000")
    );

    for version in Version::ALL {
        assert!(switch.ctl(version, &["show"]).contains("br0"));
        assert!(
            switch
                .ctl(version, &["dump-ports-desc"])
                .contains("LOCAL(br0)")
        );
        assert!(switch.ctl(version, &["dump-ports"]).contains("port LOCAL"));
        assert!(switch.ctl(version, &["dump-tables"]).contains("table 0"));
        assert!(switch.ctl(version, &["dump-desc"]).contains("Open vSwitch"));
        assert!(
            switch
                .ctl(version, &["dump-aggregate"])
                .contains("flow_count=")
        );
        switch.ctl(version, &["queue-stats"]);
        switch.ctl(version, &["probe"]);
        assert_eq!(
            switch
                .ctl(version, &["ping", "--count", "2"])
                .lines()
                .count(),
            2
        );
        switch.ctl(version, &["set-config", "drop", "77"]);
        switch.ctl(
            version,
            &[
                "packet-out",
                "in_port=LOCAL packet=ffffffffffff02000000000108060001 actions=drop",
            ],
        );
        switch.ctl(version, &["mod-port", "LOCAL", "no-packet-in"]);
        let lines = switch.run(version, &["dump-ports-desc"]);
        assert!(String::from_utf8_lossy(&lines.stdout).contains("NO_PACKET_IN"));
        switch.ctl(version, &["mod-port", "br0", "packet-in"]);
    }
    let refused = switch.run(v13, &["add-flow", "actions=resubmit(,1)"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("extension of Nicira's"));
    let refused = switch.run(v13, &["add-flow", "actions=group:99"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("BAD_OUT_GROUP"));
}

/// Our switch with two TAP ports and four tables, in the namespace of its own process, at a socket.
struct Ours {
    child: Child,
    socket: PathBuf,
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ours {
    fn start(folder: &Path) -> Ours {
        let socket = folder.join("ours.sock");
        let child = Command::new("unshare")
            .args(["-n", env!("CARGO_BIN_EXE_wire"), "of", "switch"])
            .args(["--on", "tap:t1,tap:t2", "--tables", "4", "--listen"])
            .arg(format!("punix:{}", socket.display()))
            .stdout(Stdio::null())
            .spawn()
            .expect("wire starts");
        assert!(wait_for(&socket), "our switch has no socket");
        Ours { child, socket }
    }

    fn target(&self) -> String {
        format!("unix:{}", self.socket.display())
    }
}

/// The words behind a title of a dump of ovs-ofctl, for the first table. It writes `eth_{src,dst}` for two.
fn words(dump: &str, title: &str) -> Vec<String> {
    let line = dump
        .lines()
        .find_map(|line| line.trim().strip_prefix(title));
    let line = line.unwrap_or_else(|| panic!("`{title}`: {dump}"));
    let mut all = Vec::new();
    for word in line.split_whitespace() {
        match word.split_once('{').filter(|(_, rest)| !rest.contains('{')) {
            Some((head, rest)) => {
                let rest = rest.trim_end_matches('}').split(',');
                all.extend(rest.map(|tail| format!("{head}{tail}")));
            }
            None => all.push(word.into()),
        }
    }
    all
}

#[test]
fn what_our_tables_can_do_ovs_ofctl_reads_beside_what_those_of_open_vswitch_can() {
    let Some(theirs) = Switch::start("tables") else {
        return;
    };
    let ours = Ours::start(&theirs.folder);
    let dump = |target: &str| {
        let dump = ["-O", "OpenFlow13", "dump-table-features", target];
        let output = Command::new("ovs-ofctl").args(dump).output();
        let output = output.expect("ovs-ofctl");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        String::from_utf8(output.stdout).expect("text")
    };
    let (own, other) = (dump(&ours.target()), dump(&theirs.target()));
    for line in ["next tables: 1-3", "instructions (table miss and others):"] {
        assert!(own.contains(line), "{own}");
    }
    let has = |dump: &str, title: &str, wanted: &[&str]| {
        let words = words(dump, title);
        for word in wanted {
            assert!(words.iter().any(|have| have == word), "{word}: {words:?}");
        }
    };
    // What both have, both tell in the same places.
    for dump in [&own, &other] {
        let masked = [
            "metadata", "tun_id", "eth_src", "eth_dst", "vlan_vid", "ip_src", "ip_dst",
        ];
        has(
            dump,
            "instructions:",
            &["meter", "goto_table", "write_metadata"],
        );
        has(
            dump,
            "actions:",
            &["output", "group", "set_field", "push_vlan", "set_queue"],
        );
        has(
            dump,
            "exact match or wildcard:",
            &["eth_type", "vlan_pcp", "ip_dscp", "arp_op"],
        );
        if std::ptr::eq(dump, &own) {
            has(dump, "arbitrary mask:", &masked);
            has(
                dump,
                "arbitrary mask:",
                &["ipv6_label", "arp_sha", "arp_tpa"],
            );
        }
        has(
            dump,
            "supported on Set-Field:",
            &["eth_dst", "tcp_src", "nd_sll", "ip_dst"],
        );
    }
    // Ours masks no ports of TCP, which Open vSwitch does, and sets no metadata by an action.
    assert!(!words(&own, "arbitrary mask:").contains(&"tcp_src".into()));
    assert!(!words(&own, "supported on Set-Field:").contains(&"metadata".into()));

    // And ours reads what both say.
    let shown = |target: &str| {
        let wire = Command::new(env!("CARGO_BIN_EXE_wire"))
            .args([
                "of",
                "ctl",
                "-O",
                "1.3",
                "--json",
                target,
                "dump-table-features",
            ])
            .output();
        let output = wire.expect("wire runs");
        assert!(output.status.success());
        let lines = String::from_utf8(output.stdout).expect("text");
        let tables = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        tables.collect::<Vec<serde_json::Value>>()
    };
    let (own, other) = (shown(&ours.target()), shown(&theirs.target()));
    assert_eq!((own.len(), other.len()), (4, 254));
    for table in own.iter().chain(&other) {
        for property in ["match", "next_tables_miss", "apply_set_field_miss"] {
            assert!(table["properties"][property].is_array(), "{table}");
        }
    }
    assert_eq!(
        own[0]["properties"]["next_tables"],
        serde_json::json!(["1-3"])
    );
    assert_eq!(own[3]["properties"]["next_tables"], serde_json::json!([]));
}
