//! Live ports in `cat`, `dump`, `cut`, `flows` and `profile`: one, and all interfaces at once.

use crate::shell::{Place, can_unshare, has, is_root};
use std::path::Path;

/// A machine with the loopback, two pairs of veth interfaces to two hosts, and a tunnel interface without Ethernet.
const MACHINE: &str = r#"
ip link set lo up
hosts=
for n in 1 2; do
    ip link add v$n type veth peer name e$n
    unshare -n sleep 60 & host=$!; hosts="$hosts $host"
    until [ "$(readlink /proc/$host/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
    ip link set e$n netns $host
    ip addr add 10.9.$n.1/24 dev v$n; ip link set v$n up
    nsenter -n -t $host ip addr add 10.9.$n.2/24 dev e$n; nsenter -n -t $host ip link set e$n up
done
# Writes an IP packet into tun0 each time a line comes in.
cat >tun.py <<'END'
import fcntl, os, struct, sys
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", b"tun0", 0x1001))
os.system("ip addr add 10.9.9.1/24 dev tun0; ip link set tun0 up")
open("tun.up", "w").close()
for line in sys.stdin:
    os.write(tun, bytes.fromhex("4500001c00010000401164cd0a0909020a09090100350035000864a9"))
END
mkfifo tun.in; python3 tun.py <tun.in & tun=$!
exec 9>tun.in
until [ -e tun.up ]; do sleep 0.05; done
# All who listen do so, as many as there are.
listening() { until [ $(wc -l </proc/self/net/packet) -gt $1 ]; do sleep 0.05; done; }
traffic() {
    ping -c 3 -i 0.2 10.9.1.2 >/dev/null; ping -c 2 -i 0.2 10.9.2.2 >/dev/null; ping -c 1 127.0.0.1 >/dev/null
    echo >&9
    # One that comes late, and goes.
    ip link add late type veth peer name later; ip addr add 10.9.3.1/24 dev late
    ip link set late up; ip link set later up
    ping -c 1 -W 1 10.9.3.2 >/dev/null; ip link del late
    sleep 0.5
}
"#;
const OVER: &str = "\nexec 9>&-; kill $hosts $tun 2>/dev/null; wait 2>/dev/null; exit 0\n";

/// Runs a script on such a machine; `None` where that cannot be.
fn machine(name: &str, test: &str, programs: &[&str], script: &str) -> Option<Place> {
    let tun = Path::new("/dev/net/tun").exists();
    let all = ["ping", "python3", "ip"].iter().chain(programs);
    if !is_root(test) || !tun || !all.into_iter().all(|it| has(it, test)) {
        println!("skipped: {test} needs root, /dev/net/tun and these programs");
        return None;
    }
    if !can_unshare("-n", test) {
        return None;
    }
    let place = Place::new(name);
    place.write("script", format!("{MACHINE}{script}{OVER}"));
    let ended = place.run("unshare -n bash script 2>script.err");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    Some(place)
}

/// Each packet's interface, direction, date and bytes, sorted.
fn told(place: &Place, script: &str) -> Vec<String> {
    let told = place.run(script).good();
    let mut lines: Vec<String> = told.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn all_interfaces_together_give_what_tcpdump_sees_by_name_direction_and_nanosecond() {
    let script = r#"
        tcpdump -i any --time-stamp-precision=nano -U --immediate-mode -w theirs.pcap 2>theirs.err & dump=$!
        # It opens and closes sockets before it listens.
        until grep -q listening theirs.err; do sleep 0.05; done
        wire dump any -o ours.pcapng 2>ours.err & ours=$!
        wire cat any --filter 'icmp and host 10.9.1.2' --text >text 2>text.err & text=$!
        listening 3
        ip -o link | sed 's/^\([0-9]*\): \([^:@]*\).*/\1 \2/' >names
        traffic
        ip -o link >/dev/null
        kill -INT $dump $ours $text; wait $dump $ours $text"#;
    let test = "all interfaces beside tcpdump";
    let Some(place) = machine("any", test, &["tcpdump", "tshark"], script) else {
        return;
    };
    // An SLL2 header names the interface by its number, and the kind of packet; pcapng says both in words of its own.
    let theirs = told(
        &place,
        r#"tshark -r theirs.pcap -Y 'ip or arp' -T fields -E separator=' ' -e sll.ifindex -e sll.pkttype -e frame.time_epoch -e ip.src -e ip.dst -e ip.id -e icmp.seq -e arp.opcode 2>/dev/null |
        awk 'NR == FNR { name[$1] = $2; next } $1 in name { way = $2 == 4 ? "out" : "in"; $1 = name[$1]; $2 = way; print }' names -"#,
    );
    let ours = told(
        &place,
        r#"tshark -r ours.pcapng -Y 'ip or arp' -T fields -E separator=' ' -e frame.interface_name -e frame.packet_flags_direction -e frame.time_epoch -e ip.src -e ip.dst -e ip.id -e icmp.seq -e arp.opcode 2>/dev/null |
        awk 'NR == FNR { known[$2] = 1; next } $1 in known { $2 = $2 ~ /2$/ ? "out" : "in"; print }' names -"#,
    );
    assert_eq!(ours, theirs);
    for (interface, way) in [
        ("v1", "in"),
        ("v1", "out"),
        ("v2", "in"),
        ("v2", "out"),
        ("lo", "in"),
        ("tun0", "in"),
    ] {
        let start = format!("{interface} {way} ");
        assert!(
            ours.iter().any(|line| line.starts_with(&start)),
            "{start}: {ours:#?}"
        );
    }
    // Interfaces that come later are there as well, with their names.
    let kinds = place
        .run("tshark -r ours.pcapng -T fields -e frame.interface_name -e frame.encap_type 2>/dev/null | sort -u")
        .good();
    assert!(kinds.contains("late\t1\n"), "{kinds}");
    assert!(kinds.contains("tun0\t210\n"), "{kinds}");
    // What has no Ethernet header is read back with one, and fits a filter.
    let tun = place.run("wire cut ip.src,ip.dst,sport ours.pcapng --filter 'src 10.9.9.2'");
    assert_eq!(tun.out, "10.9.9.2 10.9.9.1 53\n", "{tun:?}");
    assert!(tun.err.contains("no Ethernet header"), "{}", tun.err);
    let kept = place.run("wire dump ours.pcapng --filter 'src 10.9.9.2' | tshark -r - -T fields -e frame.interface_name -e frame.len 2>/dev/null");
    assert_eq!(kept.out, "tun0\t48\n", "{kept:?}");
    let text = String::from_utf8(place.read("text")).unwrap();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert_eq!(text.matches(" v1 out ").count(), 3, "{text}");
    assert_eq!(text.matches(" v1 in ").count(), 3, "{text}");
    // A file tells the same as the port did.
    let again = place
        .run("wire cat ours.pcapng --filter 'icmp and host 10.9.1.2' --json")
        .out;
    assert_eq!(
        again
            .matches(r#""interface":"v1","direction":"out""#)
            .count(),
        3,
        "{again}"
    );
}

#[test]
fn fields_flows_and_profiles_of_ports_are_those_of_a_capture_of_the_same() {
    let script = r#"
        mkdir www; head -c 300000 /dev/zero >www/a
        nsenter -n -t ${hosts%% *} true
        set -- $hosts; nsenter -n -t $1 busybox httpd -f -p 80 -h www & http=$!
        until nsenter -n -t $1 ss -lnt | grep -q ':80 '; do sleep 0.05; done
        wire dump v1 -o v1.pcapng 2>/dev/null & a=$!
        wire cut ip.src,ip.dst,tcp.srcport,tcp.flags.syn,http.request.method v1 --filter tcp >cut 2>cut.err & b=$!
        wire cut ip.src,tcp.flags.fin any --command 'grep " 1$"' --filter 'tcp and src 10.9.1.2' >fins 2>fins.err & c=$!
        wire flows any --filter 'tcp or icmp' --json >flows 2>flows.err & d=$!
        wire profile any --filter tcp --json >profile 2>profile.err & e=$!
        wire profile v1 v2 --filter icmp --json >two 2>two.err & f=$!
        (wire cut time,ip.src v1 --filter tcp -c 1 >first 2>first.err; echo $? >first.code) &
        listening 13
        for n in 1 2; do timeout 10 curl -s --noproxy '*' http://10.9.1.2/a >/dev/null; done
        ping -c 2 -i 0.2 10.9.2.2 >/dev/null
        sleep 0.5
        kill -INT $a $b $c $d $e $f; wait $a $b $c $d $e $f; kill $http"#;
    let test = "fields and flows of ports";
    let programs = ["busybox", "curl", "ss", "nsenter"];
    let Some(place) = machine("ports-fields", test, &programs, script) else {
        return;
    };
    let read = |name: &str| String::from_utf8(place.read(name)).unwrap();
    // v1 gives what it receives, which is what the server sent.
    let fields = "ip.src,ip.dst,tcp.srcport,tcp.flags.syn,http.request.method";
    let captured = place
        .run(&format!("wire cut {fields} v1.pcapng --filter tcp"))
        .good();
    assert_eq!(read("cut"), captured);
    assert!(
        captured.contains("10.9.1.2 10.9.1.1 80 1 -\n"),
        "{captured}"
    );
    assert_eq!(read("cut.err"), "");
    assert_eq!(read("first.code"), "0\n");
    assert_eq!(read("first").lines().count(), 1);
    // Whole packets that the command let through: a FIN of each connection.
    assert_eq!(read("fins").lines().count(), 2, "{}", read("fins.err"));
    let flows: Vec<serde_json::Value> = read("flows")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |protocol: u64| {
        let of = flows
            .iter()
            .filter(move |flow| flow["protocol"] == protocol);
        of.collect::<Vec<_>>()
    };
    assert_eq!((of(6).len(), of(1).len()), (2, 1), "{flows:#?}");
    for flow in of(6) {
        assert!(flow["back"]["bytes"].as_u64().unwrap() > 300_000, "{flow}");
    }
    assert_eq!(of(1)[0]["there"]["packets"], 2);
    let life = read("flows.err");
    assert_eq!(life, "wire: listening on any, until Ctrl-C\n");
    let names = |file: &str| -> Vec<(String, u64)> {
        let lines = read(file);
        let objects = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut names: Vec<_> = objects
            .map(|it| {
                (
                    it["name"].as_str().unwrap().to_owned(),
                    it["packets"].as_u64().unwrap(),
                )
            })
            .collect();
        names.sort();
        names
    };
    let counted = captured.lines().count() as u64;
    let profiled = names("profile");
    assert_eq!(profiled[0], ("v1 in".into(), counted), "{profiled:?}");
    assert_eq!(profiled[1].0, "v1 out");
    assert_eq!(profiled.len(), 2, "{profiled:?}");
    assert_eq!(names("two"), [("v1".into(), 0), ("v2".into(), 2)]);
}

#[test]
fn an_interface_is_heard_in_the_directions_that_are_asked_for() {
    let script = r#"
        wire cut ip.src v1 --filter icmp -c 2 >in 2>in.err & a=$!
        wire cut ip.src v1 -Q out --filter icmp -c 2 >out 2>out.err & b=$!
        wire cut ip.src v1 --direction inout --filter icmp -c 4 >both 2>both.err & c=$!
        wire dump v1 -Q inout --filter icmp -c 4 -o both.pcapng 2>dump.err & d=$!
        wire flows v1 --filter icmp -c 4 --json >flows 2>flows.err & e=$!
        listening 6
        ping -c 2 -i 0.2 10.9.1.2 >/dev/null
        wait $a $b $c $d $e"#;
    let test = "directions of a port";
    let Some(place) = machine("ports-directions", test, &["ss"], script) else {
        return;
    };
    let read = |name: &str| String::from_utf8(place.read(name)).unwrap();
    assert_eq!(read("in"), "10.9.1.2\n".repeat(2), "{}", read("in.err"));
    assert_eq!(read("out"), "10.9.1.1\n".repeat(2), "{}", read("out.err"));
    assert_eq!(read("both"), "10.9.1.1\n10.9.1.2\n".repeat(2));
    let life = read("dump.err");
    assert!(life.starts_with("wire: listening on v1, "), "{life}");
    let told = place.run("wire cat both.pcapng --json").good();
    assert_eq!(told.matches("\"direction\":\"out\"").count(), 2, "{told}");
    let flow: serde_json::Value =
        serde_json::from_str(read("flows").lines().next().unwrap()).unwrap();
    assert_eq!(
        (&flow["there"]["packets"], &flow["back"]["packets"]),
        (&2.into(), &2.into()),
        "{flow}"
    );
    // Other ports have one direction.
    let refused = place.run("wire cat dummy -Q out -c 1");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("leave `--direction` out"),
        "{}",
        refused.err
    );
}

#[test]
fn all_interfaces_only_receive() {
    let place = Place::new("any-receives");
    for script in [
        "wire craft arp | wire send any",
        "wire gen any --count 1",
        "wire run switch --on any lo",
    ] {
        let ended = place.run(script);
        assert_eq!(ended.code, Some(2), "{script}: {ended:?}");
        assert!(
            ended.err.contains("name the one that is to send"),
            "{script}: {}",
            ended.err
        );
    }
}

#[test]
fn a_port_is_written_as_a_ring_of_files_named_by_their_times() {
    let script = r#"
        ping -i 0.1 -c 45 10.9.1.2 >/dev/null & ping=$!
        wire cat v1 -o ring-%s.pcapng -G 1 -W 3 --duration 4.5 2>ring.err; echo $? >ring.code
        wait $ping"#;
    let Some(place) = machine("ring-live", "a ring of a port", &[], script) else {
        return;
    };
    assert_eq!(place.read("ring.code"), b"0\n");
    let mut names = place.names();
    names.retain(|name| name.starts_with("ring-"));
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    let seconds = names.iter().map(|name| {
        // Where the machine pauses, two may begin in one second: then the later one has a number behind it.
        let digits = name.trim_start_matches("ring-").split(['-', '.']).next();
        digits.unwrap().parse::<u64>().unwrap()
    });
    for (name, second) in names.iter().zip(seconds) {
        let dates = place
            .run(&format!(
                "wire cat {name} --time utc | cut -c1-19 | head -1"
            ))
            .good();
        let began = place
            .run(&format!("date -u -d @{second} +%Y-%m-%dT%H:%M:%S"))
            .good();
        assert_eq!(dates, began, "{name}");
    }
}

#[test]
fn rings_of_cat_and_dump_are_the_same_files_and_sizes_and_times_have_units() {
    let place = Place::new("ring-both");
    place
        .run("wire gen --count 40 --gap 100ms --size 1000 | wire dump --epoch 1700000000000000000 -o all.pcapng")
        .good();
    for (index, flags) in [
        "-C 10kB -W 2",
        "-C 16KiB",
        "-G 1",
        "-G 1500ms",
        "-G 1 -C 4k",
        "--split 7 -W 3",
        "-s 20 -C 1k",
    ]
    .iter()
    .enumerate()
    {
        place.run(&format!("mkdir c{index} d{index}; wire cat all.pcapng -o c{index}/f.pcapng {flags} && wire dump all.pcapng -o d{index}/f.pcapng {flags} && for f in c{index}/* d{index}/*; do cmp <(wire cat --json c{index}/${{f##*/}} 2>&1 | sed 's/^wire: .*\\///') <(wire cat --json d{index}/${{f##*/}} 2>&1 | sed 's/^wire: .*\\///') || exit; done")).good();
        let count = place.run(&format!("ls c{index} | wc -l")).good();
        let expected = ["2", "3", "4", "3", "16", "3", "3"][index];
        assert_eq!(count.trim(), expected, "{flags}");
    }
    // Bare numbers are tcpdump's: millions of bytes, and seconds.
    place.run("wire cat all.pcapng -o mega.pcapng -C 1").good();
    assert!(place.names().contains(&"mega-00001.pcapng".into()));
    assert!(!place.names().contains(&"mega-00002.pcapng".into()));
    // Dates in names are those of packets, here; two of one name are told apart.
    place
        .run("TZ=Asia/Tokyo wire dump all.pcapng -o t-%H%M%S.pcapng -G 1 && TZ=UTC wire dump all.pcapng -o m-%H%M.pcapng -G 1")
        .good();
    let mut names = place.names();
    names.retain(|name| name.starts_with("t-") || name.starts_with("m-"));
    names.sort();
    assert_eq!(
        names,
        [
            "m-2213-00002.pcapng",
            "m-2213-00003.pcapng",
            "m-2213-00004.pcapng",
            "m-2213.pcapng",
            "t-071320.pcapng",
            "t-071321.pcapng",
            "t-071322.pcapng",
            "t-071323.pcapng"
        ]
    );
    for (script, why) in [
        ("wire cat all.pcapng -G 1", "add -o FILE"),
        (
            "wire cat all.pcapng -o x -W 3",
            "--keep is for files that are split",
        ),
        ("wire cat all.pcapng -o x -C 0", "such as 100 for 100 MB"),
        ("wire cat all.pcapng -o x -G 0", "such as 60 or 1h"),
        ("wire cat all.pcapng -o x -C 5parsecs", "KiB"),
        (
            "wire cat all.pcapng -o x%!.pcapng -G 1",
            "not a name by dates",
        ),
        ("wire cat all.pcapng -o x --text", "cannot be used with"),
        ("wire cat all.pcapng -o all.pcapng", "all.pcapng"),
        ("wire dump all.pcapng -C 1", "name them by -o FILE"),
        (
            "wire dump any --merge -o x",
            "--merge and --summary are for files",
        ),
    ] {
        let ended = place.run(script);
        assert_eq!(ended.code, Some(2), "{script}: {ended:?}");
        assert!(ended.err.contains(why), "{script}: {}", ended.err);
    }
    assert!(!place.names().contains(&"x".into()));
}

#[test]
fn other_text_becomes_a_capture_in_one_step() {
    let place = Place::new("dump-from");
    place
        .run("wire craft 'ip/udp(dport=1-3)' >l && wire cat l --json >j && wire dump l -o l.pcapng")
        .good();
    place
        .run("wire cat j -o j.pcapng && wire dump j -o k.pcapng && for f in j k; do cmp <(wire cat --no-time $f.pcapng) <(wire cat --no-time l) || exit; done")
        .good();
}
