use super::*;
use node::random::Random;
use std::vec;

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn who(number: u32) -> IpAddr {
    IpAddr::from(number.to_be_bytes())
}

fn reply(mac: [u8; 6], solicited: bool, overrides: bool) -> Heard {
    Heard::Reply {
        mac: Some(mac),
        solicited,
        overrides,
    }
}

fn frame() -> Frame {
    Frame::new(&[0; 60])
}

#[test]
fn incomplete_asks_three_times_and_gives_up() {
    let (mut table, mut out) = (Neighbours::new(None), Out::default());
    assert!(table.wait(Time::ZERO, who(1), When::Now, frame(), &mut out));
    assert!(!table.wait(Time::ZERO, who(1), When::Now, frame(), &mut out));
    for second in 1..3 {
        let now = Time::from_secs(second);
        assert_eq!(table.poll_timeout(), Some(now));
        assert!(matches!(table.poll(now), Some(Due::Ask(one, None)) if one == who(1)));
        assert!(table.poll(now).is_none());
    }
    let end = Time::from_secs(3);
    assert!(matches!(table.poll(end), Some(Due::Failed(_, waiting)) if waiting.len() == 2));
    assert_eq!((table.count(), table.waiting_bytes()), (0, 0));
    assert_eq!(table.poll_timeout(), None);
}

#[test]
fn reachable_lapses_delays_probes_and_ends() {
    let mut out = Out::default();
    let mut table = Neighbours::new(Some(REACHABLE_TIME));
    table.wait(Time::ZERO, who(1), When::Now, frame(), &mut out);
    let (mac, waiting) = table
        .hear(Time::ZERO, who(1), reply(A, true, true), true, &mut out)
        .unwrap();
    assert_eq!((mac, waiting.len()), (A, 1));
    let state = |table: &Neighbours, s: u64| table.state(Time::from_secs(s), who(1)).unwrap();
    assert_eq!(state(&table, 29), State::Reachable);
    assert_eq!(state(&table, 30), State::Stale);
    // Nothing is sent until something is to be sent.
    assert_eq!(table.poll_timeout(), None);
    assert_eq!(table.resolve(Time::from_secs(40), &who(1)), Some(A));
    assert_eq!(state(&table, 40), State::Delay);
    for second in [45, 46, 47] {
        let due = table.poll(Time::from_secs(second));
        assert!(matches!(due, Some(Due::Ask(_, Some(A)))), "{due:?}");
        assert_eq!(state(&table, second), State::Probe);
        // It is used all the same.
        assert_eq!(table.resolve(Time::from_secs(second), &who(1)), Some(A));
    }
    let due = table.poll(Time::from_secs(48));
    assert!(matches!(due, Some(Due::Failed(..))));
    assert_eq!(table.state(Time::from_secs(48), who(1)), None);
}

/// One neighbour by the table of RFC 4861 appendix C, written down apart from the code.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Model {
    state: Option<(State, [u8; 6])>,
}

impl Model {
    fn hear(&mut self, heard: Heard, create: bool) {
        use State::{Incomplete, Reachable, Stale};
        self.state = match (self.state, heard) {
            (None, Heard::Request(mac)) if create => Some((Stale, mac)),
            (None, _) => None,
            (Some((Incomplete, _)), Heard::Request(mac)) => Some((Stale, mac)),
            (Some((_, old)), Heard::Request(mac)) if old != mac => Some((Stale, mac)),
            (same, Heard::Request(_)) => same,
            (
                Some((state, old)),
                Heard::Reply {
                    mac,
                    solicited,
                    overrides,
                },
            ) => Some(match (state, mac) {
                (Incomplete, None) => (Incomplete, old),
                (Incomplete, Some(mac)) if solicited => (Reachable, mac),
                (Incomplete, Some(mac)) => (Stale, mac),
                (Reachable, Some(mac)) if mac != old && !overrides => (Stale, old),
                (state, Some(mac)) if mac != old && !overrides => (state, old),
                (_, mac) if solicited => (Reachable, mac.unwrap_or(old)),
                (_, Some(mac)) if mac != old => (Stale, mac),
                (state, _) => (state, old),
            }),
        };
    }
}

