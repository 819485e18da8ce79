//! Flows are those of tshark, of connections that real programs make and of such whose segments are late, twice or in disorder.

use crate::shell::{Place, can_unshare, has, is_root};
use serde_json::Value;
use std::collections::BTreeMap;

/// Downloads and a connection that is refused, over loopback.
const PROGRAMS: &str = r#"
ip link set lo up
tcpdump -i lo -U -B 65536 --immediate-mode -w t.pcap 2>t.log & dump=$!
mkdir www; head -c 3000000 /dev/urandom >www/a; head -c 2000 /dev/urandom >www/b
busybox httpd -f -p 8080 -h www & http=$!
until grep -q listening t.log && ss -lnt | grep -q :8080; do sleep 0.1; done
for file in a b none; do timeout 60 curl -s --noproxy '*' --limit-rate 2M http://127.0.0.1:8080/$file >/dev/null; done
timeout 60 curl -s --noproxy '*' http://127.0.0.1:9/ >/dev/null
while [ -n "$(ss -Htn state connected exclude time-wait)" ]; do sleep 0.1; done
ping -c 2 127.0.0.1 >/dev/null
until [ "$(tcpdump -r t.pcap icmp 2>/dev/null | wc -l)" -ge 4 ]; do sleep 0.1; done
kill $dump $http
wait
"#;

/// Lines in the order of their dates, where some packets come again 300 ms later, and others change places with the next.
const DAMAGE: &str = r#"
{ line[NR] = $0 }
END {
    for (i = 1; i <= NR; i++) {
        if (i % 13 == 5 && i < NR) {
            stamp = substr(line[i], 1, 20)
            other = substr(line[i + 1], 1, 20)
            print stamp substr(line[i + 1], 21)
            print other substr(line[i], 21)
            i++
        } else print line[i]
    }
}
"#;

fn flows(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    let summary = lines.pop().unwrap();
    assert_eq!(
        (&summary["schema"], &summary["type"]),
        (&"wireline.flows/1".into(), &"summary".into())
    );
    lines
}

/// Packets and bytes each way between two ends of TCP, as `wire flows` has them.
fn ours(flows: &[Value]) -> BTreeMap<[String; 2], [u64; 4]> {
    let number = |value: &Value| value.as_u64().unwrap();
    let mut sums = BTreeMap::new();
    for flow in flows.iter().filter(|flow| flow["protocol"] == 6) {
        let ends =
            [&flow["source"], &flow["destination"]].map(|end| end.as_str().unwrap().to_owned());
        let ways = [
            &flow["there"]["packets"],
            &flow["there"]["bytes"],
            &flow["back"]["packets"],
            &flow["back"]["bytes"],
        ];
        let (ends, counts) = turned(ends, ways.map(number));
        // A SYN behind a reset, as of two that were swapped, begins another connection of the same ends.
        let sum: &mut [u64; 4] = sums.entry(ends).or_default();
        sum.iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
    }
    sums
}

fn turned([a, b]: [String; 2], [p, q, r, s]: [u64; 4]) -> ([String; 2], [u64; 4]) {
    match a <= b {
        true => ([a, b], [p, q, r, s]),
        false => ([b, a], [r, s, p, q]),
    }
}

/// The same of each packet's ends and length, as tshark tells them.
fn theirs(place: &Place, file: &str) -> BTreeMap<[String; 2], [u64; 4]> {
    let fields = "-e ip.src -e tcp.srcport -e ip.dst -e tcp.dstport -e frame.len";
    let told = place
        .run(&format!(
            "tshark -r {file} -Y tcp -T fields {fields} 2>/dev/null"
        ))
        .good();
    let mut flows = BTreeMap::new();
    for line in told.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let ends = [
            format!("{}:{}", words[0], words[1]),
            format!("{}:{}", words[2], words[3]),
        ];
        let (ends, counts) = turned(ends, [1, words[4].parse().unwrap(), 0, 0]);
        let sum: &mut [u64; 4] = flows.entry(ends).or_default();
        counts
            .iter()
            .zip(sum)
            .for_each(|(count, sum)| *sum += count);
    }
    flows
}

/// How many packets tshark marks so.
fn marked(place: &Place, file: &str, what: &str) -> u64 {
    let count =
        format!("tshark -r {file} -Y '{what}' -T fields -e frame.number 2>/dev/null | wc -l");
    place.run(&count).good().trim().parse().unwrap()
}

