use super::*;
use node::random::Random;
use std::fs::File;

const LIMITS: Limits = Limits {
    connections: 12,
    unidentified: 4,
    per_address: 6,
    ..crate::P4RUNTIME
};

fn null() -> File {
    File::open("/dev/null").unwrap()
}

fn from(text: &str) -> Option<IpAddr> {
    Some(text.parse().unwrap())
}

#[test]
fn one_too_many_is_turned_away_until_another_goes() {
    let limits = Limits {
        connections: 2,
        ..crate::CONTROL
    };
    let gate = Gate::new("test", limits);
    let file = null();
    let (first, second) = (gate.admit(&file, None), gate.admit(&file, None));
    assert!(first.is_some() && second.is_some() && gate.admit(&file, None).is_none());
    drop(first);
    assert!(gate.admit(&file, None).is_some());
    let counts = gate.counts();
    assert_eq!((counts.accepted, counts.too_many), (3, 1));
    assert_eq!(counts.turned_away(), 1);
}

#[test]
fn the_last_descriptors_are_for_others() {
    let gate = Gate::new("test", crate::CONTROL);
    let most = getrlimit(Resource::Nofile).current.unwrap();
    struct Number(i32);
    impl AsRawFd for Number {
        fn as_raw_fd(&self) -> i32 {
            self.0
        }
    }
    assert!(spare_after(&Number(3)));
    let last = i32::try_from(most - 1).unwrap();
    assert!(!spare_after(&Number(last)));
    assert!(gate.admit(&Number(last), None).is_none());
    assert_eq!(gate.counts().no_descriptor, 1);
    // A silent connection makes room for the next attempt; one that is known does not.
    let gate = Gate::new("test", LIMITS);
    let [known, silent] =
        ["10.0.0.1", "10.0.0.2"].map(|at| gate.admit(&Number(3), from(at)).unwrap());
    known.visitor().know();
    for _ in 0..2 {
        assert!(gate.admit(&Number(last), from("10.0.0.3")).is_none());
        assert_eq!((known.gave_way(), silent.gave_way()), (false, true));
    }
    assert!(gate.admit(&Number(3), from("10.0.0.3")).is_some());
}

#[test]
fn a_client_that_speaks_at_once_is_served_however_many_wait_in_silence() {
    let (gate, file) = (Gate::new("test", LIMITS), null());
    let unidentified: Vec<Permit> = (0..100)
        .map(|_| gate.admit(&file, from("10.0.0.1")).unwrap())
        .collect();
    let there = unidentified.iter().filter(|permit| !permit.gave_way());
    assert_eq!(there.count(), LIMITS.unidentified);
    // From the same address, and from another one.
    for address in ["10.0.0.1", "10.0.0.2", "127.0.0.1", "::1"] {
        let permit = gate.admit(&file, from(address)).unwrap();
        let busy = permit.visitor().busy();
        for _ in 0..100 {
            drop(gate.admit(&file, from("10.0.0.1")));
        }
        assert!(!permit.gave_way());
        drop(busy);
    }
    assert_eq!(gate.counts().turned_away(), 0);
}

#[test]
fn the_address_with_most_unidentified_connections_is_evicted_first() {
    let (gate, file) = (Gate::new("test", LIMITS), null());
    let honest = gate.admit(&file, from("10.0.0.9")).unwrap();
    for _ in 0..100 {
        std::mem::forget(gate.admit(&file, from("10.0.0.1")).unwrap());
    }
    assert!(!honest.gave_way());
}

#[test]
fn busy_connections_keep_their_places_and_one_is_kept_for_loopback() {
    let (gate, file) = (Gate::new("test", LIMITS), null());
    let mut busy = Vec::new();
    let mut open = |address: &str| {
        let permit = gate.admit(&file, from(address))?;
        let work = permit.visitor().busy();
        busy.push((permit, work));
        Some(())
    };
    for _ in 0..6 {
        assert!(open("10.0.0.1").is_some());
    }
    assert!(
        open("10.0.0.1").is_none(),
        "its address has as many as may be"
    );
    // Of IPv6 a network counts as one address.
    for host in 0..5 {
        assert!(open(&format!("2001:db8::{host}")).is_some());
    }
    assert!(open("10.0.0.3").is_none(), "the last place is for loopback");
    assert!(open("127.0.0.1").is_some());
    assert!(open("127.0.0.1").is_none());
    assert!(busy.iter().all(|(permit, _)| !permit.gave_way()));
    assert_eq!(gate.counts().too_many, 3);
    drop(busy);
    assert!(gate.places.lock().taken.is_empty());
}

#[test]
fn who_waits_is_woken_when_it_gives_way() {
    let (gate, file) = (Gate::new("test", LIMITS), null());
    let first = gate.admit(&file, from("10.0.0.1")).unwrap();
    struct Woken(AtomicBool);
    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    assert!(first.poll_gave_way(&mut context).is_pending());
    for _ in 0..LIMITS.unidentified {
        std::mem::forget(gate.admit(&file, from("10.0.0.1")).unwrap());
    }
    assert!(woken.0.load(Ordering::Relaxed));
    assert!(first.poll_gave_way(&mut context).is_ready());
}

#[test]
fn whatever_comes_and_goes_the_limits_hold() {
    let mut random = Random::new(9);
    let (gate, file) = (Gate::new("test", LIMITS), null());
    let mut open: Vec<(Permit, Option<Busy>, u64)> = Vec::new();
    for _ in 0..3_000 {
        match random.below(4) {
            0 | 1 => {
                let host = random.below(5);
                let address = match host {
                    0 => "127.0.0.1".to_owned(),
                    host => format!("10.0.0.{host}"),
                };
                let all_busy = open.iter().filter(|(_, busy, _)| busy.is_some()).count();
                let admitted = gate.admit(&file, from(&address));
                // It fails only for busy connections.
                assert!(
                    admitted.is_some() || all_busy >= LIMITS.per_address,
                    "{all_busy}"
                );
                open.extend(admitted.map(|permit| (permit, None, host)));
            }
            2 if !open.is_empty() => {
                let at = random.below(open.len() as u64) as usize;
                let (permit, busy, _) = &mut open[at];
                *busy = match busy {
                    None if !permit.gave_way() => Some(permit.visitor().busy()),
                    _ => None,
                };
            }
            3 if !open.is_empty() => {
                open.swap_remove(random.below(open.len() as u64) as usize);
            }
            _ => {}
        }
        let there = || open.iter().filter(|(permit, ..)| !permit.gave_way());
        assert_eq!(gate.places.lock().taken.len(), there().count());
        assert!(there().count() <= LIMITS.connections);
        let unidentified = there().filter(|(permit, ..)| !permit.visitor().is_known());
        assert!(unidentified.count() <= LIMITS.unidentified);
        for host in 1..5 {
            assert!(there().filter(|(.., of)| *of == host).count() <= LIMITS.per_address);
        }
        let busy =
            |(permit, busy, _): &(Permit, Option<Busy>, u64)| busy.is_some() && permit.gave_way();
        assert!(!open.iter().any(busy));
    }
}