#[test]
fn random_messages_move_a_neighbour_as_the_rfc_says() {
    let mut random = Random::new(11);
    for _ in 0..3_000 {
        let mut out = Out::default();
        let mut table = Neighbours::new(Some(Time::MAX));
        let mut model = Model::default();
        for _ in 0..random.below(30) {
            let mac = if random.chance(0.5) { A } else { B };
            match random.below(4) {
                0 => {
                    let known = table.resolve(Time::ZERO, &who(1));
                    match &mut model.state {
                        None => {
                            assert!(table.wait(Time::ZERO, who(1), When::Now, frame(), &mut out));
                            model.state = Some((State::Incomplete, [0; 6]));
                        }
                        Some((State::Incomplete, _)) => assert_eq!(known, None),
                        Some((state, mac)) => {
                            assert_eq!(known, Some(*mac));
                            if *state == State::Stale {
                                *state = State::Delay;
                            }
                        }
                    }
                }
                1 => {
                    let create = random.chance(0.7);
                    table.hear(Time::ZERO, who(1), Heard::Request(mac), create, &mut out);
                    model.hear(Heard::Request(mac), create);
                }
                _ => {
                    let heard = Heard::Reply {
                        mac: random.chance(0.8).then_some(mac),
                        solicited: random.chance(0.5),
                        overrides: random.chance(0.5),
                    };
                    table.hear(Time::ZERO, who(1), heard, true, &mut out);
                    model.hear(heard, true);
                }
            }
            assert_eq!(
                table.state(Time::ZERO, who(1)),
                model.state.map(|(state, _)| state)
            );
        }
    }
}

#[test]
fn forged_requests_replace_each_other_and_not_neighbours_in_use() {
    let (mut table, mut out) = (Neighbours::new(None), Out::default());
    let mut used = vec![];
    for number in 0..500 {
        let one = who(number * 7_919_117);
        table.wait(Time::ZERO, one, When::Now, frame(), &mut out);
        table.hear(Time::ZERO, one, reply(A, true, true), true, &mut out);
        used.push(one);
    }
    let mut random = Random::new(5);
    for _ in 0..200_000 {
        let forged = who(random.bits() as u32);
        if !used.contains(&forged) {
            table.hear(Time::ZERO, forged, Heard::Request(B), true, &mut out);
        }
        assert!(table.count() <= MAX_NEIGHBOURS);
    }
    for one in used {
        assert_eq!(table.resolve(Time::ZERO, &one), Some(A));
    }
}

#[test]
fn memory_is_bounded_whatever_waits() {
    let (mut table, mut out) = (Neighbours::new(None), Out::default());
    let mut random = Random::new(6);
    let mut now = Time::ZERO;
    for _ in 0..100_000 {
        let hop = who(random.below(6_000) as u32);
        match random.below(20) {
            0 => {
                table.hear(now, hop, reply(A, true, true), true, &mut out);
            }
            1 => {
                now += Time::from_ms(random.below(30));
                while table.poll(now).is_some() {}
            }
            _ if table.resolve(now, &hop).is_none() => {
                let size = 60 + random.below(1_500) as usize;
                table.wait(now, hop, When::Now, Frame::new(&vec![0; size]), &mut out);
            }
            _ => {}
        }
        assert!(table.count() <= MAX_NEIGHBOURS && table.waiting_bytes() <= MAX_WAITING_BYTES);
    }
    let sizes = table.all.values().map(|one| size_of_all(&one.waiting));
    assert_eq!(table.waiting_bytes(), sizes.sum::<usize>());
    let timers = table.all.values().filter(|one| one.timer.is_some());
    assert_eq!(table.timers.len(), timers.count());
}
