//! Two ports of 10GBASE-R with DTP in Verilog, over scrambled blocks with frames between them, against two devices of `nodes::dtp`.

use cosim::Module;
use cosim::ports::dtp_pcs10g::*;
use node::Port;
use node::random::Random;
use node::sublayer::Sublayer;
use nodes::dtp::message::HALF;
use nodes::dtp::{Config, Device};
use phy::xgmii::Xgmii;
use phy::{Blocks, Encoder, Start};
use std::collections::VecDeque;

const TICKS: usize = 200_000;
/// Ticks from a column on one end's XGMII to the same on the other's, and of a message from one DTP to the other, without the cable's.
const COLUMN: usize = 2 + 3;
const MESSAGE: u64 = 2;
const PORT: Port = Port(0);

/// Columns of frames of random lengths with so many bytes of gap between them, and now and then many more.
fn columns(random: &mut Random, gap: u64) -> Vec<Xgmii> {
    let (mut encoder, mut made) = (Encoder::new(), Blocks::new());
    let bytes: Vec<u8> = (0..1600).map(|_| random.below(256) as u8).collect();
    while made.iter().len() < TICKS {
        let length = match random.below(2) {
            0 => 1515,
            _ => 60 + random.below(1200) as usize,
        };
        let more = u64::from(random.below(16) == 0) * random.below(4000);
        let start = Start::After(gap + random.below(8) + more);
        encoder.frame(&bytes[..length], start, &mut made).unwrap();
    }
    encoder.flush(&mut made);
    made.iter().map(|block| block.decode().unwrap()).collect()
}

/// One end of the line: the port, and the device that it is to be equal to.
struct End {
    module: Module,
    device: Device,
    columns: Vec<Xgmii>,
    outputs: Vec<u64>,
    /// Scrambled blocks under way to it, and the messages in them as software knows them.
    line: VecDeque<(u64, u64)>,
    messages: VecDeque<(u64, u64)>,
    was_in_reset: bool,
    up: bool,
    greatest_delay: i64,
}

impl End {
    fn new(module: Module, columns: Vec<Xgmii>, cable: usize, start: u64) -> End {
        let config = Config {
            start,
            ..Config::default()
        };
        End {
            module,
            device: Device::new(&config, 1).unwrap(),
            columns,
            outputs: vec![0; LAYOUT.outputs],
            // Silence, until what is sent arrives: a cable of no length takes from one tick to the next.
            line: vec![(0, 0); cable + 1].into(),
            messages: VecDeque::new(),
            was_in_reset: true,
            up: false,
            greatest_delay: 0,
        }
    }

    /// A tick; the block and the message that it sends.
    fn step(&mut self, tick: usize, start: u64, in_reset: bool) -> ((u64, u64), u64) {
        let now = tick as u64;
        let before = tick.checked_sub(1).map(|tick| self.columns[tick]);
        let said = match before {
            Some(column) if tick > 1 && column == Xgmii::IDLE => self.device.fill(now, PORT),
            _ => 0,
        };
        while self.messages.front().is_some_and(|(when, _)| *when == now) {
            let (_, bits) = self.messages.pop_front().unwrap();
            self.device.take(now, PORT, bits);
        }
        if self.up == self.was_in_reset {
            self.up = !self.up;
            self.device.link(now, PORT, self.up);
        }
        self.was_in_reset = in_reset;

        let (header, payload) = self.line.pop_front().unwrap();
        let mut inputs = vec![0; LAYOUT.inputs];
        inputs[RST] = u64::from(tick == 0);
        inputs[RX_RST] = u64::from(in_reset);
        (inputs[ALPHA], inputs[BEACON], inputs[START_LOW]) = (3, 200, start);
        inputs[XGMII_TXD] = u64::from_le_bytes(self.columns[tick].bytes);
        inputs[XGMII_TXC] = self.columns[tick].control.into();
        (inputs[RX_HEADER], inputs[RX_PAYLOAD]) = (header, payload);
        self.module.run(&inputs, &mut self.outputs);

        let counter =
            u128::from(self.outputs[COUNTER_HIGH]) << HALF | u128::from(self.outputs[COUNTER_LOW]);
        assert_eq!(counter, self.device.counter(now + 1), "counter at {tick}");
        if let Some(delay) = self.device.delay(PORT) {
            assert_eq!(self.outputs[DELAY], delay as u64, "delay at {tick}");
            self.greatest_delay = self.greatest_delay.max(delay);
        }
        ((self.outputs[TX_HEADER], self.outputs[TX_PAYLOAD]), said)
    }

    fn received(&self) -> Xgmii {
        Xgmii {
            control: self.outputs[XGMII_RXC] as u8,
            bytes: self.outputs[XGMII_RXD].to_le_bytes(),
        }
    }
}

