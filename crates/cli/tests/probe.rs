//! `wire probe` and its server: between namespaces through a token bucket, beside udpst where it is there, and what is said when it does not go well.

use crate::live::pair;
use crate::shell::{Ended, Place, has};
use nodes::bandwidth::capacity::rates::{ROWS, Table};
use packet::udpstp::{MIN_LOAD_LEN, RANDOM_SIZE};
use serde_json::Value;
use std::net::UdpSocket;
use std::process::Command;

/// A port of this machine that nobody has.
fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// A server on loopback, from its first line on, and what a script does meanwhile.
fn beside_a_server(name: &str, options: &str, script: &str) -> (Ended, String) {
    let place = Place::new(name);
    let port = free_port();
    let script = format!(
        "PORT={port}; wire probe --answer --on 127.0.0.1:$PORT {options} > server & until grep -qs answering server; do sleep 0.05; done
         {{ {script}
         }}; code=$?; kill -INT %1 2>/dev/null; wait; exit $code"
    );
    let ended = place.run(&script);
    let server = String::from_utf8_lossy(&place.read("server")).into_owned();
    (ended, server)
}

const BUCKETS: &str = "tbf rate 50mbit burst 32kb latency 50ms";

#[test]
fn the_rate_of_a_token_bucket_is_found_both_ways_and_over_both_versions_of_ip() {
    let test = "capacity through a token bucket";
    let Some([a, b]) = has("tc", test).then(|| pair(test)).flatten() else {
        return;
    };
    for (name, addresses, server, bytes) in [
        ("v4", ["10.88.0.1/24", "10.88.0.2/24"], "10.88.0.2", 1250.0),
        (
            "v6",
            ["fd88::1/64 nodad", "fd88::2/64 nodad"],
            "fd88::2",
            1250.0,
        ),
    ] {
        let place = Place::new(&format!("probe-{name}"));
        let [own, other] = addresses;
        let (client, ended) = std::thread::scope(|scope| {
            let (place, b) = (&place, &b);
            let there = format!(
                "echo 0 > /proc/sys/net/ipv6/conf/w1/disable_ipv6; ip addr add {other} dev w1; tc qdisc replace dev w1 root {BUCKETS}; wire probe --answer --count 2 --json > server"
            );
            let ended = scope.spawn(move || place.run_by(b.command("timeout"), &there));
            let here = format!(
                "echo 0 > /proc/sys/net/ipv6/conf/w0/disable_ipv6; ip addr add {own} dev w0; tc qdisc replace dev w0 root {BUCKETS}; until grep -qs answering server; do sleep 0.05; done
                 wire probe {server} --duration 5s --json --plot rates.svg"
            );
            let client = place.run_by(a.command("timeout"), &here);
            (client, ended.join().unwrap())
        });
        assert_eq!(
            (client.code, client.err.as_str()),
            (Some(0), ""),
            "{client:?}"
        );
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let told = objects(&client.out);
        assert!(told.iter().all(|line| line["schema"] == "wireline.probe/1"));
        // With 14 bytes of Ethernet.
        let truth = 50e6 * bytes / (bytes + 14.0);
        for direction in ["down", "up"] {
            let is =
                |line: &&Value, kind: &str| line["type"] == kind && line["direction"] == direction;
            let intervals = told.iter().filter(|line| is(line, "interval")).count();
            assert_eq!(intervals, 5, "{told:?}");
            let probe = told.iter().find(|line| is(line, "probe")).unwrap();
            let capacity = probe["capacity_bps"].as_f64().unwrap();
            println!(
                "{name} {direction}: {:.2} of {:.2} Mb/s",
                capacity / 1e6,
                truth / 1e6
            );
            // The bucket's depth comes on top in one second; a busy machine may be slower, and never faster.
            assert!((0.5 * truth..1.02 * truth).contains(&capacity), "{probe}");
            assert_eq!(probe["complete"], true, "{probe}");
            assert_eq!(probe["lower_bound"], false, "{probe}");
            assert!(probe["cost_bytes"].as_u64().unwrap() > 5_000_000, "{probe}");
        }
        let served = objects(&String::from_utf8_lossy(&place.read("server")));
        let tests: Vec<_> = served
            .iter()
            .filter(|line| line["type"] == "test")
            .collect();
        assert_eq!(tests.len(), 2, "{served:?}");
        assert!(
            tests.iter().all(|test| test["complete"] == true),
            "{served:?}"
        );
        let picture = String::from_utf8_lossy(&place.read("rates.svg")).into_owned();
        assert!(picture.contains("rate [Mb/s]"));
    }
}

