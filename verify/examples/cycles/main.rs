//! Cycles an episode of barriers, shipped ones and ones by hand, on machines in virtual time: the
//! tables of `verify/CYCLES.md`.
//!
//! ```sh
//! RUSTFLAGS="--cfg tautline_shuttle" cargo run --release -p tautline-verify --example cycles [THREADS…]
//! ```

#[cfg(tautline_shuttle)]
mod aligned;
#[cfg(tautline_shuttle)]
mod barriers;
#[cfg(tautline_shuttle)]
mod phasers;
#[cfg(tautline_shuttle)]
mod ring;
#[cfg(tautline_shuttle)]
mod table;

#[cfg(tautline_shuttle)]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let threads: Result<Vec<usize>, String> = words.iter().map(|word| count(word)).collect();
    match threads {
        Ok(threads) if threads.is_empty() => table::print(&[2, 4, 8, 16, 32, 64, 128, 160]),
        Ok(threads) => table::print(&threads),
        Err(line) => {
            eprintln!("{line}");
            std::process::exit(2);
        }
    }
}

#[cfg(tautline_shuttle)]
fn count(word: &str) -> Result<usize, String> {
    let number = word.parse().ok().filter(|n| (2..=160).contains(n));
    number.ok_or_else(|| format!("{word}: threads are a whole number from 2 to 160"))
}

#[cfg(not(tautline_shuttle))]
fn main() {
    eprintln!("built without --cfg tautline_shuttle: there is no virtual time in it");
    std::process::exit(2);
}
