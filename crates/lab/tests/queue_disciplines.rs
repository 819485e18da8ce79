//! Links with queue disciplines, in lab files.

use lab::{Options, Report, World};
use node::link::LinkCounters;
use serde_json::Value;

/// A generator of 2 Gb/s in front of a link of 1 Gb/s with this queue.
fn bottleneck(queue: &str) -> String {
    format!(
        "[node.a]\nkind = 'generator'\nrate = '2 Gb/s'\nsize = 'imix'\ncount = 4000\nflows = 8\n[node.b]\nkind = 'sink'\n
         [[link]]\nends = ['a.0', 'b.0']\nrate = '1 Gb/s'\ndelay = '3 us'\n{queue}\n"
    )
}

fn run(text: &str, options: &Options) -> Report {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
    lab::run(&lab, World::Sim, options).unwrap()
}

fn queues(report: &Report) -> Vec<Value> {
    let lines = report.json();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &Value| line["type"] == "queue")
        .collect()
}

const QUEUES: [&str; 13] = [
    "'fifo'",
    "'codel'",
    "'fq_codel'",
    "'pie'",
    "{ kind = 'docsis_pie', rate = '1 Gb/s' }",
    "'red'",
    "'dualpi2'",
    "'cake'",
    "'prio'",
    "'drr'",
    "{ kind = 'tbf', rate = '600 Mb/s', burst = '20 kB' }",
    "{ kind = 'policer', rate = '600 Mb/s', burst = '20 kB' }",
    "{ kind = 'fq_codel', target = '100 us', interval = '1 ms', limit = 300, flows = 64 }",
];

#[test]
fn each_discipline_has_a_line_whose_counts_are_those_of_its_link() {
    for queue in QUEUES {
        let report = run(
            &bottleneck(&format!("forth = {{ queue = {queue} }}")),
            &Options::default(),
        );
        let [line] = &queues(&report)[..] else {
            panic!("{queue}: one queue has a discipline");
        };
        let counters = report.outcome.links[0][0];
        let dropped = counters.queue_full + counters.dropped_early;
        assert_eq!(line["at"], "a.0", "{queue}");
        assert_eq!(line["sent"], counters.sent, "{queue}");
        assert_eq!(line["dropped"], dropped, "{queue}");
        assert_eq!(counters.sent + dropped, 4000, "{queue}");
        let kind = line["discipline"].as_str().unwrap();
        assert!(queue.contains(kind), "{queue}: {kind}");
        let [mean, p50, p99, max] = ["mean", "p50", "p99", "max"]
            .map(|of| line[format!("waited_{of}_ps")].as_u64().unwrap());
        assert!(
            p50 <= p99 && p99 <= max && mean <= max && max > 0,
            "{queue}: {line}"
        );
        let text = report.text(false);
        assert!(
            text.contains("queue at") && text.contains(kind),
            "{queue}: {text}"
        );
        let told = report.headline().text();
        assert_eq!(dropped == 0, told.contains("no drops"), "{queue}: {told}");
    }
}

#[test]
fn a_fifo_as_a_discipline_reports_what_a_limit_does() {
    let limit = run(&bottleneck("queue = '80 packets'"), &Options::default());
    let fifo = run(
        &bottleneck("queue = { kind = 'fifo', limit = 80 }"),
        &Options::default(),
    );
    assert!(limit.outcome.links[0][0].queue_full > 100);
    assert_eq!(limit.outcome.links, fifo.outcome.links);
    assert_eq!(limit.headline().text(), fifo.headline().text());
    assert_eq!((queues(&limit).len(), queues(&fifo).len()), (0, 2));
}

#[test]
fn a_direction_and_a_link_have_the_last_word_over_the_default() {
    let of = |default: &str, link: &str| {
        let text = format!("[default.link]\nqueue = {default}\n{}", bottleneck(link));
        let found = queues(&run(&text, &Options::default()));
        let name = |line: &Value| format!("{} {}", line["at"], line["discipline"]).replace('"', "");
        found.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(of("'codel'", ""), ["a.0 codel", "b.0 codel"]);
    assert_eq!(of("'codel'", "queue = '50 packets'"), [""; 0]);
    assert_eq!(of("'codel'", "queue = 'pie'"), ["a.0 pie", "b.0 pie"]);
    assert_eq!(of("'9 kB'", "back = { queue = 'red' }"), ["b.0 red"]);
    assert_eq!(of("'codel'", "forth = { queue = '9 kB' }"), ["b.0 codel"]);
}

#[test]
fn wrong_queues_are_faults_that_say_what_there_is() {
    for (queue, wanted) in [
        ("'fqcodel'", "fq_codel"),
        ("'1000'", "a number of packets or bytes"),
        ("'tbf'", "rate"),
        ("{ kind = 'tbf', rate = '1 Gb/s' }", "burst"),
        ("{ kind = 'codel', goal = '5 ms' }", "goal"),
        ("{ kind = 'codel', target = '5 apples' }", "apples"),
        ("{ target = '5 ms' }", "kind"),
        ("{ kind = 'sfb' }", "sfb"),
        ("{ kind = 'prio', priomap = [9] }", "priomap"),
        ("17", "a queue"),
    ] {
        let faults = lab::parse(&bottleneck(&format!("queue = {queue}")));
        let told = faults.map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(wanted), "{queue}: {told}");
        assert!(
            told.contains("10") || told.contains("queue"),
            "{queue}: {told}"
        );
    }
}