#[test]
fn flows_of_real_programs_are_those_of_tshark() {
    let test = "the flows of real programs";
    let programs = ["tshark", "tcpdump", "busybox", "curl", "ss", "ping"];
    if !is_root(test)
        || !programs.iter().all(|program| has(program, test))
        || !can_unshare("-n", test)
    {
        return;
    }
    let place = Place::new("flows-programs");
    place.write("programs", PROGRAMS);
    place.write("damage", DAMAGE);
    // On one processor, since two may stamp packets a little out of order.
    place
        .run("unshare -n taskset -c 0 bash programs >programs.log 2>&1; test -s t.pcap")
        .good();
    // Some segments come again, later than any round trip.
    let again = "wire dump t.pcap -f 'tcp port 8080' --skip 20 -o some.pcapng && wire undump some.pcapng | awk 'NR % 5 == 0' \
        | wire dump --shift 0.3 -o again.pcapng && wire dump --merge t.pcap again.pcapng -o again-too.pcapng";
    place.run(again).good();
    place
        .run("wire undump t.pcap | awk -f damage | wire dump -o disorder.pcapng")
        .good();
    for file in ["t.pcap", "again-too.pcapng", "disorder.pcapng"] {
        let told = flows(&place.run(&format!("wire flows {file} --json")).good());
        assert_eq!(ours(&told), theirs(&place, file), "{file}");
        let tcp: Vec<&Value> = told
            .iter()
            .map(|flow| &flow["tcp"])
            .filter(|tcp| tcp.is_object())
            .collect();
        let sum = |key: &str| -> u64 {
            let parts = tcp
                .iter()
                .flat_map(|tcp| ["there", "back"].map(|way| tcp[key][way].as_u64().unwrap()));
            parts.sum()
        };
        assert_eq!(
            sum("retransmissions"),
            marked(&place, file, "tcp.analysis.retransmission"),
            "{file}"
        );
        assert_eq!(
            sum("out_of_order"),
            marked(&place, file, "tcp.analysis.out_of_order"),
            "{file}"
        );
        assert!(
            file == "t.pcap" || sum("retransmissions") + sum("out_of_order") > 0,
            "{file} has nothing to tell"
        );
    }
    // The handshake, to the last digit that tshark has.
    let fields = "-e tcp.srcport -e tcp.dstport -e tcp.analysis.initial_rtt";
    let trips = place
        .run(&format!(
            "tshark -r t.pcap -Y tcp.analysis.initial_rtt -T fields {fields} 2>/dev/null"
        ))
        .good();
    let told = flows(&place.run("wire flows t.pcap --json").good());
    let mut compared = 0;
    for flow in told
        .iter()
        .filter(|flow| flow["tcp"]["handshake_ps"].is_u64())
    {
        let port = flow["source"].as_str().unwrap().rsplit(':').next().unwrap();
        let line = trips
            .lines()
            .find(|line| line.split('\t').take(2).any(|word| word == port));
        let seconds = line.unwrap().split('\t').nth(2).unwrap();
        let ps = flow["tcp"]["handshake_ps"].as_u64().unwrap();
        assert_eq!(format!("0.{:09}", ps / 1_000), seconds);
        compared += 1;
    }
    assert_eq!(compared, 3);
    let states = |told: &[Value]| -> Vec<String> {
        let states = told.iter().filter_map(|flow| flow["tcp"]["state"].as_str());
        states.map(String::from).collect()
    };
    let mut states = states(&told);
    states.sort();
    assert_eq!(states, ["complete", "complete", "complete", "refused"]);
    let table = place.run("wire flows t.pcap --top 1").good();
    assert!(
        table.contains("127.0.0.1:8080 ") && table.contains("complete"),
        "{table}"
    );
    let by_ip = flows(
        &place
            .run("wire cat t.pcap | wire flows --by ip --json")
            .good(),
    );
    assert_eq!(by_ip.len(), 1);
}

#[test]
fn flows_beyond_the_most_are_counted_and_told() {
    let place = Place::new("flows-most");
    place
        .run("wire craft 'ip/udp(dport=1-5)' | wire dump -o five.pcapng")
        .good();
    let all = place.run("wire flows five.pcapng").good();
    assert!(all.starts_with("5 flows, 5 packets, 210 bytes"), "{all}");
    let some = place.run("wire flows five.pcapng --max-flows 2 --json");
    assert_eq!(some.code, Some(1));
    assert!(some.err.contains("3 packets"), "{}", some.err);
    let summary: Value = serde_json::from_str(some.out.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&summary["flows"], &summary["beyond"]["packets"]),
        (&2.into(), &3.into())
    );
    assert_eq!(place.run("wire flows nothing.pcapng").code, Some(2));
    let arp = place.run("wire craft arp | wire flows").good();
    assert!(
        arp.starts_with("0 flows, 0 packets, 0 bytes; 1 packets without"),
        "{arp}"
    );
    assert!(
        place
            .run("wire craft arp | wire flows --by mac")
            .good()
            .contains("02:00:00:00:00:01 > ff:ff")
    );
}

#[test]
fn a_length_below_the_captured_one_counts_the_bytes_that_are_there() {
    let place = Place::new("flows-lengths");
    let (mut file, writer) = (Vec::new(), packet::capture::PcapWriter::NANO);
    writer.header(packet::capture::ETHERNET, 0, &mut file);
    let mut frame = [0; 60];
    frame[12..14].copy_from_slice(&[0x86, 0xDD]);
    frame[14] = 0x60;
    for original_len in [40, 60, 80] {
        writer.cut_packet(1_000, original_len, &frame, &mut file);
    }
    place.write("t.pcap", file);
    for command in ["flows --by mac", "profile"] {
        let out = place.run(&format!("wire {command} --json t.pcap")).out;
        let mut objects = out.lines().map(|line| serde_json::from_str(line).unwrap());
        let summary: Value = objects.next_back().unwrap();
        assert_eq!(summary["bytes"], 60 + 60 + 80, "{command} {summary}");
    }
}
