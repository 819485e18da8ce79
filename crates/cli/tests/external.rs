//! Programs `wire-NAME` as commands.

use crate::shell::Place;

#[test]
fn a_program_of_the_path_is_a_command_and_no_program_stands_in_for_one_of_wires_own() {
    let place = Place::new("external");
    std::fs::create_dir(place.path.join("bin")).unwrap();
    place.write("bin/wire-hello", "#!/bin/sh\necho \"hello $*\"\nexit 7\n");
    place.write("bin/wire-cat", "#!/bin/sh\necho not this\n");
    place.write("bin/wire-plain", "no program\n");
    place.write("bin/wire-bad", "#!/no/such/interpreter\n");
    let ready = "chmod +x bin/wire-hello bin/wire-cat bin/wire-bad; PATH=$PWD/bin:$PATH;";
    let run = |script: &str| place.run(&format!("{ready} {script}; true")).good();
    assert_eq!(run("wire hello -a 'b c'; echo $?"), "hello -a b c\n7\n");
    assert_eq!(run("wire help hello"), "hello --help\n");
    assert_eq!(run("wire cat /dev/null"), "");
    assert!(run("wire plain 2>&1; echo $?").ends_with("\n2\n"));
    let bad = run("wire bad 2>&1; echo $?");
    assert!(
        bad.starts_with("wire: cannot run ") && bad.ends_with("\n2\n"),
        "{bad}"
    );
    // Neither a path nor an option is a name.
    assert!(run("wire ../bin/hello 2>&1").contains("unrecognized subcommand"));
    let help = run("wire --help");
    assert!(help.contains("Installed programs:\n"), "{help}");
    assert!(help.contains("  hello        /"), "{help}");
    assert!(
        !help.contains("wire-cat") && !help.contains("plain"),
        "{help}"
    );
}
