//! Clocks that NTP sets, in simulated time: what they believe, and what is true.

use super::{clock, counter, is_held, node, run};

/// A server, and a client that is 40 ppm fast and 3 s ahead, 5 us apart.
const PAIR: &str = r#"
[lab]
duration = "4 h"

[node.s]
kind = "ntp"
address = "10.0.0.1"
mac = "02:00:00:00:00:01"

[node.c]
kind = "ntp"
address = "10.0.0.2"
mac = "02:00:00:00:00:02"
server = "10.0.0.1"
min_poll = 4
max_poll = 6
clock = { ppm = 40.0, start = "3 s" }
settle = "2 h"

[[link]]
ends = ["s.0", "c.0"]
rate = "10 Gb/s"
delay = "5 us"
"#;

#[test]
fn a_client_finds_the_time_of_its_server_and_keeps_it() {
    let nodes = run(PAIR);
    let client = clock(&nodes, "c");
    assert_eq!(client.state, "client of 10.0.0.1, synchronised");
    assert_eq!(clock(&nodes, "s").state, "server of stratum 1");
    assert_eq!(counter(&nodes, "c", "steps"), 2);
    assert!(
        // The server writes when its answer leaves before the preamble does: 6.4 ns.
        (client.delay_ps.unwrap() - 5_003_200).abs() < 1_000,
        "{client:?}"
    );
    is_held(client, 100_000);
    assert!(client.offset.count > 20, "{client:?}");
    // It asked every 16 s, and then every 64 s; each request was answered and none is under way.
    assert_eq!(counter(&nodes, "c", "poll_ps"), 64_000_000_000_000);
    let asked = counter(&nodes, "c", "requests_sent");
    assert!((220..600).contains(&asked), "{asked}");
    for (name, of) in [
        ("c", "replies_received"),
        ("s", "replies_sent"),
        ("s", "requests_received"),
    ] {
        assert_eq!(counter(&nodes, name, of), asked, "{of}");
    }
    assert!(client.bound_ps.unwrap() > client.error.greatest().as_ps());
    assert!(client.bound_ps.unwrap() < 100_000_000_000, "{client:?}");
}

#[test]
fn half_of_what_the_ways_differ_by_is_an_error_that_ntp_does_not_see_but_bounds() {
    let uneven = PAIR.replace(
        "delay = \"5 us\"",
        "delay = \"5 us\"\nback = { delay = \"7 us\" }",
    );
    let nodes = run(&uneven);
    let client = clock(&nodes, "c");
    assert!(client.offset.greatest().as_ps() < 100_000, "{client:?}");
    // The request takes 7 us.
    let off = client.error.last_ps.abs() - 1_000_000;
    assert!(off.abs() < 100_000, "{client:?}");
    assert!(client.bound_ps.unwrap() > 1_000_000, "{client:?}");
}

#[test]
fn a_client_serves_others_one_stratum_further() {
    let nodes = |first: &str| {
        let each = (0..3).map(|n| {
            let server = match n {
                0 => first.to_string(),
                n => format!("server = '10.0.0.{n}'\nclock = {{ ppm = {} }}", 60 - 50 * n),
            };
            format!(
                "[node.n{n}]\nkind = 'ntp'\naddress = '10.0.0.{}'\nmac = '02:00:00:00:00:0{n}'\nmin_poll = 2\nmax_poll = 2\n{server}\n\
                 [[link]]\nends = ['n{n}.0', 'switch.{n}']\nrate = '1 Gb/s'\n",
                n + 1
            )
        });
        let all: String = each.collect();
        run(&format!(
            "[lab]\nduration = '2 h'\n{all}[node.switch]\nkind = 'switch'\nports = 3\n"
        ))
    };
    let good = nodes("");
    assert_eq!(clock(&good, "n2").state, "client of 10.0.0.2, synchronised");
    let last = clock(&good, "n2");
    // It learnt its frequency from a server that had yet to learn its own: the loop makes up for that in hours.
    let left = last.error.last_ps.unsigned_abs();
    assert!(left < 100_000_000 && Some(left) < last.bound_ps, "{last:?}");
    // What is told of the reference's distance adds up.
    assert!(clock(&good, "n2").bound_ps > clock(&good, "n1").bound_ps);
    // A server that is its client's client has no time, and says so.
    let loops = nodes("server = '10.0.0.2'");
    for name in ["n0", "n1", "n2"] {
        assert_eq!(counter(&loops, name, "used"), 0);
        assert!(counter(&loops, name, "unusable") > 100);
    }
    // Nobody is there.
    let alone = nodes("server = '10.0.0.9'");
    assert_eq!(clock(&alone, "n0").state, "client of 10.0.0.9, not found");
    assert_eq!(counter(&alone, "n0", "requests_sent"), 0);
}

