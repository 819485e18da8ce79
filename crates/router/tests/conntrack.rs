//! Timeouts and bounds of the table of connections, with a model that has neither timers nor indices.

use node::Time;
use node::random::Random;
use packet::ipv4::Ipv4;
use router::conntrack::{Config, Full, Headers, State, Tracker};
use std::net::Ipv4Addr;

/// A datagram between two of a few hosts.
fn datagram(source: u8, destination: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([8, 0]);
    let [source, destination] = [source, destination].map(|host| Ipv4Addr::new(10, 0, 0, host));
    Ipv4::new(source, destination, 17).build(&mut frame, |out| {
        out.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        out.extend([0, 8, 0, 0]);
    });
    frame
}

/// A connection of UDP.
#[derive(Clone, Copy, Debug)]
struct Known {
    ends: [(u8, u16); 2],
    start: Time,
    expires: Time,
    is_replied: bool,
    is_stream: bool,
}

/// Connections in the order in which they were made.
#[derive(Default)]
struct Model {
    known: Vec<Known>,
    early: u64,
    full: u64,
}

impl Model {
    fn take(
        &mut self,
        config: &Config,
        now: Time,
        from: (u8, u16),
        to: (u8, u16),
        leaves: bool,
    ) -> Result<State, Full> {
        self.known.retain(|known| known.expires > now);
        let is_it = |known: &Known| known.ends == [from, to] || known.ends == [to, from];
        if let Some(known) = self.known.iter_mut().find(|known| is_it(known)) {
            let is_reply = known.ends[0] != from || from == to;
            let state = match is_reply || known.is_replied {
                true => State::Established,
                false => State::New,
            };
            let mut timeout = config.udp_timeout;
            if known.is_replied && now > known.start + Time::from_secs(2) {
                timeout = config.udp_timeout_stream;
                known.is_stream = true;
            }
            known.expires = now + timeout;
            known.is_replied |= is_reply;
            return Ok(state);
        }
        if self.known.len() >= config.max as usize {
            match self.known.iter().position(|known| !known.is_stream) {
                Some(oldest) => {
                    self.known.remove(oldest);
                    self.early += 1;
                }
                None => {
                    self.full += 1;
                    return Err(Full);
                }
            }
        }
        if leaves {
            self.known.push(Known {
                ends: [from, to],
                start: now,
                expires: now + config.udp_timeout,
                is_replied: false,
                is_stream: false,
            });
        }
        Ok(State::New)
    }
}

#[test]
fn connections_live_as_long_and_are_as_many_as_a_plain_model_says() {
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let config = Config {
            max: 1 + random.below(40) as u32,
            udp_timeout: Time::from_ms(1 + random.below(20_000)),
            udp_timeout_stream: Time::from_ms(1 + random.below(60_000)),
            ..Config::default()
        };
        let mut tracker = Tracker::new(config.clone(), seed).expect("a good configuration");
        let mut model = Model::default();
        let mut now = Time::ZERO;
        let step = 1 + random.below(3_000);
        for _ in 0..3_000 {
            now += Time::from_ms(random.below(step));
            let end = |random: &mut Random| (1 + random.below(4) as u8, 1 + random.below(4) as u16);
            let (from, to) = (end(&mut random), end(&mut random));
            if from == to {
                continue;
            }
            let leaves = random.chance(0.8);
            let frame = datagram(from.0, to.0, [from.1, to.1]);
            let headers = Headers::read(&frame, 14, false).expect("a packet");
            let found = tracker.track(now, 0, &frame, &headers, false);
            let expected = model.take(&config, now, from, to, leaves);
            assert_eq!(
                found.map(|tracked| tracked.state),
                expected,
                "seed {seed} at {now:?}"
            );
            if let (Ok(mut tracked), true) = (found, leaves) {
                assert!(tracker.confirm(&mut tracked, &frame, false));
            }
            assert_eq!(tracker.len(), model.known.len(), "seed {seed} at {now:?}");
            let next = model.known.iter().map(|known| known.expires).min();
            // A timer that was restarted wakes early.
            assert!(tracker.next_wake() <= next || next.is_none());
        }
        let counters = tracker.counters();
        assert_eq!(
            (counters.early_drops, counters.full),
            (model.early, model.full)
        );
        let live = model.known.iter().filter(|known| known.expires > now);
        assert_eq!(tracker.rows(now).len(), live.count());
    }
}

#[test]
fn values_out_of_their_range_are_refused() {
    for config in [
        Config {
            max: 0,
            ..Config::default()
        },
        Config {
            max: u32::MAX,
            ..Config::default()
        },
        Config {
            udp_timeout: Time::ZERO,
            ..Config::default()
        },
        Config {
            tcp_timeout_close: Time::MAX,
            ..Config::default()
        },
    ] {
        assert!(Tracker::new(config, 1).is_err());
    }
}
