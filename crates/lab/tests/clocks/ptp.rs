//! Clocks that PTP sets, in simulated time: what they believe, and what is true.

use super::{clock, is_held, node, run, unheld};
use node::outcome::NodeOutcome;

/// Messages of a type that never came have no counter.
fn counter(nodes: &[NodeOutcome], name: &str, counter: &str) -> u64 {
    let counters = &node(nodes, name).counters;
    let found = counters.iter().find(|(known, _)| known == counter);
    found.map_or(0, |&(_, count)| count)
}

/// A master, and a slave that is 40 ppm fast and 3 s ahead, 5 us apart.
const PAIR: &str = r#"
[lab]
duration = "60 s"

[node.m]
kind = "ptp"
role = "master"
mac = "02:00:00:00:00:01"

[node.s]
kind = "ptp"
role = "slave"
mac = "02:00:00:00:00:02"
clock = { ppm = 40.0, start = "3 s" }
settle = "30 s"

[[link]]
ends = ["m.0", "s.0"]
rate = "10 Gb/s"
delay = "5 us"
"#;

#[test]
fn a_slave_finds_the_time_of_its_master_and_keeps_it() {
    let nodes = run(PAIR);
    let slave = clock(&nodes, "s");
    assert_eq!(slave.state, "slave of 020000.fffe.000001, locked");
    assert_eq!(clock(&nodes, "m").state, "master");
    assert_eq!(counter(&nodes, "s", "steps"), 1);
    // From first bit to first bit, as far as the clock's own rate goes.
    assert!(
        (slave.delay_ps.unwrap() - 5_000_000).abs() < 1_000,
        "{slave:?}"
    );
    is_held(slave, 1_000);
    assert!((29..=31).contains(&slave.offset.count), "{slave:?}");
    // Nothing waits: half a round trip bounds it, and what its clock may have gone since the last question.
    let bound = slave.greatest_bound_ps.unwrap();
    assert!((5_000_000..8_500_000).contains(&bound), "{slave:?}");
    let [syncs, follow_ups] =
        ["sync_received", "follow_up_received"].map(|name| counter(&nodes, "s", name));
    assert_eq!((syncs, follow_ups), (60, 60));
    assert!(counter(&nodes, "s", "delays") > 30);
}

#[test]
fn over_udp_and_with_peer_delay_it_comes_to_the_same() {
    for keys in [
        "transport = 'udp'",
        "delay = 'peer'",
        "delay = 'peer'\ntransport = 'udp'",
    ] {
        let with = PAIR.replace("kind = \"ptp\"", &format!("kind = \"ptp\"\n{keys}"));
        let nodes = run(&with);
        let slave = clock(&nodes, "s");
        assert!(slave.error.greatest().as_ps() < 1_000, "{keys}: {slave:?}");
        let peer = counter(&nodes, "s", "pdelay_resp_received");
        assert_eq!(peer > 0, keys.contains("peer"), "{keys}");
        assert_eq!(
            counter(&nodes, "s", "delay_req_sent") > 0,
            peer == 0,
            "{keys}"
        );
    }
}

#[test]
fn half_of_what_the_ways_differ_by_is_an_error_that_ptp_does_not_see() {
    let uneven = PAIR.replace(
        "delay = \"5 us\"",
        "delay = \"5 us\"\nback = { delay = \"7 us\" }",
    );
    for keys in ["", "delay = 'peer'"] {
        let with = uneven.replace("kind = \"ptp\"", &format!("kind = \"ptp\"\n{keys}"));
        let nodes = run(&with);
        let slave = clock(&nodes, "s");
        assert!(slave.offset.greatest().as_ps() < 1_000, "{slave:?}");
        let off = slave.error.last_ps - 1_000_000;
        assert!(off.abs() < 1_000, "ahead by 1 us: {slave:?}");
        assert!((slave.delay_ps.unwrap() - 6_000_000).abs() < 1_000);
    }
}

