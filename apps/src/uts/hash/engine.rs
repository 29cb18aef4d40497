//! The hash engines that this processor supports, and the choice of the fastest.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{Interval, ROW, Row};

/// A way to hash the children of a row. The result does not depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    way: Way,
    /// With fewer lanes than these, children are hashed one by one.
    least: usize,
}

/// Tokens of instruction sets exist only where the processor supports them.
#[derive(Clone, Copy, Debug)]
enum Way {
    OneByOne,
    #[cfg(target_arch = "x86_64")]
    Sse2(fearless_simd::Sse2),
    #[cfg(target_arch = "x86_64")]
    Avx2(fearless_simd::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512Half(fearless_simd::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx512(fearless_simd::Avx512),
}

impl Way {
    #[cfg(target_arch = "x86_64")]
    fn all() -> impl Iterator<Item = Self> {
        let level = fearless_simd::Level::new();
        let lanes = [
            level.as_sse2().map(Self::Sse2),
            level.as_avx2().map(Self::Avx2),
            level.as_avx512().map(Self::Avx512Half),
            level.as_avx512().map(Self::Avx512),
        ];
        [Self::OneByOne]
            .into_iter()
            .chain(lanes.into_iter().flatten())
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn all() -> impl Iterator<Item = Self> {
        [Self::OneByOne].into_iter()
    }
}

impl Engine {
    /// Rows that are timed for each engine: enough for the processor to supply its wide units with
    /// power, which can take half a millisecond, and for one row to be undisturbed; 1 ms in all.
    const ROWS_TIMED: u32 = 128;

    /// Returns all engines of this processor, each of which uses its lanes even for a single child.
    /// The first hashes one by one.
    pub fn all() -> impl Iterator<Item = Self> {
        Way::all().map(|way| Self { way, least: 1 })
    }

    /// Returns the fastest engine of this processor, measured at the first call.
    ///
    /// Measured, not taken from a table: whether wide registers are faster than the SHA
    /// instructions depends on how many of either a processor executes in a cycle, and on its clock
    /// while it does.
    pub fn fastest() -> Self {
        static FASTEST: OnceLock<Engine> = OnceLock::new();
        *FASTEST.get_or_init(|| fastest(&timed()))
    }

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self.way {
            Way::OneByOne => "one",
            #[cfg(target_arch = "x86_64")]
            Way::Sse2(_) => "sse2",
            #[cfg(target_arch = "x86_64")]
            Way::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Way::Avx512Half(_) => "avx512x8",
            #[cfg(target_arch = "x86_64")]
            Way::Avx512(_) => "avx512",
        }
    }

    /// Returns how many children it hashes at once.
    pub fn lanes(self) -> usize {
        match self.way {
            Way::OneByOne => 1,
            #[cfg(target_arch = "x86_64")]
            Way::Sse2(_) => 4,
            #[cfg(target_arch = "x86_64")]
            Way::Avx2(_) | Way::Avx512Half(_) => 8,
            #[cfg(target_arch = "x86_64")]
            Way::Avx512(_) => 16,
        }
    }

    /// Hashes all children of `parents`, the last parent first.
    #[inline]
    pub(in crate::uts) fn hash(self, row: &mut Row, parents: &[Interval]) {
        #[cfg(target_arch = "x86_64")]
        use fearless_simd::{u32x4, u32x8, u32x16};
        match self.way {
            Way::OneByOne => row.hash_one_by_one(parents),
            #[cfg(target_arch = "x86_64")]
            Way::Sse2(simd) => row.hash_in_lanes::<_, u32x4<_>>(simd, parents, self.least),
            #[cfg(target_arch = "x86_64")]
            Way::Avx2(simd) => row.hash_in_lanes::<_, u32x8<_>>(simd, parents, self.least),
            #[cfg(target_arch = "x86_64")]
            Way::Avx512Half(simd) => row.hash_in_lanes::<_, u32x8<_>>(simd, parents, self.least),
            #[cfg(target_arch = "x86_64")]
            Way::Avx512(simd) => row.hash_in_lanes::<_, u32x16<_>>(simd, parents, self.least),
        }
    }
}

/// Returns the least time of a full row for each engine, measured in turn.
fn timed() -> Vec<(Engine, Duration)> {
    let parents = [Interval {
        high: ROW as u32,
        ..Interval::NONE
    }];
    let mut row = Row::default();
    let mut least: Vec<_> = Engine::all()
        .map(|engine| (engine, Duration::MAX))
        .collect();
    for _ in 0..Engine::ROWS_TIMED {
        for (engine, least) in &mut least {
            let start = Instant::now();
            engine.hash(&mut row, black_box(&parents));
            *least = start.elapsed().min(*least);
        }
    }
    black_box(&row);
    least
}

/// Returns the fastest engine. Lanes must be a tenth faster than one by one: a walk does other work
/// than the hashes, and rows are not always full.
fn fastest(timed: &[(Engine, Duration)]) -> Engine {
    let one = timed[0].1;
    let (engine, time) = timed[1..]
        .iter()
        .filter(|(_, time)| *time * 10 < one * 9)
        .min_by_key(|(_, time)| *time)
        .unwrap_or(&timed[0]);
    // A batch takes as long for one lane as for all of them.
    let batches = (ROW / engine.lanes()) as u128;
    let least = (time.as_nanos() * ROW as u128).div_ceil((one.as_nanos() * batches).max(1));
    Engine {
        least: (least as usize).clamp(1, engine.lanes()),
        ..*engine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One by one takes 1000 ns a row, the others this.
    fn chosen(times: &[u64]) -> Engine {
        let times = [1000].iter().chain(times).chain(&[5000; 4]);
        let timed: Vec<_> = Engine::all()
            .zip(times)
            .map(|(engine, ns)| (engine, Duration::from_nanos(*ns)))
            .collect();
        fastest(&timed)
    }

    #[test]
    fn lanes_have_to_be_a_tenth_faster() {
        assert_eq!(chosen(&[]).name(), "one");
        assert_eq!(chosen(&[900, 900, 900, 900]).name(), "one");
        for (at, engine) in Engine::all().skip(1).enumerate() {
            let mut times = [900; 4];
            times[at] = 899;
            assert_eq!(chosen(&times).name(), engine.name());
        }
    }

    #[test]
    fn few_children_are_hashed_one_by_one() {
        // The row of a machine with lanes takes half the time: half of the lanes must be in use.
        for (at, engine) in Engine::all().skip(1).enumerate() {
            let mut times = [5000; 4];
            times[at] = 500;
            assert_eq!(chosen(&times).least, engine.lanes() / 2);
            times[at] = 1;
            assert_eq!(chosen(&times).least, 1);
        }
    }

    #[test]
    fn a_clock_that_stands_still_does_no_harm() {
        let timed: Vec<_> = Engine::all().map(|e| (e, Duration::ZERO)).collect();
        assert_eq!(fastest(&timed).name(), "one");
    }
}
