//! Packets of calls through a server and a client, whose memory stays below the limit; texts of standing windows and patterns,
//! which are read or have an error with a place.

use node::Time;
use stream::call::{Client, Packet, Server, ServerEvent, ServerLimits};
use stream::{Schema, Store, Unit, WatchError, WatchLimits};

/// Packets one after the other, each behind a byte of its length.
pub fn calls(mut data: &[u8]) {
    let limits = ServerLimits {
        connections: 4,
        per_address: 2,
        memory: 10_000,
    };
    let mut server = Server::new(limits, [1, 2]);
    let from = "192.0.2.1:9".parse().expect("an address");
    let mut client = Client::new(Time::ZERO, 5);
    let mut now = Time::ZERO;
    while let Some((&length, rest)) = data.split_first() {
        let (packet, rest) = rest.split_at(rest.len().min(length.into()));
        data = rest;
        now += Time::from_ms(length.into());
        if let Some(read) = Packet::read(packet) {
            assert_eq!(read.write(), packet, "what is read writes back the same");
        }
        server.handle(now, from, packet);
        client.handle(now, packet);
        // The client's segments are valid, so connections open.
        while let Some(packet) = client.poll_transmit() {
            server.handle(now, from, &packet);
        }
        while let Some((_, packet)) = server.poll_transmit() {
            assert!(Packet::read(&packet).is_some(), "what is written is read");
            client.handle(now, &packet);
        }
        while let Some(event) = server.poll_event() {
            if let ServerEvent::Request {
                connection,
                message,
            } = event
            {
                let _ = server.reply(now, connection, message);
            }
        }
        let _ = client.call(now, packet.to_vec());
        while client.poll_event().is_some() {}
        server.wake(now);
        client.wake(now);
        // Above the limit only one packet of each connection passes.
        assert!(server.memory() <= limits.memory + 4 * 1200 && server.connections() <= 4);
    }
}

/// Reads a text as a standing window and as a pattern, and inserts rows.
pub fn texts(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let limits = WatchLimits {
        groups: 4,
        events: 4,
        ..WatchLimits::default()
    };
    let mut store = Store::new(Unit::Nanoseconds, [1, 2], limits);
    let schema = Schema::new("T", 3).text("k", 4).integer("n").real("r");
    let table = store.create(schema).expect("a good schema");
    let made = [store.stand(text), store.subscribe(text)];
    for error in made.iter().filter_map(|made| made.as_ref().err()) {
        if let WatchError::Syntax(error) = error {
            let lines: Vec<&str> = text.split('\n').collect();
            assert!(
                error.line <= lines.len()
                    && error.column <= lines[error.line - 1].chars().count() + 1
            );
        }
    }
    for at in 0..20_i64 {
        let key = ["a", "b", "c"][at as usize % 3];
        let row = [key.into(), (at % 5).into(), (at as f64).into()];
        store.insert(table, at * 2, &row).expect("fits");
        for id in made.iter().flatten() {
            store.answer(*id);
            store.take(*id, None);
        }
    }
    store.advance(i64::MAX);
}
