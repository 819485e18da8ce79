//! The store: restarts, kill -9 at any moment, and foreign files.

use home::bedtime::Bedtime;
use home::clock::Clock;
use home::device::Admission;
use home::home::NoJournal;
use home::home::USE_INTERVAL;
use home::limits::Quota;
use home::people::PersonChange;
use home::plan::Plan;
use home::store::{HOST_NAME_INTERVAL, MAX_HISTORY, Store, StoreError};
use home::{Change, Home, Refused};
use node::Time;
use packet::ethernet::Mac;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A folder of a test, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("home-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("home.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn clock() -> Clock {
    Clock::new(|| Time::from_secs(1), || 1_800_000_000)
}

fn open(path: &Path) -> (Store, Home) {
    let store = Store::open(path, clock()).expect("a store");
    let mut home = Home::new(Plan::default(), store.journal());
    store.restore(&mut home).expect("its devices");
    home.settle(Time::ZERO);
    (store, home)
}

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

/// xorshift64*: the same changes in two processes.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    fn bedtime(&mut self) -> Bedtime {
        let times = (0..self.below(3)).map(|_| format!("mon-fri 2{}:00-07:00", self.below(4)));
        Bedtime::try_from(times.collect::<Vec<_>>()).expect("a bedtime")
    }

    fn quota(&mut self) -> Option<Quota> {
        let reset = "04:30".parse().expect("a time");
        let bytes = 1 + self.below(1 << 30);
        Some(Quota { bytes, reset })
    }

    /// A device and its first decision.
    fn change(&mut self) -> (Mac, Change) {
        let mac = mac(u8::try_from(self.below(10)).expect("small"));
        let text = format!("n{}", self.below(1000));
        let other = self::mac(u8::try_from(self.below(10)).expect("small"));
        let change = match self.below(19) {
            0..3 => Change::Admission(Admission::Permitted),
            3..5 => Change::Admission(Admission::Denied),
            5 => Change::Blacklisted(self.below(2) == 0),
            6 => Change::Paused(self.below(2) == 0),
            7 => {
                let rule = [None, Some(true), Some(false)][self.below(3) as usize];
                Change::Domain(format!("d{}.example", self.below(4)), rule)
            }
            8 => Change::OthersDenied(self.below(2) == 0),
            9 => Change::Name(Some(text).filter(|_| self.below(3) > 0)),
            10 => Change::Person(Some(text)),
            11 => Change::Bedtime(self.bedtime()),
            12 => Change::Quota(self.quota()),
            13 => Change::Quota(None),
            14 => Change::Admission(Admission::Waiting),
            15..17 => Change::Again(other),
            17 => Change::NotAgain(other),
            _ => Change::Forgotten,
        };
        (mac, change)
    }
}

/// Makes a change. Returns whether it was accepted: not all devices can be the same one.
fn make(home: &mut Home, (mac, change): (Mac, Change)) -> bool {
    home.seen(Time::ZERO, mac).expect("a slot");
    let is_answer = matches!(change, Change::Again(_) | Change::NotAgain(_));
    match home.change(Time::ZERO, mac, change) {
        Err(Refused::NoDevice(_) | Refused::Undecided(_) | Refused::Decided(_)) if is_answer => {
            if home.device(mac).expect("seen").is_undecided() {
                home.change(Time::ZERO, mac, Change::Forgotten)
                    .expect("forgotten");
            }
            false
        }
        made => made.map(|()| true).expect("kept"),
    }
}

/// Expected state of each device in the store.
fn kept(home: &Home) -> BTreeMap<Mac, String> {
    let text = |device: &home::Device| {
        let mut device = device.clone();
        device.seen = None;
        (device.question, device.asked) = (None, 0);
        let limits = std::mem::take(&mut device.limits);
        device.limits.set_bedtime(limits.bedtime);
        device.limits.quota = limits.quota;
        format!("{device:?}")
    };
    home.devices()
        .map(|device| (device.mac, text(device)))
        .collect()
}

