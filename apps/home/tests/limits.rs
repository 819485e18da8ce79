//! Bedtime and quota: local time against a model of its own, and a home with a switch in simulated time.

use crate::stage::{GATEWAY, ROUTER, SERVER, Stage, mac, udp};
use core::net::{Ipv4Addr, SocketAddrV4};
use home::bedtime::{Bedtime, MAX_WINDOWS};
use home::calendar::{Calendar, Which};
use home::home::NoJournal;
use home::limits::{Quota, Why};
use home::people::PersonChange;
use home::plan::Plan;
use home::{Admission, Change, Home, Settings};
use node::Time;
use node::random::Random;
use std::collections::BTreeMap;
use std::ops::Range;

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

/// Days since 1970 of a date in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let of_year = |year: i64| if is_leap(year) { 366 } else { 365 };
    let lengths = [
        31,
        if is_leap(year) { 29 } else { 28 },
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let months: i64 = lengths[..month as usize - 1].iter().sum();
    (1970..year).map(of_year).sum::<i64>() + months + day - 1
}

/// The Sunday with this number in a month, from 1; 5 is the last one.
fn sunday(year: i64, month: i64, number: i64) -> i64 {
    let all: Vec<i64> = (1..=31)
        .filter(|day| *day <= 30 || month != 11 && month != 4)
        .map(|day| days(year, month, day))
        // 1970-01-01 was a Thursday.
        .filter(|day| (day + 4) % 7 == 0)
        .collect();
    all[(number as usize).min(all.len()) - 1]
}

/// A zone: its form of POSIX, and a model of a year: a time of Unix, seconds to add in it, and at other times.
type Zone = (&'static str, fn(i64) -> (Range<i64>, i64, i64));

/// The European Union, New York, Lord Howe Island with half an hour in the south, and India without a change.
const ZONES: [Zone; 4] = [
    ("CET-1CEST,M3.5.0,M10.5.0/3", |year| {
        let summer = sunday(year, 3, 5) * DAY + 3600..sunday(year, 10, 5) * DAY + 3600;
        (summer, 7200, 3600)
    }),
    ("EST5EDT,M3.2.0,M11.1.0", |year| {
        let summer = sunday(year, 3, 2) * DAY + 7 * 3600..sunday(year, 11, 1) * DAY + 6 * 3600;
        (summer, -4 * 3600, -5 * 3600)
    }),
    ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", |year| {
        let april = sunday(year, 4, 1) * DAY - 9 * 3600;
        let october = sunday(year, 10, 1) * DAY - 8 * 3600 - 1800;
        (april..october, 37_800, 39_600)
    }),
    ("IST-5:30", |_| (0..0, 0, 19_800)),
];

/// Seconds to add to a time of Unix in a year.
fn offset((span, inside, outside): &(Range<i64>, i64, i64), unix: i64) -> i64 {
    if span.contains(&unix) {
        *inside
    } else {
        *outside
    }
}

/// Days as bits from Monday, and the minutes of the beginning and the end.
type Window = (u8, i64, i64);

/// Whether a bedtime is in force in each minute, by the times at which a clock on the wall shows or skips each time.
fn model(offset: impl Fn(i64) -> i64, windows: &[Window], start: i64, minutes: i64) -> Vec<bool> {
    let margin = 3 * 1440;
    let clock: Vec<i64> = (-margin..minutes + margin)
        .map(|minute| start + minute * MINUTE)
        .map(|unix| (unix + offset(unix)) / MINUTE)
        .collect();
    let mut shown: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for (at, pair) in (1 - margin..).zip(clock.windows(2)) {
        // Set back, the clock shows one time again.
        for time in (pair[0] + 1).min(pair[1])..=pair[1] {
            shown.entry(time).or_insert((at, at)).1 = at;
        }
    }
    let mut on = vec![false; usize::try_from(minutes).expect("small")];
    for day in clock[0] / 1440..=clock[clock.len() - 1] / 1440 {
        // Day 0 was a Thursday.
        let bit = 1 << ((day + 3) % 7);
        for (_, from, until) in windows.iter().filter(|(days, ..)| days & bit != 0) {
            let end = day + i64::from(until <= from);
            let (from, until) = (
                shown.get(&(day * 1440 + from)),
                shown.get(&(end * 1440 + until)),
            );
            let span = from.zip(until).map(|((first, _), (_, last))| *first..*last);
            for minute in span.into_iter().flatten() {
                if let Some(each) = usize::try_from(minute).ok().and_then(|at| on.get_mut(at)) {
                    *each = true;
                }
            }
        }
    }
    on
}

