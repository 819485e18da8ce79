//! Templates of packets: no text makes reading or building panic; what is built has good lengths and checksums, where nothing is stated
//! and no payload looks like a header.

use packet::craft::{Defaults, Template};
use packet::repair::Repair;

pub fn target(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let template = match Template::parse(text) {
        Ok(template) => template,
        Err(error) => {
            assert!(text.get(error.at).is_some() && !error.message.is_empty());
            return;
        }
    };
    let count = template.count();
    assert!(count > 0);
    for number in [0, 1, count - 1, count] {
        let mut frame = Vec::new();
        if template
            .build(number, &Defaults::default(), &mut frame)
            .is_ok()
            && !text.contains(['=', '"'])
        {
            let mut repair = Repair::new(true);
            repair.frame(&mut frame);
            assert_eq!(repair.counts, Default::default(), "{text}");
        }
    }
}
