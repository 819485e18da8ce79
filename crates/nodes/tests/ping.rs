//! A pinger and a host, with a clock that the test moves: every frame takes 3 us each way.

use node::{Frame, Node, Out, Port, Time, When};
use nodes::host::{self, Host};
use nodes::ping::{Config, Method, Ping};
use std::collections::VecDeque;

const WAY: Time = Time::from_us(3);

/// Runs both until nothing is left to happen, or `until`; `way` may lose or double what the host answers.
fn run(ping: &mut Ping, host: &mut Host, until: Time, mut way: impl FnMut(u64) -> Vec<Time>) {
    let mut out = [Out::default(), Out::default()];
    // In order of time: where to, when the first bit arrives, what.
    let mut air: VecDeque<(usize, Time, Vec<u8>)> = VecDeque::new();
    let (mut now, mut answers) = (Time::ZERO, 0);
    loop {
        let wake = ping.next_wake().filter(|&at| at <= until);
        let flight = air.iter().map(|(_, at, _)| *at).min();
        let next = [wake, flight].into_iter().flatten().min();
        let Some(at) = next else { return };
        now = now.max(at);
        match air.iter().position(|(_, at, _)| *at <= now) {
            Some(place) => {
                let (to, at, bytes) = air.remove(place).unwrap();
                let mut frame = Frame::new(&bytes);
                frame.set_arrived(at);
                let node: &mut dyn Node = if to == 0 { ping } else { host };
                node.frames(now, Port(0), &mut vec![frame], &mut out[to]);
            }
            None => ping.wake(now, &mut out[0]),
        }
        for (from, out) in out.iter_mut().enumerate() {
            for departure in out.sends() {
                let left = match departure.when {
                    When::Now => now,
                    When::At(at) => at,
                };
                let delays = if from == 1 {
                    way(answers)
                } else {
                    vec![Time::ZERO]
                };
                answers += from as u64;
                for delay in delays {
                    air.push_back((1 - from, left + WAY + delay, departure.frame.to_vec()));
                }
            }
        }
    }
}

fn pair(config: Config) -> (Ping, Host) {
    let host = Host::new(host::Config {
        ipv4: Some([198, 18, 0, 2].into()),
        ipv6: Some("fd00::2".parse().unwrap()),
        ..host::Config::default()
    });
    (Ping::new(config).unwrap(), host)
}

fn counters(node: &dyn Node) -> std::collections::BTreeMap<String, u64> {
    node.statistics().counters.into_iter().collect()
}

fn configs() -> [Config; 4] {
    let v4 = Config {
        count: Some(100),
        interval: Time::from_ms(1),
        ..Config::default()
    };
    let v6 = Config {
        target: "fd00::2".parse().unwrap(),
        source: "fd00::1".parse().unwrap(),
        ..v4.clone()
    };
    let arp = |config: &Config| Config {
        method: Method::Neighbour,
        ..config.clone()
    };
    [v4.clone(), v6.clone(), arp(&v4), arp(&v6)]
}

const ON_TIME: fn(u64) -> Vec<Time> = |_| vec![Time::ZERO];

#[test]
fn every_probe_is_answered_and_measured_exactly() {
    for config in configs() {
        let method = config.method;
        let (mut ping, mut host) = pair(config);
        run(&mut ping, &mut host, Time::MAX, ON_TIME);
        let counters = counters(&ping);
        let get = |name: &str| counters[name];
        assert_eq!(
            (get("sent"), get("answered"), get("lost")),
            (100, 100, 0),
            "{method:?}"
        );
        let trip = (WAY + WAY).as_ps();
        assert_eq!(
            (get("rtt_min_ps"), get("rtt_max_ps")),
            (trip, trip),
            "{method:?}"
        );
        assert_eq!(
            (get("rtt_mean_ps"), get("rtt_sd_ps"), get("rtt_jitter_ps")),
            (trip, 0, 0)
        );
        assert!(ping.is_over());
    }
}

#[test]
fn lost_late_and_second_answers_are_told_apart() {
    let config = Config {
        timeout: Time::from_ms(5),
        destination: Some(packet::ethernet::Mac([2, 0, 0, 0, 0, 2])),
        ..configs()[0].clone()
    };
    let (mut ping, mut host) = pair(config);
    run(&mut ping, &mut host, Time::MAX, |answer| {
        match answer % 10 {
            0 => vec![],
            1 => vec![Time::ZERO, Time::from_us(1)],
            2 => vec![Time::from_ms(20)],
            _ => vec![Time::ZERO],
        }
    });
    let counters = counters(&ping);
    let get = |name: &str| counters[name];
    assert_eq!((get("sent"), get("answered"), get("lost")), (100, 90, 10));
    assert_eq!((get("late"), get("duplicates")), (10, 10));
    assert_eq!(get("rtt_max_ps"), (WAY + WAY + Time::from_ms(20)).as_ps());
}

