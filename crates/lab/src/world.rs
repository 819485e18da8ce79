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
}

impl World {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            World::Sim => "sim",
            World::Live => "live",
        }
    }
}
