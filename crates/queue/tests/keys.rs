//! Disciplines from a file: tc's words, defaults, and messages for wrong values.

use node::Time;
use queue::Config;

fn read(text: &str) -> Result<Config, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| error.to_string())
}

#[test]
fn each_kind_has_the_name_that_tc_has() {
    for kind in [
        "fifo", "codel", "fq_codel", "pie", "dualpi2", "cake", "red", "drr", "prio",
    ] {
        let config = read(&format!("kind = \"{kind}\"")).unwrap();
        assert!(config.build(0).is_ok(), "{kind}");
    }
    let tbf = read("kind = \"tbf\"\nrate = \"10mbit\"\nburst = \"5kB\"").unwrap();
    assert!(matches!(&tbf, Config::Tbf(tbf) if tbf.child.is_none() && tbf.mtu.bytes() == 1514));
    let Config::FqCodel(fq_codel) = read(
        "kind = \"fq_codel\"\nlimit = 100\nflows = 64\ntarget = \"2ms\"\ninterval = \"40 ms\"\nquantum = 300\necn = false",
    )
    .unwrap() else {
        panic!("it is another kind");
    };
    assert_eq!(
        (fq_codel.limit, fq_codel.flows, fq_codel.quantum),
        (100, 64, 300)
    );
    assert_eq!(fq_codel.target, Time::from_ms(2));
    assert!(!fq_codel.ecn && fq_codel.drop_batch == 64);
}

#[test]
fn children_are_tables() {
    let text = "kind = \"prio\"\npriomap = [0, 1]\n[[bands]]\nkind = \"tbf\"\nrate = \"1 Mb/s\"\nburst = 2000\n\
                [bands.child]\nkind = \"codel\"\ntarget = \"5 ms\"\n[[bands]]\nkind = \"fifo\"\nlimit = 10\n";
    let config = read(text).unwrap();
    assert!(matches!(&config, Config::Prio(prio) if prio.bands.len() == 2));
    assert!(config.build(0).is_ok());
}

#[test]
fn wrong_values_are_refused_with_a_reason() {
    for (text, reason) in [
        ("kind = \"fq_codle\"", "unknown variant"),
        ("kind = \"codel\"\ntarge = \"5ms\"", "unknown field `targe`"),
        (
            "kind = \"codel\"\ntarget = \"5 parsec\"",
            "ps, ns, us, ms, s",
        ),
        ("kind = \"tbf\"\nrate = \"1 Mb/s\"", "burst"),
        ("kind = \"docsis_pie\"", "rate"),
        ("kind = \"cake\"\nisolation = \"none\"", "triple-isolate"),
        ("kind = \"cake\"\nack_filter = \"yes\"", "aggressive"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
    for (text, key) in [
        ("kind = \"codel\"\ninterval = \"0 s\"", "interval"),
        ("kind = \"codel\"\ntarget = \"1 s\"", "target"),
        ("kind = \"fq_codel\"\nflows = 0", "flows"),
        ("kind = \"fq_codel\"\nquantum = 0", "quantum"),
        ("kind = \"pie\"\ntupdate = \"0 s\"", "tupdate"),
        ("kind = \"red\"\nmin = \"90 kB\"", "max"),
        ("kind = \"red\"\nprobability = 1.5", "probability"),
        ("kind = \"dualpi2\"\nalpha = -1.0", "alpha"),
        (
            "kind = \"dualpi2\"\nclassic_protection = 100",
            "classic_protection",
        ),
        ("kind = \"prio\"\npriomap = [3]", "priomap"),
        ("kind = \"prio\"\nbands = []", "bands"),
        ("kind = \"tbf\"\nrate = \"1 Mb/s\"\nburst = 0", "burst"),
        ("kind = \"cake\"\nrtt = \"0 s\"", "rtt"),
        (
            "kind = \"docsis_pie\"\nrate = \"5 Mb/s\"\nmean_packet = 0",
            "mean_packet",
        ),
        (
            "kind = \"docsis_pie\"\nrate = \"5 Mb/s\"\nburst = \"1 MB\"",
            "burst",
        ),
        (
            "kind = \"docsis_pie\"\nrate = \"5 Mb/s\"\npeakrate = \"9 Mb/s\"",
            "peakrate",
        ),
        (
            "kind = \"docsis_pie\"\nrate = \"5 Mb/s\"\nburst = \"1 MB\"\npeakrate = \"5 Mb/s\"",
            "peakrate",
        ),
    ] {
        let error = read(text).unwrap().build(0).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    }
}
