//! The register bus of a program.

use verilog::map::address;

/// A program's register bus: words of 32 bits at the addresses of [`address`].
pub trait Bus {
    /// Writes a word to a register.
    fn write(&mut self, to: u16, data: u32);

    /// Reads a register.
    fn read(&mut self, from: u16) -> u32;

    /// Runs `cycles` clock cycles.
    fn wait(&mut self, cycles: u32);

    /// Gives an entry to a row of an object.
    fn commit(&mut self, object: usize, row: u32, words: &[u32]) {
        for (place, word) in words.iter().enumerate() {
            self.write(address::ENTRY + place as u16, *word);
        }
        self.write(address::COMMIT, (object as u32) << 24 | row);
    }

    /// Reads a cell of a memory, as words.
    fn fetch(&mut self, object: usize, row: u32, words: usize) -> Vec<u32> {
        self.write(address::FETCH, (object as u32) << 24 | row);
        (0..words as u16)
            .map(|word| self.read(address::FETCHED + word))
            .collect()
    }
}
