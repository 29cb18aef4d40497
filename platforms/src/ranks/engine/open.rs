//! Calls over ranks that have not ended, for reports.

use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};
use tautline_core::Rank;
use tautline_core::group::{Group, GroupId};
use tautline_core::service::OpenOperation;
use tautline_core::watch::Outstanding;

/// The members of a group that are listed; of larger groups, their number is shown.
const LISTED: u32 = 8;

/// A call over ranks that has not ended at this one: a call or a finish of a
/// [team](crate::team::Team), a phase of its phaser, of [tasks](crate::team::Team::phaser) or of
/// [threads](crate::team::Team::phaser_for_threads), or a collective call of a communicator or a
/// world. A phase is open while the tasks or threads of this rank have signalled it, and those of
/// another one have not. Displayed as one line: the call, its ranks, and what it waits
/// for.
pub struct OpenCall {
    here: Rank,
    operation: OpenOperation,
    outstanding: Vec<Outstanding>,
    since: Instant,
}

impl OpenCall {
    /// Returns `None` if it waits for nothing more.
    pub(super) fn new(here: Rank, mut operation: OpenOperation, since: Instant) -> Option<Self> {
        let outstanding = operation.outstanding()?;
        Some(Self {
            here,
            operation,
            outstanding,
            since,
        })
    }

    /// Returns the kind of the call, such as `barrier`, `finish` or `phase`.
    pub fn kind(&self) -> &'static str {
        self.operation.kind.name()
    }

    /// Returns the place of the call in the program; of a phase, that of the call that has made
    /// the phaser.
    pub fn site(&self) -> &'static Location<'static> {
        self.operation.site
    }

    /// Returns for how long it has been open, since it was first noticed: within some 50 ms.
    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Returns the ranks of the program that have not made the call, as far as this one knows: it
    /// hears of up to 32 ranks, or else of those next to it in a tree, once it has waited for some
    /// time.
    pub fn absent(&self) -> &[Rank] {
        &self.operation.absent
    }

    /// Returns the ranks of the program with activities that a finish, or scopes of this rank in
    /// it, wait for, ascending, with the number of activities. Those of the finish itself are
    /// known at rank 0 of the team, and change when ranks report.
    pub fn activities(&self) -> Vec<(Rank, u64)> {
        let counts = self.outstanding.iter().filter_map(|it| match it {
            Outstanding::Activities(_, counts) => Some(counts),
            _ => None,
        });
        let mut sums: Vec<(Rank, u64)> = Vec::new();
        for &(rank, count) in counts.flatten() {
            let rank = self.operation.group.member(rank);
            match sums.binary_search_by_key(&rank, |sum| sum.0) {
                Ok(at) => sums[at].1 = sums[at].1.saturating_add(count),
                Err(at) => sums.insert(at, (rank, count)),
            }
        }
        sums
    }

    /// Returns what it waits for, a text each.
    fn waits(&self) -> Vec<String> {
        let OpenOperation {
            group,
            absent,
            begun,
            ..
        } = &self.operation;
        let has = |ranks: &[Rank]| if ranks.len() == 1 { "has" } else { "have" };
        let mut waits = Vec::new();
        if !absent.is_empty() {
            waits.push(format!("{} {} not begun it", list(absent), has(absent)));
        }
        if !begun.is_empty() && (!absent.is_empty() || self.outstanding.is_empty()) {
            waits.push(match absent.is_empty() {
                true => format!("{} {} begun it", list(begun), has(begun)),
                false => format!("{} {}", list(begun), has(begun)),
            });
        }
        waits.extend(self.outstanding.iter().map(|it| wait(group, it)));
        if waits.is_empty() {
            waits.push("no rank has answered yet".to_owned());
        }
        waits
    }

    pub(super) fn id(&self) -> (GroupId, u64) {
        self.operation.id
    }

    /// Returns the line without the time, by which a report is recognised.
    pub(super) fn text(&self) -> String {
        let OpenOperation { name, site, .. } = &self.operation;
        format!("{name} at {site}: {}", self.waits().join("; "))
    }
}

/// Accesses of this rank to a [shared object](crate::globals), or reads of keys of a
/// [space](crate::space), that wait for other ranks. Displayed as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAccess {
    pub(crate) here: Rank,
    pub(crate) object: String,
    pub(crate) accesses: usize,
    pub(crate) ranks: Vec<Rank>,
}

impl OpenAccess {
    /// Returns the number of accesses.
    pub fn accesses(&self) -> usize {
        self.accesses
    }

    /// Returns the ranks that they wait for: the home, or at the home those that have copies, and
    /// those that are served before.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }
}

impl fmt::Display for OpenAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            here,
            object,
            accesses,
            ranks,
        } = self;
        let (noun, verb) = match accesses {
            1 => ("access", "waits"),
            _ => ("accesses", "wait"),
        };
        write!(
            f,
            "{here}: {accesses} {noun} to {object} {verb} for {}",
            list(ranks)
        )
    }
}

/// The shared objects of a set, or a space, for reports.
pub(crate) trait Objects: Send + Sync {
    fn open_accesses(&self) -> Vec<OpenAccess>;
}

impl fmt::Debug for OpenCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for OpenCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenOperation {
            name, site, group, ..
        } = &self.operation;
        let (here, elapsed) = (self.here, self.elapsed());
        write!(f, "{here}: {name} at {site}, of {}, ", members(group))?;
        write!(f, "open for {elapsed:.1?}: {}", self.waits().join("; "))
    }
}

/// Returns the ranks of a group in words.
fn members(group: &Group) -> String {
    match group.ranks() {
        ranks @ 0..=LISTED => list(&Vec::from_iter((0..ranks).map(|r| group.member(Rank(r))))),
        ranks => format!("{ranks} ranks"),
    }
}

fn list(ranks: &[Rank]) -> String {
    let names: Vec<_> = ranks.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// Returns in words what a call of `group` waits for.
fn wait(group: &Group, it: &Outstanding) -> String {
    let plural = |count: u64, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {more}"),
    };
    match it {
        Outstanding::Activities(site, counts) => {
            let count = |&(rank, count): &(Rank, u64)| match (group.member(rank), count) {
                (rank, 0) => format!("the report of {rank}"),
                (rank, _) => format!("{} at {rank}", plural(count, "activity", "activities")),
            };
            let counts: Vec<_> = counts.iter().map(count).collect();
            let what = match counts.is_empty() {
                true => "reports in flight".to_owned(),
                false => counts.join(", "),
            };
            match site {
                None => format!("it waits for {what}"),
                Some(site) => {
                    format!("the scope that first spawned elsewhere at {site} waits for {what}")
                }
            }
        }
        Outstanding::Results(count) => {
            let results = plural(*count as u64, "call", "calls");
            format!("{results} at other ranks without a result yet")
        }
        Outstanding::Room(tasks, ranks) => {
            let tasks = plural(*tasks as u64, "task waits", "tasks wait");
            let ranks: Vec<_> = ranks.iter().map(|rank| group.member(*rank)).collect();
            format!("{tasks} for room on the way to {}", list(&ranks))
        }
        Outstanding::End(rank) => {
            let rank = group.member(*rank);
            format!("it waits for {rank}, which counts the activities")
        }
    }
}
