//! The loops of four applications of Lucco 1995 (003:185-239), by their shapes: the duration of
//! each iteration in each instance.
//!
//! | program | what is long | from one instance to the next |
//! |---|---|---|
//! | [`Program::Climate`] | columns in three blobs, a tenth of a grid: 6 to 20 times as long | blobs move by a column at most |
//! | [`Program::Emu`] | a region costs 2^depth, up to 16 | one region in 20 is divided once more or once less |
//! | [`Program::Amr`] | boxes near two vortices: each level of refinement 8 times as long | vortices move slowly |
//! | [`Program::Psirrfan`] | columns in three gaps of a mask: 30 times as long | the mask stays |
//!
//! The sizes are assumed where the source has none.

/// A loop that is executed again and again. Times are in nanoseconds; the shortest is about a
/// microsecond.
///
/// ```
/// use tautline_sim::Program;
/// let times = Program::Psirrfan.times(1024, 0);
/// assert_eq!(times.len(), 1024);
/// assert_eq!(times, Program::Psirrfan.times(1024, 7));
/// assert_ne!(Program::Climate.times(1024, 0), Program::Climate.times(1024, 7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Column physics of a circulation model.
    Climate,
    /// A timing simulator of circuits.
    Emu,
    /// An adaptive vortex method.
    Amr,
    /// Limited-angle tomography.
    Psirrfan,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Climate, Self::Emu, Self::Amr, Self::Psirrfan];

    /// Returns the name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Climate => "climate",
            Self::Emu => "emu",
            Self::Amr => "amr",
            Self::Psirrfan => "psirrfan",
        }
    }

    /// Returns whether iterations communicate with their neighbours.
    pub fn communicates(self) -> bool {
        self == Self::Climate
    }

    /// Returns the times of all `n` iterations in an instance.
    pub fn times(self, n: u64, instance: u64) -> Vec<u64> {
        (0..n).map(|at| self.time(n, at, instance)).collect()
    }

    fn time(self, n: u64, at: u64, instance: u64) -> u64 {
        match self {
            Self::Climate => climate(n, at, instance),
            Self::Emu => 1000 << depth(at, instance),
            Self::Amr => amr(n, at, instance),
            Self::Psirrfan => {
                let gaps = [(100, 130), (400, 450), (700, 720)];
                let x = at * 1000 / n.max(1);
                let is_missing = gaps.iter().any(|(start, end)| (*start..*end).contains(&x));
                if is_missing { 30_000 } else { 1000 }
            }
        }
    }
}

/// Returns the row and column of an iteration in a square grid, and the side of the grid.
fn cell(n: u64, at: u64) -> (u64, u64, u64) {
    let side = n.isqrt().max(1);
    (at / side, at % side, side)
}

/// Returns the square of the distance on a torus.
fn distance(a: (u64, u64), b: (u64, u64), side: u64) -> u64 {
    let along = |a: u64, b: u64| {
        let d = a.abs_diff(b % side);
        d.min(side.saturating_sub(d))
    };
    along(a.0, b.0).pow(2) + along(a.1, b.1).pow(2)
}

fn climate(n: u64, at: u64, instance: u64) -> u64 {
    let (row, column, side) = cell(n, at);
    let radius = side * side / 94;
    let blobs = [
        (side / 5, 0, 6),
        (side / 2, side / 3, 12),
        (4 * side / 5, side / 2, 20),
    ];
    let is_inside = |blob: &&(u64, u64, u64)| {
        distance((row, column), (blob.0, blob.1 + instance / 2), side) <= radius
    };
    let heavy = blobs.iter().find(is_inside).map_or(1, |blob| blob.2);
    500 + 1000 * heavy
}

fn amr(n: u64, at: u64, instance: u64) -> u64 {
    let (row, column, side) = cell(n, at);
    let vortices = [(side / 4, side / 4), (2 * side / 3, side / 2)];
    let near =
        |vortex: &(u64, u64)| distance((row, column), (vortex.0 + instance / 4, vortex.1), side);
    let nearest = vortices.iter().map(near).min().unwrap_or(0);
    let area = side * side;
    let level = [400, 130, 40]
        .iter()
        .filter(|part| nearest * **part < area)
        .count();
    1000 << (3 * level)
}

/// Returns the depth of a region: of a chain that is moved with probability 1/20 an instance, by
/// one level: a time step is divided once more, or once less, which is twice as frequent. So each
/// depth is half as frequent as the one before.
fn depth(region: u64, instance: u64) -> u64 {
    let first = u64::from((mix(region, 0) / 20).trailing_zeros()).min(4);
    let step = |depth: u64, at| match mix(region, at) {
        number if number % 20 != 0 => depth,
        number if number / 20 % 3 == 0 => (depth + 1).min(4),
        _ => depth.saturating_sub(1),
    };
    (1..=instance).fold(first, step)
}

fn mix(region: u64, instance: u64) -> u64 {
    let mut bits = (region << 24) ^ instance;
    for _ in 0..3 {
        bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits ^= bits >> 29;
    }
    bits
}
