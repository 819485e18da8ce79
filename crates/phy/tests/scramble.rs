//! Every form of the scrambler against the standard's shift register.

use crate::reference;
use crate::reference::Random;
use phy::scramble::Form;
use phy::{Descrambler, Scrambler};
use proptest::prelude::*;

/// Payloads through figure 49-8.
fn slow(state: u64, payloads: &[u64]) -> Vec<u64> {
    let mut scrambler = reference::Scrambler::new(state);
    let bits = reference::bits(payloads);
    let line: Vec<bool> = bits.iter().map(|&bit| scrambler.scramble(bit)).collect();
    reference::words(&line)
}

#[test]
fn there_are_all_forms_to_be_tested() {
    let forms: Vec<Form> = Form::all().collect();
    assert!(forms.len() >= 3, "{forms:?}");
    println!("{forms:?}");
}

#[test]
fn every_form_gives_what_the_shift_register_gives() {
    let mut random = Random(7);
    for length in (0..140).chain([191, 192, 193, 255, 256, 257, 511, 512, 513, 1000]) {
        for state in [0, u64::MAX, 1 << 63, 1 << 6, random.next()] {
            let payloads: Vec<u64> = (0..length).map(|_| random.next()).collect();
            let expected = slow(state, &payloads);
            for form in Form::all() {
                let (mut scrambler, mut line) = (Scrambler::new(state), payloads.clone());
                scrambler.scramble_by(form, &mut line);
                assert!(line == expected, "{form:?}, {length} words");
                assert_eq!(scrambler.state(), *expected.last().unwrap_or(&state));

                let mut descrambler = Descrambler::new(state);
                descrambler.descramble(&mut line);
                assert!(line == payloads, "{length} words");
                assert_eq!(descrambler.state(), scrambler.state());
            }
        }
    }
}

proptest! {
    #[test]
    fn forms_go_on_where_others_left_off(
        seed: u64,
        state: u64,
        pieces in prop::collection::vec((0usize..300, 0usize..8), 1..12),
    ) {
        let forms: Vec<Form> = Form::all().collect();
        let mut random = Random(seed);
        let length = pieces.iter().map(|piece| piece.0).sum();
        let payloads: Vec<u64> = (0..length).map(|_| random.next()).collect();
        let (mut scrambler, mut line) = (Scrambler::new(state), payloads.clone());
        let (mut descrambler, mut back) = (Descrambler::new(state), vec![0; length]);
        let mut at = 0;
        for (length, form) in pieces {
            let piece = at..at + length;
            scrambler.scramble_by(forms[form % forms.len()], &mut line[piece.clone()]);
            descrambler.descramble_into(&line[piece.clone()], &mut back[piece]);
            at += length;
        }
        prop_assert!(line == slow(state, &payloads));
        prop_assert!(back == payloads);
    }
}

#[test]
fn a_descrambler_needs_58_bits_and_no_state() {
    let mut random = Random(3);
    let payloads: Vec<u64> = (0..10).map(|_| random.next()).collect();
    let line = slow(random.next(), &payloads);
    let mut descrambler = Descrambler::new(random.next());
    let back: Vec<u64> = line.iter().map(|&word| descrambler.word(word)).collect();
    assert_eq!(back[0] >> 58, payloads[0] >> 58);
    assert_eq!(back[1..], payloads[1..]);
}

#[test]
fn a_wrong_bit_on_the_line_becomes_three() {
    let mut random = Random(4);
    let payloads: Vec<u64> = (0..4).map(|_| random.next()).collect();
    for bit in 0..128 {
        let mut line = slow(5, &payloads);
        line[bit / 64] ^= 1 << (bit % 64);
        Descrambler::new(5).descramble(&mut line);
        let wrong: Vec<usize> = (0..256)
            .filter(|n| (line[n / 64] ^ payloads[n / 64]) >> (n % 64) & 1 == 1)
            .collect();
        assert_eq!(wrong, [bit, bit + 39, bit + 58]);
    }
}