#[test]
fn a_bedtime_follows_a_clock_on_the_wall_over_changes_of_the_clock() {
    const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    const MINUTES: i64 = 4 * 1440;
    let mut random = Random::new(46);
    let mut below = |end: i64| i64::try_from(random.below(end as u64)).expect("small");
    let (mut held, mut free) = (0, 0);
    for round in 0..200 {
        let (posix, of_year) = ZONES[round % ZONES.len()];
        let zone = jiff::tz::TimeZone::posix(posix).expect("a zone");
        let calendar = Calendar::simulated(zone, 0);
        let year = 2020 + below(20);
        // Mostly around the Sundays at which clocks change.
        let day = match below(5) {
            0 => days(year, 1 + below(12), 1 + below(28)),
            1 => sunday(year, 3, 5),
            2 => sunday(year, 10, if posix.starts_with('<') { 1 } else { 5 }),
            3 => sunday(
                year,
                if posix.starts_with('<') { 4 } else { 3 },
                1 + below(2),
            ),
            _ => sunday(year, 11, 1),
        };
        let start = (day - 2) * DAY;
        let windows: Vec<Window> = (0..=below(3))
            .map(|_| {
                // Many times in the hours at which clocks change.
                let mut time = || {
                    if below(2) == 0 {
                        15 * below(20)
                    } else {
                        below(1440)
                    }
                };
                let (from, until) = (time(), time());
                (
                    1 + u8::try_from(below(127)).expect("seven bits"),
                    from,
                    until,
                )
            })
            .filter(|(_, from, until)| from != until)
            .collect();
        let texts: Vec<String> = windows
            .iter()
            .map(|(bits, from, until)| {
                let days = (0..7).filter(|day| bits & 1 << day != 0);
                let days: Vec<&str> = days.map(|day| NAMES[day]).collect();
                let clock = |minutes: &i64| format!("{:02}:{:02}", minutes / 60, minutes % 60);
                format!("{} {}-{}", days.join(","), clock(from), clock(until))
            })
            .collect();
        let bedtime = Bedtime::try_from(texts.clone()).expect("a bedtime");
        // Its written form is read as the same.
        let again = Bedtime::try_from(Vec::<String>::from(bedtime.clone()));
        assert_eq!(again, Ok(bedtime.clone()));
        let zone = of_year(year);
        let expected = model(|unix| offset(&zone, unix), &windows, start, MINUTES);
        let at = |minute: i64| bedtime.at(&calendar, (start + minute * MINUTE) as u64);
        let mut minute = 0;
        while minute < MINUTES {
            let phase = at(minute);
            let next = (i64::try_from(phase.until).expect("in range") - start) / MINUTE;
            assert!(next > minute, "{texts:?} in {posix}");
            for each in minute..next.min(MINUTES) {
                let place = || format!("{texts:?} in {posix}, {year}, minute {each} from {start}");
                assert_eq!(phase.is_on, expected[each as usize], "{}", place());
                *if phase.is_on { &mut held } else { &mut free } += 1;
            }
            // From within a span the end is the same.
            let middle = minute + below((next - minute).min(MINUTES));
            assert_eq!(at(middle).is_on, phase.is_on, "{texts:?}");
            minute = next;
        }
    }
    assert!(held > 50_000 && free > 50_000, "{held} {free}");
}

#[test]
fn each_day_of_a_quota_begins_at_its_time_also_when_clocks_change() {
    let mut random = Random::new(7);
    for (posix, of_year) in ZONES {
        let zone = jiff::tz::TimeZone::posix(posix).expect("a zone");
        let calendar = Calendar::simulated(zone, 0);
        for _ in 0..100 {
            let minutes = random.below(1440) as i64;
            let reset = format!("{:02}:{:02}", minutes / 60, minutes % 60);
            let reset = reset.parse().expect("a time");
            let unix = days(2026, 1, 2) * DAY + random.below(360 * 86_400) as i64;
            let (last, next) = (
                calendar.last(reset, unix as u64),
                calendar.next(reset, unix as u64),
            );
            assert!(last as i64 <= unix && unix < next as i64);
            assert!(
                (22 * 3600..=26 * 3600).contains(&(next - last)),
                "{posix} {reset} {unix}"
            );
            for at in [last as i64, next as i64] {
                let shows = |unix: i64| (unix + offset(&of_year(2026), unix)) % DAY / MINUTE;
                let is_skipped = shows(at - 60) < minutes && minutes < shows(at);
                assert!(shows(at) == minutes || is_skipped, "{posix} {reset} {at}");
            }
        }
    }
}

