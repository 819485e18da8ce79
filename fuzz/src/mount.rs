//! A mount: the kernel's requests, and what is written to a port's file.

use live::world::mount::protocol;
use live::world::mount::writer::{Fault, Got, Taker, Writer};
use packet::Departure;

/// Keeps what a writer finds; has room for one packet less often than not.
#[derive(Default)]
struct Kept {
    packets: Vec<(Departure, Vec<u8>)>,
    faults: Vec<Fault>,
    /// Refuse every so many-th packet once.
    refuse: usize,
    offered: usize,
}

impl Taker for Kept {
    fn packet(&mut self, departure: Departure, bytes: &[u8]) -> bool {
        self.offered += 1;
        if self.refuse != 0 && self.offered.is_multiple_of(self.refuse) {
            return false;
        }
        self.packets.push((departure, bytes.to_vec()));
        true
    }

    fn fault(&mut self, fault: Fault) -> bool {
        // How much was skipped at once may depend on how the stream is cut; that something was, not.
        if !matches!(fault, Fault::Skipped(..)) {
            self.faults.push(fault);
        }
        true
    }
}

fn written(mut writer: Writer, data: &[u8], piece: usize, refuse: usize) -> Kept {
    let mut kept = Kept {
        refuse,
        ..Kept::default()
    };
    for mut piece in data.chunks(piece) {
        while let Got::Full(taken) = writer.write(piece, &mut kept) {
            piece = &piece[taken..];
        }
    }
    kept.refuse = 0;
    writer.finish(false, &mut kept);
    kept
}

pub fn target(data: &[u8]) {
    let _ = protocol::decode(data);
    let Some((&first, data)) = data.split_first() else {
        return;
    };
    let make = if first & 1 == 0 {
        Writer::of_lines
    } else {
        Writer::of_records
    };
    let whole = written(make(), data, data.len().max(1), 0);
    let cut = written(make(), data, usize::from(first >> 1) + 1, 2);
    assert_eq!(whole.packets, cut.packets);
    assert_eq!(whole.faults, cut.faults);
}
