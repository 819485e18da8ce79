//! Questions and server-sent events over HTTP on loopback.

use stream::{Database, Schema, Table, Unit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Runs a test with a server that listens.
fn with_server<F: Future>(test: impl FnOnce(std::net::SocketAddr, Table) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let database = Database::new(Unit::Nanoseconds);
        let schema = Schema::new("Flows", 100)
            .text("device", 20)
            .integer("bytes");
        let flows = database.create(schema).expect("a good schema");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
        let address = listener.local_addr().expect("its address");
        tokio::spawn(async move { axum::serve(listener, stream::http::router(database)).await });
        test(address, flows).await;
    });
}

async fn send(to: std::net::SocketAddr, head: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(to).await.expect("a connection");
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await.expect("sent");
    socket
}

async fn ask(to: std::net::SocketAddr, head: &str, body: &str) -> String {
    let mut response = String::new();
    send(to, head, body)
        .await
        .read_to_string(&mut response)
        .await
        .expect("a response");
    response
}

#[test]
fn a_question_in_json_has_its_rows_in_json() {
    with_server(|server, flows| async move {
        flows.insert(7, &["a\"b".into(), 6.into()]).expect("fits");
        let body = r#"{"sql": "SELECT device, bytes / 4.0 AS q, NULL FROM Flows [NOW] WHERE bytes = ?1", "parameters": [6]}"#;
        let response = ask(server, "POST /query", body).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert!(
            response.contains(r#""rows":[["a\"b",1.5,null]]"#),
            "{response}"
        );
        let response = ask(server, "POST /query", r#"{"sql": "DELETE FROM Flows"}"#).await;
        assert!(
            response.starts_with("HTTP/1.1 400") && response.contains(r#"{"error":"#),
            "{response}"
        );
        let response = ask(server, "GET /tables", "").await;
        assert!(response.contains(r#""inserted":1"#), "{response}");
        let response = ask(server, "GET /subscribe?pattern=WATCH", "").await;
        assert!(
            response.starts_with("HTTP/1.1 400") && response.contains("line 1, column 1"),
            "{response}"
        );
    });
}

#[test]
fn events_of_a_pattern_are_sent_as_they_occur() {
    with_server(|server, flows| async move {
        let head = "GET /subscribe?pattern=SELECT+sum(bytes)+AS+s+FROM+Flows+HAVING+s+%3E+10";
        let mut events = send(server, head, "").await;
        let mut seen = String::new();
        let mut read = async |part: &str| {
            while !seen.contains(part) {
                let mut buffer = [0; 1024];
                let length = events.read(&mut buffer).await.expect("read");
                assert!(length > 0, "closed: {seen}");
                seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
            }
        };
        read("text/event-stream").await;
        flows.insert(1, &["a".into(), 6.into()]).expect("fits");
        flows.insert(2, &["a".into(), 6.into()]).expect("fits");
        read(r#"data: {"at":2,"values":{"s":12}}"#).await;
    });
}
