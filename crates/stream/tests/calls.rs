//! Calls over a network that loses, repeats and reorders packets, and the memory that peers can use.

use node::Time;
use node::random::Random;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use stream::call::{
    CallError, Client, ClientEvent, ConnectionId, Kind, MAX_FRAGMENT_LEN, MAX_REQUEST_LEN, Packet,
    Server, ServerEvent, ServerLimits,
};

/// A network with a server and clients, in simulated time.
struct World {
    random: Random,
    now: Time,
    server: Server,
    clients: Vec<(SocketAddr, Client)>,
    /// Packets on their way: arrival, then to the server (`None`) or to a client.
    flying: BTreeMap<(Time, u64), (SocketAddr, bool, Vec<u8>)>,
    number: u64,
    loss: f64,
    /// Requests that the service works on, by the time of their reply.
    working: BTreeMap<(Time, u64), (ConnectionId, Vec<u8>)>,
    taken: Vec<Vec<u8>>,
    packets: u64,
    service_time: Time,
    is_dead: bool,
}

impl World {
    fn new(seed: u64, clients: usize, loss: f64, limits: ServerLimits) -> World {
        let mut random = Random::new(seed);
        let client = |number: usize| {
            let address = format!("10.0.0.{}:{}", number % 250, 1000 + number);
            let address = address.parse().expect("an address");
            (address, Client::new(Time::ZERO, random.bits()))
        };
        let clients = (0..clients).map(client).collect();
        World {
            clients,
            now: Time::ZERO,
            server: Server::new(limits, [random.bits(), random.bits()]),
            random,
            flying: BTreeMap::new(),
            number: 0,
            loss,
            working: BTreeMap::new(),
            taken: Vec::new(),
            packets: 0,
            service_time: Time::ZERO,
            is_dead: false,
        }
    }

    fn fly(&mut self, client: SocketAddr, to_server: bool, bytes: &[u8]) {
        self.packets += 1;
        let copies = if self.random.chance(self.loss / 2.0) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            if self.random.chance(self.loss) {
                continue;
            }
            // With loss, packets overtake each other, and some come very late.
            let late = match self.loss > 0.0 {
                true => {
                    Time::from_us(self.random.below(30_000)) * (1 + self.random.below(10) / 9 * 40)
                }
                false => Time::ZERO,
            };
            self.number += 1;
            let at = self.now + Time::from_us(100) + late;
            self.flying
                .insert((at, self.number), (client, to_server, bytes.to_vec()));
        }
    }

    fn flush(&mut self) {
        while let Some((to, bytes)) = self.server.poll_transmit() {
            self.fly(to, false, &bytes);
        }
        for index in 0..self.clients.len() {
            while let Some(bytes) = self.clients[index].1.poll_transmit() {
                self.fly(self.clients[index].0, true, &bytes);
            }
        }
        while let Some(event) = self.server.poll_event() {
            if let ServerEvent::Request {
                connection,
                message,
            } = event
            {
                self.taken.push(message.clone());
                self.number += 1;
                let due = self.now + self.service_time;
                self.working
                    .insert((due, self.number), (connection, message));
            }
        }
    }

    /// Handles the next event; `false` if there is none before `end`.
    fn step(&mut self, end: Time) -> bool {
        self.flush();
        let wakes = self
            .clients
            .iter()
            .filter_map(|(_, client)| client.next_wake());
        let times = wakes
            .chain(self.server.next_wake().filter(|_| !self.is_dead))
            .chain(self.flying.keys().next().map(|(at, _)| *at))
            .chain(self.working.keys().next().map(|(at, _)| *at));
        let Some(next) = times.min().filter(|next| *next <= end) else {
            self.now = end;
            return false;
        };
        self.now = self.now.max(next);
        while let Some(entry) = self
            .flying
            .first_entry()
            .filter(|entry| entry.key().0 <= self.now)
        {
            let (client, to_server, bytes) = entry.remove();
            if to_server {
                if !self.is_dead {
                    self.server.handle(self.now, client, &bytes);
                }
            } else if let Some((_, found)) = self.clients.iter_mut().find(|(at, _)| *at == client) {
                found.handle(self.now, &bytes);
            }
        }
        while let Some(entry) = self
            .working
            .first_entry()
            .filter(|entry| entry.key().0 <= self.now)
        {
            let (connection, message) = entry.remove();
            self.server
                .reply(self.now, connection, reply_to(&message))
                .expect("memory");
        }
        if !self.is_dead {
            self.server.wake(self.now);
        }
        self.clients
            .iter_mut()
            .for_each(|(_, client)| client.wake(self.now));
        true
    }

    /// The next event of a client.
    fn event(&mut self, client: usize, end: Time) -> Option<ClientEvent> {
        loop {
            if let Some(event) = self.clients[client].1.poll_event() {
                return Some(event);
            }
            if !self.step(end) {
                return None;
            }
        }
    }
}