/// Broadband Forum's reference implementation, of the version of RFC 9946.
#[test]
fn it_measures_with_udpst_as_its_server_and_as_its_client() {
    let test = "udpst as the other end";
    let Some([a, b]) = has("udpst", test).then(|| pair(test)).flatten() else {
        return;
    };
    let place = Place::new("probe-udpst");
    std::thread::scope(|scope| {
        let (place, b) = (&place, &b);
        scope.spawn(move || {
            let there = "ip addr add 10.88.0.2/24 dev w1
                udpst > udpst.log 2>&1 & wire probe --answer --any-client --on 10.88.0.2:9999 --count 2 > server; touch ready
                until [ -e done ]; do sleep 0.1; done; kill %1";
            place.run_by(b.command("timeout"), &format!("tc qdisc replace dev w1 root {BUCKETS}; {there}"))
        });
        let here = format!(
            "ip addr add 10.88.0.1/24 dev w0; tc qdisc replace dev w0 root {BUCKETS}; until grep -qs answering server; do sleep 0.05; done
             wire probe 10.88.0.2 --duration 5s --json; code=$?
             for way in -d -u; do udpst -t 5 $way -p 9999 10.88.0.2 | grep Maximum; done; touch done; exit $code"
        );
        let ended = place.run_by(a.command("timeout"), &here);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let told = objects(&ended.out);
        let probes: Vec<_> = told.iter().filter(|line| line["type"] == "probe").collect();
        assert_eq!(probes.len(), 2, "{ended:?}");
        for probe in probes {
            println!("{}", probe["verdict"]);
            assert_eq!(probe["complete"], true, "{probe}");
        }
        let maxima = ended
            .out
            .lines()
            .filter(|line| line.contains("Maximum Mbps"));
        assert_eq!(
            maxima.inspect(|line| println!("{line}")).count(),
            2,
            "{ended:?}"
        );
    });
}

/// Row by row: what a server tells another's client has to be what that would have chosen.
#[test]
fn the_table_of_sending_rates_is_that_of_udpst() {
    if !has("udpst", "the table of udpst") {
        return;
    }
    for (jumbo, traditional) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut command = Command::new("udpst");
        command.arg("-S");
        command.args((!jumbo).then_some("-j"));
        command.args(traditional.then_some("-T"));
        let told = command.output().unwrap().stdout;
        let told = String::from_utf8_lossy(&told);
        let table = Table::new(jumbo, traditional);
        let mut rows = 0;
        for line in told.lines() {
            let Some((index, rest)) = line.split_once(')') else {
                continue;
            };
            let Ok(index) = index.trim().parse() else {
                continue;
            };
            let row = table.row(index);
            let length = |bytes: u32| match bytes & RANDOM_SIZE {
                0 => bytes.to_string(),
                _ => format!("{MIN_LOAD_LEN}-{}", bytes & !RANDOM_SIZE),
            };
            let own = [
                row.interval1.to_string(),
                length(row.payload1),
                row.burst1.to_string(),
                row.interval2.to_string(),
                length(row.payload2),
                row.burst2.to_string(),
                length(row.addon2),
            ];
            let its = rest.split_whitespace().filter(|word| *word != "+").take(7);
            assert!(its.eq(own.iter()), "{line}: {own:?}");
            rows += 1;
        }
        assert_eq!(rows, ROWS, "{told}");
    }
}

