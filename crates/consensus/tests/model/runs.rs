//! Groups whose states are all visited, and mistakes that have to be found.

use super::*;

/// Goes through all states.
fn check(name: &str, group: Group) {
    let checker = group
        .checker()
        .threads(2)
        .target_state_count(MAX_STATES)
        .spawn_bfs()
        .join();
    println!(
        "{name}: {} states, {} steps between them, {} deep",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth()
    );
    assert!(
        checker.state_count() < MAX_STATES,
        "{name}: more steps than {MAX_STATES}"
    );
    checker.assert_properties();
}

/// Goes on until something is wrong.
fn find(group: Group) {
    let mistake = group.mistake;
    let until = HasDiscoveries::AnyFailures;
    let checker = group
        .checker()
        .threads(2)
        .finish_when(until)
        .spawn_bfs()
        .join();
    let wrong = ["one value an instance", "what is learned was chosen"];
    let found = wrong.iter().find_map(|name| checker.discovery(name));
    let found = found.unwrap_or_else(|| panic!("{mistake:?} was not found"));
    println!(
        "{mistake:?}: found after {} steps",
        found.into_actions().len()
    );
}

#[test]
fn two_coordinators_at_once() {
    check(
        "two rounds",
        Group {
            campaigns: vec![1, 1],
            ..SMALL
        },
    );
    check(
        "three rounds",
        Group {
            campaigns: vec![2, 1],
            ..SMALL
        },
    );
}

#[test]
fn a_window_that_moves() {
    let group = Group {
        campaigns: vec![1],
        proposals: [2, 0],
        trims: true,
        ..SMALL
    };
    check("a window of 1", group);
}

#[test]
fn members_change_while_coordinators_take_over() {
    // A group of one is replaced by another one: no quorum of theirs has an acceptor of both.
    let group = Group {
        campaigns: vec![3],
        proposals: [2, 0],
        trims: true,
        first: 0b001,
        then: 0b010,
        ..SMALL
    };
    check("all acceptors are replaced", group.clone());
    let more = Group {
        campaigns: vec![2],
        then: 0b110,
        ..group
    };
    check("an acceptor is replaced by two", more);
}

#[test]
#[ignore = "minutes, and gigabytes"]
fn members_change_under_two_coordinators() {
    let group = Group {
        campaigns: vec![2, 1],
        trims: true,
        first: 0b001,
        then: 0b010,
        ..SMALL
    };
    check("two coordinators, and an acceptor that is replaced", group);
}

#[test]
fn an_acceptor_loses_its_registers() {
    let group = Group {
        campaigns: vec![2, 0],
        losses: [1, 0, 0],
        ..SMALL
    };
    check("a loss", group);
}

#[test]
fn members_that_are_killed_go_on_from_what_they_have_stored() {
    let group = Group {
        campaigns: vec![1, 1],
        kills: 1,
        ..SMALL
    };
    check("an acceptor that is killed", group.clone());
    let restart = Group {
        campaigns: vec![2],
        kills: 0,
        restarts: 1,
        ..group.clone()
    };
    check("a coordinator that is killed", restart);
    let lost = Group {
        campaigns: vec![2],
        losses: [1, 0, 0],
        ..group
    };
    check(
        "an acceptor that is killed, and one that loses its storage",
        lost,
    );
}

#[test]
fn a_switch_orders_requests() {
    let group = Group {
        campaigns: vec![1, 1],
        switches: 1,
        ..SMALL
    };
    check("a switch, and a coordinator without", group.clone());
    let group = Group {
        campaigns: vec![1],
        proposals: [2, 0],
        trims: true,
        ..group
    };
    check("a switch, and a window of 1", group);
}

#[test]
fn an_auxiliary_acceptor_takes_part_while_it_is_called() {
    let group = Group {
        campaigns: vec![1],
        auxiliaries: 1,
        calls: 2,
        ..SMALL
    };
    check("an auxiliary acceptor", group.clone());
    let lost = Group {
        campaigns: vec![2],
        losses: [0, 0, 1],
        calls: 0,
        ..group.clone()
    };
    check("an auxiliary acceptor that loses its registers", lost);
    let two = Group {
        campaigns: vec![1, 1],
        calls: 1,
        ..group
    };
    check("an auxiliary acceptor, and two coordinators", two);
}

/// What takes too long for every day: `cargo test -p wireline-consensus --test behaviour -- --ignored --nocapture`.
#[test]
#[ignore = "minutes, and gigabytes"]
fn a_window_that_two_coordinators_move() {
    let group = Group {
        campaigns: vec![1, 1],
        trims: true,
        ..SMALL
    };
    check("a window of 1 that two move", group);
}

#[test]
#[ignore = "minutes, and gigabytes"]
fn a_switch_that_calls_an_auxiliary_acceptor() {
    let group = Group {
        campaigns: vec![2],
        proposals: [1, 0],
        switches: 1,
        calls: 1,
        auxiliaries: 1,
        ..SMALL
    };
    check("a switch that calls an auxiliary acceptor", group);
}

#[test]
fn seeded_mistakes_are_found() {
    use Mistake::*;
    for mistake in [Comparison, VoteForgotten, QuorumOfOne, LearnsFromOne] {
        find(Group {
            mistake,
            campaigns: vec![1, 1],
            ..SMALL
        });
    }
    find(Group {
        mistake: AnswersTooSoon,
        campaigns: vec![1, 1],
        kills: 1,
        ..SMALL
    });
    find(Group {
        mistake: RoundsForgotten,
        campaigns: vec![2],
        proposals: [2, 0],
        restarts: 1,
        ..SMALL
    });
    for mistake in [UsedBeforeDecided, OldQuorum] {
        find(Group {
            mistake,
            campaigns: vec![2],
            proposals: [3, 0],
            trims: true,
            first: 0b01,
            then: 0b10,
            ..SMALL
        });
    }
    for mistake in [AdmittedAtOnce, AdmittedTooSoon, StartsUntold] {
        find(Group {
            mistake,
            campaigns: vec![2, 1],
            late: mistake == StartsUntold,
            losses: [1, 0, 0],
            ..SMALL
        });
    }
    for (mistake, proposals) in [(RoundForgotten, [2, 0]), (SameNumber, [1, 1])] {
        find(Group {
            mistake,
            campaigns: vec![1, 1],
            proposals,
            switches: 2,
            ..SMALL
        });
    }
}
