//! Names of disciplines, which are tc's.

use crate::Config;

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
}