#[test]
fn a_clock_that_only_measures_tells_how_it_runs_away() {
    let free = PAIR.replace("settle", "free_running = true\nsettle");
    let nodes = run(&free);
    let slave = clock(&nodes, "s");
    assert_eq!(slave.state, "slave of 020000.fffe.000001, free running");
    assert_eq!((counter(&nodes, "s", "steps"), slave.steered_ppt), (0, 0));
    // 40 us a second, beyond 3 s. What is measured errs by how far the clock goes between the two ways of the delay.
    let (offset, error) = (slave.offset.last_ps, slave.error.last_ps);
    let wanted = 3_000_000_000_000 + 59 * 40_000_000;
    assert!((error - wanted).abs() < 40_000_000, "{error}");
    assert!((offset - error).abs() < 80_000_000, "{offset} {error}");
}

#[test]
fn a_slave_takes_nothing_from_another_domain() {
    let other = PAIR.replace("role = \"master\"", "role = \"master\"\ndomain = 1");
    let nodes = run(&other);
    let slave = clock(&nodes, "s");
    assert_eq!((slave.state.as_str(), slave.offset.count), ("listening", 0));
    assert_eq!(counter(&nodes, "s", "sync_received"), 0);
    let drops = &node(&nodes, "s").drops;
    assert_eq!(drops[0].0, "of another domain");
    assert!(drops[0].1 > 170, "Announce, Sync, Follow_Up: {drops:?}");
}

#[test]
fn syncs_whose_follow_up_is_lost_are_counted_and_the_clock_is_kept() {
    let lossy = PAIR.replace("delay = \"5 us\"", "delay = \"5 us\"\nloss = 0.2");
    let nodes = run(&lossy);
    let slave = clock(&nodes, "s");
    assert!(counter(&nodes, "s", "lost_follow_ups") > 0);
    assert!(counter(&nodes, "s", "unmatched") > 0);
    assert!((10..28).contains(&slave.offset.count), "{slave:?}");
    assert!(slave.error.greatest().as_ps() < 1_000_000, "{slave:?}");
    assert_eq!(counter(&run(PAIR), "s", "lost_follow_ups"), 0);
}

#[test]
fn stamps_of_8_ns_leave_a_few_of_them() {
    let coarse = PAIR
        .replace("ppm = 40.0", "ppm = 40.0, tick = '8 ns'")
        .replace(
            "role = \"master\"",
            "role = \"master\"\nclock.tick = '8 ns'",
        );
    let nodes = run(&coarse);
    let error = clock(&nodes, "s").error;
    let greatest = error.greatest().as_ps();
    assert!((1_000..40_000).contains(&greatest), "{error:?}");
}

/// Three clocks at a switch; the links of those that could be masters are up for as long as is said.
const THREE: &str = r#"
[lab]
duration = "40 s"

[node."c{n}"]
each = 3
kind = "ptp"
mac = "02:00:00:00:00:0{n}"
priority1 = "{n+1}"

[node.switch]
kind = "switch"
ports = 3

[[link]]
ends = ["c0.0", "switch.0"]
DOWN

[[link]]
ends = ["c1.0", "switch.1"]

[[link]]
ends = ["c2.0", "switch.2"]
"#;

#[test]
fn the_best_clock_is_the_master_and_the_next_best_follows_it() {
    let nodes = run(&THREE.replace("DOWN", ""));
    assert_eq!(clock(&nodes, "c0").state, "master");
    for slave in ["c1", "c2"] {
        let state = &clock(&nodes, slave).state;
        assert_eq!(state, "slave of 020000.fffe.000000, locked");
    }
    // The next best runs off from the world's time, as it follows nobody.
    let nodes = unheld(&THREE.replace("DOWN", "down = [[\"10 s\", \"100 s\"]]"));
    assert_eq!(clock(&nodes, "c1").state, "master");
    let last = clock(&nodes, "c2");
    assert_eq!(last.state, "slave of 020000.fffe.000001, locked");
    assert_eq!(
        counter(&nodes, "c2", "masters"),
        3,
        "none, the second, or both"
    );
}