#[test]
fn one_server_serves_several_clients_at_once_and_refuses_one_too_many() {
    let ask = "wire probe 127.0.0.1:$PORT --down --duration 5s --rate 2Mb/s --json";
    let (ended, server) = beside_a_server(
        "probe-many",
        "--at-once 2 --json",
        &format!(
            "{ask} > one & p1=$!; {ask} > two & p2=$!; until [ -s one ] && [ -s two ]; do sleep 0.05; done
             {ask}; echo $?; wait $p1 && wait $p2 && cat one two"
        ),
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .err
            .contains("no room for a test more: try again later"),
        "{ended:?}"
    );
    assert!(ended.out.starts_with("2\n"), "{ended:?}");
    let told = objects(&ended.out);
    let probes = told.iter().filter(|line| line["type"] == "probe");
    let complete = probes.filter(|probe| probe["complete"] == true);
    assert_eq!(complete.count(), 2, "{ended:?}");
    let last = objects(&server).pop().unwrap();
    // The third asks again for some seconds.
    let refused = last["refused"].as_u64().unwrap();
    assert_eq!(last["tests"], 2, "{server}");
    assert!((2..20).contains(&refused), "{server}");
}

#[test]
fn ctrl_c_ends_with_a_report_and_the_server_hears_of_it() {
    let (ended, server) = beside_a_server(
        "probe-stop",
        "--json",
        "wire probe 127.0.0.1:$PORT --down --rate 5Mb/s --interval 200ms > told & p=$!
         until [ $(grep -c Mb/s told) -ge 2 ]; do sleep 0.05; done; kill -INT $p; wait $p; code=$?; cat told; ( exit $code )",
    );
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let last = ended.out.lines().last().unwrap();
    assert!(last.starts_with("capacity down: "), "{ended:?}");
    assert!(last.ends_with("; stopped before its time"), "{ended:?}");
    let test = objects(&server)
        .into_iter()
        .find(|line| line["type"] == "test");
    assert_eq!(test.unwrap()["complete"], true, "{server}");
}

#[test]
fn a_server_has_limits_and_a_client_says_that_they_hold() {
    let (ended, _) = beside_a_server(
        "probe-limits",
        "--max-rate 3Mb/s --max-duration 5s",
        "wire probe 127.0.0.1:$PORT --down --duration 20s --quiet --at-least 10Mb/s",
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.err.contains("the server allows 5 s of load, not 20"),
        "{ended:?}"
    );
    assert!(ended.out.contains("in the best second of 5 s"), "{ended:?}");
    // Nothing was congested, so that it says no more than that.
    assert!(ended.out.contains("capacity down: at least"), "{ended:?}");
    assert!(
        ended.err.contains("the path showed no congestion down"),
        "{ended:?}"
    );
    assert!(ended.out.contains("that is below 10 Mb/s"), "{ended:?}");
}

/// All of 127.0.0.0/8 is this machine's: a server at all addresses answers from the one that was asked, which is all that the client hears.
#[test]
fn a_server_answers_from_the_address_that_was_asked_and_one_rate_is_a_lower_bound() {
    let place = Place::new("probe-addresses");
    let port = free_port();
    let ended = place.run(&format!(
        "wire probe --answer --on 0.0.0.0:{port} --count 1 > server & until grep -qs answering server; do sleep 0.05; done
         wire probe 127.0.0.9:{port} --down --rate 2Mb/s --duration 5s --json; code=$?; kill -INT %1 2>/dev/null; wait; exit $code"
    ));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told = objects(&ended.out);
    let probe = told.iter().find(|line| line["type"] == "probe").unwrap();
    assert_eq!(probe["lower_bound"], true, "{probe}");
    let warnings = probe["warnings"].to_string();
    assert!(warnings.contains("at the rate of --rate"), "{warnings}");
}

