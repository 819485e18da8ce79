use crate::hand::{Hand, frame, mac};
use bridge::switch::{Config, Switch};
use node::Time;

/// A frame with an 802.1Q tag.
fn tagged(vlan: u16, mut frame: Vec<u8>) -> Vec<u8> {
    let tag = [0x81, 0x00, (vlan >> 8) as u8, vlan as u8];
    frame.splice(12..12, tag);
    frame
}

const ALL: [u8; 6] = [0xFF; 6];

fn switch(config: Config) -> Hand<Switch> {
    Hand::new(Switch::new(config).unwrap())
}

#[test]
fn an_unknown_destination_is_flooded_and_a_known_one_is_not() {
    let mut switch = switch(Config::default());
    assert_eq!(switch.ports(0, &frame(mac(1), mac(2))), [1, 2, 3]);
    assert_eq!(switch.ports(2, &frame(mac(2), mac(1))), [0]);
    assert_eq!(switch.ports(0, &frame(mac(1), mac(2))), [2]);
    assert_eq!(
        (switch.counter("flooded"), switch.counter("learned")),
        (1, 2)
    );
}

#[test]
fn broadcast_and_multicast_go_everywhere_but_back() {
    let mut switch = switch(Config::default());
    switch.ports(3, &frame(mac(9), mac(1)));
    assert_eq!(switch.ports(1, &frame(mac(1), ALL)), [0, 2, 3]);
    assert_eq!(
        switch.ports(1, &frame(mac(1), [1, 0, 0x5E, 0, 0, 9])),
        [0, 2, 3]
    );
}

#[test]
fn a_station_on_the_port_of_arrival_gets_nothing_from_the_switch() {
    let mut switch = switch(Config::default());
    switch.ports(0, &frame(mac(1), ALL));
    assert_eq!(switch.ports(0, &frame(mac(2), mac(1))), []);
    assert_eq!(switch.drops("destination on the port of arrival"), 1);
}

#[test]
fn a_station_is_forgotten_when_it_has_been_silent_for_the_ageing_time() {
    let mut switch = switch(Config::default());
    switch.ports(0, &frame(mac(1), ALL));
    switch.wait(Time::from_secs(300) - Time::from_ps(1));
    assert_eq!(switch.ports(1, &frame(mac(2), mac(1))), [0]);
    switch.wait(Time::from_ps(1));
    assert_eq!(switch.ports(1, &frame(mac(2), mac(1))), [0, 2, 3]);
}

#[test]
fn a_frame_renews_what_is_known_of_its_source_only() {
    let mut switch = switch(Config::default());
    switch.ports(0, &frame(mac(1), ALL));
    switch.wait(Time::from_secs(200));
    // To station 1: renews 2, not 1.
    switch.ports(1, &frame(mac(2), mac(1)));
    switch.wait(Time::from_secs(200));
    assert_eq!(switch.ports(3, &frame(mac(3), mac(1))), [0, 1, 2]);
    assert_eq!(switch.ports(3, &frame(mac(3), mac(2))), [1]);
}

#[test]
fn a_station_that_moves_is_followed_at_once() {
    let mut switch = switch(Config::default());
    switch.ports(0, &frame(mac(1), ALL));
    switch.ports(3, &frame(mac(1), ALL));
    assert_eq!(switch.ports(1, &frame(mac(2), mac(1))), [3]);
    assert_eq!(switch.counter("moved"), 1);
}

#[test]
fn a_group_address_is_never_learned() {
    let group = [3, 0, 0, 0, 0, 1];
    let mut switch = switch(Config::default());
    switch.ports(0, &frame(group, mac(1)));
    assert_eq!(switch.ports(1, &frame(mac(2), group)), [0, 2, 3]);
    assert_eq!(
        (switch.counter("learned"), switch.counter("stations")),
        (1, 1)
    );
}

#[test]
fn a_bridges_own_addresses_are_not_forwarded_unless_told() {
    let spanning_tree = [0x01, 0x80, 0xC2, 0, 0, 0];
    let behind = [0x01, 0x80, 0xC2, 0, 0, 0x10];
    let mut ordinary = switch(Config::default());
    assert_eq!(ordinary.ports(0, &frame(mac(1), spanning_tree)), []);
    assert_eq!(ordinary.ports(0, &frame(mac(1), behind)), [1, 2, 3]);
    let forward_reserved = true;
    let mut hub = switch(Config {
        forward_reserved,
        ..Config::default()
    });
    assert_eq!(hub.ports(0, &frame(mac(1), spanning_tree)), [1, 2, 3]);
}

#[test]
fn each_vlan_has_its_own_stations_if_the_switch_is_aware() {
    let vlan_aware = true;
    let mut aware = switch(Config {
        vlan_aware,
        ..Config::default()
    });
    aware.ports(0, &tagged(10, frame(mac(1), ALL)));
    aware.ports(1, &tagged(20, frame(mac(1), ALL)));
    assert_eq!(aware.counter("moved"), 0);
    assert_eq!(aware.ports(2, &tagged(10, frame(mac(2), mac(1)))), [0]);
    assert_eq!(aware.ports(2, &tagged(20, frame(mac(2), mac(1)))), [1]);
    assert_eq!(aware.ports(2, &frame(mac(2), mac(1))), [0, 1, 3]);
    // Untagged, priority-tagged and VLAN 1 are one.
    aware.ports(3, &tagged(0, frame(mac(5), ALL)));
    assert_eq!(aware.ports(2, &frame(mac(2), mac(5))), [3]);
    assert_eq!(aware.ports(2, &tagged(1, frame(mac(2), mac(5)))), [3]);

    let mut unaware = switch(Config::default());
    unaware.ports(0, &tagged(10, frame(mac(1), ALL)));
    unaware.ports(1, &tagged(20, frame(mac(1), ALL)));
    assert_eq!(unaware.counter("moved"), 1);
}

#[test]
fn a_full_table_still_forwards_and_counts_whom_it_does_not_know() {
    let mut switch = switch(Config {
        stations: 2,
        ..Config::default()
    });
    for station in 1..=3 {
        switch.ports(0, &frame(mac(station), ALL));
    }
    assert_eq!(
        (switch.counter("stations"), switch.counter("not_learned")),
        (2, 1)
    );
    assert_eq!(switch.ports(1, &frame(mac(1), mac(3))), [0, 2, 3]);
    switch.wait(Time::from_secs(300));
    switch.ports(0, &frame(mac(3), ALL));
    assert_eq!(switch.ports(1, &frame(mac(9), mac(3))), [0]);
}

#[test]
fn what_is_no_frame_is_dropped() {
    let mut switch = switch(Config {
        ports: 1,
        ..Config::default()
    });
    assert_eq!(switch.ports(0, &[0; 13]), []);
    assert_eq!(switch.ports(0, &frame(mac(1), mac(2))), []);
    assert_eq!(switch.drops("shorter than an Ethernet header"), 1);
    assert_eq!(switch.drops("no other port"), 1);
}