/// A master and a slave at two ports of something, and hosts that load the port to the slave.
const LOADED: &str = r#"
[lab]
duration = "40 s"

[default.link]
rate = "100 Mb/s"
delay = "500 ns"

[node.m]
kind = "ptp"
role = "master"
log_sync_interval = -2
mac = "02:00:00:00:00:01"
MECHANISM

[node.s]
kind = "ptp"
ports = 2
role = "slave"
log_delay_interval = -2
mac = "02:00:00:00:00:02"
clock = { ppm = -20.0 }
settle = "25 s"
MECHANISM

[node.middle]
MIDDLE
ports = 3

[node.load]
kind = "generator"
source = "02:00:00:00:00:03"
destination = "02:00:00:00:00:04"
size = 1514
rate = "60 Mb/s"
pattern = "poisson"

[node.taker]
kind = "sink"

[[link]]
ends = ["m.0", "middle.0"]

[[link]]
ends = ["s.0", "middle.1"]

[[link]]
ends = ["load.0", "middle.2"]

[[link]]
ends = ["s.1", "taker.0"]
"#;

fn loaded(middle: &str, mechanism: &str) -> Vec<NodeOutcome> {
    run(&LOADED
        .replace("MIDDLE", middle)
        .replace("MECHANISM", mechanism))
}

#[test]
fn load_in_a_switch_shows_in_the_clock_and_a_transparent_clock_takes_it_out() {
    let clear = "kind = 'ptp'\nclock_type = 'transparent'\nmac = '02:00:00:00:00:09'\nclock = { ppm = 50.0 }";
    let switch = loaded("kind = 'switch'", "");
    let transparent = loaded(clear, "");
    let [slave, cleared] = [&switch, &transparent].map(|nodes| clock(nodes, "s"));
    let [without, with] = [slave, cleared].map(|clock| clock.error);
    assert!(without.greatest().as_ps() > 2_000_000, "{without:?}");
    assert!(with.greatest().as_ps() < 20_000, "{with:?}");
    // That one is no farther off than it says was seen of each offset, and half of what a round trip takes now is less than the truth.
    let bound = slave.greatest_bound_ps.unwrap();
    assert!(bound > without.greatest().as_ps(), "{slave:?}");
    assert!(
        cleared.greatest_bound_ps.unwrap() < 3_000_000,
        "{cleared:?}"
    );
    assert!(counter(&transparent, "middle", "corrected") > 50);
    assert_eq!(counter(&transparent, "middle", "uncorrected"), 0);
    assert_eq!(clock(&transparent, "middle").state, "transparent");
    // What is no PTP goes through the slave's card.
    assert!(counter(&transparent, "taker", "packets") > 150_000);
}

#[test]
fn what_a_clock_says_of_itself_holds_while_its_rate_changes_and_when_the_queue_is_one_way_only() {
    // 2 ppm a second, as allowed for; then as if it were even, which is noticed.
    let ramp = |wander: &str| {
        let clock = format!("clock = {{ ppm = -20.0, drift = 2.0, wander = {wander} }}");
        LOADED
            .replace("clock = { ppm = -20.0 }", &clock)
            .replace("MIDDLE", "kind = 'switch'")
            .replace("MECHANISM", "")
    };
    let nodes = run(&ramp("2.0"));
    let slave = clock(&nodes, "s");
    assert!(slave.greatest_bound_ps.unwrap() < 400_000_000, "{slave:?}");
    assert_eq!(counter(&nodes, "s", "contradictions"), 0);
    let nodes = unheld(&ramp("0.001"));
    assert!(counter(&nodes, "s", "contradictions") > 0);
}

