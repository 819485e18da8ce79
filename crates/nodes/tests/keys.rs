//! What is wrong with a node's keys in a file is said plainly.

use nodes::generator;
use toml::Table;

#[test]
fn what_is_wrong_in_a_file_is_said_plainly() {
    let fault = |text: &str| {
        let keys: Table = text.parse().unwrap();
        keys.try_into::<generator::Config>()
            .unwrap_err()
            .to_string()
    };
    assert!(fault("rat = \"10 Gb/s\"").contains("unknown field `rat`"));
    assert!(fault("gap = \"5 parsec\"").contains("ps, ns, us, ms, s, min"));
    assert!(fault("size = \"large\"").contains("\"imix\""));
    assert!(fault("source = \"02:00\"").contains("a MAC address is twelve"));
    assert!(fault("frame = \"0\"").contains("pairs of hexadecimal digits"));
}
