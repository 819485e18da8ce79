//! An instrument: the longest time in which no frame came to a port, by the section `[silence]` of a lab file.

use std::sync::{Arc, Mutex, PoisonError};
use wireline::lab::{Attachments, Finished, Instrument, Measurement, Reading, Section};
use wireline::node::{Histogram, Time};
use wireline::plot::{Axis, Figure, Panel, Series};
use wireline::report::{Column, Table, Unit};

/// The section `[silence]`.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silence {
    /// The ports.
    at: Vec<String>,
    /// The picture of all times between two frames, if it is wanted.
    file: Option<String>,
}

impl Instrument for Silence {
    fn sections(&self) -> &'static [&'static str] {
        &["silence"]
    }

    fn read(&mut self, reading: &mut Reading<'_>) {
        *self = reading.section("silence").unwrap_or_default();
        for port in &self.at {
            if reading.lab().arriving(port).is_none() {
                reading.fault("silence", "at", format!("no link ends at `{port}`"));
            }
        }
    }

    fn files(&self) -> Vec<String> {
        self.file.iter().cloned().collect()
    }

    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let mut ports = Vec::new();
        for port in &self.at {
            let (link, direction) = attachments.lab().arriving(port)?;
            let gaps = Arc::new(Mutex::new(Histogram::default()));
            ports.push((port.clone(), gaps.clone()));
            let mut last: Option<Time> = None;
            attachments.on_frame(link, direction, move |_, frame| {
                if let Some(last) = last.replace(frame.arrived()) {
                    let mut gaps = gaps.lock().unwrap_or_else(PoisonError::into_inner);
                    gaps.record((frame.arrived() - last).as_ps());
                }
            });
        }
        let file = self.file.clone();
        (!ports.is_empty()).then(|| Box::new(Running { ports, file }) as Box<dyn Measurement>)
    }
}

/// Times between frames at each port, ps.
struct Running {
    ports: Vec<(String, Arc<Mutex<Histogram>>)>,
    file: Option<String>,
}

impl Measurement for Running {
    fn finish(&self, _: &Finished<'_>) -> Option<Arc<dyn Section>> {
        let ports = self.ports.iter().map(|(port, gaps)| {
            let gaps = gaps.lock().unwrap_or_else(PoisonError::into_inner);
            (port.clone(), gaps.clone())
        });
        Some(Arc::new(Found {
            ports: ports.collect(),
            file: self.file.clone(),
        }))
    }
}

/// The part of the report.
#[derive(Debug)]
struct Found {
    ports: Vec<(String, Histogram)>,
    file: Option<String>,
}

impl Found {
    fn longest(&self) -> impl Iterator<Item = (&String, Time)> {
        let ports = self.ports.iter();
        ports.map(|(port, gaps)| (port, gaps.spread(Time::from_ps(1)).max))
    }
}

impl Section for Found {
    fn headline(&self) -> Option<String> {
        let (port, time) = self.longest().max_by_key(|(_, time)| *time)?;
        Some(format!("nothing came to {port} for {time}"))
    }

    fn tables(&self) -> Vec<Table> {
        let columns = [
            Column::new("at", "port"),
            Column::new("longest", "longest silence").of(Unit::Time),
        ];
        let mut table = Table::new("silence", columns);
        for (port, time) in self.longest() {
            table.push([port.into(), time.into()]);
        }
        vec![table]
    }

    fn figures(&self) -> Vec<(String, Figure)> {
        let ports = self.ports.iter();
        let panel = ports.fold(
            Panel::new(
                Axis::new("time between frames [us]"),
                Axis::new("share of frames"),
            ),
            |panel, (port, gaps)| panel.series(Series::cdf(port, gaps, 1e6)),
        );
        let figure = Figure::new("silence").panel(panel);
        self.file
            .iter()
            .map(|file| (file.clone(), figure.clone()))
            .collect()
    }
}
