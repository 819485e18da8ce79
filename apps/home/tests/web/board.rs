//! The board in Chromium, driven by Playwright (`board.py`), against a home of ten devices.
//!
//! `BOARD_PICTURES=FOLDER` keeps pictures of it at 390 and 1,280 pixels, light and dark.

use super::server::{PASSWORD, Server};
use home::Change;
use home::device::{Admission, Wifi};
use home::record::{FlowRow, Record};
use home::web::sessions;
use node::Time;
use packet::ethernet::Mac;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

const GUEST: &str = "02:00:00:00:01:01";
const SECOND: &str = "02:00:00:00:01:02";
const ANNA: &str = "02:00:00:00:00:02";
const OTHER_PHONE: &str = "02:00:00:00:01:04";
const SAME_LAPTOP: &str = "02:00:00:00:01:05";

/// Host name, person, admission, bytes a second, signal and share of retransmissions.
type Demo = (
    &'static str,
    &'static str,
    Admission,
    u64,
    Option<(i8, f32)>,
);

const DEMO: [Demo; 8] = [
    (
        "Tom's Laptop",
        "Tom",
        Admission::Permitted,
        2_300_000,
        Some((-48, 0.01)),
    ),
    (
        "Anna's phone",
        "Anna",
        Admission::Permitted,
        90_000,
        Some((-67, 0.02)),
    ),
    (
        "Living room TV",
        "",
        Admission::Permitted,
        900_000,
        Some((-58, 0.18)),
    ),
    ("Printer", "", Admission::Permitted, 0, None),
    (
        "Roberto's tablet",
        "Roberto",
        Admission::Permitted,
        12_000,
        Some((-86, 0.31)),
    ),
    (
        "thermostat-kitchen-3f29a1",
        "",
        Admission::Permitted,
        300,
        Some((-79, 0.05)),
    ),
    ("Old camera", "", Admission::Denied, 0, Some((-71, 0.0))),
    ("ESP_4F2A9C", "", Admission::Denied, 0, Some((-89, 0.0))),
];

fn furnish(server: &Server) {
    let mut home = server.home.lock();
    let now = Time::from_secs(1000);
    for (number, (name, person, admission, _, wifi)) in (1..).zip(DEMO) {
        let mac = Mac([2, 0, 0, 0, 0, number]);
        home.seen(now, mac).expect("a slot");
        let mut change = |change| home.change(now, mac, change).expect("kept");
        change(Change::HostName(name.into()));
        change(Change::Admission(admission));
        home.note(now, mac, |evidence| evidence.note_name(name));
        let mut change = |change| home.change(now, mac, change).expect("kept");
        if !person.is_empty() {
            change(Change::Person(Some(person.into())));
        }
        let device = home.device_mut(mac).expect("there");
        device.wifi = wifi.map(|(signal, retransmitted)| Wifi {
            signal,
            retransmitted: Some(retransmitted),
        });
    }
}

/// A second of traffic.
fn pass(server: &Server) {
    let mut home = server.home.lock();
    for (number, (_, _, _, rate, _)) in (1..).zip(DEMO) {
        if let Some(device) = home.device_mut(Mac([2, 0, 0, 0, 0, number])) {
            device.traffic.received.1 += rate;
            device.traffic.not_looked_up += rate / 4;
        }
    }
    drop(home);
    server.seconds.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn people_permit_and_deny_devices_on_the_board() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../target/board-venv/bin/python");
    if !python.exists() || !Path::new("/usr/bin/chromium").exists() {
        println!("skipped: no chromium, or no Playwright in target/board-venv (.ci/setup test)");
        return;
    }
    let prepare = |store: &_| sessions::set_password(store, PASSWORD).expect("a password");
    let server = Server::with(prepare, |options| {
        options.join = Some("127.0.0.1:0".parse().expect("an address"));
    });
    furnish(&server);
    let url = format!("https://{}/", server.https);
    let pictures = std::env::var("BOARD_PICTURES").unwrap_or_default();
    let mut driver = Command::new("timeout")
        .arg("240")
        .arg(python)
        .arg(root.join("tests/web/board.py"))
        .args([&url, PASSWORD, &pictures])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("timeout and Python");
    let mut input = driver.stdin.take().expect("piped");
    let mut steps = Vec::new();
    let running = AtomicBool::new(true);
    let (server, is_running) = (&server, &running);
    std::thread::scope(|scope| {
        if !pictures.is_empty() {
            // Rates for the screenshots.
            scope.spawn(move || {
                while is_running.load(Ordering::Relaxed) {
                    pass(server);
                    #[expect(clippy::disallowed_methods, reason = "traffic of a second")]
                    std::thread::sleep(std::time::Duration::from_secs(1));
                }
            });
        }
        for line in BufReader::new(driver.stdout.take().expect("piped")).lines() {
            let step = line.expect("a step");
            let checked =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(server, &step)));
            if let Err(failed) = checked {
                is_running.store(false, Ordering::Relaxed);
                drop(input);
                std::panic::resume_unwind(failed);
            }
            steps.push(step);
            input.write_all(b"go on\n").expect("it waits");
        }
        is_running.store(false, Ordering::Relaxed);
    });
    let status = driver.wait().expect("it ends");
    assert!(status.success(), "after {steps:?}: {status}");
    assert_eq!(steps.last().map(String::as_str), Some("end"));
}

