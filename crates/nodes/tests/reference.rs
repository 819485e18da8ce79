//! The examples in the book's reference of nodes are read, and make nodes.

use nodes::{
    ConfigError, capture, covert, delay, echo, filter, generator, host, meter, mirror, ping, sink,
    switch, vlan,
};
use serde::de::DeserializeOwned;
use toml::{Table, Value};

fn read<C: DeserializeOwned>(keys: &Table) -> C {
    let config = keys.clone().try_into();
    config.unwrap_or_else(|error| panic!("{keys:?}: {error}"))
}

/// Makes a node of the kind, from its keys.
fn make(kind: &str, keys: &mut Table) -> Result<(), ConfigError> {
    match kind {
        "switch" => switch::Switch::new(read(keys)).map(drop),
        "delay" => {
            let mut config: delay::Config = read(keys);
            let text = |_: &str| Ok("5 ms".to_string());
            let specs = std::iter::once(&mut config.forth).chain(&mut config.back);
            specs.for_each(|spec| spec.load(&mut { text }).expect("a good file"));
            delay::Delay::new(config).map(drop)
        }
        "generator" if keys.remove("replay").is_some() => {
            generator::Generator::replay(read(keys), Box::new(generator::Frames::default()))
                .map(drop)
        }
        "generator" => generator::Generator::new(read(keys)).map(drop),
        "capture" => {
            let _: capture::Config = read(keys);
            Ok(())
        }
        "meter" => {
            meter::Meter::new(read(keys));
            Ok(())
        }
        "ping" => ping::Ping::new(read(keys)).map(drop),
        "mirror" => mirror::Mirror::new(read(keys)).map(drop),
        "filter" => {
            let config: filter::Config = read(keys);
            let program = config.program.as_deref().map(str::parse::<filter::Program>);
            assert!(program.is_none_or(|program| program.is_ok()));
            Ok(())
        }
        "covert" => covert::Covert::new(read(keys), Box::new(|_, _| {})).map(drop),
        "vlan" => vlan::Vlan::new(read(keys)).map(drop),
        "host" => {
            host::Host::new(read(keys));
            Ok(())
        }
        "echo" => echo::Echo::new(read(keys)).map(drop),
        "sink" => sink::Sink::new(read(keys)).map(drop),
        _ => panic!("there is no kind `{kind}`"),
    }
}

#[test]
fn every_example_in_the_reference_makes_a_node() {
    let book = include_str!("../../../docs/book/src/nodes.md");
    let mut kinds = std::collections::BTreeSet::new();
    for block in book.split("```toml\n").skip(1) {
        let text = block.split("```").next().unwrap_or_default();
        let file: Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        for (name, node) in file["node"].as_table().expect("[node.NAME]") {
            let mut keys = node.as_table().expect("keys").clone();
            let Some(Value::String(kind)) = keys.remove("kind") else {
                panic!("{name} has no kind");
            };
            make(&kind, &mut keys).unwrap_or_else(|error| panic!("{name}: {error}"));
            kinds.insert(kind);
        }
    }
    assert_eq!(kinds.len(), 13, "{kinds:?}");
}

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
    assert!(fault("source = \"02:00\"").contains("a MAC address is wanted"));
    assert!(fault("frame = \"0\"").contains("pairs of hexadecimal digits"));
}