#[test]
fn texts_that_are_not_bedtimes_are_refused_with_a_reason() {
    for (text, reason) in [
        ("", "write days and times"),
        ("mon", "write days and times"),
        ("mon 21:00", "write days and times"),
        ("moon 21:00-22:00", "write days and times"),
        ("mon, 21:00-22:00", "write days and times"),
        ("mon 21-22", "not a time of the day"),
        ("mon 21:00-24:01", "not a time of the day"),
        ("mon 9:00-10:00", "not a time of the day"),
        ("mon +1:00-10:00", "not a time of the day"),
        ("mon 24:00-10:00", "the end is the beginning"),
        ("mon 10:00-10:00", "the end is the beginning"),
    ] {
        let refused = Bedtime::try_from(vec![text.to_string()]).expect_err(text);
        assert!(refused.to_string().contains(reason), "{text}: {refused}");
    }
    let many = vec!["daily 01:00-02:00".to_string(); MAX_WINDOWS + 1];
    assert!(Bedtime::try_from(many).is_err());
    let read = |text: &str| Bedtime::try_from(vec![text.to_string()]).map(Vec::<String>::from);
    for (text, written) in [
        ("MON-fri 21:00-07:00", "mon-fri 21:00-07:00"),
        ("sat,sun 00:00-24:00", "sat,sun 00:00-24:00"),
        ("sat-mon 23:00-00:00", "sat-mon 23:00-00:00"),
        ("mon-sun 12:00-13:00", "daily 12:00-13:00"),
        ("tue,mon,thu 12:00-13:00", "mon,tue,thu 12:00-13:00"),
    ] {
        assert_eq!(read(text), Ok(vec![written.to_string()]));
    }
}

/// A home with two permitted devices of Anna, at a local time.
struct Family {
    stage: Stage,
    addresses: [Ipv4Addr; 2],
}

impl Family {
    fn new(date: &str) -> Family {
        let zone = jiff::tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        let date = date.parse().expect("a date");
        let start = Calendar::simulated(zone.clone(), 0).instant(date, Which::First);
        let mut home = Home::new(Plan::default(), Box::new(NoJournal));
        home.calendar = Calendar::simulated(zone, start);
        let mut stage = Stage::new(home, Settings::default());
        let addresses = [0, 1].map(|index| {
            let port = 2 + u32::from(index);
            stage.join(port, mac(index)).expect("an address");
            stage.change(mac(index), Change::Admission(Admission::Permitted));
            stage.change(mac(index), Change::Person(Some("Anna".into())));
            stage.join(port, mac(index)).expect("an address")
        });
        Family { stage, addresses }
    }

    /// Whether a datagram of a device reaches the router.
    fn reaches(&mut self, index: u16) -> bool {
        let from = SocketAddrV4::new(self.addresses[usize::from(index)], 5000);
        let frame = udp(
            (mac(index), GATEWAY),
            from,
            SocketAddrV4::new(SERVER, 9),
            &[0; 958],
        );
        let sent = self.stage.send(2 + u32::from(index), &frame);
        sent.iter()
            .any(|(port, frame)| *port == 1 && frame[..6] == ROUTER.0)
    }

    fn change_person(&mut self, change: PersonChange) {
        let now = self.stage.now;
        let mut home = self.stage.home.lock();
        home.change_person(now, "Anna", change).expect("kept");
        drop(home);
        self.stage.run(Time::ZERO);
    }

    fn why(&self, index: u16) -> Option<Why> {
        let home = self.stage.home.lock();
        home.device(mac(index))
            .expect("there")
            .held
            .map(|held| held.why)
    }
}

fn bedtime(text: &str) -> Bedtime {
    Bedtime::try_from(vec![text.to_string()]).expect("a bedtime")
}

