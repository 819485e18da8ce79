//! The password and sessions.

use super::server::{PASSWORD, Server};
use std::sync::atomic::Ordering;

const NEW: &str = "another long password";

fn sign_in(server: &Server, password: &str) -> super::server::Answer {
    let body = serde_json::json!({ "password": password }).to_string();
    server.call("POST", "/ws.v1/session", &[], &body)
}

fn is_in(server: &Server, token: &str) -> bool {
    match server.ask(token, "GET", "/ws.v1/devices", "").status {
        200 => true,
        401 => false,
        other => panic!("{other}"),
    }
}

#[test]
fn the_first_password_needs_the_code_that_the_router_printed() {
    let server = Server::without_password(|_| {});
    let code = server.code.clone().expect("a code");
    assert_eq!(
        server.call("GET", "/ws.v1/session", &[], "").json()["set_up"],
        false
    );
    assert_eq!(sign_in(&server, PASSWORD).status, 409);
    let set = |code: &str, password: &str| {
        let body = serde_json::json!({ "code": code, "password": password }).to_string();
        server.call("POST", "/ws.v1/setup", &[], &body)
    };
    assert_eq!(set(&code, "short").status, 400);
    assert_eq!(set("", PASSWORD).status, 403);
    assert_eq!(set(&format!("{code}0"), PASSWORD).status, 403);
    let answer = set(&code, PASSWORD);
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.cookie();
    let state = server
        .call("GET", "/ws.v1/session", &[("Cookie", &cookie)], "")
        .json();
    assert_eq!(
        (&state["signed_in"], &state["set_up"]),
        (&true.into(), &true.into())
    );
    // The setup code is used up.
    assert_eq!(set(&code, NEW).status, 409);
    assert_eq!(sign_in(&server, PASSWORD).status, 200);
}

#[test]
fn wrong_passwords_are_refused_and_then_must_wait() {
    let server = Server::new();
    // Setup codes that are empty, too short and too long.
    for password in ["", "x", &"x".repeat(3000), "correct horse batter"] {
        assert_eq!(sign_in(&server, password).status, 403);
    }
    assert_eq!(
        sign_in(&server, PASSWORD).status,
        200,
        "a right one does not count"
    );
    assert_eq!(sign_in(&server, "wrong").status, 403);
    let limited = sign_in(&server, PASSWORD);
    assert_eq!(limited.status, 429, "even the right one waits");
    assert!(limited.head.contains("retry-after: 12"), "{}", limited.head);
    server.seconds.fetch_add(12, Ordering::Relaxed);
    assert_eq!(sign_in(&server, PASSWORD).status, 200);
}

#[test]
fn many_sign_ins_at_a_time_are_bounded() {
    let server = Server::new();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..14)
            .map(|_| scope.spawn(|| sign_in(&server, "wrong").status))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("an answer"))
            .collect()
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    // Five passwords are verified one after the other; other attempts are rejected at once.
    assert_eq!(count(403), 5, "{statuses:?}");
    assert_eq!(count(403) + count(429) + count(503), 14, "{statuses:?}");
}

#[test]
fn a_stolen_session_ends_with_sign_out_and_with_a_new_password() {
    let server = Server::new();
    let (mine, stolen) = (server.token(), server.token());
    assert!(is_in(&server, &mine) && is_in(&server, &stolen));
    assert_eq!(
        server.ask(&stolen, "DELETE", "/ws.v1/session", "").status,
        204
    );
    assert!(is_in(&server, &mine) && !is_in(&server, &stolen));

    let stolen = server.token();
    let change = |old: &str, new: &str| {
        let body = serde_json::json!({ "old": old, "new": new }).to_string();
        server.ask(&mine, "POST", "/ws.v1/password", &body)
    };
    assert_eq!(change("wrong password", NEW).status, 403);
    assert_eq!(change(PASSWORD, "short").status, 400);
    assert!(is_in(&server, &stolen));
    let answer = change(PASSWORD, NEW);
    assert_eq!(answer.status, 200, "{answer:?}");
    let new = answer.json()["token"].as_str().expect("a token").to_owned();
    assert!(is_in(&server, &new));
    assert!(!is_in(&server, &mine) && !is_in(&server, &stolen));
    assert_eq!(sign_in(&server, PASSWORD).status, 403);
    assert_eq!(sign_in(&server, NEW).status, 200);
}

#[test]
fn sessions_end_by_age_and_there_are_at_most_32() {
    let server = Server::new();
    let first = server.token();
    let pass = |days: u64| server.seconds.fetch_add(days * 86_400, Ordering::Relaxed);
    for _ in 0..6 {
        pass(29);
        assert!(is_in(&server, &first), "use keeps it");
    }
    pass(29);
    assert!(!is_in(&server, &first), "180 days are over");
    let idle = server.token();
    pass(31);
    assert!(!is_in(&server, &idle));

    let oldest = server.token();
    for _ in 0..32 {
        server.seconds.fetch_add(1, Ordering::Relaxed);
        server.token();
    }
    assert!(!is_in(&server, &oldest));
    assert_eq!(server.store.sessions().expect("read").len(), 32);
}

#[test]
fn the_store_holds_no_token_and_no_password() {
    let server = Server::new();
    let token = server.token();
    let kept = server.store.sessions().expect("read");
    assert_eq!(kept.len(), 1);
    let hexadecimal: String = kept[0]
        .hash
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_ne!(hexadecimal, token);
    assert!(!is_in(&server, &hexadecimal), "the hash is no token");
    let hash = server
        .store
        .setting("password")
        .expect("read")
        .expect("set");
    assert!(
        hash.starts_with(b"$argon2id$v=19$m=19456,t=2,p=1$"),
        "{}",
        String::from_utf8_lossy(&hash)
    );
}
