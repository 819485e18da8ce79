//! `wire middlebox` between real kernels: two hosts, and a namespace for each middlebox between them.

use crate::shell::{Place, has, is_root};
use live::netns::{Namespace, VethEnd, veth};
use serde_json::Value;

/// host a - near - far - host b
fn bed(test: &str) -> Option<[Namespace; 4]> {
    if !is_root(test) || !has("ping", test) {
        return None;
    }
    let made = || -> Result<_, live::netns::NetnsError> {
        let all = [
            Namespace::new()?,
            Namespace::new()?,
            Namespace::new()?,
            Namespace::new()?,
        ];
        for (at, names) in [["eth0", "in"], ["out", "out"], ["in", "eth0"]]
            .into_iter()
            .enumerate()
        {
            let end = |place: usize, name| VethEnd {
                namespace: &all[place],
                name,
                mac: None,
            };
            veth([end(at, names[0]), end(at + 1, names[1])], 1500)?;
        }
        all[0].add_address("eth0", [10, 79, 0, 1].into(), 24)?;
        all[3].add_address("eth0", [10, 79, 0, 2].into(), 24)?;
        Ok(all)
    };
    made()
        .map_err(|error| println!("skipped: {test}: {error}"))
        .ok()
}

/// Pings are the application: of them trains of four are made, and dummies where they are too few.
#[test]
fn pings_are_made_into_trains_and_commands_come_by_the_socket() {
    let test = "wire middlebox";
    let Some([a, near, far, b]) = bed(test) else {
        return;
    };
    let place = Place::new("middlebox");
    let job = |mode: &str, name: &str| {
        format!(
            "exec wire middlebox run --on in out --flow '10.79.0.1 10.79.0.2 icmp' --mode {mode} --trains '4, 100 Mb/s, 1 ms, 1 ms' --timeout 20ms \
             --control {name}.sock --json > {name}.report & echo $! > {name}.pid; wait $!"
        )
    };
    std::thread::scope(|scope| {
        let place = &place;
        let boxes =
            [(near, "modulate", "near"), (far, "extract", "far")].map(|(namespace, mode, name)| {
                let job = job(mode, name);
                scope.spawn(move || {
                    place.run_by(namespace.command("timeout"), "true").good();
                    place.run_by(namespace.command("timeout"), &job)
                })
            });
        let script = "for name in near far; do until wire middlebox flows --control $name.sock 2>/dev/null | grep -q 10.79.0.1; do sleep 0.1; done; done
            ping -c 1 -W 30 10.79.0.2 && ping -c 6 -i 0.005 -W 30 10.79.0.2";
        place.run_by(a.command("timeout"), script).good();
        let commands = "wire middlebox counters --control far.sock
            wire middlebox gaps --control far.sock > gaps
            wire middlebox set_mode forward --control near.sock && wire middlebox set_gap 120,120 --control near.sock
            wire middlebox flow_remove 10.79.0.9 10.79.0.2 --control near.sock; echo $?
            wire middlebox set_gap 1 --control near.sock; echo $?
            kill -INT $(cat near.pid) $(cat far.pid)";
        let ended = place.run(commands);
        assert!(ended.out.ends_with("1\n1\n"), "{ended:?}");
        assert!(ended.err.contains("there is no such flow"), "{ended:?}");
        assert!(ended.err.contains("from 12 to"), "{ended:?}");
        for job in boxes {
            job.join().unwrap();
        }
    });
    drop(b);
    let report = |name: &str| -> Value {
        let text = String::from_utf8_lossy(&place.read(name)).into_owned();
        serde_json::from_str(text.lines().last().expect("a report")).unwrap()
    };
    let counters = |name: &str| report(name)["nodes"][0]["counters"].clone();
    let [near, far] = ["near.report", "far.report"].map(counters);
    let of = |counters: &Value, name: &str| counters[name].as_u64().unwrap();
    // Between samples pings pass as they are; they are stamped all the same, and the near end has not sent those.
    let (probes, dummies) = (of(&near, "probes"), of(&near, "dummies"));
    assert!((1..=7).contains(&probes) && dummies >= 1, "{near}");
    assert!((probes + dummies).is_multiple_of(4), "{near}");
    assert_eq!(of(&far, "extracted"), 7 + dummies, "{far}");
    assert_eq!(of(&far, "removed"), dummies, "{far}");
    assert_eq!(of(&near, "replies"), probes + dummies, "{near}");
    assert_eq!(of(&near, "stray"), 7 - probes, "{near}");
    let gaps = String::from_utf8_lossy(&place.read("gaps")).into_owned();
    assert_eq!(gaps.lines().count() as u64, 6 + dummies, "{gaps}");
}