#[test]
fn the_same_comes_of_it_on_any_number_of_threads() {
    for queue in QUEUES {
        let mut text = format!(
            "[default.link]\nrate = '100 Mb/s'\ndelay = '20 us'\nqueue = {queue}
             [node.s]\nkind = 'switch'\nports = 5\n[node.end]\nkind = 'sink'\n[[link]]\nends = ['s.4', 'end.0']\n"
        );
        for n in 0..4 {
            text += &format!(
                "[node.g{n}]\nkind = 'generator'\nrate = '70 Mb/s'\ncount = 2000\nstream = {n}\nflows = 4\nsource = '02:00:00:00:00:0{n}'
                 [[link]]\nends = ['g{n}.0', 's.{n}']\n"
            );
        }
        let at = |threads| {
            let options = Options {
                threads: Some(threads),
                ..Options::default()
            };
            run(&text, &options).json()
        };
        assert_eq!(at(1), at(3), "{queue}");
    }
}

#[test]
fn in_the_world_live_a_queue_is_that_of_simulated_time() {
    let mut drops = 0;
    for queue in QUEUES {
        // Slow enough for any machine.
        let text = bottleneck(&format!("forth = {{ queue = {queue} }}"))
            .replace(" Gb/s", "0 Mb/s")
            .replace("count = 4000", "count = 900");
        let sim = run(&text, &Options::default());
        let lab = lab::parse(&text).unwrap();
        let Some(live) = crate::live_runs::report(&lab, &Options::default()) else {
            return;
        };
        // Neither what comes nor what leaves depends on when threads run. What has been delivered only simulated time counts.
        let decided = |report: &Report| {
            let counters = report.outcome.links[0][0];
            LinkCounters {
                delivered: None,
                in_flight: None,
                ..counters
            }
        };
        assert_eq!(decided(&live), decided(&sim), "{queue}");
        assert_eq!(queues(&live), queues(&sim), "{queue}");
        drops += decided(&sim).dropped_early;
    }
    assert!(drops > 100, "{drops}");
}

#[test]
fn a_delay_box_with_a_queue_drops_what_a_link_with_it_drops() {
    // Of those without random numbers and periodic updates: seeds and phases differ.
    let queues = [
        "pfifo limit 40",
        "bfifo limit 30k",
        "codel target 1ms interval 10ms",
        "codel limit 50 target 200us interval 2ms",
        "pfifo_head_drop limit 25",
        "tbf rate 6mbit burst 20k limit 60k",
    ];
    for queue in queues {
        let generator = "[node.a]\nkind = 'generator'\nrate = '20 Mb/s'\nsize = 'imix'\ncount = 3000\nstart = '1 ms'\nflows = 8\n[node.b]\nkind = 'sink'\n";
        let link = format!(
            "{generator}[[link]]\nends = ['a.0', 'b.0']\nrate = '10 Mb/s'\nforth = {{ queue = '{queue}' }}\n"
        );
        let boxed = format!(
            "{generator}[node.box]\nkind = 'delay'\nspec = 'delay 5ms rate 10mbit 24'\nqueue = '{queue}'\n
             [[link]]\nends = ['a.0', 'box.0']\nrate = 'unlimited'\n[[link]]\nends = ['box.1', 'b.0']\nrate = 'unlimited'\n"
        );
        let [link, boxed] = [link, boxed].map(|text| run(&text, &Options::default()));
        let counters = link.outcome.links[0][0];
        let dropped = counters.queue_full + counters.dropped_early;
        let [passed, through] = [&link, &boxed].map(|report| {
            let last = report.outcome.links.last().unwrap();
            (last[0].sent, last[0].bytes)
        });
        assert_eq!(through, passed, "{queue}");
        let drops = &boxed.outcome.nodes[2].drops;
        let wanted = [("dropped by the queue discipline".to_owned(), dropped)];
        assert_eq!(
            drops[..]
                .iter()
                .map(|(why, count)| (why.to_string(), *count))
                .collect::<Vec<_>>(),
            wanted,
            "{queue}"
        );
        assert!(dropped > 50, "{queue}: {dropped}");
    }
}
