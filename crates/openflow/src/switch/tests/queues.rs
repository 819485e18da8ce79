//! Queues that share a port.

use super::pair::Pair;
use crate::message::{ALL_QUEUES, Answer, Message, MultipartRequest, Query, QueueProperty};
use crate::port::PortNo;
use crate::switch::{Config, DisciplineConfig, QueueConfig, Switch};
use crate::version::Version;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use node::ConfigError;
use node::{Rate, Time};

const fn queue(number: u32, min_rate: Option<u16>, max_rate: Option<u16>) -> QueueConfig {
    QueueConfig {
        port: 4,
        queue: number,
        min_rate,
        max_rate,
    }
}

fn config(queues: &[QueueConfig]) -> Config {
    // Frames from port 1 go by queue 1 and so on; those from port 3 by none.
    let entries = [
        "in_port=1,actions=set_queue:1,output:4",
        "in_port=2,actions=set_queue:2,output:4",
    ];
    Config {
        queues: queues.to_vec(),
        entries: entries
            .iter()
            .chain(&["in_port=3,actions=output:4"])
            .map(|entry| entry.to_string())
            .collect(),
        ..Config::default()
    }
}

/// A wire time of 1,000 bytes: 8 us at 1 Gb/s.
const FRAME: usize = 1_000 - 24;

/// Frames of each port that leave within so many wire times, if each of these ports brings one at each.
fn shares(queues: &[QueueConfig], ports: &[u16], times: u32) -> [u32; 3] {
    let mut pair = Pair::with(Version::V13, config(queues));
    let mut left = [0; 3];
    let mut sent = Vec::new();
    for round in 1..=times {
        for &port in ports {
            let mut frame = vec![0; FRAME];
            frame[11] = port as u8;
            sent.extend(pair.receive(port, &frame));
        }
        // What begins with the next is not counted.
        pair.pass(Time::from_ns(if round < times { 8_000 } else { 7_999 }));
        sent.extend(pair.sent.drain(..).map(|(port, frame)| (port + 1, frame)));
    }
    for (port, frame) in sent {
        assert_eq!(port, 4);
        left[usize::from(frame[11]) - 1] += 1;
    }
    left
}

#[test]
fn queues_with_frames_waiting_get_their_least_rates_and_the_rest_goes_to_those_without() {
    let promised = [queue(1, Some(500), None), queue(2, Some(300), None)];
    assert_eq!(shares(&promised, &[1, 2, 3], 1_000), [500, 300, 200]);
    // What one leaves, the others share by what they were promised.
    assert_eq!(shares(&promised, &[1, 2], 800), [500, 300, 0]);
    assert_eq!(shares(&promised, &[2, 3], 1_000), [0, 600, 400]);
    assert_eq!(shares(&promised, &[3], 1_000), [0, 0, 1_000]);
    // All is promised: frames of no queue have what is left over.
    let all = [queue(1, Some(600), None), queue(2, Some(400), None)];
    assert_eq!(shares(&all, &[1, 2, 3], 1_000), [600, 400, 0]);
    // That is the wire at the end of the first frame, before another has come.
    assert_eq!(shares(&all, &[2, 3], 1_000), [0, 999, 1]);
    // Of no queue, and of one without a least rate: half of the rest for each.
    let one = [queue(1, Some(500), None), queue(2, None, None)];
    assert_eq!(shares(&one, &[1, 2, 3], 1_000), [500, 250, 250]);
}

#[test]
fn a_highest_rate_holds_beside_least_rates_and_others_have_what_it_leaves() {
    let both = [queue(1, Some(500), Some(600)), queue(2, Some(100), None)];
    // Alone it could send all, with the second, 5 of 6 parts.
    assert_eq!(shares(&both, &[1], 1_000), [600, 0, 0]);
    assert_eq!(shares(&both, &[1, 2], 1_000), [600, 400, 0]);
    // Without least rates: as before, and no queue waits for another.
    let most = [queue(1, None, Some(250)), queue(2, None, Some(500))];
    assert_eq!(shares(&most, &[1, 2, 3], 1_000), [250, 500, 1_000]);
}

