//! Nodes that record what they see.

use crate::kind::{Kind, Planned};
use crate::tree::Value;
use nodes::capture::{Capture, Config};
use nodes::meter::{self, Meter};
use serde::Deserialize;

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    let capture = Kind::made("capture", |config, context| {
        let read = config.read()?;
        Ok(Box::new(Capture::new(read, context.recorder())))
    });
    let meter = Kind::new("meter", |config, folder| {
        let planned = Planned::by(config, folder, |config, context| {
            let read: meter::Config = config.read()?;
            if context.alone {
                return Ok(Box::new(Meter::new(read)));
            }
            // The report has the statistics, so that the node only hands its frames on.
            let read = Config { tap: read.tap };
            Ok(Box::new(Capture::new(read, context.recorder())))
        })?;
        Ok(Planned {
            stream: stream_of(config),
            ..planned
        })
    });
    let records = true;
    vec![Kind { records, ..capture }, Kind { records, ..meter }]
}

/// The only stream that a meter measures.
fn stream_of(config: &Value) -> Option<u16> {
    #[derive(Deserialize)]
    struct Stream {
        stream: Option<u16>,
    }
    config.read::<Stream>().ok()?.stream
}
