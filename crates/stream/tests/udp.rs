//! Questions, rows and events over UDP sockets on loopback.

use std::time::Duration;
use stream::{Database, Schema, Unit, udp};

const TIMEOUT: Duration = Duration::from_secs(30);

fn database() -> Database {
    let database = Database::new(Unit::Nanoseconds);
    let schema = Schema::new("Flows", 10_000)
        .text("device", 20)
        .integer("bytes");
    database.create(schema).expect("a good schema");
    database
}

fn serve(database: &Database, may_insert: bool) -> udp::Server {
    let options = udp::Options {
        may_insert,
        ..udp::Options::default()
    };
    let at = "127.0.0.1:0".parse().expect("an address");
    udp::Server::start(database.clone(), at, options).expect("a server")
}

fn client(server: &udp::Server) -> udp::Client {
    udp::Client::connect(server.address(), TIMEOUT).expect("a connection")
}

#[test]
fn rows_go_in_and_answers_of_many_fragments_come_out() {
    let database = database();
    let server = serve(&database, true);
    let mut client = client(&server);
    let mut call = |text: &str| client.call(text, TIMEOUT).expect("a reply");
    for at in 0..300 {
        let row = format!(
            "INSERT INTO flows VALUES ({at}, 'device ''{at}''\t', {})",
            at * 2
        );
        assert_eq!(call(&row), "OK\n");
    }
    assert_eq!(
        call("SELECT sum(bytes) AS s, NULL AS n FROM Flows"),
        "OK\ns\tn\n89700\t\\N\n"
    );
    let all = call("SELECT * FROM Flows [ROWS 200]");
    assert_eq!(all.lines().count(), 202);
    assert!(
        all.len() > 4000 && all.ends_with("299\tdevice '299'\\t\t598\n"),
        "{all}"
    );
    assert_eq!(
        call("SELECT absent"),
        "ERROR line 1, column 8: no such column: absent\n"
    );
    assert!(
        call("INSERT INTO Flows VALUES (1, 2, 3)").starts_with("ERROR table Flows: column device")
    );
    assert!(call("INSERT INTO Flows VALUES ('x')").starts_with("ERROR the first value is at"));
    assert!(call("INSERT INTO Nothing VALUES (1)").starts_with("ERROR no such table"));
    assert!(call("DELETE FROM Flows").starts_with("ERROR"));
    assert!(call("NEXT").starts_with("ERROR SUBSCRIBE"));
    assert_eq!(server.counts().requests, 308);
}

#[test]
fn a_client_waits_for_the_event_of_its_pattern() {
    let database = database();
    let server = serve(&database, false);
    let mut watcher = client(&server);
    let pattern =
        "SUBSCRIBE SELECT device, sum(bytes) FROM Flows GROUP BY device HAVING sum(bytes) > 10";
    let reply = watcher.call(pattern, TIMEOUT).expect("a reply");
    assert_eq!(reply, "OK\nsubscription\n1\n");
    let event = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| watcher.call("NEXT", TIMEOUT));
        let flows = database.table("Flows").expect("the table");
        flows.insert(5, &["a".into(), 6.into()]).expect("fits");
        flows.insert(6, &["a".into(), 6.into()]).expect("fits");
        waiting.join().expect("no panic")
    });
    let event = event.expect("an event");
    assert_eq!(
        event,
        "OK\nsubscription\tat\tdevice\tsum(bytes)\n1\t6\ta\t12\n"
    );
    let reply = watcher.call("INSERT INTO Flows VALUES (1, 'a', 1)", TIMEOUT);
    assert_eq!(reply.expect("a reply"), "ERROR this server takes no rows\n");
    // The connection's subscriptions end with it.
    assert_eq!(
        watcher
            .call("NEXT", Duration::from_millis(50))
            .expect_err("none")
            .kind(),
        std::io::ErrorKind::TimedOut
    );
}

#[test]
fn many_clients_are_served_at_the_same_time() {
    let database = database();
    let server = serve(&database, true);
    std::thread::scope(|scope| {
        for number in 0..6 {
            let server = &server;
            scope.spawn(move || {
                let mut client = client(server);
                for at in 0..50 {
                    let row = format!("INSERT INTO Flows VALUES ({at}, 'c{number}', 1)");
                    assert_eq!(client.call(&row, TIMEOUT).expect("a reply"), "OK\n");
                }
            });
        }
    });
    let answer = database
        .query("SELECT count(*), count(DISTINCT device) FROM Flows")
        .expect("an answer");
    assert_eq!(answer.rows[0][0], stream::Owned::Integer(300));
    assert_eq!(answer.rows[0][1], stream::Owned::Integer(6));
}

#[test]
fn a_client_of_nothing_fails_in_time() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("its address");
    let Err(error) = udp::Client::connect(address, Duration::from_millis(300)) else {
        panic!("connected to nothing");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}