#[test]
fn all_decisions_are_there_after_a_restart() {
    let folder = Folder::new("restart");
    let mut model = Home::new(Plan::default(), Box::new(NoJournal));
    let mut random = Random::new(1);
    for _ in 0..20 {
        let (_store, mut home) = open(&folder.file());
        assert_eq!(kept(&home), kept(&model));
        for _ in 0..50 {
            let change = random.change();
            make(&mut home, change.clone());
            make(&mut model, change);
        }
    }
    let mode = std::fs::metadata(folder.file())
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(
        mode & 0o777,
        0o600,
        "hashes and the key are for the owner alone"
    );
}

#[test]
fn a_flood_of_new_devices_writes_nothing() {
    let folder = Folder::new("flood");
    let (store, mut home) = open(&folder.file());
    make(&mut home, (mac(1), Change::Admission(Admission::Permitted)));
    let sizes = || -> Vec<(PathBuf, u64, std::time::SystemTime)> {
        let entries = std::fs::read_dir(&folder.0).expect("a folder").flatten();
        let files = entries.map(|entry| (entry.path(), entry.metadata().expect("there")));
        let mut files: Vec<_> = files
            .map(|(path, data)| (path, data.len(), data.modified().expect("a time")))
            .collect();
        files.sort();
        files
    };
    let before = sizes();
    for each in 0..3000_u32 {
        let [_, a, b, c] = each.to_be_bytes();
        let mac = Mac([6, 0, 0, a, b, c]);
        home.seen(Time::from_ms(u64::from(each)), mac)
            .expect("the oldest makes room");
        let name = Change::HostName(format!("host{each}"));
        home.change(Time::ZERO, mac, name).expect("known");
    }
    assert_eq!(sizes(), before);
    // The slot and the host name come with the first decision.
    let last = Mac([6, 0, 0, 0, 0x0B, 0xB7]);
    let slot = home.device(last).expect("waiting").slot;
    home.change(Time::ZERO, last, Change::Admission(Admission::Denied))
        .expect("kept");
    drop((store, home));
    let (_store, home) = open(&folder.file());
    assert_eq!(home.devices().count(), 2);
    let device = home.device(last).expect("kept");
    assert_eq!(
        (device.slot, device.host_name.as_deref()),
        (slot, Some("host2999"))
    );
}

#[test]
fn a_device_that_changes_its_host_name_all_the_time_writes_it_once_a_minute() {
    let folder = Folder::new("names");
    let now = Arc::new(AtomicU64::new(1_800_000_000));
    let clock = {
        let now = Arc::clone(&now);
        Clock::new(|| Time::ZERO, move || now.load(Ordering::Relaxed))
    };
    let written = || {
        let copy = folder.0.join("copy.db");
        for end in ["", "-wal"] {
            let from = format!("{}{end}", folder.file().display());
            std::fs::copy(from, format!("{}{end}", copy.display())).expect("a copy");
        }
        let (_store, home) = open(&copy);
        home.device(mac(1)).expect("kept").host_name.clone()
    };
    let store = Store::open(&folder.file(), clock).expect("a store");
    let mut home = Home::new(Plan::default(), store.journal());
    make(&mut home, (mac(1), Change::Admission(Admission::Permitted)));
    for each in 0..100 {
        make(&mut home, (mac(1), Change::HostName(format!("a{each}"))));
    }
    assert_eq!(written().as_deref(), Some("a0"));
    now.fetch_add(HOST_NAME_INTERVAL, Ordering::Relaxed);
    make(&mut home, (mac(1), Change::HostName("b".into())));
    assert_eq!(written().as_deref(), Some("b"));
    make(&mut home, (mac(1), Change::HostName("c".into())));
    drop((store, home));
    assert_eq!(
        open(&folder.file())
            .1
            .device(mac(1))
            .expect("kept")
            .host_name
            .as_deref(),
        Some("c")
    );
}

