//! `wire lab --watch` and its API.

use crate::shell::Place;

const ROW: &str = "\
[lab]
name = 'row'
duration = '5 s'
[topology]
kind = 'linear'
switches = 3
link = { rate = '100 Mb/s', delay = '1 ms' }
[node.h1]
program = [{ run = 'udp', to = 'h3', rate = '1 Mb/s' }]
[node.h3]
program = [{ run = 'sink' }]
";

/// Starts it and waits for its URL; defines `order BODY` and `query SQL`.
const START: &str = "\
wire lab --watch=127.0.0.1:0 lab.toml >report 2>told &
for try in $(seq 100); do grep -q http told && break; sleep 0.1; done
url=$(grep -o 'http://[0-9.:]*' told)
json='Content-Type: application/json'
order() { curl -sS --max-time 10 -H \"$json\" -d \"$1\" $url/api/order; }
query() { curl -sS --max-time 10 -H \"$json\" -d \"{\\\"sql\\\": \\\"$1\\\"}\" $url/api/stream/query; }
";

#[test]
fn a_lab_on_its_page_runs_to_the_report_of_any_other_run() {
    let place = Place::new("watch");
    place.write("lab.toml", ROW);
    let script = format!(
        "{START}
order '{{\"speed\": \"max\"}}'; echo
for try in $(seq 50); do curl -sN --max-time 1 $url/api/events | grep -q '\"ended\":true' && break; done
query 'SELECT max(at) FROM Links' >rows
kill -INT $!; wait $!; echo ended with $?
wire lab lab.toml >other
cmp report other && cat told"
    );
    let out = place.run(&script).good();
    assert!(out.contains("{}\nended with 0\n"), "{out}");
    assert!(out.contains("page of row"), "{out}");
    let rows = String::from_utf8(place.read("rows")).unwrap();
    assert!(rows.contains("\"rows\":[["), "{rows}");
}

#[test]
fn worlds_and_addresses_in_which_nothing_can_be_watched_are_refused() {
    let place = Place::new("watch-refused");
    place.write("lab.toml", ROW);
    for (arguments, why) in [
        // The file is not taken for the address.
        ("--watch lab.toml --world live", "add --world sim"),
        ("--watch=0.0.0.0:0 lab.toml", "not a loopback address"),
        ("--watch=nowhere lab.toml", "invalid socket address"),
        (
            "--watch --sweep lab.seed=1,2 lab.toml",
            "cannot be used with",
        ),
    ] {
        let ended = place.run(&format!("wire lab --dry {arguments} 2>&1; test $? -ne 0"));
        let told = ended.good();
        assert!(told.contains(why), "{arguments}: {told}");
    }
}
