use super::*;

fn shown(text: &str) -> String {
    let spec = text.parse::<Spec>();
    spec.unwrap_or_else(|error| panic!("{error}\n{}", error.marked()))
        .to_string()
}

#[test]
fn the_lines_of_the_manual_of_netem_are_understood() {
    for (line, meaning) in [
        (
            "tc qdisc add dev eth0 root netem delay 100ms",
            "delay 100ms",
        ),
        (
            "# tc qdisc change dev eth0 root netem delay 100ms 10ms",
            "delay 100ms 10ms",
        ),
        (
            "sudo tc qdisc replace dev eth0 parent 1:1 handle 10: netem delay 100ms 10ms 25%",
            "delay 100ms 10ms 25%",
        ),
        (
            "delay 100ms 20ms distribution normal",
            "delay 100ms 20ms distribution normal",
        ),
        ("loss 0.1%", "loss 0.1%"),
        ("loss random 0.3% 25%", "loss 0.3% 25%"),
        ("drop 1", "loss 1%"),
        (
            "loss gemodel 1% 10% 70% 0.1%",
            "loss gemodel 1% 10% 70% 0.1%",
        ),
        ("loss gemodel 1%", "loss gemodel 1% 99% 100% 0%"),
        ("loss state 1%", "loss state 1% 99% 0% 100% 0%"),
        ("duplicate 1%", "duplicate 1%"),
        ("corrupt 0.1%", "corrupt 0.1%"),
        (
            "gap 5 delay 10ms reorder 100%",
            "delay 10ms reorder 100% gap 5",
        ),
        (
            "delay 10ms reorder 25% 50%",
            "delay 10ms reorder 25% 50% gap 1",
        ),
        ("delay 100ms 75ms", "delay 100ms 75ms"),
        ("rate 5kbit 20 100 5", "rate 5kb/s 20 100 5"),
        ("limit 1000 latency 4msecs", "delay 4ms limit 1000"),
        ("rate 1mbps", "rate 8Mb/s"),
        ("rate 1.5gbit -14", "rate 1.5Gb/s -14"),
        ("rate 128kibit", "rate 131.072kb/s"),
        ("burst 3000 rate 8mbit", "rate 8Mb/s burst 3000"),
        ("slot 800us 1ms packets 64", "slot 800us 1ms packets 64"),
        (
            "slot distribution normal 5ms 1ms bytes 9000",
            "slot distribution normal 5ms 1ms bytes 9000",
        ),
        (
            "slot distribution pareto 1ms 0.1ms",
            "slot distribution pareto 1ms 100us",
        ),
        (
            "slot distribution pareto 4 1ms 0.1ms",
            "slot distribution pareto 4 1ms 100us",
        ),
        ("loss 2% ecn", "loss 2% ecn"),
        (
            "delay 100ms 10ms 25% distribution normal loss gemodel 1% 10% duplicate 1% reorder 25% 50% corrupt 0.1% rate 10mbit limit 1000",
            "delay 100ms 10ms 25% distribution normal loss gemodel 1% 10% 100% 0% duplicate 1% corrupt 0.1% reorder 25% 50% gap 1 rate 10Mb/s limit 1000",
        ),
    ] {
        assert_eq!(shown(line), meaning, "{line}");
    }
}

#[test]
fn what_is_added_to_netem_fits_its_grammar() {
    for (line, meaning) in [
        (
            "delay uniform(5ms, 15ms) 25% loss 1%",
            "delay uniform(5 ms, 15 ms) 25% loss 1%",
        ),
        ("delay pareto(1ms, 1.5)", "delay pareto(1 ms, 1.5)"),
        (
            "delay 10ms 2ms distribution pareto 2.5 loss 1%",
            "delay 10ms 2ms distribution pareto 2.5 loss 1%",
        ),
        ("delay trace delays.txt", "delay trace delays.txt"),
        ("delay 1 s rate 10 Mb/s", "delay 1s rate 10Mb/s"),
        (
            "delay 10ms 1ms dist ./my.dist",
            "delay 10ms 1ms distribution ./my.dist",
        ),
        (
            "rate 10mbit queue fq_codel limit 100  noecn",
            "rate 10Mb/s queue fq_codel limit 100 noecn",
        ),
        ("none", "none"),
        ("", "none"),
        ("delay 0", "none"),
    ] {
        assert_eq!(shown(line), meaning, "{line}");
    }
}