#[test]
fn a_file_that_is_not_ours_stays_as_it_is() {
    let folder = Folder::new("foreign");
    let path = folder.file();
    let sqlite = |sql: &str| {
        let _ = std::fs::remove_file(&path);
        let connection = rusqlite::Connection::open(&path).expect("a file");
        connection.execute_batch(sql).expect("SQL");
    };
    let refused = |wanted: &str| {
        let before = std::fs::read(&path).expect("there");
        let error = Store::open(&path, clock()).expect_err(wanted).to_string();
        assert!(error.contains(wanted), "{error}");
        assert!(error.contains("home.db"), "{error}");
        assert_eq!(std::fs::read(&path).expect("there"), before, "{wanted}");
        let others = std::fs::read_dir(&folder.0).expect("a folder").count();
        assert_eq!(others, 1, "no other file is left");
    };
    for text in [
        "hello",
        &"text ".repeat(10_000),
        "SQLite format 3\0 and nothing else",
    ] {
        std::fs::write(&path, text).expect("a file");
        refused("not an SQLite database");
    }
    sqlite("CREATE TABLE letters (text); INSERT INTO letters VALUES ('dear');");
    refused("another program");
    sqlite("CREATE TABLE a (b); PRAGMA application_id = 0x77697265; PRAGMA user_version = 99;");
    refused("newer version (schema 99");
    sqlite("CREATE TABLE a (b); PRAGMA application_id = 0x77697265; PRAGMA user_version = 0;");
    refused("another program");
}

#[test]
fn a_damaged_file_and_one_in_use_are_named() {
    let folder = Folder::new("damaged");
    let (store, mut home) = open(&folder.file());
    for _ in 0..300 {
        let mut random = Random::new(3);
        make(&mut home, random.change());
    }
    match Store::open(&folder.file(), clock()) {
        Err(StoreError::InUse(_)) => {}
        other => panic!("{other:?}"),
    }
    drop((store, home));
    let mut bytes = std::fs::read(folder.file()).expect("there");
    for byte in &mut bytes[4096..] {
        *byte = 0xAA;
    }
    std::fs::write(folder.file(), &bytes).expect("written");
    match Store::open(&folder.file(), clock()) {
        Err(StoreError::Damaged(..)) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read(folder.file()).expect("there"), bytes);
    assert!(matches!(
        Store::open(&folder.0, clock()),
        Err(StoreError::File(..))
    ));
}

#[test]
fn devices_whose_slot_is_not_of_the_plan_get_another() {
    let folder = Folder::new("plan");
    let (store, mut home) = open(&folder.file());
    for each in 1..=20 {
        make(
            &mut home,
            (mac(each), Change::Admission(Admission::Permitted)),
        );
    }
    drop((store, home));
    let small = Plan::new([10, 3, 0, 0].into(), 26).expect("14 devices");
    let store = Store::open(&folder.file(), clock()).expect("a store");
    let mut home = Home::new(small, store.journal());
    let restored = store.restore(&mut home).expect("devices");
    assert_eq!(
        (restored.devices, restored.moved, restored.left_out),
        (20, 0, 6)
    );
    for each in 1..=3 {
        make(&mut home, (mac(each), Change::Forgotten));
    }
    // A device without a slot appears, and is denied.
    let come = mac(20);
    assert!(home.device(come).is_none());
    make(&mut home, (come, Change::Admission(Admission::Denied)));
    drop((store, home));
    let store = Store::open(&folder.file(), clock()).expect("a store");
    let mut home = Home::new(small, store.journal());
    let restored = store.restore(&mut home).expect("devices");
    assert_eq!(
        (restored.devices, restored.moved, restored.left_out),
        (17, 2, 3)
    );
    let denied: Vec<Mac> = home
        .devices()
        .filter(|device| !device.is_admitted())
        .map(|device| device.mac)
        .collect();
    assert_eq!(denied, [come]);
}

