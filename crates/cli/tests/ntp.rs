//! NTP beside tshark, which reads what clocks say, and chronyd, as a server and as a client. It never sets the machine's clock: `-x`, `-Q`.

use crate::shell::{Place, has};
use live::netns::Namespace;
use serde_json::Value;

#[test]
fn what_clocks_say_is_ntp_to_tshark() {
    if !has("tshark", "reading NTP") {
        return;
    }
    let place = Place::new("ntp");
    place.write(
        "lab.toml",
        "[lab]\nduration = '20 s'\n[node.s]\nkind = 'ntp'\nstratum = 3\nclock.start = '5 s'\n\
         [node.c]\nkind = 'ntp'\naddress = '198.18.0.2'\nmac = '02:00:00:00:00:02'\nserver = '198.18.0.1'\nmin_poll = 0\nmax_poll = 0\n\
         [[link]]\nends = ['c.0', 's.0']\ndelay = '1 ms'\n[[capture]]\nat = ['c.0', 's.0']\nfile = 'all.pcapng'\n",
    );
    place.run("wire lab lab.toml").good();
    let fields = "tshark -r all.pcapng -Y udp -T fields -E separator=/t -e ntp.flags.mode -e ntp.stratum -e ntp.flags.vn \
                  -e ntp.refid -e udp.checksum.status -e _ws.malformed -o udp.check_checksum:TRUE 2>/dev/null";
    let told = place.run(fields).good();
    let rows: Vec<Vec<&str>> = told
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert!(rows.len() > 30, "{told}");
    assert!(
        rows.iter()
            .all(|row| row[2] == "4" && row[4] == "1" && row[5].is_empty()),
        "{told}"
    );
    let answers: Vec<_> = rows.iter().filter(|row| row[0] == "4").collect();
    assert!(answers.len() > 15, "{told}");
    assert!(
        answers
            .iter()
            .all(|row| row[1] == "3" && row[3] == "4c4f434c"),
        "{told}"
    );
}

/// Two namespaces and the veth pair w0 - w1 between them, where there is chronyd; w1 has the address 10.9.0.2.
fn pair(place: &Place, test: &str) -> Option<[Namespace; 2]> {
    let pair = has("chronyd", test)
        .then(|| crate::live::pair(test))
        .flatten()?;
    place.write("chrony.conf", conf(place, ""));
    let set = place.run_by(pair[1].command("timeout"), "ip addr add 10.9.0.2/24 dev w1");
    assert_eq!(set.code, Some(0), "{set:?}");
    Some(pair)
}

/// Chronyd takes away what stands where its pidfile is to be.
fn conf(place: &Place, more: &str) -> String {
    format!(
        "cmdport 0\npidfile {}/chrony.pid\n{more}",
        place.path.display()
    )
}

/// A clock of ours at w0 for some seconds, while `theirs` runs at w1: the report, and what that said.
fn beside(place: &Place, [a, b]: &[Namespace; 2], ours: &str, theirs: &str) -> (Value, String) {
    let ended = std::thread::scope(|scope| {
        scope.spawn(move || place.run_by(b.command("timeout"), theirs));
        let script = format!(
            "wire run ntp --on w0 --duration 12s --json --set address=\\\"10.9.0.1\\\" {ours}"
        );
        place.run_by(a.command("timeout"), &script)
    });
    let log = String::from_utf8_lossy(&place.read("chrony.log")).into_owned();
    let line = ended.out.lines().find(|line| line.starts_with('{'));
    let line = line.unwrap_or_else(|| panic!("{ended:?}"));
    (serde_json::from_str(line).unwrap(), log)
}

#[test]
fn chronyd_is_the_server_of_a_clock_on_a_live_port() {
    let place = Place::new("chronyd-server");
    let Some(pair) = pair(&place, "a clock whose server is chronyd") else {
        return;
    };
    place.write("chrony.conf", conf(&place, "local stratum 4\nallow\n"));
    let theirs = "timeout 15 chronyd -x -d -u root -f $PWD/chrony.conf > chrony.log 2>&1";
    let ours = "--set server=\\\"10.9.0.2\\\" --set min_poll=-2 --set max_poll=-2";
    let (report, log) = beside(&place, &pair, ours, theirs);
    let node = &report["nodes"][0];
    let clock = &node["clock"];
    assert_eq!(clock["protocol"], "ntp");
    assert_eq!(
        clock["state"], "client of 10.9.0.2, synchronised",
        "{report}\n{log}"
    );
    let count = |name: &str| node["counters"][name].as_u64().unwrap_or(0);
    assert!(count("replies_received") > 16, "{report}\n{log}");
    assert!(count("used") > 1 && count("unusable") == 0, "{report}");
    // It began decades behind, and was set: what is left is far less than that, and within what the protocol allows.
    let offset = clock["offset"]["last_ps"].as_i64();
    if let Some(offset) = offset {
        assert!(offset.abs() < 1_000_000_000_000, "{report}");
    }
    assert!(clock["bound_ps"].as_u64() > Some(0), "{report}");
}

#[test]
fn a_clock_on_a_live_port_is_the_server_of_chronyd() {
    let place = Place::new("chronyd-client");
    let Some(pair) = pair(&place, "a clock whose client is chronyd") else {
        return;
    };
    let theirs = "timeout 15 chronyd -Q -d -u root -t 10 -f $PWD/chrony.conf 'server 10.9.0.1 iburst' > chrony.log 2>&1";
    let (report, log) = beside(&place, &pair, "--set stratum=2", theirs);
    let node = &report["nodes"][0];
    assert_eq!(node["clock"]["state"], "server of stratum 2");
    let count = |name: &str| node["counters"][name].as_u64().unwrap_or(0);
    assert!(count("replies_sent") > 1, "{report}\n{log}");
    assert_eq!(count("replies_sent"), count("requests_received"));
    // It has believed what it heard, and only says so.
    assert!(log.contains("System clock wrong by"), "{report}\n{log}");
}