/// A reply with a length of its own that depends on every byte of the request.
fn reply_to(request: &[u8]) -> Vec<u8> {
    let sum = request.iter().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
    });
    let length = (sum % 9000) as usize;
    (0..length)
        .map(|at| (sum >> (at % 8) & 255) as u8)
        .collect()
}

#[test]
fn each_request_is_taken_once_and_has_its_reply_whatever_the_network_does() {
    for seed in 0..60 {
        let loss = [0.0, 0.02, 0.1, 0.15][seed as usize % 4];
        let mut world = World::new(seed, 3, loss, ServerLimits::default());
        world.service_time = Time::from_ms([0, 1, 50, 700][seed as usize / 4 % 4]);
        let mut wanted: Vec<Vec<u8>> = Vec::new();
        let end = Time::from_secs(3600);
        for client in 0..3 {
            assert_eq!(
                world.event(client, end),
                Some(ClientEvent::Connected),
                "seed {seed}"
            );
        }
        for call in 0..12_u8 {
            for client in 0..3 {
                let length = match world.random.below(4) {
                    0 => world.random.below(4),
                    1 => MAX_FRAGMENT_LEN as u64 * (1 + world.random.below(3)),
                    2 => world.random.below(8000),
                    _ => world.random.below(200),
                };
                let mut request = vec![call, client as u8];
                request.extend((0..length).map(|_| world.random.below(256) as u8));
                let now = world.now;
                world.clients[client]
                    .1
                    .call(now, request.clone())
                    .expect("idle");
                wanted.push(request);
            }
            for client in 0..3 {
                let request = wanted[wanted.len() - 3 + client].clone();
                let event = world.event(client, end);
                assert_eq!(
                    event,
                    Some(ClientEvent::Reply(reply_to(&request))),
                    "seed {seed}"
                );
            }
        }
        wanted.sort();
        world.taken.sort();
        assert_eq!(world.taken, wanted, "seed {seed}");
        // No file remains.
        let end = world.now + Time::from_secs(20);
        while world.server.memory() > 0 && world.step(end) {}
        assert_eq!(world.server.memory(), 0, "seed {seed}");
    }
}

#[test]
fn a_quick_exchange_takes_two_packets() {
    let mut world = World::new(1, 1, 0.0, ServerLimits::default());
    let end = Time::from_secs(60);
    world.event(0, end);
    assert_eq!(world.packets, 4);
    for call in 0..100_u8 {
        // Replies of one fragment.
        let requests = (0..500_u16)
            .map(|n| n * 129)
            .map(|n| [&[call][..], &n.to_be_bytes()].concat());
        let request = requests
            .into_iter()
            .find(|r| reply_to(r).len() <= MAX_FRAGMENT_LEN);
        let now = world.now;
        world.clients[0]
            .1
            .call(now, request.expect("one"))
            .expect("idle");
        assert!(matches!(world.event(0, end), Some(ClientEvent::Reply(_))));
    }
    world.flush();
    assert_eq!(world.packets, 4 + 200);
}

#[test]
fn a_long_exchange_lives_by_pings_and_ends_with_its_server() {
    let mut world = World::new(2, 1, 0.05, ServerLimits::default());
    world.service_time = Time::from_secs(900);
    world.event(0, Time::from_secs(60));
    let now = world.now;
    world.clients[0]
        .1
        .call(now, b"long".to_vec())
        .expect("idle");
    let reply = world.event(0, now + Time::from_secs(1000));
    assert_eq!(reply, Some(ClientEvent::Reply(reply_to(b"long"))));
    assert!(world.packets < 1000, "{}", world.packets);
    let now = world.now;
    world.clients[0]
        .1
        .call(now, b"again".to_vec())
        .expect("idle");
    while world.working.is_empty() {
        world.step(now + Time::from_secs(60));
    }
    world.is_dead = true;
    let died = world.now;
    let event = world.event(0, died + Time::from_secs(60));
    assert_eq!(event, Some(ClientEvent::Failed(CallError::Silent)));
    assert!(world.now - died < Time::from_secs(20));
}

#[test]
fn a_client_that_is_gone_is_forgotten() {
    let mut world = World::new(3, 1, 0.0, ServerLimits::default());
    world.event(0, Time::from_secs(60));
    world.clients.clear();
    while world.step(Time::from_secs(70)) {}
    assert_eq!(world.server.connections(), 0);
    assert_eq!(world.server.poll_event(), None);
}

/// Random packets from unverified addresses create no state, and cause no more bytes than they have.
#[test]
fn an_address_that_proves_nothing_gets_no_more_bytes_than_it_sends() {
    let mut random = Random::new(4);
    let mut server = Server::new(ServerLimits::default(), [1, 2]);
    for _ in 0..100_000 {
        let from: SocketAddr = format!("10.{}.0.1:7", random.below(9))
            .parse()
            .expect("an address");
        let payload = vec![0; [0, 1, 7, 8, 9, 100][random.index(6)]];
        let mut bytes = Packet {
            kind: Kind::Connect,
            fragment: random.below(3) as u16,
            exchange: random.below(3) as u32,
            connection: random.below(5),
            payload: &payload,
        }
        .write();
        bytes[1] = random.below(14) as u8;
        bytes.truncate(random.below(3) as usize * 100 + random.below(30) as usize);
        server.handle(Time::from_us(1), from, &bytes);
        let sent: usize = std::iter::from_fn(|| server.poll_transmit())
            .map(|(_, b)| b.len())
            .sum();
        assert!(sent <= bytes.len(), "{sent} for {bytes:?}");
    }
    assert_eq!((server.connections(), server.memory()), (0, 0));
}

