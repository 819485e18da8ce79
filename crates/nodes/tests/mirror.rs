use crate::hand::{Hand, frame, mac};
use nodes::mirror::{Config, Mirror, Watch};

fn mirror(copies: u16, watch: Watch) -> Hand<Mirror> {
    Hand::new(Mirror::new(Config { copies, watch }).unwrap())
}

#[test]
fn both_directions_pass_and_are_copied() {
    let mut mirror = mirror(1, Watch::Both);
    assert_eq!(mirror.ports(0, &frame(mac(1), mac(2))), [2, 1]);
    assert_eq!(mirror.ports(1, &frame(mac(2), mac(1))), [2, 0]);
}

#[test]
fn one_direction_may_be_watched_by_many() {
    let mut mirror = mirror(3, Watch::Back);
    assert_eq!(mirror.ports(0, &frame(mac(1), mac(2))), [1]);
    assert_eq!(mirror.ports(1, &frame(mac(2), mac(1))), [2, 3, 4, 0]);
    assert_eq!(mirror.counter("copied"), 3);
}

#[test]
fn who_watches_takes_no_part() {
    let mut mirror = mirror(1, Watch::Both);
    assert_eq!(mirror.ports(2, &frame(mac(3), mac(1))), []);
    assert_eq!(mirror.drops("came by a copy port"), 1);
}
