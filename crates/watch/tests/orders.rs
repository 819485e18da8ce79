//! Orders of the page, and the figures that show their effect.

use super::server::{LAB, Served};
use lab::{Options, World};

#[test]
fn a_watched_run_ends_with_the_report_of_one_at_once() {
    let served = Served::new(LAB);
    assert_eq!(served.order(r#"{"speed": "max"}"#).status, 200);
    let sample = served.sample(|sample| sample["ended"] == true);
    assert_eq!(sample["now_ns"], 60e9);
    // The page remains available after the end.
    let shown = served.order(r#"{"show": "h1"}"#).json();
    assert!(
        shown["flows"][0]["packets"].as_u64() > Some(5_000),
        "{shown}"
    );
    let lab = lab::parse(LAB).unwrap_or_else(|faults| panic!("{faults}"));
    let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
    assert_eq!(served.end(), report.text(false));
}

#[test]
fn a_run_stands_still_steps_and_goes_on_at_its_speed() {
    let served = Served::new(LAB);
    served.order(r#"{"run": false}"#);
    let stands = served.sample(|sample| sample["runs"] == false);
    let again = served.sample(|sample| sample["runs"] == false);
    assert_eq!(stands["now_ns"], again["now_ns"]);
    let stepped = served.order(r#"{"step": 3}"#);
    assert_eq!(stepped.json()["events"], 3, "{}", stepped.body);
    let now = |sample: &serde_json::Value| sample["now_ns"].as_f64().unwrap();
    let later = served.sample(|sample| now(sample) > now(&stands));
    assert_eq!(later["runs"], false);
    served.order(r#"{"speed": 100}"#);
    served.order(r#"{"run": true}"#);
    // Two seconds of simulated time are 20 ms by the clock.
    served.sample(|sample| now(sample) > now(&later) + 2e9);
}

#[test]
fn frames_are_on_their_links_while_they_fly() {
    let served = Served::new(LAB);
    // At a millisecond per second, datagrams with 4 ms on the line and 10 ms of delay are in flight for seconds.
    served.sample(|sample| sample["now_ns"].as_f64() > Some(1e8));
    served.order(r#"{"speed": 0.001}"#);
    let sample = served.sample(|sample| {
        let frames = sample["frames"].as_array().unwrap();
        frames
            .iter()
            .any(|frame| frame[0] == 0 && frame[1] == 0 && frame[2].as_f64() < Some(0.0))
    });
    for frame in sample["frames"].as_array().unwrap() {
        let [departs, arrives] = [2, 3].map(|at| frame[at].as_f64().unwrap());
        let bytes = frame[4].as_u64().unwrap();
        // Serialization with FCS at 1 Mb/s, and the delay. The first bit follows the preamble.
        let expected = 8e3 * (bytes as f64 + 4.0) + 10e6;
        assert!((arrives - departs - expected).abs() < 1.0, "{frame}");
        assert!(arrives >= 0.0, "{frame}");
        assert_eq!(frame[5], "udp");
    }
    assert_eq!(sample["flying"], sample["frames"].as_array().unwrap().len());
}

#[test]
fn a_ping_travels_in_simulated_time_and_its_outcome_is_logged() {
    let served = Served::new(LAB);
    served.order(r#"{"speed": 10}"#);
    let answer = served.order(r#"{"ping": ["h2", "h1"]}"#);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let log = |sample: &serde_json::Value| sample["log"].to_string();
    let sample = served.sample(|sample| log(sample).contains("answered after"));
    assert!(
        log(&sample).contains("ping from h2 to h1: answered after "),
        "{}",
        log(&sample)
    );
    let rows = served.query("SELECT source, destination, outcome, ns FROM Pings");
    let row = &rows["rows"][0];
    assert_eq!(
        (row[0].as_str(), row[1].as_str(), row[2].as_str()),
        (Some("h2"), Some("h1"), Some("answered"))
    );
    // Four times 10 ms and serialization, possibly ARP, and in each direction a datagram ahead in the queue.
    assert!(
        row[3].as_f64() > Some(40e6) && row[3].as_f64() < Some(120e6),
        "{row}"
    );
    for (wrong, why) in [
        (r#"{"ping": ["h2", "h9"]}"#, "there is no node `h9`"),
        (r#"{"ping": ["sw", "h1"]}"#, "hosts and routers"),
        (r#"{"ping": ["h2", "h2"]}"#, "cannot ping itself"),
        (r#"{"show": "h9"}"#, "there is no node `h9`"),
        (
            r#"{"link": {"number": 2, "up": false}}"#,
            "there is no link 2: the lab has 2",
        ),
    ] {
        let answer = served.order(wrong);
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.body.contains(why), "{wrong}: {}", answer.body);
    }
}

#[test]
fn a_link_goes_down_and_its_losses_are_rows() {
    let served = Served::new(LAB);
    served.order(r#"{"speed": 10}"#);
    served.sample(|sample| sample["links"][0][0][0].as_u64() > Some(10));
    served.order(r#"{"link": {"number": 1, "up": false}}"#);
    let down = served.sample(|sample| sample["links"][1][0][6] == 0);
    assert_eq!(down["links"][0][0][6], 1);
    // The switch sends to a link that is down.
    served.sample(|sample| sample["links"][1][1][2].as_u64() > Some(10));
    served.order(r#"{"link": {"number": 1, "up": true}}"#);
    served.sample(|sample| sample["links"][1][1][6] == 1);
    let rows = served
        .query("SELECT max(dropped), min(up), count(*) FROM Links WHERE link = 'sw.1 -> h2.0'");
    let row = &rows["rows"][0];
    assert!(
        row[0].as_u64() > Some(10) && row[1] == 0 && row[2].as_u64() > Some(1),
        "{row}"
    );
}
