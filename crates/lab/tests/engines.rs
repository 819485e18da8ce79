//! The engines of P4 programs are one to a lab: the same report, byte for byte.

use lab::{Options, World};
use std::path::Path;

/// A lab of the examples with another engine at each P4 node.
fn report(example: &str, engine: &str) -> Result<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(example);
    let text = std::fs::read_to_string(folder.join("lab.toml")).unwrap();
    let wanted = format!("kind = \"p4\"\nengine = \"{engine}\"");
    assert!(
        text.contains("kind = \"p4\"\n") && !text.contains("engine ="),
        "{example}"
    );
    let text = text.replace("kind = \"p4\"", &wanted);
    let registry = lab::Registry::standard();
    let lab = registry.parse_for(&text, Some(&folder), World::Sim);
    let lab = lab.map_err(|faults| faults.to_string())?;
    let options = Options {
        folder,
        dry: true,
        ..Options::default()
    };
    let report = lab::run(&lab, World::Sim, &options);
    report
        .map(|report| report.to_string())
        .map_err(|error| error.to_string())
}

#[test]
fn labs_say_the_same_in_every_engine() {
    for example in ["p4-l2l3", "p4-mdp", "p4-nat", "p4-vxlan", "paxos"] {
        let wanted = report(example, "fast").unwrap();
        assert_eq!(report(example, "reference").unwrap(), wanted, "{example}");
        match report(example, "xdp") {
            Ok(report) => assert_eq!(report, wanted, "{example} in the kernel"),
            Err(error) if error.contains("CAP_BPF") => {
                println!("skipped in the kernel: {error}");
            }
            Err(error) => panic!("{example} in the kernel: {error}"),
        }
    }
}
