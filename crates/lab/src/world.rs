//! Where a lab runs.

/// Where a lab runs.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// In exact virtual time.
    #[default]
    Sim,
    /// On this machine, in real time: over veth pairs between network namespaces, both made for the
    /// run. Needs root.
    Live,
    /// As [`Sim`](World::Sim), with nodes behind ports that are hardware in Verilog. A
    /// [`Registry`](crate::Registry) brings those.
    Cosim,
}

impl World {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            World::Sim => "sim",
            World::Live => "live",
            World::Cosim => "cosim",
        }
    }

    /// Whether time is virtual there.
    pub fn is_simulated(self) -> bool {
        self != World::Live
    }
}
