use super::*;
use node::random::Random;
use node::{Oscillator, Time};

/// The same buffer, column by column.
struct Reference {
    buffer: Elastic,
    column: u64,
    idle_from: u64,
}

impl Reference {
    fn frame(&mut self, start: u64, end: u64) {
        while self.column <= start {
            let column = self.column;
            if column > self.idle_from {
                while self.buffer.fill(column, 0) < LOW {
                    self.buffer.lead += 1;
                    self.buffer.inserted += 1;
                }
                if column < start && self.buffer.fill(column, 0) >= HIGH {
                    self.buffer.lead -= 1;
                    self.buffer.removed += 1;
                }
            }
            self.column += 1;
        }
        self.column = end + 1;
        self.idle_from = end + 1;
    }
}

fn pair(sender: &Oscillator, receiver: &Oscillator, delay: u64) -> (Elastic, Reference) {
    let make = || Elastic::new(Clock::new(sender), Clock::new(receiver), delay);
    let reference = Reference {
        buffer: make(),
        column: 0,
        idle_from: 0,
    };
    (make(), reference)
}

/// One that swings by 200 ppm within some milliseconds.
fn swinging() -> Oscillator {
    let degrees = |n: u64| if n.is_multiple_of(2) { -2.0 } else { 2.0 };
    Oscillator {
        per_degree: 1.0,
        temperature: (0..100)
            .map(|n| (Time::from_us(4_300 * n), degrees(n)))
            .collect(),
        ..Oscillator::default()
    }
}

#[test]
fn counting_gives_what_going_through_every_column_does() {
    let laws = [
        Oscillator::default(),
        Oscillator::fast_by(100.0),
        Oscillator::fast_by(-100.0),
        Oscillator {
            offset: -50.0,
            drift: 1_000.0,
            ..Oscillator::default()
        },
        swinging(),
    ];
    let mut random = Random::new(7);
    let mut draw = move |bound| random.below(bound);
    let (mut inserted, mut removed) = (0, 0);
    for sender in &laws {
        for receiver in &laws {
            let (mut counted, mut reference) = pair(sender, receiver, 500_000);
            let mut column = 2;
            for _ in 0..400 {
                let size = (draw(13), draw(15));
                // Gaps from the least to some ten thousand columns, frames of up to 16,000 bytes.
                let frame = 18 + draw(1 << size.0);
                column += 2 + draw(1 << size.1);
                let whole = counted.frame(column, column + frame);
                reference.frame(column, column + frame);
                assert!(whole);
                assert_eq!(
                    counted.lead, reference.buffer.lead,
                    "column {column}: {sender:?} {receiver:?}"
                );
                let columns = |buffer: &Elastic| (buffer.inserted, buffer.removed);
                assert_eq!(columns(&counted), columns(&reference.buffer));
                column += frame + 1;
            }
            inserted += counted.inserted;
            removed += counted.removed;
        }
    }
    assert!(inserted > 400 && removed > 400, "{inserted} {removed}");
}

#[test]
fn days_of_idles_cost_nothing_and_none_is_forgotten() {
    let day = 86_400_000_000_000_000;
    let (mut buffer, _) = pair(&Oscillator::fast_by(100.0), &Oscillator::fast_by(-100.0), 0);
    buffer.read_until(day);
    // 312.5 million columns a second, of which 200 ppm are too many.
    let exact = 312_500_000.0 * 86_400.0 * 200e-6;
    assert!(
        (buffer.removed as f64 - exact).abs() < 5.0,
        "{}",
        buffer.removed
    );
    assert_eq!(buffer.inserted, 0);
    let (mut buffer, _) = pair(&Oscillator::fast_by(-100.0), &Oscillator::fast_by(100.0), 0);
    buffer.read_until(day);
    assert!(
        (buffer.inserted as f64 - exact).abs() < 5.0,
        "{}",
        buffer.inserted
    );
    let (mut buffer, _) = pair(&Oscillator::default(), &Oscillator::default(), 12_345);
    buffer.read_until(day);
    assert_eq!((buffer.inserted, buffer.removed), (0, 0));
}

#[test]
fn the_buffer_never_holds_less_than_a_column_at_a_start_nor_much_in_a_frame() {
    let (mut buffer, _) = pair(&swinging(), &Oscillator::fast_by(100.0), 777_777);
    let mut column = 100;
    for _ in 0..100_000 {
        assert!(buffer.frame(column, column + 382));
        assert!(buffer.fill(column, 0) >= LOW);
        assert!(buffer.fill(column + 382, 0) < HIGH + LOW);
        column += 386;
    }
}

#[test]
fn without_an_idle_that_may_go_the_buffer_overflows() {
    let (mut buffer, _) = pair(&Oscillator::fast_by(100.0), &Oscillator::fast_by(-100.0), 0);
    let (mut column, mut lost) = (2, 0);
    for _ in 0..100_000 {
        // One idle column between terminate and start: a gap of 8.
        lost += u64::from(!buffer.frame(column, column + 18));
        column += 20;
    }
    // Two million columns, 400 too many; each overflow frees eight.
    assert_eq!(lost, buffer.slips);
    assert!((45..=55).contains(&lost), "{lost}");
    assert_eq!(buffer.removed, 0);
}
