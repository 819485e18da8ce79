//! Who is linked to whom.

use node::random::Random;
use std::collections::BTreeSet;

/// Where in the network a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tier {
    /// Between a host and its switch.
    Access,
    /// Between the lower switches of a fat tree.
    Aggregation,
    /// Between all others.
    Core,
}

/// A link between switches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trunk {
    pub ends: [usize; 2],
    pub tier: Tier,
    /// What its source says of it, as texts of a lab file.
    pub rate: Option<String>,
    pub delay: Option<String>,
}

/// A network: switches are numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shape {
    pub switches: usize,
    /// The switch of each host.
    pub hosts: Vec<usize>,
    pub trunks: Vec<Trunk>,
}

fn core(a: usize, b: usize) -> Trunk {
    Trunk {
        ends: [a, b],
        tier: Tier::Core,
        rate: None,
        delay: None,
    }
}

/// The shape, if it is not too large.
fn within(shape: Shape, most: usize) -> Option<Shape> {
    let links = shape.hosts.len() + shape.trunks.len();
    (shape.switches + shape.hosts.len() <= most && links <= most).then_some(shape)
}

/// One switch.
pub(super) fn single(hosts: usize) -> Shape {
    Shape {
        switches: 1,
        hosts: vec![0; hosts],
        trunks: Vec::new(),
    }
}

/// Every switch has as many hosts.
pub(super) fn populate(
    switches: usize,
    hosts: usize,
    trunks: Vec<Trunk>,
    most: usize,
) -> Option<Shape> {
    if switches.checked_mul(hosts + 1)? > most {
        return None;
    }
    let at = (0..switches).flat_map(|switch| std::iter::repeat_n(switch, hosts));
    let shape = Shape {
        switches,
        hosts: at.collect(),
        trunks,
    };
    within(shape, most)
}

/// Switches in a row.
pub(super) fn linear(switches: usize, hosts: usize, most: usize) -> Option<Shape> {
    let trunks = (1..switches).map(|switch| core(switch - 1, switch));
    populate(switches, hosts, trunks.collect(), most)
}

/// A tree of switches, `depth` levels of them, hosts at the lowest; numbered level by level.
pub(super) fn tree(depth: usize, fanout: usize, most: usize) -> Option<Shape> {
    let mut shape = Shape {
        switches: 1,
        ..Shape::default()
    };
    let (mut first, mut count) = (0, 1usize);
    for _ in 1..depth {
        let next = count.checked_mul(fanout).filter(|next| *next <= most)?;
        for child in 0..next {
            shape
                .trunks
                .push(core(first + child / fanout, shape.switches + child));
        }
        first = shape.switches;
        shape.switches += next;
        count = next;
        if shape.switches > most {
            return None;
        }
    }
    let hosts = count.checked_mul(fanout).filter(|hosts| *hosts <= most)?;
    shape.hosts = (0..hosts).map(|host| first + host / fanout).collect();
    within(shape, most)
}

/// The fat tree of Al-Fares, Loukissas and Vahdat, of switches with k ports: (k/2)^2 core switches first, then
/// those of the aggregation, then those at the edge, pod by pod; k/2 hosts at each of these.
pub(super) fn fat_tree(k: usize, most: usize) -> Option<Shape> {
    let half = k / 2;
    let cores = half.checked_mul(half)?;
    let pods = k.checked_mul(half)?;
    let hosts = pods.checked_mul(half).filter(|hosts| *hosts <= most)?;
    let (aggregation, edge) = (cores, cores + pods);
    let mut trunks = Vec::new();
    for pod in 0..k {
        for upper in 0..half {
            let switch = aggregation + pod * half + upper;
            for core_switch in 0..half {
                trunks.push(core(upper * half + core_switch, switch));
            }
            for lower in 0..half {
                trunks.push(Trunk {
                    tier: Tier::Aggregation,
                    ..core(switch, edge + pod * half + lower)
                });
            }
        }
    }
    let shape = Shape {
        switches: edge + pods,
        hosts: (0..hosts).map(|host| edge + host / half).collect(),
        trunks,
    };
    within(shape, most)
}

/// A random tree, and then random links until the mean number of links of a switch to others is reached.
pub(super) fn random(
    switches: usize,
    hosts: usize,
    degree: f64,
    random: &mut Random,
    most: usize,
) -> Option<Shape> {
    let mut known = BTreeSet::new();
    let mut trunks = Vec::new();
    for switch in 1..switches {
        let other = random.below(switch as u64) as usize;
        known.insert((other, switch));
        trunks.push(core(other, switch));
    }
    let all = switches as f64 * (switches as f64 - 1.0) / 2.0;
    let wanted = (degree.max(0.0) * switches as f64 / 2.0).round().min(all);
    if wanted > most as f64 {
        return None;
    }
    // In a dense graph free pairs are rare: then not all are found, which is bounded.
    let mut tries = 64 * (wanted as usize + 1);
    while (trunks.len() as f64) < wanted && tries > 0 {
        tries -= 1;
        let a = random.below(switches as u64) as usize;
        let b = random.below(switches as u64) as usize;
        let pair = (a.min(b), a.max(b));
        if a != b && known.insert(pair) {
            trunks.push(core(pair.0, pair.1));
        }
    }
    populate(switches, hosts, trunks, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_as_many_parts_as_they_should() {
        let parts = |shape: Option<Shape>| {
            let shape = shape.unwrap();
            (shape.switches, shape.hosts.len(), shape.trunks.len())
        };
        assert_eq!(parts(Some(single(5))), (1, 5, 0));
        assert_eq!(parts(linear(4, 2, 1000)), (4, 8, 3));
        assert_eq!(parts(tree(3, 2, 1000)), (7, 8, 6));
        assert_eq!(parts(fat_tree(4, 1000)), (20, 16, 32));
        assert_eq!(parts(fat_tree(8, 1000)), (80, 128, 256));
        let (switches, hosts, trunks) = parts(random(50, 1, 4.0, &mut Random::new(1), 1000));
        assert_eq!((switches, hosts, trunks), (50, 50, 100));
        assert_eq!(tree(60, 10, 100_000), None);
        assert_eq!(fat_tree(100_000, 100_000), None);
        assert_eq!(linear(100_000, 100_000, 100_000), None);
    }

    #[test]
    fn every_switch_of_a_fat_tree_has_k_links() {
        let shape = fat_tree(6, 10_000).unwrap();
        let mut links = vec![0; shape.switches];
        for &host in &shape.hosts {
            links[host] += 1;
        }
        for trunk in &shape.trunks {
            for end in trunk.ends {
                links[end] += 1;
            }
        }
        assert!(links.iter().all(|&links| links == 6), "{links:?}");
    }
}