/// A flow of the guest is recorded.
fn record(server: &Server) {
    let mac: Mac = GUEST.parse().expect("a MAC");
    let (now, own) = (Time::from_secs(1000), {
        let home = server.home.lock();
        home.plan.device(home.device(mac).expect("there").slot)
    });
    let at = ("203.0.113.80".parse().expect("an address"), own.into());
    for (from, to, (source, destination), ports) in [
        (Some(mac), None, (at.1, at.0), (5000, 443)),
        (None, Some(mac), at, (443, 5000)),
    ] {
        server.tables.clone().flow(&FlowRow {
            at: now,
            from,
            to,
            protocol: 6,
            source,
            destination,
            ports: Some(ports),
            packets: 3,
            bytes: 1500,
            is_named: false,
        });
    }
}

/// A device with a host name appears.
fn appear(server: &Server, mac: &str, name: &str) {
    server.seen(mac);
    let now = Time::from_secs(server.seconds.load(Ordering::Relaxed));
    let mac = mac.parse().expect("a MAC");
    let mut home = server.home.lock();
    home.change(now, mac, Change::HostName(name.into()))
        .expect("kept");
    home.note(now, mac, |evidence| evidence.note_name(name));
}

/// The state of the home after a step in the browser.
fn check(server: &Server, step: &str) {
    let admission = |mac| server.device(mac).admission;
    match step {
        "signed in" => {
            for (mac, name) in [
                (GUEST, "<script>alert(1)</script>"),
                (SECOND, "<img src=x onerror=alert(2)>"),
            ] {
                server.seen(mac);
                let mac = mac.parse().expect("a MAC");
                let mut home = server.home.lock();
                home.change(Time::from_secs(1000), mac, Change::HostName(name.into()))
                    .expect("kept");
                home.device_mut(mac).expect("there").traffic.sent = (4, 4000);
                home.device_mut(mac).expect("there").traffic.not_looked_up = 1000;
            }
            record(server);
        }
        "guests seen" => assert_eq!(admission(GUEST), Admission::Waiting),
        "dragged" | "drag ended" | "permitted by key" => {
            assert_eq!(admission(GUEST), Admission::Permitted, "{step}");
            if step == "drag ended" {
                appear(server, OTHER_PHONE, "Annas-Phone");
            }
        }
        "no said" => {
            let device = server.device(OTHER_PHONE);
            assert_eq!(device.admission, Admission::Waiting);
            assert_eq!(
                device.different,
                ["02:00:00:00:00:02".parse().expect("a MAC")]
            );
            appear(server, SAME_LAPTOP, "Tom's Laptop");
        }
        "yes said" => {
            let device = server.device(SAME_LAPTOP);
            assert_eq!(device.admission, Admission::Permitted);
            assert_eq!(device.person.as_deref(), Some("Tom"));
        }
        "denied by key" => assert_eq!(admission(GUEST), Admission::Denied),
        "details set" => {
            let device = server.device(GUEST);
            assert_eq!(device.name.as_deref(), Some("Steve's <b>laptop</b>"));
            assert_eq!(device.person.as_deref(), Some("Steve"));
            assert!(!device.domains.permits("a.ads.example"));
            assert!(device.paused && !device.is_admitted());
            assert_eq!(admission(SECOND), Admission::Waiting);
        }
        "person paused" => assert!(!server.device(ANNA).is_admitted()),
        "bedtime set" => {
            let why = server.device(ANNA).held.map(|held| held.why);
            assert_eq!(why, Some(home::limits::Why::Bedtime));
        }
        "invited" => assert!(server.store.setting("invitations").expect("read").is_some()),
        "webhook set" => assert!(server.store.setting("messages").expect("read").is_some()),
        "bedtime removed" => assert!(server.device(ANNA).is_admitted()),
        "dragged by finger" => {
            assert_eq!(admission(SECOND), Admission::Permitted);
            // A guest that asks while screenshots are taken.
            server.seen("02:00:00:00:01:03");
        }
        "end" => {}
        other => panic!("{other}"),
    }
}
