//! Settings of a loop, and the report of its execution.

use super::progress::Listener;
use crate::taper::{Class, Estimate, Policy, Q16, Taper};
use core::cell::Cell;
use core::fmt;
use core::panic::Location;

/// The policy by which a loop divides its iterations among the workers.
///
/// All but `Auto` and `Taper` are functions of the counts alone, and only `Auto` uses the times of
/// earlier executions.
///
/// Not all policies of [`taper`](crate::taper) are schedules here. CYCLIC and RANDOM distribute
/// iterations among processors that do not share a counter. The chunk of SSO, which is `Dynamic`
/// with a number of iterations, follows from times that are known in advance, and those `Auto` uses
/// better. DISTANCE and EVENSTART require workers that start together; here they join when they are
/// free. The command `tautline loops` compares all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// TAPER, at most factoring's chunk; from the second execution on, chunks of equal predicted
    /// work.
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

/// The settings of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings<'r> {
    pub(super) schedule: Schedule,
    pub(super) name: Option<&'static str>,
    /// The recipient of its report.
    pub(super) report: Option<&'r Cell<Option<Report>>>,
    /// The listener to its progress.
    pub(super) listener: Option<Listener<'r>>,
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
            listener: None,
            site: Location::caller(),
            pass: 1,
        }
    }

    /// Returns the same settings for another loop of the same call.
    pub(super) fn pass(self, pass: u8) -> Self {
        Self { pass, ..self }
    }

    /// Identifies the loop in the program, by its call site and its name. Two loops with one number
    /// only predict worse. The texts count, not their addresses: a compiler copies a constant to
    /// wherever the call is inlined.
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

/// The report of an execution of a loop; displayed as one line.
///
/// The mean and the variation are those of blocks of [`Report::block`] iterations, in this
/// execution as far as it measured, and otherwise in earlier ones.
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
    /// The mean and variation of the times of blocks, if any were timed, now or in an earlier
    /// execution.
    pub estimate: Option<Estimate>,
    /// The class, once two executions were measured.
    pub class: Option<Class>,
    /// Whether earlier executions determined the chunks.
    pub is_cached: bool,
}

impl Report {
    /// Returns the mean time of an iteration in nanoseconds; 0 if it is not known.
    pub fn mean_ns(&self) -> Q16 {
        let mean = self.estimate.map_or(Q16::ZERO, |known| known.mean_ns);
        Q16::from_bits(mean.to_bits() / self.block.max(1) as u64)
    }

    /// Returns an estimate unless it is what is assumed before any block is timed.
    pub(super) fn measured(estimate: Estimate) -> Option<Estimate> {
        (estimate.mean_ns > Q16::ZERO).then_some(estimate)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, schedule) = (self.name.unwrap_or("loop"), self.schedule.name());
        let plural = if self.chunks == 1 { "" } else { "s" };
        write!(f, "{name}: {schedule}, {} chunk{plural}", self.chunks)?;
        match self.estimate {
            Some(Estimate { cv, .. }) => {
                let mean = Time(real(self.mean_ns()));
                let percent = 100.0 * real(cv);
                write!(f, ", {mean} an iteration, blocks vary by {percent:.0} %")?;
            }
            None => f.write_str(", not timed")?,
        }
        f.write_str(match self.class {
            Some(Class::Regular) => ", regular",
            Some(Class::Coherent) => ", coherent",
            Some(Class::Chaotic) => ", chaotic",
            None => "",
        })?;
        f.write_str(match self.is_cached {
            true => ", divided by earlier times",
            false => "",
        })
    }
}

fn real(number: Q16) -> f64 {
    number.to_bits() as f64 / Q16::whole(1).to_bits() as f64
}

/// Nanoseconds, displayed with three digits in the unit that suits them.
struct Time(f64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is rounded up to a thousand has the next unit.
        let (value, unit) = match self.0 {
            ns if ns < 999.5 => (ns, "ns"),
            ns if ns < 999.5e3 => (ns / 1e3, "µs"),
            ns if ns < 999.5e6 => (ns / 1e6, "ms"),
            ns => (ns / 1e9, "s"),
        };
        let digits = match value {
            small if small < 9.995 => 2,
            medium if medium < 99.95 => 1,
            _ => 0,
        };
        write!(f, "{value:.digits$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (ns, expected) in [
            (0.3, "0.30 ns"),
            (9.996, "10.0 ns"),
            (103.4, "103 ns"),
            (999.7, "1.00 µs"),
            (7_340_449.6, "7.34 ms"),
            (999_700_000.0, "1.00 s"),
            (12_345e9, "12345 s"),
        ] {
            assert_eq!(Time(ns).to_string(), expected);
        }
    }

    #[test]
    fn a_report_states_what_was_measured() {
        let mut report = Report {
            name: Some("pairs"),
            schedule: Schedule::Auto,
            chunks: 1,
            block: 0,
            estimate: Report::measured(Estimate::START),
            class: None,
            is_cached: false,
        };
        assert_eq!(report.to_string(), "pairs: auto, 1 chunk, not timed");
        report = Report {
            chunks: 308,
            block: 2,
            estimate: Some(Estimate {
                mean_ns: Q16::whole(14_680_900),
                cv: Q16::from_bits(Q16::whole(1).to_bits() / 4),
            }),
            class: Some(Class::Coherent),
            is_cached: true,
            ..report
        };
        assert_eq!(
            report.to_string(),
            "pairs: auto, 308 chunks, 7.34 ms an iteration, blocks vary by 25 %, coherent, divided by earlier times"
        );
    }
}