/// Opens a connection by hand.
fn open(server: &mut Server, now: Time, from: SocketAddr, nonce: u64) -> Option<u64> {
    let mut exchange = |kind, payload: &[u8]| {
        let packet = Packet {
            kind,
            fragment: 0,
            exchange: 0,
            connection: nonce,
            payload,
        };
        server.handle(now, from, &packet.write());
        let (_, answer) = server.poll_transmit().expect("an answer");
        let answer = Packet::read(&answer).expect("a packet");
        (answer.kind, answer.payload.to_vec())
    };
    let (_, hash) = exchange(Kind::Connect, &[0; 8]);
    match exchange(Kind::Open, &hash) {
        (Kind::Accept, id) => Some(u64::from_be_bytes(id.try_into().expect("8 bytes"))),
        _ => None,
    }
}

#[test]
fn connections_and_memory_of_peers_are_bounded() {
    let limits = ServerLimits {
        connections: 20,
        per_address: 8,
        memory: 100_000,
    };
    let mut server = Server::new(limits, [3, 4]);
    let address = |network: u64, port: u16| -> SocketAddr {
        format!("[2001:db8:0:{network:x}::{port:x}]:{port}")
            .parse()
            .expect("an address")
    };
    let mut ids = Vec::new();
    for port in 1..=10 {
        let now = Time::from_ms(port.into());
        ids.extend(open(&mut server, now, address(1, port), 5).map(|id| (address(1, port), id)));
    }
    assert_eq!((ids.len(), server.counts().refused), (8, 2));
    // The same handshake again is the same connection.
    let again = open(&mut server, Time::from_ms(11), ids[0].0, 5);
    assert_eq!(again, Some(ids[0].1));
    // Each connection sends an incomplete request.
    let fragment = [7; MAX_FRAGMENT_LEN];
    for number in 0..40 {
        for (from, id) in &ids {
            let packet = Packet {
                kind: Kind::Fragment,
                fragment: number,
                exchange: 1,
                connection: *id,
                payload: &fragment,
            };
            server.handle(Time::from_ms(20), *from, &packet.write());
            assert!(server.memory() <= limits.memory);
        }
    }
    assert!(server.counts().no_memory > 0);
    // Another client's short request is still taken, and its reply sent.
    while server.poll_transmit().is_some() {}
    let other = address(2, 1);
    let id = open(&mut server, Time::from_ms(21), other, 9).expect("a place");
    while server.poll_transmit().is_some() {}
    let request = Packet {
        kind: Kind::Last,
        fragment: 0,
        exchange: 1,
        connection: id,
        payload: b"short",
    };
    server.handle(Time::from_ms(22), other, &request.write());
    let Some(ServerEvent::Request {
        connection,
        message,
    }) = server.poll_event()
    else {
        panic!("no request");
    };
    assert_eq!(message, b"short");
    assert!(
        server
            .reply(Time::from_ms(22), connection, vec![0; 60_000])
            .is_err()
    );
    server
        .reply(Time::from_ms(22), connection, b"error".to_vec())
        .expect("room");
    assert!(server.poll_transmit().is_some());
    // When all places are taken, idle ones give way, and busy ones do not.
    for network in 3..40 {
        open(
            &mut server,
            Time::from_ms(30 + network),
            address(network, 1),
            1,
        );
        while server.poll_transmit().is_some() {}
    }
    assert_eq!(server.connections(), 20);
    assert!(server.counts().gave_way > 0);
    server.wake(Time::from_ms(200) + stream::call::IDLE_TIMEOUT);
    assert_eq!((server.connections(), server.memory()), (0, 0));
}

#[test]
fn a_request_that_is_too_long_is_refused_at_both_ends() {
    let mut world = World::new(5, 1, 0.0, ServerLimits::default());
    world.event(0, Time::from_secs(1));
    let now = world.now;
    let refused = world.clients[0].1.call(now, vec![0; MAX_REQUEST_LEN + 1]);
    assert_eq!(refused, Err(CallError::TooLong));
    world.clients[0]
        .1
        .call(now, vec![0; MAX_REQUEST_LEN])
        .expect("the longest");
    assert_eq!(world.clients[0].1.call(now, vec![]), Err(CallError::Busy));
    let reply = world.event(0, now + Time::from_secs(60));
    assert_eq!(
        reply,
        Some(ClientEvent::Reply(reply_to(&vec![0; MAX_REQUEST_LEN])))
    );
}