#[test]
fn the_word_that_is_wrong_is_pointed_at_with_its_mend() {
    for (line, word, mend) in [
        ("dealy 100ms", "dealy", "did you mean `delay`"),
        ("delay 100", "100", "100us"),
        ("delay 100ms 10%", "10%", "not a percentage"),
        ("delay 100parsec", "100parsec", "s, ms, us, ns"),
        ("delay 10 parsec", "10", "10us"),
        ("delay", "", "a time, such as 100ms, is missing"),
        ("delay loss 1%", "loss", "a time is wanted before it"),
        ("delay 1ms 1ms 101%", "101%", "from 0% to 100%"),
        (
            "delay 1ms 1ms 25% distribution norml",
            "norml",
            "uniform, normal, pareto",
        ),
        ("distribution normal", "distribution", "delay TIME JITTER"),
        (
            "delay 1ms distribution normal",
            "distribution",
            "delay TIME JITTER",
        ),
        ("delay 1ms 1ms distribution pareto 2", "2", "above 2"),
        ("delay uniform(5ms, 15parsec)", "15parsec", "ps, ns, us"),
        ("delay unifrm(5ms, 15ms)", "unifrm", "uniform"),
        ("loss", "", "a percentage"),
        ("loss often", "often", "gemodel"),
        ("loss gemodel 1% x", "x", "no keyword"),
        ("loss state 60% 60% 60%", "state", "more than 100%"),
        ("loss 1% loss 2%", "loss", "twice"),
        ("loss 1% 2% 3%", "3%", "`loss` takes no more values"),
        ("100ms", "100ms", "as in `delay 100ms`"),
        ("ecn", "ecn", "loss PERCENT"),
        ("reorder 25%", "reorder", "delay TIME"),
        ("delay 1ms gap 5", "gap", "reorder PERCENT"),
        ("delay 1ms reorder 25% gap 0", "0", "from 1"),
        ("rate 50%", "50%", "not known here"),
        ("burst 3000", "burst", "rate RATE"),
        ("rate 8mbit burst 0", "0", "from 1"),
        ("rate fast", "fast", "10mbit"),
        ("rate 0bit", "0bit", "at least 1 bit"),
        ("rate 10mbit 0 53 -53", "-53", "from -52"),
        ("queue codel", "queue", "rate RATE"),
        (
            "rate 1mbit burst 9 queue codel",
            "queue",
            "leave `burst` out",
        ),
        ("rate 1mbit queue", "", "a discipline, such as"),
        ("rate 1mbit queue sfb", "sfb", "no discipline; there are"),
        ("rate 1mbit queue codel limt 5", "limt", "limit, target"),
        ("rate 1mbit queue codel limit x", "x", "a whole number"),
        (
            "rate 1mbit queue tbf rate 1mbit",
            "tbf rate 1mbit",
            "are required",
        ),
        ("limit 0", "0", "from 1"),
        ("limit many", "many", "from 1"),
        ("slot 0", "0", "above 0"),
        ("slot 2ms 1ms", "2ms", "least time comes first"),
        ("seed -1", "-1", "from 0"),
        (
            "tc qdisc add dev eth0 root netem dleay 1ms",
            "dleay",
            "delay",
        ),
        ("tc qdisc add dev eth0 root tbf", "tc", "no keyword"),
    ] {
        let error = line.parse::<Spec>().unwrap_err();
        assert_eq!(error.word(), word, "{line}: {error}");
        assert!(error.to_string().contains(mend), "{line}: {error}");
        assert!(error.marked().starts_with(line), "{line}");
    }
}

#[test]
fn a_fault_is_marked_under_the_word() {
    let error = "delay 1ms loss often".parse::<Spec>().unwrap_err();
    assert_eq!(error.marked(), "delay 1ms loss often\n               ^^^^^");
    let error = "delay 1ms loss".parse::<Spec>().unwrap_err();
    assert_eq!(error.marked(), "delay 1ms loss\n              ^");
}
