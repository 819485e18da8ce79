//! Relays between real kernels, joined by the lab's links, where root may.

use lab::Options;
use node::random::Random;

/// Runs a lab live; `None` where this user may not, or a program is missing.
fn live(text: &str) -> Option<lab::Report> {
    let has = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
        if !found {
            println!("skipped: there is no {program}");
        }
        found
    };
    if !["python3", "curl", "ping"].into_iter().all(has) {
        return None;
    }
    let lab = lab::parse(text).unwrap();
    crate::live_runs::report(&lab, &Options::default())
}

/// A counter of a node.
fn counter(report: &lab::Report, node: &str, name: &str) -> u64 {
    let nodes = &report.outcome.nodes;
    let node = nodes.iter().find(|found| found.name == node).unwrap();
    let found = node.counters.iter().find(|(known, _)| known == name);
    found
        .unwrap_or_else(|| panic!("{name}: {:?}", node.counters))
        .1
}

/// Two kernels, and what is between them; `a` fetches three megabytes from `b`, and asks where nobody listens.
fn between(middle: &str, last: &str, place: &str) -> String {
    format!(
        "[lab]
duration = '40 s'
[node.a]
kind = 'process'
address = '10.0.0.1/24'
run = [
    'curl -sS --max-time 30 http://10.0.0.2:8000/data | sha256sum; sha256sum - < {place}/data',
    'curl -sS --max-time 30 http://10.0.0.2:8009/ 2>&1 | grep -io -m1 \"could.*connect\"',
    'ping -q -i 0.01 -c 300 -s 300 10.0.0.2',
]
[node.b]
kind = 'process'
address = '10.0.0.2/24'
run = {{ command = 'python3 -m http.server 8000 --directory {place}', listens = 8000 }}
{middle}
[[link]]
ends = ['a.0', '{last}']
rate = '100 Mb/s'
delay = '5 ms'
"
    )
}

/// Runs it in a folder of its own with the data in it; gives the report, and what the commands wrote.
fn fetched(middle: &str, last: &str) -> Option<(lab::Report, Vec<String>)> {
    let folder = std::env::temp_dir().join(format!("wire-relays-{}-{last}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut random = Random::new(1);
    let bytes = (0..3_000_000).map(|_| random.bits() as u8);
    std::fs::write(folder.join("data"), bytes.collect::<Vec<u8>>()).unwrap();
    let text = between(middle, last, &folder.display().to_string());
    let report = live(&text);
    std::fs::remove_dir_all(&folder).unwrap();
    let report = report?;
    let wrote = report.jobs.iter().map(|job| job.output.clone());
    let wrote = wrote.collect();
    Some((report, wrote))
}

/// Both sums that the first command wrote are the same.
fn assert_same(wrote: &str) {
    let sums: Vec<&str> = wrote.lines().collect();
    assert!(
        sums.len() == 2 && sums[0] == sums[1] && sums[0].len() > 60,
        "{wrote}"
    );
}

#[test]
fn real_kernels_speak_through_a_relay_that_splits_their_connection() {
    let middle = "[node.s]
kind = 'split'
bound = '0'
[[link]]
ends = ['s.1', 'b.0']
rate = '50 Mb/s'
delay = '1 ms'
loss = 0.01
";
    let Some((report, wrote)) = fetched(middle, "s.0") else {
        return;
    };
    assert_same(&wrote[0]);
    assert!(!wrote[1].is_empty(), "a refusal is told: {wrote:?}");
    assert_eq!(counter(&report, "s", "split"), 2);
    assert_eq!(counter(&report, "s", "refused"), 1);
    assert!(counter(&report, "s", "back") > 3_000_000);
}

#[test]
fn real_kernels_lose_next_to_nothing_over_two_lossy_ways() {
    let middle = "[node.near]
kind = 'duplicate'
[node.far]
kind = 'duplicate'
[[link]]
ends = ['near.1', 'far.1']
rate = '50 Mb/s'
loss = 0.1
[[link]]
ends = ['near.2', 'far.2']
rate = '50 Mb/s'
delay = '3 ms'
loss = 0.1
[[link]]
ends = ['far.0', 'b.0']
rate = '100 Mb/s'
";
    let Some((report, wrote)) = fetched(middle, "near.0") else {
        return;
    };
    assert_same(&wrote[0]);
    // Of 300 pings one way would lose 57, since each is answered; two ways lose 6, give or take.
    let came = wrote[2].split(" packets transmitted, ").nth(1).unwrap();
    let came: u32 = came.split(' ').next().unwrap().parse().unwrap();
    assert!(came > 275, "{}", wrote[2]);
    // Of both copies of 300 questions 243 arrive; how many acknowledgements a kernel makes is its own affair.
    assert!(counter(&report, "far", "copies") > 200);
    assert_eq!(counter(&report, "far", "restarts"), 0);
}