#[test]
fn load_shows_in_few_of_eight_answers() {
    let text = |load: &str, seed: u64| {
        format!(
            "[lab]\nduration = '20 s'\nseed = {seed}\n[default.link]\nrate = '100 Mb/s'\ndelay = '500 ns'\n\
             [node.s]\nkind = 'ntp'\nmac = '02:00:00:00:00:01'\naddress = '10.0.0.1'\n\
             [node.c]\nkind = 'ntp'\nports = 2\nmac = '02:00:00:00:00:02'\naddress = '10.0.0.2'\nserver = '10.0.0.1'\nmin_poll = -4\nmax_poll = -4\n\
             clock = {{ ppm = -20.0 }}\nsettle = '10 s'\n\
             [node.switch]\nkind = 'switch'\nports = 3\n\
             [node.load]\nkind = 'generator'\nsource = '02:00:00:00:00:03'\ndestination = '02:00:00:00:00:04'\nsize = 1514\nrate = '{load}'\npattern = 'poisson'\n\
             [node.taker]\nkind = 'sink'\n\
             [[link]]\nends = ['s.0', 'switch.0']\n[[link]]\nends = ['c.0', 'switch.1']\n[[link]]\nends = ['load.0', 'switch.2']\n\
             [[link]]\nends = ['c.1', 'taker.0']\n"
        )
    };
    let mut widths = [0; 2];
    for seed in 0..8 {
        let [idle, loaded] = ["1 kb/s", "50 Mb/s"].map(|load| run(&text(load, seed)));
        let [quiet, busy] = [&idle, &loaded].map(|nodes| clock(nodes, "c").error);
        // Half of a preamble: the server writes when its answer leaves before that does.
        assert!(quiet.greatest().as_ps() < 330_000, "{seed}: {quiet:?}");
        // An answer waits for a few frames of 123 us; samples that pass the filter wait far less.
        assert!(busy.greatest().as_ps() < 61_000_000, "{seed}: {busy:?}");
        for (width, error) in widths.iter_mut().zip([quiet, busy]) {
            *width += error.max_ps - error.min_ps;
        }
        assert!(counter(&loaded, "taker", "packets") > 50_000);
        let [used, replies] = ["used", "replies_received"].map(|of| counter(&loaded, "c", of));
        assert!(used < replies, "{seed}: {used} of {replies}");
    }
    // How far off a clock is for good does not show the load; how that changes does, though not in
    // each run: of eight answers nearly always one did not wait.
    assert!(widths[1] > 10 * widths[0], "{widths:?}");
}

#[test]
fn what_is_no_ntp_has_nowhere_to_go_in_a_clock_with_one_port() {
    let nodes = run(
        "[lab]\nduration = '1 s'\n[node.c]\nkind = 'ntp'\n[node.g]\nkind = 'generator'\ncount = 7\n\
         [[link]]\nends = ['c.0', 'g.0']",
    );
    assert_eq!(node(&nodes, "c").drops, [("no NTP message".to_string(), 7)]);
}

#[test]
fn what_no_clock_can_be_is_refused_at_its_key() {
    let fault = |keys: &str| {
        let text = format!("[lab]\nduration = '1 s'\n[node.c]\nkind = 'ntp'\nports = 2\n{keys}");
        lab::parse(&text).expect_err(keys).to_string()
    };
    assert!(fault("clock.ppm = 101.0").contains("at most 100 ppm"));
    assert!(fault("min_poll = -8").contains("-7 to 17"));
    assert!(fault("min_poll = 8\nmax_poll = 7").contains("greater than"));
    assert!(fault("stratum = 16").contains("1 to 15"));
    assert!(fault("server = '198.18.0.1'").contains("own server"));
    assert!(fault("mac = '01:00:00:00:00:01'").contains("no group's"));
    assert!(fault("server = 'time.example'").contains("server"));
}
