//! Pictures of columns.

use crate::shell::Place;

#[test]
fn columns_become_series_in_either_format() {
    let place = Place::new("plot-columns");
    let made = "seq 50 | awk 'BEGIN{print \"n,square,cube\"} {print $1 \",\" $1^2 \",\" $1^3}'";
    let told = place
        .run(&format!(
            "{made} | wire plot --log y -o out/p.svg --title Powers --json"
        ))
        .good();
    assert!(told.contains(r#""label":"cube","points":50"#), "{told}");
    let svg = String::from_utf8(place.read("out/p.svg")).unwrap();
    for text in ["Powers", "square", "cube", "100k"] {
        assert!(svg.contains(text), "{text} is not in the picture");
    }
    place
        .run(&format!(
            "{made} | wire plot --y cube --kind points -o p.png"
        ))
        .good();
    assert_eq!(&place.read("p.png")[..4], b"\x89PNG");
}

/// Whether there is an area with three corners.
fn has_triangle(svg: &str) -> bool {
    let areas = svg.split("<polygon points=\"").skip(1);
    let corners = areas.filter_map(|area| area.split('"').next());
    corners
        .into_iter()
        .any(|corners| corners.split(' ').count() == 3)
}

#[test]
fn a_distribution_of_one_value_is_a_step_with_a_mark() {
    let place = Place::new("plot-cdf");
    place
        .run("seq 1000 | sed s,.*,1356.8, | wire plot --kind cdf --x-range 0:3000 -o one.svg")
        .good();
    let svg = String::from_utf8(place.read("one.svg")).unwrap();
    assert!(has_triangle(&svg), "no triangle");
    let spread = place.run("seq 1000 | wire plot --kind cdf -o many.svg");
    spread.good();
    let svg = String::from_utf8(place.read("many.svg")).unwrap();
    assert!(!has_triangle(&svg), "a triangle on a wide distribution");
}

#[test]
fn a_picture_in_which_nothing_would_be_seen_is_not_written() {
    let place = Place::new("plot-empty");
    place.write("bars", "switch,rate\nours,3\novs,4\n");
    place.write("zeros", "x y\n1 0\n2 0\n3 -1\n");
    for (arguments, why) in [
        (
            "--kind bars bars",
            "the column `switch` of bars holds no number",
        ),
        (
            "--log y zeros",
            "3 values of zero or less have no place on a logarithmic axis",
        ),
        (
            "--x-range 10:20 zeros",
            "3 values are outside of the range of an axis",
        ),
    ] {
        let ended = place.run(&format!("wire plot -o p.svg {arguments}"));
        assert_eq!(ended.code, Some(1), "{arguments}: {}", ended.err);
        assert!(ended.err.contains(why), "{arguments}: {}", ended.err);
        assert_ne!(place.run("test -e p.svg").code, Some(0), "{arguments}");
    }
    // With rows counted there are bars; and zeros among others are told.
    place
        .run("wire plot -o p.svg --kind bars --x 0 --y rate bars")
        .good();
    let some = place.run("(cat zeros; echo 4 5) | wire plot -o q.svg --log y");
    assert!(
        some.err.contains("3 values of zero or less are not drawn"),
        "{}",
        some.err
    );
    assert_eq!(some.code, Some(0));
}

#[test]
fn figures_of_other_commands_are_drawn_from_their_json() {
    let place = Place::new("plot-json");
    place
        .run("wire gen --count 20 --imix | wire cat --json | wire plot --x ns --y length --kind points -o s.svg")
        .good();
    let svg = String::from_utf8(place.read("s.svg")).unwrap();
    for name in ["length", "ns"] {
        assert!(
            svg.contains(&format!(">{name}</text>")),
            "no {name} at an axis"
        );
    }
}

#[test]
fn what_cannot_be_drawn_says_why() {
    let place = Place::new("plot-bad");
    for (script, message) in [
        ("seq 3 | wire plot -o p.gif", "use .png or .svg"),
        ("echo none | wire plot -o p.png", "no number in it"),
        (
            "seq 3 | wire plot --y height -o p.png",
            "no column `height`",
        ),
        ("wire plot missing.txt -o p.png", "missing.txt"),
        (
            "seq 3 | wire plot --x-range 3:1 -o p.png",
            "begins below its end",
        ),
        (
            "head -c 100000 /dev/zero | wire plot -o p.png",
            "longer than",
        ),
        ("echo '{\"a\":' | wire plot -o p.png", "line 1"),
    ] {
        let ended = place.run(script);
        assert_eq!(ended.code, Some(2), "{script}: {}", ended.err);
        assert!(ended.err.contains(message), "{script}: {}", ended.err);
    }
}

#[test]
fn lines_that_are_skipped_are_a_loss_unless_that_is_accepted() {
    let place = Place::new("plot-skipped");
    place.write("bad", "# a comment is none\nx y\n1 2\nfoo bar\n2 3\n");
    let ended = place.run("wire plot bad -o p.svg");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.err.contains("bad: line 4:") && ended.err.contains("1 lines without a number"),
        "{ended:?}"
    );
    // It is drawn all the same.
    assert!(place.read("p.svg").starts_with(b"<svg"));
    assert_eq!(place.run("wire plot bad -o p.svg --lenient").code, Some(0));
    place.run("grep -v foo bad | wire plot -o p.svg").good();
}

#[test]
fn axes_are_named_by_their_columns_in_the_unit_that_suits() {
    let place = Place::new("plot-units");
    let made = "(echo 'time_ps queue_bytes'; seq 50 | awk '{print $1 * 1e9, $1 * 100}')";
    place
        .run(&format!("{made} | wire plot -o units.svg"))
        .good();
    let svg = String::from_utf8(place.read("units.svg")).unwrap();
    for text in [">time [ms]<", ">queue [bytes]<", ">50<"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    // Whoever says where an axis ends does so in the column's unit.
    place
        .run(&format!("{made} | wire plot --x-range 0:5e10 -o own.svg"))
        .good();
    let svg = String::from_utf8(place.read("own.svg")).unwrap();
    assert!(svg.contains(">time [ps]<"), "{svg}");
    place
        .run("seq 1000 | wire plot --kind cdf -o cdf.svg")
        .good();
    let svg = String::from_utf8(place.read("cdf.svg")).unwrap();
    assert!(
        svg.contains(">p50 500<") && svg.contains(">p99 990<"),
        "{svg}"
    );
}