#[test]
fn a_device_has_a_bounded_history_until_it_is_forgotten() {
    let store = Store::in_memory(clock()).expect("a store");
    let mut home = Home::new(Plan::default(), store.journal());
    for each in 0..MAX_HISTORY + 50 {
        make(&mut home, (mac(1), Change::Name(Some(format!("n{each}")))));
    }
    make(&mut home, (mac(2), Change::Admission(Admission::Denied)));
    let history = store.history(mac(1)).expect("kept");
    assert_eq!(history.len(), MAX_HISTORY as usize);
    assert_eq!(
        history[0].change,
        Change::Name(Some(format!("n{}", MAX_HISTORY + 49)))
    );
    assert_eq!(history[0].at, 1_800_000_000);
    make(&mut home, (mac(1), Change::Forgotten));
    assert_eq!(store.history(mac(1)).expect("kept"), []);
    assert_eq!(store.history(mac(2)).expect("kept").len(), 1);
}

/// A file of version 1, as its program wrote it.
const VERSION_1: &str = "
CREATE TABLE devices (
    mac TEXT PRIMARY KEY, slot INTEGER NOT NULL,
    admission TEXT NOT NULL DEFAULT 'waiting' CHECK (admission IN ('waiting', 'permitted', 'denied')),
    blacklisted INTEGER NOT NULL DEFAULT 0, paused INTEGER NOT NULL DEFAULT 0, others_denied INTEGER NOT NULL DEFAULT 0,
    name TEXT, person TEXT, host_name TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE domains (
    mac TEXT NOT NULL REFERENCES devices ON DELETE CASCADE, domain TEXT NOT NULL, permitted INTEGER NOT NULL,
    PRIMARY KEY (mac, domain)
) STRICT, WITHOUT ROWID;
CREATE TABLE history (
    number INTEGER PRIMARY KEY, mac TEXT NOT NULL REFERENCES devices ON DELETE CASCADE,
    at INTEGER NOT NULL, change TEXT NOT NULL
) STRICT;
CREATE INDEX history_of_device ON history (mac, number);
CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    hash BLOB PRIMARY KEY, address TEXT NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO devices VALUES ('02:00:00:00:00:01', 5, 'permitted', 0, 1, 1, 'Toms Laptop', 'Tom', 'tom-laptop');
INSERT INTO devices VALUES ('02:00:00:00:00:02', 6, 'denied', 1, 0, 0, NULL, NULL, NULL);
INSERT INTO domains VALUES ('02:00:00:00:00:01', 'bad.example', 0);
INSERT INTO history VALUES (1, '02:00:00:00:00:01', 1700000000, '{\"admission\":\"permitted\"}');
INSERT INTO settings VALUES ('password', x'01');
PRAGMA application_id = 0x77697265; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;";

fn check_version_1(path: &Path) {
    let (store, mut home) = open(path);
    let device = home.device(mac(1)).expect("kept").clone();
    assert_eq!((device.slot, device.admission), (5, Admission::Permitted));
    assert!(
        device.paused && device.domains.others_denied && !device.domains.permits("bad.example")
    );
    assert_eq!(
        (device.name.as_deref(), device.person.as_deref()),
        (Some("Toms Laptop"), Some("Tom"))
    );
    assert!(home.device(mac(2)).expect("kept").blacklisted);
    assert_eq!(store.history(mac(1)).expect("kept")[0].at, 1_700_000_000);
    assert_eq!(store.setting("password").expect("read"), Some(vec![1]));
    // The new tables work.
    home.seen(Time::ZERO, mac(3)).expect("a slot");
    home.note(Time::ZERO, mac(3), |evidence| {
        evidence.note_name("toms-laptop")
    });
    make(&mut home, (mac(3), Change::NotAgain(mac(2))));
    make(&mut home, (mac(3), Change::Again(mac(1))));
    let expected = kept(&home);
    drop((store, home));
    let (store, home) = open(path);
    assert_eq!(kept(&home), expected);
    assert!(home.device(mac(1)).is_none());
    let device = home.device(mac(3)).expect("kept");
    assert_eq!(
        (
            device.name.as_deref(),
            device.domains.permits("bad.example")
        ),
        (Some("Toms Laptop"), false)
    );
    assert_eq!(
        store.history(mac(3)).expect("kept").len(),
        2,
        "with the history of the earlier one"
    );
}

#[test]
fn a_file_of_version_1_opens_and_keeps_all() {
    let folder = Folder::new("version");
    let connection = rusqlite::Connection::open(folder.file()).expect("a file");
    connection.execute_batch(VERSION_1).expect("SQL");
    drop(connection);
    check_version_1(&folder.file());
}

/// The process that opens a file of version 1 and is killed.
#[test]
#[ignore = "the child of the test below"]
fn a_child_opens_a_file_of_version_1() {
    let path = std::env::var("HOME_DB").expect("set by the parent");
    drop(open(path.as_ref()));
    println!("end");
}

/// Killed at each system call that changes a file in turn.
#[test]
fn a_file_of_version_1_keeps_all_when_the_process_is_killed_at_each_write() {
    let folder = Folder::new("migrate");
    let mut killed = 0;
    for call in ["pwrite64", "fsync", "write", "ftruncate"] {
        for number in 1.. {
            let path = folder.0.join(format!("{call}-{number}.db"));
            let connection = rusqlite::Connection::open(&path).expect("a file");
            connection.execute_batch(VERSION_1).expect("SQL");
            drop(connection);
            let mut strace = Command::new("strace");
            let fault = format!("inject={call}:signal=KILL:when={number}");
            strace
                .args([
                    "-f",
                    "-qq",
                    "-e",
                    "signal=none",
                    "-o",
                    "/dev/null",
                    "-e",
                    &fault,
                ])
                .arg(std::env::current_exe().expect("this file"))
                .args([
                    "a_child_opens_a_file_of_version_1",
                    "--exact",
                    "--ignored",
                    "--nocapture",
                    "--test-threads=1",
                ])
                .env("HOME_DB", &path)
                .stdin(Stdio::null());
            let Ok(output) = strace.output() else {
                println!("skipped: no strace");
                return;
            };
            check_version_1(&path);
            if String::from_utf8_lossy(&output.stdout).contains("end\n") {
                break;
            }
            killed += 1;
        }
    }
    assert!(killed > 5, "{killed}");
}

const CHILD: &str = "a_child_makes_changes_until_it_is_killed";

/// Not a test by itself: the process that other tests kill. It prints the number of each stored change.
#[test]
#[ignore = "the child of the tests below"]
fn a_child_makes_changes_until_it_is_killed() {
    let variable = |name: &str| std::env::var(name).expect("set by the parent");
    let (_store, mut home) = open(variable("HOME_DB").as_ref());
    let mut random = Random::new(variable("HOME_SEED").parse().expect("a number"));
    let limit: usize = variable("HOME_CHANGES").parse().expect("a number");
    for number in 0..limit {
        let end = if make(&mut home, random.change()) {
            ""
        } else {
            " refused"
        };
        println!("kept {number}{end}");
    }
    println!("end");
}

fn child(path: &Path, seed: u64, changes: usize, mut command: Command) -> Command {
    command
        .args([
            CHILD,
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("HOME_DB", path)
        .env("HOME_SEED", seed.to_string())
        .env("HOME_CHANGES", changes.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Checks a store after a kill: all that was acknowledged, perhaps the next change too, and nothing else. So nothing that was permitted
/// is lost and nothing that was denied is let in. Returns the home as it is.
fn check(path: &Path, mut model: Home, seed: u64, acknowledged: usize) -> Home {
    let (_store, home) = open(path);
    let mut random = Random::new(seed);
    for _ in 0..acknowledged {
        make(&mut model, random.change());
    }
    if kept(&home) != kept(&model) {
        make(&mut model, random.change());
    }
    assert_eq!(
        kept(&home),
        kept(&model),
        "seed {seed}, after {acknowledged} changes"
    );
    model
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed_at_any_moment() {
    let folder = Folder::new("kill");
    let mut model = Home::new(Plan::default(), Box::new(NoJournal));
    let seeds: u64 =
        std::env::var("HOME_ROUNDS").map_or(40, |text| text.parse().expect("a number"));
    let mut total = 0;
    for seed in 1..=seeds {
        let mut random = Random::new(seed + 1000);
        let wanted = random.below(40);
        let pause = Duration::from_micros(random.below(if wanted < 4 { 20_000 } else { 3_000 }));
        let command = Command::new(std::env::current_exe().expect("this file"));
        let mut running = child(&folder.file(), seed, 100_000, command)
            .spawn()
            .expect("a child");
        let mut lines = BufReader::new(running.stdout.take().expect("piped")).lines();
        let mut acknowledged = 0;
        let mut count = |line: Option<std::io::Result<String>>| {
            let line = line.and_then(Result::ok)?;
            acknowledged += usize::from(line.contains("kept "));
            Some(acknowledged as u64)
        };
        while wanted > 3 && count(lines.next()).is_some_and(|kept| kept < wanted) {}
        #[expect(clippy::disallowed_methods, reason = "a random moment")]
        std::thread::sleep(pause);
        running.kill().expect("killed");
        running.wait().expect("gone");
        while count(lines.next()).is_some() {}
        total += acknowledged;
        model = check(&folder.file(), model, seed, acknowledged);
    }
    assert!(total > 100, "{total} changes");
}

/// The same, killed at each system call that changes a file in turn.
#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed_at_each_write() {
    let folder = Folder::new("strace");
    let run = |name: &str, seed: u64, arguments: &[&str]| {
        let path = folder.0.join(name);
        let mut strace = Command::new("strace");
        strace
            .args(["-f", "-qq", "-e", "signal=none"])
            .args(arguments);
        strace.arg(std::env::current_exe().expect("this file"));
        let output = child(&path, seed, 8, strace).output().ok()?;
        Some((path, String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    let log = folder.0.join("log");
    let traced = run(
        "all.db",
        0,
        &[
            "-o",
            &log.to_string_lossy(),
            "-e",
            "trace=fsync,fdatasync,write",
        ],
    );
    if !traced.is_some_and(|(_, text)| text.contains("end\n")) {
        println!("skipped: no strace, or it may not trace here");
        return;
    }
    // Data that a killed process wrote stays in the page cache, so the trace must also show fsync before each acknowledgement.
    let (mut synced, mut acknowledged) = (false, 0);
    for line in std::fs::read_to_string(&log).expect("a log").lines() {
        synced |= line.contains("sync(");
        if line.contains("\"kept ") {
            assert!(synced || line.contains("refused"), "{line}");
            (synced, acknowledged) = (false, acknowledged + 1);
        }
    }
    assert_eq!(acknowledged, 8);

    let step = if std::env::var("FAULTS").is_ok_and(|value| value == "all") {
        1
    } else {
        3
    };
    let mut killed = BTreeMap::new();
    for call in ["pwrite64", "fsync", "write", "ftruncate", "unlink"] {
        for number in (1..).step_by(step) {
            let fault = format!("inject={call}:signal=KILL:when={number}");
            let name = format!("{call}-{number}.db");
            let (path, text) =
                run(&name, number, &["-o", "/dev/null", "-e", &fault]).expect("strace");
            if text.contains("end\n") {
                break;
            }
            *killed.entry(call).or_insert(0) += 1;
            let model = Home::new(Plan::default(), Box::new(NoJournal));
            check(&path, model, number, text.matches("kept ").count());
        }
    }
    let of = |call| killed.get(call).copied().unwrap_or_default();
    assert!(
        of("pwrite64") > 10 && of("fsync") > 3 && of("write") > 2,
        "{killed:?}"
    );
}

#[test]
fn limits_of_people_are_there_after_a_restart() {
    let folder = Folder::new("people");
    let mut random = Random::new(7);
    let (_store, mut home) = open(&folder.file());
    make(&mut home, (mac(1), Change::Person(Some("Anna".into()))));
    let (bedtime, quota) = (random.bedtime(), random.quota());
    for change in [
        PersonChange::Paused(true),
        PersonChange::Bedtime(bedtime.clone()),
        PersonChange::Quota(quota),
    ] {
        home.change_person(Time::ZERO, "Anna", change)
            .expect("kept");
    }
    drop((_store, home));
    let (_store, mut home) = open(&folder.file());
    let person = home.person("Anna").expect("stored");
    assert!(person.paused);
    assert_eq!(
        (&person.limits.bedtime, person.limits.quota),
        (&bedtime, quota)
    );
    assert!(home.device(mac(1)).expect("there").held.is_some());
    // Without limits the person is not stored.
    for change in [
        PersonChange::Paused(false),
        PersonChange::Bedtime(Bedtime::default()),
        PersonChange::Quota(None),
    ] {
        home.change_person(Time::ZERO, "Anna", change)
            .expect("kept");
    }
    drop((_store, home));
    let (_store, home) = open(&folder.file());
    assert_eq!(home.people().count(), 0);
}

#[test]
fn a_file_of_version_1_is_brought_to_the_present_version() {
    let folder = Folder::new("version-1");
    let old = rusqlite::Connection::open(folder.file()).expect("a file");
    old.execute_batch(include_str!("store/version-1.sql"))
        .expect("tables and a device");
    drop(old);
    let (_store, mut home) = open(&folder.file());
    let device = home.device(mac(1)).expect("kept");
    assert_eq!(device.admission, Admission::Permitted);
    assert_eq!(device.name.as_deref(), Some("Printer"));
    assert!(!device.domains.permits("ads.example"));
    let quota = Random::new(3).quota();
    make(&mut home, (mac(1), Change::Quota(quota)));
    drop((_store, home));
    let (_store, home) = open(&folder.file());
    assert_eq!(home.device(mac(1)).expect("kept").limits.quota, quota);
}

/// Not a test by itself: counts a byte every router second and prints the sum, until it is killed.
#[test]
#[ignore = "the child of the test below"]
fn a_child_counts_bytes_until_it_is_killed() {
    let path = std::env::var("HOME_DB").expect("set by the parent");
    let (_store, mut home) = open(path.as_ref());
    let mut now = Time::ZERO;
    make(&mut home, (mac(1), Change::Person(Some("Anna".into()))));
    let quota = Some(Quota {
        bytes: 1_000_000,
        reset: "00:00".parse().expect("a time"),
    });
    make(&mut home, (mac(1), Change::Quota(quota)));
    home.change_person(now, "Anna", PersonChange::Quota(quota))
        .expect("kept");
    for sum in home.device(mac(1)).expect("there").limits.used.bytes + 1.. {
        now += Time::from_secs(1);
        home.count(mac(1), true, (1, 1), true);
        if home.next_settle().is_some_and(|at| at <= now) {
            home.settle(now);
        }
        println!("counted {sum}");
    }
}

#[test]
fn a_kill_loses_at_most_the_bytes_of_the_stated_interval() {
    let folder = Folder::new("used");
    let mut random = Random::new(11);
    let mut last = 0;
    for _ in 0..8 {
        let mut command = Command::new(std::env::current_exe().expect("this file"));
        let mut running = command
            .args([
                "a_child_counts_bytes_until_it_is_killed",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env("HOME_DB", folder.file())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let mut lines = BufReader::new(running.stdout.take().expect("piped")).lines();
        let wanted = 20 + random.below(200);
        let mut counted = last;
        let mut count = |line: std::io::Result<String>| {
            let sum = line
                .ok()
                .and_then(|line| line.rsplit_once("counted ")?.1.parse().ok());
            counted = sum.unwrap_or(counted);
        };
        (0..wanted).for_each(|_| lines.next().into_iter().for_each(&mut count));
        running.kill().expect("killed");
        running.wait().expect("gone");
        lines.for_each(count);
        let (_store, home) = open(&folder.file());
        let stored = home.device(mac(1)).expect("there").limits.used.bytes;
        let of_person = home.person("Anna").expect("there").limits.used.bytes;
        let lost = counted - stored.min(counted);
        // A byte a second.
        let allowed = USE_INTERVAL.as_ns() / 1_000_000_000;
        assert!(lost <= allowed, "{lost} of {counted} bytes are lost");
        assert_eq!(of_person, stored);
        assert!(counted > last, "the child has counted");
        last = stored;
    }
    assert!(last > 30, "some bytes are stored: {last}");
}
