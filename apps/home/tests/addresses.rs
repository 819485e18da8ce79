//! DHCP: leases that follow decisions, stable addresses, floods.

use crate::stage::{Stage, mac};
use core::net::Ipv4Addr;
use dhcp::v4::message::Kind;
use home::home::{Journal, MAX_WAITING, News, NoJournal};
use home::plan::Plan;
use home::{Admission, Change, Home, Settings};
use node::Time;
use packet::ethernet::Mac;

fn stage() -> Stage {
    let home = Home::new(Plan::default(), Box::new(NoJournal));
    Stage::new(home, Settings::default())
}

const PERMIT: Change = Change::Admission(Admission::Permitted);
const DENY: Change = Change::Admission(Admission::Denied);

#[test]
fn the_lease_follows_the_decision() {
    let mut stage = stage();
    let address = stage.join(2, mac(0)).expect("an address");
    assert_eq!(address, Ipv4Addr::new(10, 2, 0, 6));
    let ask = |stage: &mut Stage| stage.dhcp(2, mac(0), Kind::Request, Some(address));
    assert_eq!(ask(&mut stage), Some((Kind::Ack, address, 30)));
    stage.change(mac(0), PERMIT);
    assert_eq!(ask(&mut stage), Some((Kind::Ack, address, 3600)));
    stage.change(mac(0), DENY);
    assert_eq!(ask(&mut stage), None);
    assert_eq!(stage.join(2, mac(0)), None);
    stage.change(mac(0), Change::Admission(Admission::Waiting));
    assert_eq!(ask(&mut stage), Some((Kind::Ack, address, 30)));
}

#[test]
fn a_request_for_an_address_of_another_is_refused() {
    let mut stage = stage();
    stage.join(2, mac(0)).expect("an address");
    let other = stage.join(3, mac(1)).expect("an address");
    for address in [
        other,
        Ipv4Addr::new(192, 168, 1, 7),
        Ipv4Addr::new(10, 2, 0, 1),
    ] {
        let (kind, ..) = stage
            .dhcp(2, mac(0), Kind::Request, Some(address))
            .expect("an answer");
        assert_eq!(kind, Kind::Nak, "{address}");
    }
}

#[test]
fn a_device_keeps_its_address_when_the_program_starts_again() {
    let mut home = Home::new(Plan::default(), Box::new(NoJournal));
    home.seen(Time::ZERO, mac(5)).expect("a slot");
    home.change(Time::ZERO, mac(5), PERMIT).expect("kept");
    let mut stage = Stage::new(home, Settings::default());
    let own = Ipv4Addr::new(10, 2, 0, 6);
    // No discover before: the device does not know of the restart.
    let answer = stage.dhcp(2, mac(5), Kind::Request, Some(own));
    assert_eq!(answer, Some((Kind::Ack, own, 3600)));
}

#[test]
fn a_slot_that_is_free_again_is_given_to_another_device_at_once() {
    let mut stage = stage();
    let address = stage.join(2, mac(0)).expect("an address");
    stage.change(mac(0), Change::Forgotten);
    assert_eq!(stage.join(3, mac(1)), Some(address));
    assert_ne!(stage.join(2, mac(0)), Some(address));
}

#[test]
fn leases_and_their_ends_are_notices() {
    let mut stage = stage();
    stage.join(2, mac(0)).expect("an address");
    let end = stage.home.lock().device(mac(0)).expect("known").lease_end;
    assert_eq!(end, Some(stage.now + Time::from_secs(30)));
    let news = |stage: &Stage, wanted: &dyn Fn(&News) -> bool| {
        let home = stage.home.lock();
        let notices = home.notices(0).expect("all are kept");
        notices.filter(|notice| wanted(&notice.news)).count()
    };
    let ended = |news: &News| *news == News::LeaseEnded;
    assert_eq!(news(&stage, &|news| matches!(news, News::Lease(_))), 1);
    assert_eq!(news(&stage, &ended), 0);
    stage.run(Time::from_secs(31));
    assert_eq!(news(&stage, &ended), 1);
    assert_eq!(
        stage.home.lock().device(mac(0)).expect("known").lease_end,
        None
    );
}

/// Counts what is written.
struct Counting(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl Journal for Counting {
    fn keep(&mut self, _: Mac, _: &Change) -> Result<(), String> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }

    fn keep_person(&mut self, _: &str, _: Option<&home::people::Person>) -> Result<(), String> {
        self.keep(Mac::default(), &Change::Forgotten)
    }

    fn keep_used(&mut self, _: &[(home::people::Owner, home::limits::Used)]) -> Result<(), String> {
        self.keep(Mac::default(), &Change::Forgotten)
    }
}

#[test]
fn a_flood_of_new_devices_writes_nothing_and_leaves_those_of_other_ports() {
    let written = std::sync::Arc::default();
    let home = Home::new(
        Plan::default(),
        Box::new(Counting(std::sync::Arc::clone(&written))),
    );
    let mut stage = Stage::new(home, Settings::default());
    let guest = stage.join(3, mac(9_999)).expect("an address");
    for index in 0..3_000 {
        stage.dhcp(2, mac(index), Kind::Discover, None);
    }
    let count = stage.home.lock().devices().count();
    assert_eq!(count, MAX_WAITING);
    assert_eq!(written.load(std::sync::atomic::Ordering::Relaxed), 0);
    let again = stage.dhcp(3, mac(9_999), Kind::Request, Some(guest));
    assert_eq!(again, Some((Kind::Ack, guest, 30)));
}

#[test]
fn a_hundred_devices_at_once_have_addresses_of_their_own() {
    let mut stage = stage();
    let addresses = (0..100).map(|index| stage.join(2 + u32::from(index) % 7, mac(index)));
    let addresses: std::collections::BTreeSet<_> = addresses.map(|one| one.expect("one")).collect();
    assert_eq!(addresses.len(), 100);
}