#[test]
fn two_ports_agree_through_scrambled_blocks_full_of_frames_which_pass_unchanged() {
    let mut random = Random::new(40);
    for (cable, gap) in [(5, 12), (44, 12), (44, 400), (800, 100)] {
        let (Some(one), Some(other)) = (crate::module(LAYOUT), crate::module(LAYOUT)) else {
            return;
        };
        let mut ends = [(one, 7), (other, 5_000_000)]
            .map(|(module, start)| End::new(module, columns(&mut random, gap), cable, start));
        // Both links come up, and one of them once more.
        let in_reset =
            |end: usize, tick: usize| tick < 30 || (end == 1 && (90_000..90_100).contains(&tick));
        let mut same = 0;
        for tick in 0..TICKS {
            let sent: [_; 2] = std::array::from_fn(|end| {
                let start = [7, 5_000_000][end];
                ends[end].step(tick, start, in_reset(end, tick))
            });
            for (end, (block, message)) in sent.into_iter().enumerate() {
                let peer = &mut ends[1 - end];
                peer.line.push_back(block);
                if message != 0 {
                    peer.messages
                        .push_back((tick as u64 + MESSAGE + cable as u64, message));
                }
            }
            // Frames are what they were, whatever the idle blocks between them said.
            let settled = tick > 100 + cable && !(90_000..90_200).contains(&tick);
            for end in (0..2).filter(|_| settled) {
                let column = ends[1 - end].columns[tick + 1 - COLUMN - cable];
                assert_eq!(
                    ends[end].received(),
                    column,
                    "column of end {end} at {tick}"
                );
                assert_eq!(ends[end].outputs[RX_ERROR], 0);
            }
            let counters: [u128; 2] =
                std::array::from_fn(|end| ends[end].device.counter(tick as u64 + 1));
            let synchronized = ends.iter().all(|end| end.device.delay(PORT).is_some());
            if synchronized && counters[0].abs_diff(counters[1]) <= 4 {
                same += 1;
            }
        }
        // A round trip and a beacon behind the links' coming up, and one behind the other's coming up again.
        assert!(
            same > TICKS - 2 * (4 * cable + 3_000),
            "{same} ticks within 4 of {TICKS}"
        );
        for end in ends {
            let line = (cable as u64 + MESSAGE) as i64;
            assert!(
                (line - 2..=line).contains(&end.greatest_delay),
                "{} over {line}",
                end.greatest_delay
            );
            assert!(end.outputs[BEACONS_HEARD] > 100);
        }
    }
}

/// Idle columns, and now and then some of others between: errors, low-power idle, or reserved
/// characters.
fn columns_of_characters(random: &mut Random, count: usize) -> Vec<Xgmii> {
    let mut columns = vec![Xgmii::IDLE; count];
    let mut place = 400;
    while place + 60 < count {
        let control = [0xFE, 0x06, 0x1C, 0x3C, 0x7C, 0xBC, 0xDC, 0xF7][random.below(8) as usize];
        let last = place + 1 + random.below(40) as usize;
        for column in &mut columns[place..last] {
            // All of a column, or half of one; an error makes the whole block one.
            let bytes = match random.below(2) {
                0 if control != 0xFE => [control, control, control, control, 7, 7, 7, 7],
                _ => [control; 8],
            };
            *column = Xgmii {
                control: 0xFF,
                bytes,
            };
        }
        place = last + random.below(60) as usize;
    }
    columns
}

#[test]
fn control_characters_that_are_no_idles_pass_and_are_no_messages() {
    const COUNT: usize = 40_000;
    let (Some(one), Some(other)) = (crate::module(LAYOUT), crate::module(LAYOUT)) else {
        return;
    };
    let mut random = Random::new(41);
    let (cable, start) = (44, [7, 5_000_000]);
    let mut ends = [(one, start[0]), (other, start[1])].map(|(module, start)| {
        End::new(
            module,
            columns_of_characters(&mut random, COUNT),
            cable,
            start,
        )
    });
    let mut others = 0;
    for tick in 0..COUNT {
        let sent: [_; 2] = std::array::from_fn(|end| ends[end].step(tick, start[end], tick < 30));
        for (end, (block, message)) in sent.into_iter().enumerate() {
            let peer = &mut ends[1 - end];
            peer.line.push_back(block);
            if message != 0 {
                let arrives = tick as u64 + MESSAGE + cable as u64;
                peer.messages.push_back((arrives, message));
            }
        }
        for end in (0..2).filter(|_| tick > 100 + cable) {
            let column = ends[1 - end].columns[tick + 1 - COLUMN - cable];
            assert_eq!(ends[end].received(), column, "end {end} at {tick}");
            let is_error = u64::from(column.bytes == [0xFE; 8]);
            assert_eq!(ends[end].outputs[RX_ERROR], is_error, "end {end} at {tick}");
            others += u64::from(column != Xgmii::IDLE);
        }
    }
    assert!(others > 10_000, "{others}");
    for end in &ends {
        assert!(end.outputs[BEACONS_HEARD] > 20);
        assert_eq!([end.outputs[GAVE_UP], end.outputs[DAMAGED]], [0; 2]);
        // A beacon may be on its way while the ends join.
        assert!(end.outputs[OUT_OF_RANGE] <= 2);
        assert!(end.device.delay(PORT).is_some());
    }
}
