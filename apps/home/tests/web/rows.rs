//! Questions about traffic and leases, and subscriptions.

use super::events::Reader;
use super::server::Server;
use home::record::{FlowRow, LeaseRow, LinkRow, Record};
use node::Time;
use packet::ethernet::Mac;
use serde_json::{Value, json};

const ANNA: Mac = Mac([2, 0, 0, 0, 0, 1]);
const BEN: Mac = Mac([2, 0, 0, 0, 0, 2]);
/// Unix time of router time zero in these tests, ns.
const ZERO: i64 = 1_800_000_000_000_000_000;

fn flow(seconds: u64, from: Option<Mac>, to: Option<Mac>, bytes: u64) -> FlowRow {
    FlowRow {
        at: Time::from_secs(seconds),
        from,
        to,
        protocol: 6,
        source: [10, 2, 0, 6].into(),
        destination: [203, 0, 113, 80].into(),
        ports: Some((40_000, 443)),
        packets: 2,
        bytes,
        is_named: true,
    }
}

fn ask(server: &Server, token: &str, sql: &str) -> Value {
    let body = json!({ "sql": sql }).to_string();
    let answer = server.ask(token, "POST", "/ws.v1/stream/query", &body);
    assert_eq!(answer.status, 200, "{sql}: {}", answer.body);
    answer.json()["rows"].clone()
}

#[test]
fn rows_of_all_tables_are_answered_with_unix_times() {
    let server = Server::new();
    let token = server.token();
    let mut tables = server.tables.clone();
    tables.flow(&flow(1001, Some(ANNA), None, 100));
    tables.flow(&flow(1002, None, Some(ANNA), 1000));
    tables.flow(&flow(1003, Some(BEN), Some(ANNA), 7));
    tables.flow(&FlowRow {
        protocol: 0,
        ports: None,
        ..flow(1020, Some(BEN), None, 9)
    });
    tables.link(&LinkRow {
        at: Time::from_secs(1020),
        port: 3,
        packets: (1, 2),
        bytes: (3, 4),
        dropped: (5, 6),
    });
    for end in [Some(Time::from_secs(1050)), None] {
        tables.lease(&LeaseRow {
            at: Time::from_secs(1020),
            mac: BEN,
            address: [10, 2, 0, 10].into(),
            end,
        });
    }
    let (anna, ben) = (ANNA.to_string(), BEN.to_string());
    assert_eq!(
        ask(
            &server,
            &token,
            "SELECT device, direction, sum(bytes) FROM Flows GROUP BY device, direction ORDER BY 3"
        ),
        json!([
            [ben, "home", 7],
            [ben, "out", 9],
            [anna, "out", 100],
            [anna, "in", 1000]
        ])
    );
    // The window ends with the newest row.
    assert_eq!(
        ask(
            &server,
            &token,
            "SELECT sum(bytes) FROM Flows [RANGE 19 SECONDS]"
        ),
        json!([[1016]])
    );
    assert_eq!(
        ask(
            &server,
            &token,
            "SELECT at, source, destination_port, named FROM Flows [ROWS 1]"
        ),
        json!([[ZERO + 1_020_000_000_000, "10.2.0.6", null, 1]])
    );
    assert_eq!(
        ask(
            &server,
            &token,
            "SELECT port, received_packets, received_bytes, received_dropped, sent_packets, sent_bytes, sent_dropped FROM Links"
        ),
        json!([[3, 1, 3, 5, 2, 4, 6]])
    );
    assert_eq!(
        ask(
            &server,
            &token,
            "SELECT device, address, expires FROM Leases"
        ),
        json!([
            [ben, "10.2.0.10", ZERO + 1_050_000_000_000],
            [ben, "10.2.0.10", null]
        ])
    );
    let tables = server.ask(&token, "GET", "/ws.v1/stream/tables", "").json();
    let names = tables["tables"].as_array().expect("a list").iter();
    let names: Vec<&Value> = names.map(|table| &table["name"]).collect();
    assert_eq!(names, ["Flows", "Links", "Leases"]);
}

#[test]
fn rows_need_a_session_and_cannot_be_changed() {
    let server = Server::new();
    for (method, path) in [
        ("GET", "/ws.v1/stream/tables"),
        ("POST", "/ws.v1/stream/query"),
        ("GET", "/ws.v1/stream/subscribe?pattern=x"),
    ] {
        let answer = server.call(method, path, &[], r#"{"sql": "SELECT 1"}"#);
        assert_eq!(answer.status, 401, "{path}: {}", answer.body);
    }
    let token = server.token();
    for sql in [
        "DELETE FROM Flows",
        "INSERT INTO Flows VALUES (1)",
        "ATTACH '/tmp/x' AS x",
        "SELECT * FROM device",
        "SELECT",
    ] {
        let body = json!({ "sql": sql }).to_string();
        let answer = server.ask(&token, "POST", "/ws.v1/stream/query", &body);
        assert_eq!(answer.status, 400, "{sql}: {}", answer.body);
        assert!(answer.json()["error"].is_string(), "{sql}");
    }
}

#[test]
fn a_subscription_reports_a_device_with_much_traffic_and_ends_with_the_session() {
    let server = Server::new();
    let token = server.token();
    let mut tables = server.tables.clone();
    let pattern = "SELECT%20device,%20sum(bytes)%20FROM%20Flows%20%5BRANGE%201%20HOUR%5D%20GROUP%20BY%20device%20HAVING%20sum(bytes)%20%3E%20100000000";
    let path = format!("/ws.v1/stream/subscribe?pattern={pattern}");
    let mut reader = Reader::at(&server, &token, &path, "");
    for second in 0..4 {
        tables.flow(&flow(1000 + second, Some(ANNA), None, 40_000_000));
        tables.flow(&flow(1000 + second, Some(BEN), None, 1_000));
    }
    let event = reader.next("").expect("an event");
    assert_eq!(event.data["at"], ZERO + 1_002_000_000_000);
    assert_eq!(event.data["values"]["device"], ANNA.to_string());
    // A device that is silent: time goes on without rows.
    let path =
        "/ws.v1/stream/subscribe?pattern=ABSENCE%20OF%20Flows%20BY%20device%20FOR%2030%20SECONDS";
    let mut silence = Reader::at(&server, &token, path, "");
    tables.flow(&flow(1010, Some(BEN), None, 1_000));
    tables.time(Time::from_secs(1041));
    let event = silence.next("").expect("an event");
    assert_eq!(event.data["values"]["device"], BEN.to_string());
    assert_eq!(
        server.ask(&token, "DELETE", "/ws.v1/session", "").status,
        204
    );
    assert!(reader.next("").is_none());
    assert!(silence.next("").is_none());
}
