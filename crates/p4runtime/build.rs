//! Makes the messages of P4Runtime of their definitions in `proto/`.

use prost::Message;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = ["p4/v1/p4runtime.proto", "p4/tmp/p4config.proto"];
    let mut definitions = protox::compile(files, ["proto"])?;
    prost_build::Config::new()
        .btree_map(["."])
        .include_file("messages.rs")
        .compile_fds(definitions.clone())?;
    // Names and types, for whoever shows a message; what people wrote beside them is in the documentation.
    for file in &mut definitions.file {
        file.source_code_info = None;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    std::fs::write(out.join("definitions.bin"), definitions.encode_to_vec())?;
    Ok(())
}
