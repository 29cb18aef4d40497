//! The parts of a computation: until all places have work, until the first has none left, and the
//! rest.

use tautline_core::PlaceId;

/// The number of intervals into which a run is divided.
const INTERVALS: usize = 1 << 12;

/// The parts of a computation, and the workers' time that is lost in each.
///
/// The start ends when every place has begun its first task, which is the end of the run if a place
/// never does. The end begins when the first place has done its last task, and not before the start
/// ends. The middle is what remains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phases {
    /// The duration of the start, in nanoseconds.
    pub start_ns: u64,
    /// The duration of the end, in nanoseconds.
    pub end_ns: u64,
    /// The number of places that did no task.
    pub workless: u32,
    /// The time in which workers did no task, as a share of all workers' time: in the start, the
    /// middle and the end. With the efficiency, these add up to 1.
    pub lost: [f64; 3],
}

/// The times at which places worked.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// The duration of an interval.
    width: u64,
    /// The duration of the tasks done in each interval, by all workers.
    intervals: Vec<u64>,
    /// The end of the last task.
    end: u64,
    /// By place: when its first task began and its last one ended.
    worked: Vec<Option<(u64, u64)>>,
}

impl Profile {
    pub(super) fn new(places: u32) -> Self {
        Self {
            width: 1,
            intervals: vec![0; INTERVALS],
            end: 0,
            worked: vec![None; places as usize],
        }
    }

    /// Adds tasks that a worker of `place` begins at `from` and that take `ns`.
    pub(super) fn add(&mut self, place: PlaceId, from: u64, ns: u64) {
        let to = from.saturating_add(ns);
        let worked = &mut self.worked[place.index()];
        let (first, last) = worked.unwrap_or((from, to));
        *worked = Some((first.min(from), last.max(to)));
        self.end = self.end.max(to);
        while to.div_ceil(self.width) > INTERVALS as u64 {
            self.widen();
        }
        let mut at = from;
        while at < to {
            let here = (to - at).min(self.width - at % self.width);
            let interval = &mut self.intervals[(at / self.width) as usize];
            *interval = interval.saturating_add(here);
            at += here;
        }
    }

    fn widen(&mut self) {
        for pair in 0..INTERVALS / 2 {
            let [early, late] = [0, 1].map(|i| self.intervals[2 * pair + i]);
            self.intervals[pair] = early.saturating_add(late);
        }
        self.intervals[INTERVALS / 2..].fill(0);
        self.width *= 2;
    }

    /// Returns the duration of the tasks done until `ns`, as if they were evenly distributed within
    /// an interval.
    fn work_until(&self, ns: u64) -> f64 {
        let whole = (ns / self.width).min(INTERVALS as u64) as usize;
        let before: f64 = self.intervals[..whole].iter().map(|&ns| ns as f64).sum();
        let begins = (whole as u64).saturating_mul(self.width);
        let filled = self.width.min(self.end.saturating_sub(begins)).max(1);
        let share = (ns.saturating_sub(begins) as f64 / filled as f64).min(1.0);
        before + share * self.intervals.get(whole).copied().unwrap_or(0) as f64
    }

    /// Returns the phases of a run that ended at `end`, of `workers` workers in all.
    pub(super) fn phases(&self, workers: f64, end: u64) -> Phases {
        let worked = || self.worked.iter().flatten();
        let workless = self.worked.len() - worked().count();
        let last_begins = worked().map(|&(first, _)| first).max();
        let start = match workless {
            0 => last_begins.unwrap_or(0).min(end),
            _ => end,
        };
        let first_dry = worked().map(|&(_, last)| last).min().unwrap_or(0);
        let dry = first_dry.clamp(start, end);
        let all = workers * end as f64;
        let lost = [(0, start), (start, dry), (dry, end)].map(|(from, to)| {
            let work = self.work_until(to) - self.work_until(from);
            let idle = workers * (to - from) as f64 - work;
            if all > 0.0 {
                (idle / all).max(0.0)
            } else {
                0.0
            }
        });
        Phases {
            start_ns: start,
            end_ns: end - dry,
            workless: workless as u32,
            lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lost_time_is_divided_where_the_last_place_begins_and_the_first_ends() {
        let mut profile = Profile::new(2);
        profile.add(PlaceId(0), 0, 60);
        profile.add(PlaceId(1), 20, 20);
        profile.add(PlaceId(1), 50, 50);
        let phases = profile.phases(2.0, 100);
        let expected = Phases {
            start_ns: 20,
            end_ns: 40,
            workless: 0,
            lost: [0.1, 0.05, 0.2],
        };
        assert_eq!(phases, expected);
    }

    /// Wider intervals keep the sums.
    #[test]
    fn long_runs_are_divided_more_coarsely() {
        let mut profile = Profile::new(2);
        for turn in 0..10_000 {
            profile.add(PlaceId(0), turn * 1_000, 1_000);
            profile.add(PlaceId(1), turn * 1_000, 500);
        }
        let phases = profile.phases(2.0, 10_000_000);
        let lost: f64 = phases.lost.iter().sum();
        assert!((lost - 0.25).abs() < 1e-9, "{phases:?}");
        assert!((phases.end_ns, phases.start_ns) == (500, 0), "{phases:?}");
    }

    #[test]
    fn a_place_without_work_makes_all_of_it_the_start() {
        let mut profile = Profile::new(3);
        profile.add(PlaceId(0), 0, 10);
        let phases = profile.phases(3.0, 10);
        assert_eq!(
            (phases.start_ns, phases.end_ns, phases.workless),
            (10, 0, 2)
        );
        assert!((phases.lost[0] - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(Profile::new(1).phases(1.0, 0).lost, [0.0; 3]);
    }
}
