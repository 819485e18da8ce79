//! Disciplines in tc's words.

use node::{Rate, Size, Time};
use queue::cake::AckFilter;
use queue::{Config, cake, codel, dualpi2, fifo, fq_codel, red, tbf, tc};

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap()
}

#[test]
fn lines_of_tc_are_read_as_tc_reads_them() {
    let size = Size::from_bytes;
    let fifo = |limit, bytes| {
        Config::Fifo(fifo::Config {
            limit,
            bytes,
            ..fifo::Config::default()
        })
    };
    let cake = |overhead, mpu| {
        Config::Cake(cake::Config {
            overhead,
            mpu,
            ..cake::Config::default()
        })
    };
    for (line, wanted) in [
        ("pfifo limit 7", fifo(7, None)),
        ("pfifo limit 1k", fifo(1_024, None)),
        ("bfifo limit 10k", fifo(u32::MAX, Some(size(10_240)))),
        (
            "codel limit 1500 target 20ms interval 200ms ecn ce_threshold 3000",
            Config::Codel(codel::Config {
                limit: 1500,
                target: Time::from_ms(20),
                interval: Time::from_ms(200),
                ecn: true,
                ce_threshold: Some(Time::from_ms(3)),
                ..codel::Config::default()
            }),
        ),
        (
            "fq_codel flows 256 memory_limit 2mb quantum 300 noecn drop_batch 32",
            Config::FqCodel(fq_codel::Config {
                flows: 256,
                memory_limit: size(2 << 20),
                quantum: 300,
                ecn: false,
                drop_batch: 32,
                ..fq_codel::Config::default()
            }),
        ),
        (
            "tbf rate 1mbps burst 1500 latency 100ms",
            Config::Tbf(tbf::Config {
                limit: size(101_500),
                ..tbf::Config::new(rate(8_000_000), size(1_500))
            }),
        ),
        // Words cut short, cells of a rate table, and the smaller of 1000 + 102400 and 2000 + 1600
        // bytes.
        (
            "tbf rate 1mbps bu 100k/8 lat 1ms peak 2mbps mtu 1600/16 linklayer ethernet",
            Config::Tbf(tbf::Config {
                limit: size(3_600),
                peakrate: Some(rate(16_000_000)),
                mtu: size(1_600),
                ..tbf::Config::new(rate(8_000_000), size(102_400))
            }),
        ),
        // `max` is three times `min`.
        (
            "red limit 400000 min 30000 avpkt 1000 burst 55 adaptative",
            Config::Red(red::Config {
                wlog: 5,
                adaptive: true,
                ..red::Config::default()
            }),
        ),
        // The word is for a step.
        (
            "dualpi2 step_thresh 1ms classic_protection 0% drop_on_overload l4s_ect",
            Config::DualPi2(dualpi2::Config {
                step_thresh: Time::from_ms(1),
                range: Time::ZERO,
                classic_protection: 0,
                ..dualpi2::Config::default()
            }),
        ),
        (
            "dualpi2 max_rtt 300ms alpha 1",
            Config::DualPi2(dualpi2::Config {
                target: Time::from_ms(50),
                tupdate: Time::from_ms(50),
                alpha: 0.1 * 0.05 / (0.3 * 0.3),
                beta: 0.3 / 0.3,
                ..dualpi2::Config::default()
            }),
        ),
        // 18 bytes to a packet from the IP header on are 4 to its frame.
        ("cake docsis split-gso", cake(4, 64)),
        ("cake overhead -4 mpu 64", cake(-18, 64)),
        (
            "cake ack-filter",
            Config::Cake(cake::Config {
                ack_filter: AckFilter::On,
                ..cake::Config::default()
            }),
        ),
        (
            "cake ack-filter-aggressive",
            Config::Cake(cake::Config {
                ack_filter: AckFilter::Aggressive,
                ..cake::Config::default()
            }),
        ),
        ("cake ack-filter no-ack-filter raw", cake(0, 0)),
        ("cake overhead 8 raw ether-vlan", cake(4, 0)),
        // 26 packets above `min`, and 32 * (1 - (31/32)^55) is 26.4.
        (
            "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptive bandwidth 10mbit",
            Config::Red(red::Config {
                wlog: 5,
                ecn: true,
                adaptive: true,
                ..red::Config::default()
            }),
        ),
    ] {
        assert_eq!(tc::parse_text(line).as_ref(), Ok(&wanted), "{line}");
    }
}

#[test]
fn what_tc_refuses_and_what_has_no_equal_is_refused_with_the_word() {
    for (line, word, wanted) in [
        ("", 0, "a discipline is missing"),
        ("sfb", 0, "`sfb`: no discipline; there are pfifo"),
        ("codel limt 5", 1, "`limt`: no parameter; there are limit"),
        ("codel limit", 2, "behind `limit` a whole number is missing"),
        ("codel limit five", 2, "`five`: a whole number is wanted"),
        ("codel target 200ms", 3, "less than the interval"),
        ("fq_codel ce_threshold_selector 1", 1, "has no equal here"),
        ("cake nat", 1, "has no equal here"),
        ("cake overhead 300", 2, "from -64 to 256"),
        ("tbf rate 1mbit", 3, "`rate` and `burst` are required"),
        (
            "tbf rate 1mbit burst 1k",
            5,
            "`limit` or `latency` is required",
        ),
        ("tbf rate 1 apple burst 1k", 3, "`apple`: no parameter"),
        (
            "red limit 1mb avpkt 1000 burst 1",
            7,
            "`burst` is too small",
        ),
        ("prio bands 1", 2, "from 2 to 16"),
        (
            "tbf rate 1mbit overhead 4",
            4,
            "only the value 0 has an equal",
        ),
        ("tbf burst 1k/3", 2, "a power of two"),
        ("dualpi2 memlimit 1", 1, "has no equal here"),
        ("dualpi2 classic_protection 101", 2, "from 0 to 100"),
        (
            "dualpi2 max_rtt 1ms typical_rtt 2ms",
            5,
            "at most `max_rtt`",
        ),
        ("htb default 1", 0, "no room for its parameters"),
        ("varying 5", 0, "no room for its parameters"),
        ("pie alpha 33", 2, "from 0 to 32"),
        ("codel interval 5ms0", 2, "`5ms0`"),
    ] {
        let error = tc::parse_text(line).unwrap_err();
        assert_eq!(error.word, word, "{line}: {error}");
        assert!(error.to_string().contains(wanted), "{line}: {error}");
    }
}

#[test]
fn random_words_are_never_a_panic() {
    let words: Vec<&str> = "pfifo bfifo red codel fq_codel pie cake dualpi2 tbf prio limit target 5ms 10mbit 64k -1 1e99 999999999999 nan \
         rate burst latency min max avpkt probability 0 priomap overhead alpha mtu peakrate \u{fe}\u{fe} 184467440737095516150 3%"
        .split_whitespace()
        .collect();
    let mut random = node::random::Random::new(4);
    let mut read = 0;
    for _ in 0..200_000 {
        let count = 1 + random.below(8);
        let line: Vec<&str> = (0..count)
            .map(|_| words[random.index(words.len())])
            .collect();
        read += u32::from(tc::parse(&line).is_ok());
    }
    assert!(read > 100, "{read}");
}