/// Trains at the rates of a path that carries no more than 20 Mb/s, through a queue of that rate and beside one that is four times as fast.
#[test]
fn trains_find_the_rate_of_a_queue_and_nothing_where_there_is_none() {
    let test = "trains through a queue";
    let Some([a, b]) = has("tc", test).then(|| pair(test)).flatten() else {
        return;
    };
    let place = Place::new("probe-trains");
    std::thread::scope(|scope| {
        let (place, b) = (&place, &b);
        scope.spawn(move || {
            let there = "ip addr add 10.88.0.2/24 dev w1
                wire probe --answer --on 10.88.0.2:9999 > server & until [ -e done ]; do sleep 0.1; done; kill -INT %1; wait";
            place.run_by(b.command("timeout"), there)
        });
        let here = "ip addr add 10.88.0.1/24 dev w0; until grep -qs answering server; do sleep 0.05; done
             tc qdisc replace dev w0 root tbf rate 20mbit burst 3kb latency 300ms
             wire probe 10.88.0.2:9999 --method minprobe --packets 60 --capacity 40Mb/s --samples 2 --json --plot rates.svg; one=$?
             wire probe 10.88.0.2:9999 --method minprobe --packets 60 --capacity 40Mb/s --samples 1 --at-least 100Gb/s --quiet; two=$?
             wire probe 10.88.0.2:9999 --method spruce --capacity 40Mb/s --samples 1 --json >spruce; three=$?
             touch done; exit $((10 * one + two + 1 - three))";
        let ended = place.run_by(a.command("timeout"), here);
        let told = objects(&ended.out);
        let samples = told.iter().filter(|line| line["type"] == "sample");
        assert_eq!(samples.count(), 2, "{ended:?}");
        let is_available = |line: &&Value| line["type"] == "available";
        let available = told.iter().find(is_available).unwrap();
        println!("{available}");
        // Each of 96 trains of 60 is sent, some of them again, behind eight that tell what the bucket lets through.
        assert_eq!(available["trains_sent"], 8 + 2 * 96, "{available}");
        let packets = available["packets"].as_u64().unwrap();
        assert!(packets >= 2 * 5_760, "{available}");
        assert!(
            available["check_bytes"].as_u64().unwrap() >= 8 * 100 * 1_500,
            "{available}"
        );
        if let Some(burst) = available["burst_bytes"].as_f64() {
            // 3 kB less the first packet, which any queue lets through.
            assert!((500.0..2_500.0).contains(&burst), "{available}");
        }
        let spruce = objects(&String::from_utf8_lossy(&place.read("spruce")));
        let how = spruce.iter().find(|line| line["type"] == "sample").unwrap()["how"].to_string();
        assert!(how.contains("at once"), "pairs fit into a bucket: {how}");
        assert!(!place.read("rates.svg").is_empty(), "a picture over time");
        // A machine that is too busy for exact departures has no answer. It is never told that there is more than the queue lets through.
        let answers = available["answers"].as_u64().unwrap();
        let found = available["available_bps"].as_f64();
        assert_eq!(found.is_some(), answers > 0, "{available}");
        assert!(
            found.is_none_or(|found| (2e6..30e6).contains(&found)),
            "{available}"
        );
        // The first is good if there is an answer; the second asks for more than there is.
        let good = if answers > 0 { 1 } else { 11 };
        assert_eq!(ended.code, Some(good), "{ended:?}");
    });
    let served = String::from_utf8_lossy(&place.read("server")).into_owned();
    assert!(served.contains("probes of trains"), "{served}");
}

#[test]
fn what_goes_wrong_is_told_with_its_mend() {
    let place = Place::new("probe-wrong");
    let port = free_port();
    for (script, told) in [
        (
            format!("wire probe 127.0.0.1:{port}"),
            "start `wire probe --answer` there",
        ),
        (
            "wire probe no.such.host.invalid".into(),
            "no host has the name no.such.host.invalid",
        ),
        (
            format!("wire probe 127.0.0.1:{port} --method spruce"),
            "nobody tells of probes",
        ),
        (
            "wire probe 127.0.0.1 --method fast".into(),
            "invalid value 'fast'",
        ),
        ("wire probe 127.0.0.1:0".into(), "a number from 1 to 65535"),
        ("wire probe 127.0.0.1 -6".into(), "has no IPv6 address"),
        (
            "wire probe 127.0.0.1 --duration 3s".into(),
            "--duration is whole seconds, from 5s",
        ),
        (
            "wire probe 127.0.0.1 --trial 1s".into(),
            "--trial is whole milliseconds, from 5ms to 250ms",
        ),
        ("wire probe".into(), "required"),
        (
            "wire probe --answer --on 192.0.2.77".into(),
            "no interface of this machine has that address",
        ),
        (
            "wire probe --answer --on eth0".into(),
            "--on takes an address",
        ),
    ] {
        let ended = place.run(&script);
        assert_eq!(ended.code, Some(2), "{script}: {ended:?}");
        assert!(ended.err.contains(told), "{script}: {ended:?}");
        assert_eq!(ended.out, "", "{script}");
    }
}
