//! Names of disciplines, which are tc's, and of the queues in them.

use crate::Config;
use crate::htb::Class;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};

impl Config {
    /// Names of all disciplines.
    pub const NAMES: [&'static str; 14] = [
        "fifo",
        "prio",
        "drr",
        "tbf",
        "htb",
        "policer",
        "red",
        "codel",
        "fq_codel",
        "pie",
        "docsis_pie",
        "dualpi2",
        "cake",
        "varying",
    ];

    /// Name of the discipline, as `kind` has it in a file.
    pub const fn name(&self) -> &'static str {
        match self {
            Config::Fifo(_) => "fifo",
            Config::Prio(_) => "prio",
            Config::Drr(_) => "drr",
            Config::Tbf(_) => "tbf",
            Config::Htb(_) => "htb",
            Config::Policer(_) => "policer",
            Config::Varying(_) => "varying",
            Config::Red(_) => "red",
            Config::Codel(_) => "codel",
            Config::FqCodel(_) => "fq_codel",
            Config::Pie(_) => "pie",
            Config::DocsisPie(_) => "docsis_pie",
            Config::DualPi2(_) => "dualpi2",
            Config::Cake(_) => "cake",
        }
    }

    /// Name of the queue at a path of [classes](crate::Discipline::classes_of): `fifo` for a
    /// discipline with one queue, `codel in class 2 of drr`.
    pub fn queue_at(&self, path: &[u32]) -> String {
        let Some((first, rest)) = path.split_first() else {
            return self.name().to_string();
        };
        let Some((place, class)) = self.class_at(*first) else {
            return self.name().to_string();
        };
        let inner = class.map_or_else(|| "fifo".to_string(), |class| class.queue_at(rest));
        format!("{inner} in {place} {first} of {}", self.classful().name())
    }

    /// The classful discipline: this one, or the one inside it.
    fn classful(&self) -> &Config {
        let child = match self {
            Config::Tbf(config) => config.child.as_deref(),
            Config::Policer(config) => config.child.as_deref(),
            Config::Varying(config) => config.child.as_deref(),
            _ => None,
        };
        child.map_or(self, Config::classful)
    }

    /// Word for a class, and the discipline in it; `None` where that is the default, a FIFO.
    fn class_at(&self, index: u32) -> Option<(&'static str, Option<&Config>)> {
        let index = index as usize;
        match self.classful() {
            Config::Prio(config) => Some(("band", Some(config.bands.get(index)?))),
            Config::Drr(config) => Some(("class", Some(&config.classes.get(index)?.child))),
            Config::Htb(config) => {
                let leaf = leaves(&config.classes).nth(index)?;
                Some(("leaf", leaf.child.as_deref()))
            }
            _ => None,
        }
    }
}

/// Leaves of a tree of classes, in the order in which they stand.
fn leaves(classes: &[Class]) -> Box<dyn Iterator<Item = &Class> + '_> {
    Box::new(classes.iter().flat_map(|class| {
        let own = class.classes.is_empty().then_some(class);
        own.into_iter().chain(leaves(&class.classes))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{codel, drr, htb, policer, prio};
    use alloc::vec;
    use node::{Rate, Size};

    #[test]
    fn a_queue_is_named_by_its_classes() {
        let rate = Rate::from_bits_per_second(1_000_000).unwrap();
        let leaf = |child: Option<Config>| Class {
            child: child.map(Box::new),
            ..Class::leaf(rate, rate)
        };
        let codel = Config::Codel(codel::Config::default());
        let tree = Config::Htb(htb::Config {
            classes: vec![
                Class {
                    classes: vec![leaf(None), leaf(Some(codel.clone()))],
                    ..Class::leaf(rate, rate)
                },
                leaf(Some(Config::Drr(drr::Config::default()))),
            ],
            by: crate::classify::By::Flow,
            priomap: vec![],
        });
        let config = Config::Policer(policer::Config {
            rate,
            burst: Size::from_bytes(9_000),
            child: Some(Box::new(Config::Prio(prio::Config {
                bands: vec![codel, tree],
                ..prio::Config::default()
            }))),
        });
        for (path, name) in [
            (&[][..], "policer"),
            (&[0], "codel in band 0 of prio"),
            (&[1, 0], "fifo in leaf 0 of htb in band 1 of prio"),
            (&[1, 1], "codel in leaf 1 of htb in band 1 of prio"),
            (
                &[1, 2, 5],
                "fifo in class 5 of drr in leaf 2 of htb in band 1 of prio",
            ),
        ] {
            assert_eq!(config.queue_at(path), name);
        }
    }
}
