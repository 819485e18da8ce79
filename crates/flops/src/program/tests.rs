//! Programs as tests, against the switch that comes with Wireline, in simulated time.

use crate::Tests;
use lab::{Options, Registry, World};
use openflow::flops::Report;
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs a test whose program is this Python; its report.
fn run(program: &str) -> Report {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("wireline-flops-{}-{number}.py", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, program).expect("it is written");
    let lab = format!(
        "[default.link]\nrate = \"1 Gb/s\"\n\
         [node.flops]\nkind = \"flops\"\ntest = \"own\"\nprograms = {{ own = \"exec python3 {}\" }}\n\
         [node.s1]\nkind = \"openflow-switch\"\nports = 2\ncontrollers = 1\n\
         [[link]]\nends = [\"flops.0\", \"s1.2\"]\n[[link]]\nends = [\"flops.1\", \"s1.0\"]\n\
         [[link]]\nends = [\"flops.2\", \"s1.1\"]\n",
        path.display()
    );
    let registry = crate::add(Registry::standard());
    let lab = registry.parse(&lab).expect("a lab");
    let options = Options {
        dry: true,
        allow_commands: true,
        ..Options::default()
    };
    let report = lab::run(&lab, World::Sim, &options).expect("a run");
    let _ = std::fs::remove_file(&path);
    report
        .section::<Tests>()
        .and_then(|tests| tests.0.first().cloned())
        .expect("a report")
}

const LOOP: &str = "import json, sys\n\
    def answer(event):\n    return answers.get(event['event'], lambda e: [])(event)\n\
    def serve():\n    for line in sys.stdin:\n        print(json.dumps(answer(json.loads(line))), flush=True)\n";

#[test]
fn a_program_times_a_barrier_and_probes() {
    for gap_us in [10u64, 25, 70] {
        let report = run(&format!(
            "{LOOP}\
began = 0
def start(e):
    return [{{'do': 'flow', 'flow': 'priority=5,in_port=1,actions=output:2'}},
            {{'do': 'barrier', 'as': 'ready'}}]
def message(e):
    if e['as'] != 'ready':
        return [{{'do': 'fault', 'text': e['type']}}]
    stream = {{'do': 'generate', 'stream': 3, 'start_ps': e['at_ps'] + 10**6, 'gap_ps': {gap_us} * 10**6, 'count': 50}}
    return [dict(stream, row='recorded'), dict(stream, stream=4, count=5),
            {{'do': 'timer', 'at_ps': e['at_ps'] + 10**11, 'number': 7}}]
def probe(e):
    return [{{'do': 'time', 'row': 'told', 'series': 'delay', 'ps': e['at_ps'] - e['left_ps']}},
            {{'do': 'count', 'row': 'told', 'received': 1}}]
def timer(e):
    return [{{'do': 'stop', 'stream': 3}}, {{'do': 'count', 'row': 'told', 'x': e['number']}},
            {{'do': 'finish', 'of': 'stream'}}]
answers = dict(start=start, message=message, probe=probe, timer=timer)
serve()
"
        ));
        assert_eq!(report.faults, Vec::<String>::new());
        assert_eq!((&report.test[..], &*report.of), ("own", "stream"));
        let [recorded, told] = &report.rows[..] else {
            panic!("{report:?}");
        };
        assert_eq!((recorded.sent, recorded.received), (50, 50));
        assert_eq!((told.x, told.received), (7, 5));
        // 100 bytes, preamble and FCS at 1 Gb/s take 896 ns. Both streams begin at the same time, so that the second one waits for the
        // first one's frame and its gap, 992 ns.
        let (first, second) = (recorded.times("delay"), told.times("delay"));
        assert_eq!((first.len(), second.len()), (50, 5));
        assert!(first.iter().all(|time| time.as_ns() == 896), "{first:?}");
        assert!(
            second.iter().all(|time| time.as_ns() == 896 + 992),
            "{second:?}"
        );
    }
}

#[test]
fn a_refusal_is_an_event_and_no_fault() {
    let report = run(&format!(
        "{LOOP}\
def start(e):
    return [{{'do': 'flow', 'flow': 'in_port=1,actions=group:77', 'as': 'bad'}}]
def message(e):
    return [{{'do': 'count', 'row': e['as'] + str(e['error'][0]), 'wrong': 1}}, {{'do': 'finish'}}]
answers = dict(start=start, message=message)
serve()
"
    ));
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!(report.rows.len(), 1);
    assert!(report.rows[0].name.starts_with("bad"));
}

#[test]
fn programs_that_fail_are_faults_that_name_the_reason() {
    let flow = r#"[{"do": "flow", "flow": "in_port=1,actions=jump"}]"#;
    let stream = r#"[{"do": "generate", "stream": 1, "start_ps": 0, "gap_ps": 1}]"#;
    let cases = [
        ("no json", "its answer `no json`"),
        (r#"[{"do": "fly"}]"#, "unknown variant `fly`"),
        (r#"[{"do": "watch", "x": 1}]"#, "unknown field `x`"),
        (flow, "the flow `in_port=1,actions=jump`"),
        (r#"[{"do": "send", "hex": "04g"}]"#, "not a message in hex"),
        (stream, "at least 100 ns"),
    ];
    for (answer, reason) in cases {
        let report = run(&format!(
            "import sys\ninput()\nprint('{answer}', flush=True)\nfor line in sys.stdin: pass\n"
        ));
        assert_eq!(report.faults.len(), 1, "{answer}: {report:?}");
        assert!(report.faults[0].contains(reason), "{:?}", report.faults);
    }
    let report = run("import sys; sys.exit(3)");
    assert!(report.faults[0].contains("exit status: 3"), "{report:?}");
}
