//! The world `cosim`: which nodes are put behind hardware, and what a command without any says.

use lab::{LabError, Options, Registry, World};
use std::sync::{Arc, Mutex};

const LAB: &str = r#"
    node.a = { kind = "generator", count = 10, gap = "1 us", oscillator = 25 }
    node.x = { kind = "delay", delay = "1 ms" }
    node.b = { kind = "sink" }
    link = [{ ends = ["a.0", "x.0"] }, { ends = ["x.1", "b.0"] }]
"#;

/// Runs a lab with hardware that is none; the nodes that were put behind it, each with its clock's deviation.
fn behind(text: &str) -> Vec<(String, u64, f64)> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let put = seen.clone();
    let registry = Registry::standard().with_hardware(move |node, site| {
        put.lock().unwrap().push((
            site.node.to_string(),
            site.rate.bits_per_second(),
            site.oscillator.offset,
        ));
        Ok(node)
    });
    let lab = registry.parse_for(text, None, World::Cosim).unwrap();
    let report = lab::run(&lab, World::Cosim, &Options::default()).unwrap();
    assert_eq!(report.world.name(), "cosim");
    assert_eq!(report.outcome.nodes[2].counters[0], ("packets".into(), 10));
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn all_nodes_are_behind_hardware_unless_the_file_says_which() {
    let names = |text: &str| {
        behind(text)
            .into_iter()
            .map(|(name, ..)| name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(LAB), ["a", "x", "b"]);
    assert_eq!(
        names(&LAB.replace("\"1 ms\"", "\"1 ms\", rtl = true")),
        ["x"]
    );
    assert_eq!(
        names(&LAB.replace("\"1 ms\"", "\"1 ms\", rtl = false")),
        ["a", "b"]
    );
    assert_eq!(behind(LAB)[0], ("a".into(), 1_000_000_000, 25.0));
}

#[test]
fn a_node_says_how_fast_its_hardware_is() {
    let with = |rtl: &str| LAB.replace("\"1 ms\"", &format!("\"1 ms\", rtl = {rtl}"));
    assert_eq!(
        behind(&with("\"10 Gb/s\"")),
        [("x".into(), 10_000_000_000, 0.0)]
    );
    assert_eq!(
        behind(&with("\"1 Gb/s\"")),
        [("x".into(), 1_000_000_000, 0.0)]
    );
    let registry = Registry::standard();
    for wrong in ["\"2 Gb/s\"", "\"fast\"", "10"] {
        let told = registry.parse_for(&with(wrong), None, World::Cosim);
        let told = format!("{:?}", told.unwrap_err());
        assert!(told.contains("true, false, or their rate"), "{told}");
    }
}

#[test]
fn a_command_without_hardware_says_where_it_is() {
    let lab = Registry::standard()
        .parse_for(LAB, None, World::Cosim)
        .unwrap();
    let error = lab::run(&lab, World::Cosim, &Options::default()).unwrap_err();
    assert!(matches!(error, LabError::NoHardware));
    assert!(error.to_string().contains("make rtl"));
    assert_eq!(lab::lacks(&lab, World::Cosim), Some(error.to_string()));
}

#[test]
fn hardware_that_cannot_be_made_is_told_with_its_node() {
    let registry = Registry::standard().with_hardware(|_, _| Err("no chip".into()));
    let lab = registry.parse_for(LAB, None, World::Cosim).unwrap();
    let error = lab::run(&lab, World::Cosim, &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "the ports of `a`: no chip");
}
