//! What stands in `src/generated` is what `prost-build` makes of `proto/`.

use prost::Message;
use std::path::Path;

/// Makes the files of `src/generated` in `folder`, which must be there.
fn make(folder: &Path) {
    let proto = concat!(env!("CARGO_MANIFEST_DIR"), "/proto");
    let files = ["p4/v1/p4runtime.proto", "p4/tmp/p4config.proto"];
    let mut definitions = protox::compile(files, [proto]).unwrap();
    prost_build::Config::new()
        .btree_map(["."])
        .out_dir(folder)
        .compile_fds(definitions.clone())
        .unwrap();
    // Names and types, for whoever shows a message; what people wrote beside them is in the documentation.
    for file in &mut definitions.file {
        file.source_code_info = None;
    }
    std::fs::write(folder.join("definitions.bin"), definitions.encode_to_vec()).unwrap();
}

#[test]
fn messages_in_the_tree_are_those_that_their_definitions_make() {
    let stands = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/generated"));
    if std::env::var_os("WIRELINE_GENERATE").is_some() {
        make(stands);
    }
    let folder = std::env::temp_dir().join(format!("p4runtime-generated-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    make(&folder);
    let mut names = Vec::new();
    for made in std::fs::read_dir(&folder).unwrap() {
        let (name, path) = made.map(|made| (made.file_name(), made.path())).unwrap();
        assert!(
            std::fs::read(stands.join(&name)).ok() == std::fs::read(path).ok(),
            "src/generated/{} is not what proto/ makes; WIRELINE_GENERATE=1 before this test writes it",
            name.display()
        );
        names.push(name);
    }
    let all = std::fs::read_dir(stands).unwrap();
    assert_eq!(
        names.len(),
        all.count(),
        "src/generated has a file that proto/ does not make"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