#[test]
fn with_an_interval_of_zero_an_answer_calls_for_the_next_probe() {
    let config = Config {
        interval: Time::ZERO,
        count: Some(1000),
        ..configs()[0].clone()
    };
    let (mut ping, mut host) = pair(config);
    // A thousand round trips of 6 us, and one for ARP.
    run(&mut ping, &mut host, Time::from_us(6_010), ON_TIME);
    assert_eq!(counters(&ping)["answered"], 1000);
}

#[test]
fn a_target_that_is_not_there_is_asked_for_some_time_and_given_up() {
    let config = Config {
        target: [198, 18, 0, 77].into(),
        ..configs()[0].clone()
    };
    let (mut ping, mut host) = pair(config);
    run(&mut ping, &mut host, Time::MAX, ON_TIME);
    let counters = counters(&ping);
    assert_eq!((counters["sent"], counters["resolved"]), (0, 0));
    assert!(ping.is_over());
}

#[test]
fn a_measured_departure_counts_instead_of_the_one_asked_for() {
    let config = Config {
        count: Some(1),
        destination: Some(packet::ethernet::Mac([2, 0, 0, 0, 0, 2])),
        ..configs()[0].clone()
    };
    let (mut ping, mut host) = pair(config);
    let mut out = Out::default();
    ping.wake(Time::from_us(1), &mut out);
    let request = out.sends().next().unwrap().frame;
    ping.departed(Time::from_us(4));
    host.frames(Time::ZERO, Port(0), &mut vec![request], &mut out);
    let mut answer = out.sends().next().unwrap().frame;
    answer.set_arrived(Time::from_us(9));
    ping.frames(Time::from_us(9), Port(0), &mut vec![answer], &mut out);
    assert_eq!(ping.take_answer().unwrap().rtt(), Time::from_us(5));
}

#[test]
fn addresses_of_two_versions_and_too_long_probes_are_refused() {
    let refused = |config| Ping::new(config).err().unwrap().to_string();
    let config = Config {
        target: "fd00::2".parse().unwrap(),
        ..Config::default()
    };
    assert!(refused(config).contains("`source`"));
    let config = Config {
        size: 65_508,
        ..Config::default()
    };
    assert!(refused(config).contains("65507"));
}

#[test]
fn an_answer_that_is_heard_late_is_not_for_a_request_that_left_after_it_came() {
    let (mut ping, mut host) = pair(configs()[2].clone());
    let mut out = Out::default();
    let mut requests = Vec::new();
    for _ in 0..2 {
        let at = ping.next_wake().unwrap();
        ping.wake(at, &mut out);
        requests.extend(out.sends().map(|departure| (at, departure.frame.to_vec())));
    }
    for (left, request) in &requests {
        host.frames(
            Time::ZERO,
            Port(0),
            &mut vec![Frame::new(request)],
            &mut out,
        );
        let answers: Vec<_> = out.sends().map(|sent| sent.frame.to_vec()).collect();
        let mut answer = Frame::new(&answers[0]);
        answer.set_arrived(*left + WAY + WAY);
        ping.frames(
            requests[1].0 + Time::from_ms(1),
            Port(0),
            &mut vec![answer],
            &mut out,
        );
    }
    let counters = counters(&ping);
    let get = |name: &str| counters[name];
    assert_eq!((get("answered"), get("duplicates")), (2, 0));
    let trip = (WAY + WAY).as_ps();
    assert_eq!((get("rtt_min_ps"), get("rtt_max_ps")), (trip, trip));
}

#[test]
fn answers_without_a_number_that_take_longer_than_the_interval_are_all_counted_and_one_too_many_is_a_duplicate()
 {
    let (mut ping, mut host) = pair(configs()[2].clone());
    let mut out = Out::default();
    let (mut requests, mut last) = (Vec::new(), Time::ZERO);
    for _ in 0..2 {
        last = ping.next_wake().unwrap();
        ping.wake(last, &mut out);
        requests.extend(out.sends().map(|departure| departure.frame.to_vec()));
    }
    for (request, later) in [(&requests[0], 1), (&requests[1], 2), (&requests[1], 3)] {
        host.frames(
            Time::ZERO,
            Port(0),
            &mut vec![Frame::new(request)],
            &mut out,
        );
        let answers: Vec<_> = out.sends().map(|sent| sent.frame.to_vec()).collect();
        let now = last + Time::from_us(later);
        let mut answer = Frame::new(&answers[0]);
        answer.set_arrived(now);
        ping.frames(now, Port(0), &mut vec![answer], &mut out);
    }
    let counters = counters(&ping);
    let get = |name: &str| counters[name];
    assert_eq!((get("answered"), get("duplicates"), get("lost")), (2, 1, 0));
}
