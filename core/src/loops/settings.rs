//! How a loop is to run, and how it ran.

use crate::taper::{Class, Estimate, Policy, Q16, Taper};
use core::cell::Cell;
use core::fmt;
use core::panic::Location;

/// How a loop divides its iterations among the workers.
///
/// All but `Auto` and `Taper` are functions of the counts alone, and only `Auto` uses the times of earlier executions.
///
/// Not all policies of [`taper`](crate::taper) are schedules here. CYCLIC and RANDOM distribute iterations among processors that do
/// not share a counter. The chunk of SSO, which is `Dynamic` with a number of iterations, follows from times that are known in
/// advance, and those `Auto` uses better. DISTANCE and EVENSTART require workers that start together; here they join when they are
/// free. The command `tautline loops` compares all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// TAPER, at most factoring's chunk; from the second execution on, chunks of equal predicted work.
    #[default]
    Auto,
    /// One chunk for each worker.
    Static,
    /// Chunks of a constant number of iterations; 0 counts as 1.
    Dynamic(usize),
    /// Guided self-scheduling: ⌈R/p⌉ of R remaining iterations.
    Guided,
    /// Factoring: ⌈R/2p⌉ for p chunks.
    Factoring,
    /// Trapezoid self-scheduling: from ⌈N/2p⌉ linearly down to 1.
    Trapezoid,
    /// TAPER with these parameters, and with the variation that this execution measures.
    Taper(Taper),
}

impl Schedule {
    /// Returns the policy for a loop of `len` iterations on `parts` workers.
    pub(super) fn policy(self, len: usize, parts: usize) -> Policy {
        match self {
            Self::Auto => Policy::Taper(Taper::default()),
            Self::Static => Policy::Fixed(len.div_ceil(parts) as u64),
            Self::Dynamic(chunk) => Policy::Fixed(chunk as u64),
            Self::Guided => Policy::Guided,
            Self::Factoring => Policy::Factoring,
            Self::Trapezoid => Policy::Trapezoid,
            Self::Taper(taper) => Policy::Taper(taper),
        }
    }

    /// Returns whether the schedule uses the times of earlier executions.
    pub(super) fn is_cached(self) -> bool {
        self == Self::Auto
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Static => "static",
            Self::Dynamic(_) => "dynamic",
            Self::Guided => "guided",
            Self::Factoring => "factoring",
            Self::Trapezoid => "trapezoid",
            Self::Taper(_) => "taper",
        }
    }
}

/// How a loop is to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings<'r> {
    pub(super) schedule: Schedule,
    pub(super) name: Option<&'static str>,
    /// Where to report how it ran.
    pub(super) report: Option<&'r Cell<Option<Report>>>,
    site: &'static Location<'static>,
    /// The number of this loop among those of one call.
    pass: u8,
}

impl Settings<'_> {
    /// Returns the default settings of a loop at the caller's call site.
    #[track_caller]
    pub(super) fn here() -> Self {
        Self {
            schedule: Schedule::Auto,
            name: None,
            report: None,
            site: Location::caller(),
            pass: 1,
        }
    }

    /// Returns the same settings for another loop of the same call.
    pub(super) fn pass(self, pass: u8) -> Self {
        Self { pass, ..self }
    }

    /// Identifies the loop in the program, by its call site and its name. Two loops with one number only predict worse. The texts
    /// count, not their addresses: a compiler copies a constant to wherever the call is inlined.
    pub(super) fn id(&self) -> usize {
        let (line, column) = (self.site.line(), self.site.column());
        let place = u64::from(line) << 32 | u64::from(column) << 8 | u64::from(self.pass);
        let site = mix(hash(self.site.file()), place);
        let id = self.name.map_or(site, |name| mix(site, hash(name)));
        (id ^ id >> 32) as usize
    }
}

/// Returns a hash of a text, eight bytes at a time.
#[inline]
fn hash(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_ne_bytes(*word));
    let rest = rest
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte));
    mix(words.fold(text.len() as u64, mix), rest)
}

/// Returns a hash of a word after others with the hash `hash`, as FxHash.
#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// How a loop ran; displayed as one line.
///
/// The mean and the variation are those of blocks of [`Report::block`] iterations, in this execution as far as it measured, and
/// otherwise in earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The name of the loop.
    pub name: Option<&'static str>,
    /// The schedule.
    pub schedule: Schedule,
    /// The number of chunks.
    pub chunks: usize,
    /// Iterations of a block; 0 if that was not determined.
    pub block: usize,
    /// The mean and variation of the times of blocks.
    pub estimate: Estimate,
    /// The class, once two executions were measured.
    pub class: Option<Class>,
    /// Whether earlier executions determined the chunks.
    pub is_cached: bool,
}

impl Report {
    /// Returns the mean time of an iteration in nanoseconds; 0 if it is not known.
    pub fn mean_ns(&self) -> Q16 {
        Q16::from_bits(self.estimate.mean_ns.to_bits() / self.block.max(1) as u64)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.class {
            Some(Class::Regular) => "regular",
            Some(Class::Coherent) => "coherent",
            Some(Class::Chaotic) => "chaotic",
            None => "not classified",
        };
        let cache = if self.is_cached {
            "cached"
        } else {
            "not cached"
        };
        let (name, schedule) = (self.name.unwrap_or("loop"), self.schedule.name());
        let (chunks, mean, cv) = (self.chunks, self.mean_ns(), self.estimate.cv);
        write!(
            f,
            "{name}: {schedule}, {chunks} chunks, mean {mean} ns, cv {cv}, {class}, {cache}"
        )
    }
}