#[test]
fn controllers_are_told_least_rates_and_what_queues_have_sent() {
    let queues = [queue(1, Some(500), Some(900)), queue(2, None, Some(300))];
    let mut pair = Pair::with(Version::V13, config(&queues));
    // One leaves, 1,024 wait, and the last finds no room.
    for _ in 0..1_026 {
        pair.receive(1, &[0; FRAME]);
    }
    pair.pass(Time::from_ns(7_999));
    pair.send(&Message::QueueConfigRequest(PortNo(4)));
    pair.send(&Message::MultipartRequest(MultipartRequest {
        more: false,
        body: Query::Queue {
            port: PortNo(4),
            queue: ALL_QUEUES,
        },
    }));
    let (mut rates, mut counts) = (Vec::new(), Vec::new());
    pair.messages(|_, message| match message {
        Message::QueueConfigReply(reply) => {
            for queue in reply.queues.iter() {
                rates.push((
                    queue.queue,
                    queue.properties.iter().collect::<Vec<_>>().len(),
                ));
                for property in queue.properties.iter() {
                    let known = match property {
                        QueueProperty::MinRate(rate) => (queue.queue, rate) == (1, 500),
                        QueueProperty::MaxRate(rate) => {
                            [(1, 900), (2, 300)].contains(&(queue.queue, rate))
                        }
                        QueueProperty::Experimenter { .. } => false,
                    };
                    assert!(known, "{property:?}");
                }
            }
        }
        Message::MultipartReply(reply) => {
            let Answer::Queue(list) = reply.body else {
                panic!("{reply:?}");
            };
            let each = list
                .iter()
                .map(|one| (one.queue, one.tx_packets, one.tx_bytes, one.tx_errors));
            counts.extend(each);
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(rates, [(1, 2), (2, 1)]);
    assert_eq!(counts, [(1, 1, FRAME as u64, 1), (2, 0, 0, 0)]);
    assert_eq!(pair.drops(), [("a queue is full", 1)]);
    // What waits goes with the link, and is counted.
    pair.link(4, false);
    let reason = "the port is down or does not forward";
    assert_eq!(pair.drops(), [("a queue is full", 1), (reason, 1_024)]);
}

#[test]
fn queues_that_cannot_be_are_refused_with_the_port_and_the_sum() {
    let refusal = |queues: &[QueueConfig]| -> String {
        let ConfigError { key, reason } = Switch::new(config(queues)).err().unwrap();
        format!("{key}: {reason}")
    };
    let text = refusal(&[queue(1, Some(700), None), queue(2, Some(305), None)]);
    assert!(
        text.contains("port 4 have least rates of 100.5 %"),
        "{text}"
    );
    let text = refusal(&[queue(1, Some(0), None)]);
    assert!(text.contains("queue 1 of port 4"), "{text}");
    let text = refusal(&[queue(1, Some(500), Some(400))]);
    assert!(text.contains("above `max_rate`"), "{text}");
    let text = refusal(&[queue(1, None, None), queue(1, None, None)]);
    assert!(text.contains("more than one queue 1 of port 4"), "{text}");
}

/// A port 4 with a discipline, and frames of queue 1, of queue 2 and without a queue.
fn disciplined(discipline: queue::Config) -> Config {
    Config {
        disciplines: vec![DisciplineConfig {
            port: 4,
            discipline,
        }],
        ..config(&[queue(1, None, None), queue(2, None, None)])
    }
}

fn fifo(limit: u32) -> queue::Config {
    queue::Config::Fifo(queue::fifo::Config {
        limit,
        ..queue::fifo::Config::default()
    })
}

/// Bands of 10 packets: queue 1 first, then queue 2, then frames without a queue.
fn bands() -> queue::Config {
    queue::Config::Prio(queue::prio::Config {
        bands: vec![fifo(10); 3],
        by: queue::classify::By::Queue,
        priomap: vec![2, 0, 1],
    })
}

#[test]
fn a_queue_chooses_the_class_of_the_ports_discipline() {
    let mut pair = Pair::with(Version::V13, disciplined(bands()));
    let frame = |port: u16| {
        let mut frame = vec![0; FRAME];
        frame[11] = port as u8;
        frame
    };
    // The first frame leaves at once, then the waiting ones, band by band. 10 of the 15 frames of queue 2 find room.
    let order = [3, 3, 2, 2, 1, 1].into_iter().chain([2; 13]);
    let mut sent = Vec::new();
    for port in order {
        sent.extend(pair.receive(port, &frame(port)));
    }
    pair.pass(Time::from_us(8 * 40));
    sent.extend(pair.sent.drain(..).map(|(port, frame)| (port + 1, frame)));
    let left: Vec<u8> = sent.iter().map(|(_, frame)| frame[11]).collect();
    let expected: Vec<u8> = [3, 1, 1].into_iter().chain([2; 10]).chain([3]).collect();
    assert_eq!(left, expected);
    pair.send(&Message::MultipartRequest(MultipartRequest {
        more: false,
        body: Query::Queue {
            port: PortNo(4),
            queue: ALL_QUEUES,
        },
    }));
    let mut counts = Vec::new();
    pair.messages(|_, message| {
        let Message::MultipartReply(reply) = message else {
            panic!("{message:?}");
        };
        let Answer::Queue(list) = reply.body else {
            panic!("{reply:?}");
        };
        let each = list
            .iter()
            .map(|one| (one.queue, one.tx_packets, one.tx_bytes, one.tx_errors));
        counts.extend(each);
    });
    let size = FRAME as u64;
    assert_eq!(counts, [(1, 2, 2 * size, 0), (2, 10, 10 * size, 5)]);
    assert_eq!(
        pair.drops(),
        [("dropped by the port's queue discipline", 5)]
    );
    // Waiting frames are lost with the link.
    pair.receive(3, &frame(3));
    pair.receive(3, &frame(3));
    pair.link(4, false);
    let reason = "the port is down or does not forward";
    assert_eq!(pair.drops()[1], (reason, 1));
}

#[test]
fn properties_of_queues_are_the_rates_of_their_htb_classes() {
    let rate = |megabits: u64| Rate::from_bits_per_second(megabits * 1_000_000).unwrap();
    let tree = queue::Config::Htb(queue::htb::Config {
        classes: vec![
            queue::htb::Class::leaf(rate(300), rate(1_000)),
            queue::htb::Class::leaf(rate(100), rate(500)),
        ],
        by: queue::classify::By::Queue,
        priomap: vec![1, 0, 1],
    });
    let config = DisciplineConfig {
        port: 4,
        discipline: tree,
    };
    assert_eq!(config.rates(1, rate(1_000)), [Some(300), Some(1_000)]);
    assert_eq!(config.rates(2, rate(1_000)), [Some(100), Some(500)]);
    assert_eq!(config.rates(9, rate(1_000)), [Some(100), Some(500)]);
    let other = DisciplineConfig {
        port: 4,
        discipline: bands(),
    };
    assert_eq!(other.rates(1, rate(1_000)), [None, None]);
}

#[test]
fn a_discipline_of_no_port_or_with_rates_of_its_own_is_refused() {
    let mut two = disciplined(bands());
    two.disciplines.push(two.disciplines[0].clone());
    let mut nowhere = disciplined(bands());
    nowhere.disciplines[0].port = 9;
    let mut rates = disciplined(bands());
    rates.queues[0].max_rate = Some(100);
    let mut wrong = disciplined(bands());
    wrong.disciplines[0].discipline = queue::Config::Prio(queue::prio::Config {
        bands: Vec::new(),
        ..queue::prio::Config::default()
    });
    for (config, reason) in [
        (two, "more than one"),
        (nowhere, "there is no port 9"),
        (rates, "take out `min_rate`"),
        (wrong, "1 to 65536"),
    ] {
        let error = Switch::new(config).map(|_| ()).unwrap_err();
        assert!(error.reason.contains(reason), "{}", error.reason);
    }
}