#[test]
fn a_device_reaches_nothing_at_bedtime_and_all_again_in_the_morning() {
    // In this night the clock skips from 02:00 to 03:00.
    let mut family = Family::new("2026-03-28 20:50");
    family
        .stage
        .change(mac(0), Change::Bedtime(bedtime("sat 21:00-07:00")));
    assert!(family.reaches(0) && family.reaches(1));
    family.stage.run(Time::from_secs(597));
    assert!(family.reaches(0), "until 21:00");
    family.stage.run(Time::from_secs(5));
    assert_eq!(family.why(0), Some(Why::Bedtime));
    assert!(!family.reaches(0) && family.reaches(1));
    // Entries of the switch are gone too, and the device keeps its lease.
    assert!(family.stage.join(2, mac(0)).is_some());
    family.stage.run(Time::from_secs(9 * 3600 - 10));
    family.stage.join(2, mac(0));
    assert!(
        !family.reaches(0),
        "until 07:00, nine hours later in this night"
    );
    family.stage.run(Time::from_secs(20));
    assert_eq!(family.why(0), None);
    assert!(family.reaches(0));
}

#[test]
fn a_pause_of_a_person_is_one_of_all_devices_and_of_later_ones() {
    let mut family = Family::new("2026-01-05 12:00");
    family.change_person(PersonChange::Paused(true));
    assert!(!family.reaches(0) && !family.reaches(1));
    assert_eq!(family.why(1), Some(Why::Owner));
    // A device that leaves the person is free, one that comes is not.
    family.stage.change(mac(0), Change::Person(None));
    assert!(family.reaches(0) && !family.reaches(1));
    family
        .stage
        .change(mac(0), Change::Person(Some("Anna".into())));
    assert!(!family.reaches(0));
    family.change_person(PersonChange::Paused(false));
    assert!(family.reaches(0) && family.reaches(1));
    let mut home = family.stage.home.lock();
    let refused = home.change_person(Time::ZERO, "Nobody", PersonChange::Paused(true));
    assert!(refused.is_err(), "nobody owns a device");
}

#[test]
fn devices_of_a_person_use_up_a_quota_together_until_its_reset() {
    let mut family = Family::new("2026-01-05 03:50");
    let quota = Quota {
        bytes: 20_000,
        reset: "04:00".parse().expect("a time"),
    };
    assert!(family.reaches(0));
    family.stage.run(Time::from_secs(5));
    family.change_person(PersonChange::Quota(Some(quota)));
    // Datagrams of 1,000 bytes, with the headers.
    for _ in 0..9 {
        assert!(family.reaches(0) && family.reaches(1));
    }
    family.stage.run(Time::from_secs(3));
    let used = |family: &Family| {
        let home = family.stage.home.lock();
        home.person("Anna").expect("there").limits.used.bytes
    };
    let first = used(&family);
    assert!(
        (16_000..19_000).contains(&first),
        "{first} bytes by the counters of the switch"
    );
    assert_eq!(family.why(0), None);
    for _ in 0..3 {
        assert!(family.reaches(0) && family.reaches(1));
    }
    family.stage.run(Time::from_secs(3));
    assert!(used(&family) >= 20_000);
    assert_eq!(family.why(0), Some(Why::Quota));
    assert!(!family.reaches(0) && !family.reaches(1));
    // A new day at 04:00.
    family.stage.run(Time::from_secs(600));
    assert_eq!((used(&family), family.why(0)), (0, None));
    family.stage.join(2, mac(0));
    assert!(family.reaches(0));
}

#[test]
fn a_quota_of_a_device_does_not_count_traffic_inside_the_home() {
    let mut family = Family::new("2026-01-05 12:00");
    let quota = Quota {
        bytes: 5_000,
        reset: "00:00".parse().expect("a time"),
    };
    family.stage.change(mac(0), Change::Quota(Some(quota)));
    // ARP, so that the switch knows both ports.
    assert!(family.reaches(0) && family.reaches(1));
    let (from, to) = (family.addresses[0], family.addresses[1]);
    for _ in 0..20 {
        let ends = (SocketAddrV4::new(from, 1), SocketAddrV4::new(to, 2));
        let frame = udp((mac(0), GATEWAY), ends.0, ends.1, &[0; 958]);
        let sent = family.stage.send(2, &frame);
        assert!(sent.iter().any(|(port, _)| *port == 3));
    }
    family.stage.run(Time::from_secs(3));
    let home = family.stage.home.lock();
    let device = home.device(mac(0)).expect("there");
    assert!(device.traffic.sent.1 > 18_000, "{:?}", device.traffic);
    assert!(device.limits.used.bytes <= 1_000);
    assert_eq!(device.held, None);
}
