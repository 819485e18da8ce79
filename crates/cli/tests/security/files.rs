//! Files named by other files, and outputs that fail.

use crate::shell::{Place, lines};

/// A file cannot name devices, FIFOs or folders; on the command line pipes are allowed.
#[test]
fn a_file_names_regular_files_only_and_the_user_whatever_can_be_read() {
    let place = Place::new("named-files");
    place
        .run("mkfifo fifo; mkdir folder; printf '#include <core.p4>\n' > good.p4")
        .good();
    for name in ["/dev/zero", "fifo", "folder", "/dev/fd/0"] {
        place.write("bad.p4", format!("#include \"{name}\"\n"));
        let ended = place.run("wire p4 check bad.p4");
        assert!(matches!(ended.code, Some(1 | 2)), "{name}: {ended:?}");
        assert!(
            ended.err.contains("not a regular file"),
            "{name}: {ended:?}"
        );
        place.write(
            "bad.toml",
            format!(
                "[node.a]\nkind = 'generator'\nreplay = '{name}'\n[node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 'b.0']\n"
            ),
        );
        let ended = place.run("wire lab bad.toml --out out");
        assert_eq!(ended.code, Some(2), "{name}: {ended:?}");
        assert!(
            ended.err.contains("not a regular file"),
            "{name}: {ended:?}"
        );
    }
    place.write("t.lines", lines(3));
    for command in [
        "wire p4 check <(cat good.p4)",
        "wire cat <(cat t.lines)",
        "cat t.lines | wire cat /dev/stdin",
        "wire dump -o /dev/null <(cat t.lines)",
    ] {
        let ended = place.run(command);
        assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
    }
}

#[test]
fn an_output_that_is_closed_or_at_its_limit_is_an_error() {
    let place = Place::new("closed-outputs");
    place.write("t.lines", lines(2000));
    for command in [
        "wire cat t.lines >&-",
        "wire ports >&-",
        "wire profile t.lines >&-",
    ] {
        let ended = place.run(command);
        assert_eq!(ended.code, Some(2), "{command}: {ended:?}");
        assert!(ended.err.contains("closed"), "{command}: {ended:?}");
    }
    place
        .run("wire cat t.lines >/dev/null && wire cat t.lines | head -1 >/dev/null")
        .good();
    // The limit of a file's size is a full disk, and no signal.
    let ended = place.run("ulimit -f 8; wire dump -o x.pcapng t.lines");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("File too large"), "{ended:?}");
    let ended = place.run("ulimit -f 8; wire cat t.lines > x");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("File too large"), "{ended:?}");
}
