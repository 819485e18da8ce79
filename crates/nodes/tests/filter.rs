use crate::hand::{Hand, frame, mac};
use nodes::filter::{Back, Config, Filter, Matching};

/// `ether src 02:00:00:00:00:01`, by tcpdump -ddd.
const FROM_STATION_1: &str = "6\n32 0 0 8\n21 0 3 1\n40 0 0 6\n21 0 1 512\n6 0 0 262144\n6 0 0 0\n";

fn filter(config: Config) -> Hand<Filter> {
    Hand::new(Filter::new(config, FROM_STATION_1.parse().unwrap()))
}

#[test]
fn only_matching_frames_pass_in_either_direction() {
    let mut filter = filter(Config::default());
    assert_eq!(filter.ports(0, &frame(mac(1), mac(2))), [1]);
    assert_eq!(filter.ports(1, &frame(mac(1), mac(2))), [0]);
    assert_eq!(filter.ports(0, &frame(mac(2), mac(1))), []);
    assert_eq!(
        (filter.counter("matched"), filter.drops("filtered out")),
        (2, 1)
    );
}

#[test]
fn matching_frames_are_rejected_if_so_told() {
    let matching = Matching::Reject;
    let mut filter = filter(Config {
        matching,
        ..Config::default()
    });
    assert_eq!(filter.ports(0, &frame(mac(1), mac(2))), []);
    assert_eq!(filter.ports(0, &frame(mac(2), mac(1))), [1]);
}

#[test]
fn the_way_back_may_be_open() {
    let back = Back::Pass;
    let mut filter = filter(Config {
        back,
        ..Config::default()
    });
    assert_eq!(filter.ports(1, &frame(mac(2), mac(1))), [0]);
    assert_eq!(filter.ports(0, &frame(mac(2), mac(1))), []);
}