#[test]
fn with_peer_delay_a_transparent_clock_adds_the_links_as_well() {
    let clear =
        "kind = 'ptp'\nclock_type = 'transparent'\nmac = '02:00:00:00:00:09'\ndelay = 'peer'";
    let nodes = loaded(clear, "delay = 'peer'");
    let slave = clock(&nodes, "s");
    assert!(slave.error.greatest().as_ps() < 20_000, "{slave:?}");
    assert!(
        (slave.delay_ps.unwrap() - 500_000).abs() < 5_000,
        "of its own link: {slave:?}"
    );
}

#[test]
fn a_boundary_clock_is_a_slave_on_one_side_and_a_master_on_the_other() {
    for seed in 0..5 {
        let boundary = format!(
            "kind = 'ptp'\nclock_type = 'boundary'\nmac = '02:00:00:00:00:09'\nclock = {{ ppm = 30.0 }}\nseed = {seed}"
        );
        // Until the boundary clock is set it does not have the world's time, and steers by more
        // than `wander`: a bound from it may be wrong.
        let text = LOADED.replace("MIDDLE", &boundary).replace("MECHANISM", "");
        let nodes = unheld(&text.replace("settle = \"25 s\"", "settle = \"30 s\""));
        let (middle, slave) = (clock(&nodes, "middle"), clock(&nodes, "s"));
        assert_eq!(middle.state, "slave of 020000.fffe.000001, locked");
        assert_eq!(slave.state, "slave of 020000.fffe.000009, locked");
        assert_eq!(middle.over_bound, 0, "{seed}: {middle:?}");
        // Its own messages wait behind the load, but are stamped when they leave.
        let error = slave.error.greatest().as_ps();
        assert!(error < 5_000, "{seed}: {slave:?}");
        let bounds = [slave.bound_ps, slave.greatest_bound_ps].map(Option::unwrap);
        assert!(
            bounds
                .iter()
                .all(|bound| (error..1_000_000).contains(bound)),
            "{seed}: {slave:?}"
        );
    }
}

#[test]
fn a_frame_that_is_no_ptp_has_nowhere_to_go_in_a_clock_with_one_port() {
    let nodes = run(
        "[lab]\nduration = '1 s'\n[node.c]\nkind = 'ptp'\n[node.g]\nkind = 'generator'\ncount = 7\n\
         [[link]]\nends = ['c.0', 'g.0']",
    );
    assert_eq!(node(&nodes, "c").drops, [("no PTP message".to_string(), 7)]);
}

#[test]
fn what_no_clock_can_be_is_refused_at_its_key() {
    let fault = |keys: &str| {
        let text = format!("[lab]\nduration = '1 s'\n[node.c]\nkind = 'ptp'\nports = 2\n{keys}");
        lab::parse(&text).expect_err(keys).to_string()
    };
    assert!(fault("clock.ppm = 101.0").contains("at most 100 ppm"));
    assert!(fault("clock.drift = 2e3").contains("1000 ppm a second"));
    assert!(fault("log_sync_interval = -8").contains("-7 to 4"));
    assert!(fault("delay_filter = 0").contains("1 to 1000"));
    assert!(fault("clock_type = 'grand'").contains("clock_type"));
    assert!(fault("mac = '01:00:00:00:00:01'").contains("no group's"));
    assert!(fault("integral = 1.5").contains("0 to 1"));
    assert!(fault("clock.tick = '2 s'").contains("1 s"));
    assert!(fault("switch = { seed = 3 }").contains("`seed` of the clock"));
    assert!(fault("clock.start = '-1 s'").contains("clock"));
    // Two ports it may have, in line; three only as another type of clock.
    let with = |ports: u16, clock: &str| {
        let text =
            format!("[lab]\nduration = '1 s'\n[node.c]\nkind = 'ptp'\nports = {ports}\n{clock}");
        lab::parse(&text).map_err(|faults| faults.to_string())
    };
    assert!(with(3, "").unwrap_err().contains("2 in line"));
    assert!(with(2, "").is_ok() && with(3, "clock_type = 'boundary'").is_ok());
}
