//! Decisions that are kept, and devices that are evicted.

use super::*;

fn mac(last: u16) -> Mac {
    let [a, b] = last.to_be_bytes();
    Mac([2, 0, 0, 0, a, b])
}

/// Stores changes in memory, and fails on request.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<(bool, Vec<Change>)>>);

impl Journal for Memory {
    fn keep(&mut self, _: Mac, change: &Change) -> Result<(), String> {
        let mut memory = self.0.lock();
        if memory.0 {
            return Err("disk full".into());
        }
        memory.1.push(change.clone());
        Ok(())
    }

    fn keep_person(&mut self, _: &str, _: Option<&Person>) -> Result<(), String> {
        Ok(())
    }

    fn keep_used(&mut self, _: &[(Owner, Used)]) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_decision_that_permits_holds_only_if_it_is_kept() {
    let memory = Memory::default();
    let mut home = Home::new(Plan::default(), Box::new(memory.clone()));
    home.seen(Time::ZERO, mac(1)).expect("a slot");
    let (permit, deny) = (
        Change::Admission(Admission::Permitted),
        Change::Admission(Admission::Denied),
    );
    memory.0.lock().0 = true;
    let refused = home.change(Time::ZERO, mac(1), permit.clone());
    assert_eq!(refused, Err(Refused::NotKept("disk full".into())));
    assert!(!home.device(mac(1)).expect("a device").is_admitted());
    memory.0.lock().0 = false;
    home.change(Time::ZERO, mac(1), permit).expect("kept");
    assert!(home.device(mac(1)).expect("a device").is_admitted());
    // A restricting decision takes effect all the same, and is stored later.
    memory.0.lock().0 = true;
    home.change(Time::ZERO, mac(1), deny.clone())
        .expect_err("disk full");
    assert!(!home.device(mac(1)).expect("a device").is_admitted());
    home.retry().expect_err("disk full");
    memory.0.lock().0 = false;
    home.retry().expect("kept");
    assert_eq!(memory.0.lock().1.last(), Some(&deny));
    let count = memory.0.lock().1.len();
    home.retry().expect("nothing is left");
    assert_eq!(memory.0.lock().1.len(), count);
}

#[test]
fn a_device_is_kept_from_the_first_decision_on() {
    let memory = Memory::default();
    let mut home = Home::new(Plan::default(), Box::new(memory.clone()));
    for each in 0..1000 {
        home.seen(Time::ZERO, mac(each)).expect("a slot");
        let name = Change::HostName("phone".into());
        home.change(Time::ZERO, mac(each), name).expect("a name");
    }
    assert_eq!(memory.0.lock().1, []);
    let slot = home.device(mac(999)).expect("a device").slot;
    let block = Change::Blacklisted(true);
    home.change(Time::ZERO, mac(999), block.clone())
        .expect("kept");
    let kept = memory.0.lock().1.clone();
    assert_eq!(
        kept[..2],
        [Change::Found(slot), Change::HostName("phone".into())]
    );
    assert!(kept.contains(&block));
}

#[test]
fn a_flood_at_one_port_leaves_the_devices_of_another() {
    let mut home = Home::new(Plan::default(), Box::new(NoJournal));
    home.seen_at(Time::ZERO, mac(0), Some(1)).expect("a slot");
    for each in 1..2000 {
        let now = Time::from_secs(u64::from(each));
        home.seen_at(now, mac(each), Some(2)).expect("a slot");
    }
    assert!(home.device(mac(0)).is_some());
    assert_eq!(home.devices().count(), MAX_WAITING);
}

#[test]
fn a_flood_of_new_devices_takes_no_slot_of_a_device_that_people_decided_about() {
    let plan = Plan::new(Ipv4Addr::new(10, 2, 0, 0), 24).expect("a plan");
    let mut home = Home::new(plan, Box::new(NoJournal));
    home.seen(Time::ZERO, mac(0)).expect("a slot");
    let permit = Change::Admission(Admission::Permitted);
    home.change(Time::ZERO, mac(0), permit).expect("known");
    for each in 1..1000 {
        let now = Time::from_secs(u64::from(each));
        home.seen(now, mac(each)).expect("the oldest makes room");
    }
    assert_eq!(home.devices().count(), 62);
    assert_eq!(home.at(plan.device(1)).expect("kept").mac, mac(0));
    let left: Vec<_> = home
        .notices(home.last_notice() - 2)
        .expect("kept")
        .collect();
    assert_eq!(left[1].mac, mac(999));
}

#[test]
fn old_numbers_of_notices_are_known_as_lost() {
    let mut home = Home::new(Plan::default(), Box::new(NoJournal));
    home.seen(Time::ZERO, mac(1)).expect("a slot");
    assert_eq!(home.notices(0).expect("kept").count(), 1);
    assert_eq!(home.notices(1).expect("kept").count(), 0);
    for _ in 0..MAX_NOTICES {
        home.notify(Time::ZERO, mac(1), News::LeaseEnded);
    }
    assert!(home.notices(0).is_none());
    assert_eq!(home.notices(1).expect("kept").count(), MAX_NOTICES);
}
