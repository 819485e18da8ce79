//! Packets from header words: what tshark reads of them, and what a real kernel answers.

use crate::shell::{Place, can_unshare, has, is_root};
use serde_json::Value;

/// Two hosts and a name server in the second; what is behind runs in the first.
const HOSTS: &str = r#"
ip link add va type veth peer name vb
ip link set lo up
unshare -n sleep 60 & far=$!
until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link set vb netns $far
in_far() { nsenter -n -t $far "$@"; }
ip addr add 10.8.0.1/24 dev va; ip link set va up
ip addr add fd08::1/64 dev va nodad
in_far ip link set lo up
in_far ip addr add 10.8.0.2/24 dev vb; in_far ip link set vb up
in_far ip addr add fd08::2/64 dev vb nodad
nsenter -n -t $far dnsmasq --no-daemon --conf-file=/dev/null --no-resolv --no-hosts --pid-file= --address=/a.test/10.1.2.3 >/dev/null 2>&1 & dns=$!
nsenter -n -t $far busybox httpd -f -p 80 -h . >/dev/null 2>&1 & http=$!
until in_far ss -lnt | grep -q ':80 ' && in_far ss -lnu | grep -q ':53 '; do sleep 0.1; done
"#;
const OVER: &str = "\nkill $dns $http $far 2>/dev/null; wait 2>/dev/null; exit 0\n";

#[test]
fn what_is_crafted_is_what_tshark_reads_and_its_checksums_are_good() {
    if !has("tshark", "crafted packets are read by it") {
        return;
    }
    let place = Place::new("craft-tshark");
    let check = "-o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE";
    for (text, fields, told) in [
        (
            "ip(dst=10.0.0.9,ttl=3)/tcp(dport=50000,flags=SA,mss=1460,ts=7:8)/\"x\"",
            "ip.dst ip.ttl tcp.dstport tcp.flags tcp.options.mss_val tcp.options.timestamp.tsval",
            "10.0.0.9\t3\t50000\t0x0012\t1460\t7",
        ),
        (
            "ip/udp/dns(name=a.test,type=AAAA,id=7)",
            "dns.qry.name dns.qry.type dns.id",
            "a.test\t28\t0x0007",
        ),
        (
            "vlan(id=7)/ipv6(dst=fd00::9,hlim=5)/icmpv6(id=1,seq=2)",
            "vlan.id ipv6.dst ipv6.hlim icmpv6.echo.sequence_number",
            "7\tfd00::9\t5\t2",
        ),
        (
            "arp(op=is-at,psrc=10.0.0.3)",
            "arp.opcode arp.src.proto_ipv4",
            "2\t10.0.0.3",
        ),
        (
            "ip/udp/vxlan(vni=99)/eth/ip(src=10.9.9.9)/icmp",
            "vxlan.vni ip.src icmp.type",
            "99\t10.0.0.1,10.9.9.9\t8",
        ),
        (
            "mpls(label=100)/ip/gre(key=5)/ip/udp",
            "mpls.label gre.key udp.dstport",
            "100\t0x00000005\t9",
        ),
    ] {
        place.write("template", text);
        place
            .run("wire craft \"$(cat template)\" | wire dump -o c.pcapng")
            .good();
        let wanted: String = fields
            .split(' ')
            .map(|field| format!(" -e {field}"))
            .collect();
        let read = place
            .run(&format!(
                "tshark -r c.pcapng {check} -T fields {wanted} 2>/dev/null"
            ))
            .good();
        assert_eq!(read.trim_end(), told, "{text}");
        let bad = place.run(&format!("tshark -r c.pcapng {check} -Y '_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 || icmp.checksum.status == 0' 2>/dev/null")).good();
        assert_eq!(bad, "", "{text}");
    }
    assert_eq!(
        place
            .run("wire craft 'ip(dst=10.0.0.0/30)/udp(dport=[1,5-6])' | sort -u | wc -l")
            .good(),
        "12\n"
    );
}

#[test]
fn a_mistake_in_a_template_is_shown_with_a_caret() {
    let place = Place::new("craft-mistake");
    let ended = place.run("wire craft 'ip(ttl=300)/udp'");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.ends_with("  ip(ttl=300)/udp\n         ^^^\n"),
        "{}",
        ended.err
    );
}

#[test]
fn a_kernel_answers_what_is_asked_and_silence_is_told() {
    let test = "the answers of a kernel";
    let programs = ["unshare", "nsenter", "dnsmasq", "busybox", "ss"];
    if !is_root(test)
        || !programs.iter().all(|program| has(program, test))
        || !can_unshare("-n", test)
    {
        return;
    }
    let place = Place::new("craft-ask");
    let asks = [
        ("arp", "arp(pdst=10.8.0.2)"),
        ("ping", "ip(dst=10.8.0.2)/icmp(id=5,seq=[1,2])/\"hello\""),
        ("ping6", "ipv6(dst=fd08::2)/icmpv6(id=5,seq=1)"),
        ("open", "ip(dst=10.8.0.2)/tcp(sport=4001,dport=80,flags=S)"),
        (
            "closed",
            "ip(dst=10.8.0.2)/tcp(sport=4002,dport=81,flags=S)",
        ),
        (
            "dns",
            "ip(dst=10.8.0.2)/udp(sport=4003)/dns(name=a.test,id=77)",
        ),
        (
            "unreachable",
            "ip(dst=10.8.0.2)/udp(sport=4004,dport=9999)/\"x\"",
        ),
        (
            "silent",
            "ip(dst=10.8.0.2)/tcp(sport=4005,dport=80,flags=none)",
        ),
        ("nobody", "ip(dst=10.8.0.77)/icmp"),
    ];
    let mut script = HOSTS.to_string();
    for (name, template) in asks {
        script += &format!(
            "wire craft '{template}' --ask va --timeout 2s --json >{name} 2>{name}.err; echo $? >{name}.code\n"
        );
    }
    place.write("script", script + OVER);
    let ended = place.run("unshare -n bash script");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let read = |name: &str| String::from_utf8(place.read(name)).unwrap();
    let lines = |name: &str| -> Vec<Value> {
        assert_eq!(read(&format!("{name}.err")), "", "{name}");
        read(name)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    for (name, expected, answers) in [
        ("arp", "ARP 10.8.0.2 is at", 1),
        ("ping", "ICMP echo reply id 5", 2),
        ("ping6", "ICMPv6 echo reply id 5", 1),
        ("open", "TCP S. ", 1),
        ("closed", "TCP R. ", 1),
        ("dns", "10.8.0.2:53 > 10.8.0.1:4003 UDP", 1),
        ("unreachable", "ICMP unreachable, code 3", 1),
    ] {
        let told = lines(name);
        assert_eq!(read(&format!("{name}.code")), "0\n", "{name}: {told:?}");
        let answer = told[0]["answer"].as_str().unwrap();
        assert!(answer.contains(expected), "{name}: {answer}");
        let summary = told.last().unwrap();
        assert_eq!(
            (&summary["answered"], &summary["unanswered"]),
            (&answers.into(), &0.into()),
            "{name}"
        );
        assert!(summary["rtt_min_ns"].as_u64().unwrap() > 0, "{name}");
    }
    let told = lines("silent");
    assert_eq!(
        (&told[0]["type"], read("silent.code")),
        (&"unanswered".into(), "1\n".into())
    );
    assert_eq!(read("nobody.code"), "2\n");
    assert!(
        read("nobody.err").contains("nobody on va answers for 10.8.0.77"),
        "{}",
        read("nobody.err")
    );
}
