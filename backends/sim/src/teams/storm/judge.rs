//! Whether finishes have ended once, not early, and with all activities.

use std::collections::BTreeMap;
use tautline_core::finish::FinishId;

/// The facts at one rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    activities: BTreeMap<FinishId, Sums>,
    /// Finishes whose home is here, and when they ended.
    pub(super) done: Vec<(FinishId, u64)>,
    /// The times at which the finish of all ranks ended here.
    pub(super) over: Vec<u64>,
}

/// The activities of a finish: their numbers and the sums of these.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    spawned: (u64, u64),
    ended: (u64, u64),
    /// The time at which the last one ended.
    last_ns: u64,
}

/// The facts of all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) activities: u64,
    pub(super) finishes: u64,
    pub(super) last_ns: u64,
    /// The time at which the finish of all ranks ended at its home.
    pub(super) known_ns: u64,
    /// And at the last rank.
    pub(super) over_ns: u64,
}

fn add((count, sum): &mut (u64, u64), (more, number): (u64, u64)) {
    *count += more;
    *sum = sum.wrapping_add(number);
}

impl Account {
    pub(super) fn spawned(&mut self, finish: FinishId, number: u64) {
        let sums = self.activities.entry(finish).or_default();
        add(&mut sums.spawned, (1, number));
    }

    pub(super) fn ended(&mut self, finish: FinishId, number: u64, now: u64) {
        let sums = self.activities.entry(finish).or_default();
        add(&mut sums.ended, (1, number));
        sums.last_ns = now;
    }
}

/// Judges the accounts of all ranks.
pub(super) fn judge<'a>(
    accounts: impl Iterator<Item = &'a Account> + Clone,
) -> Result<Total, String> {
    let (mut all, mut done) = (BTreeMap::<_, Sums>::new(), BTreeMap::new());
    let mut total = Total::default();
    for (rank, account) in accounts.enumerate() {
        for (&finish, sums) in &account.activities {
            let of_all = all.entry(finish).or_default();
            add(&mut of_all.spawned, sums.spawned);
            add(&mut of_all.ended, sums.ended);
            of_all.last_ns = of_all.last_ns.max(sums.last_ns);
        }
        for &(finish, at) in &account.done {
            if done.insert(finish, at).is_some() {
                return Err(format!("{finish} ends twice"));
            }
        }
        let [over] = account.over[..] else {
            let times = account.over.len();
            return Err(format!("the end reaches rank {rank} {times} times"));
        };
        total.over_ns = total.over_ns.max(over);
    }
    for (finish, sums) in &all {
        let Some(&at) = done.get(finish) else {
            return Err(format!("{finish} does not end"));
        };
        if sums.spawned != sums.ended {
            return Err(format!("{finish} ends with other activities: {sums:?}"));
        }
        if at < sums.last_ns {
            return Err(format!("{finish} ends early, at {at}: {sums:?}"));
        }
        total.activities += sums.ended.0;
        total.last_ns = total.last_ns.max(sums.last_ns);
        total.known_ns = total.known_ns.max(at);
    }
    total.finishes = done.len() as u64;
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_core::PlaceId;

    const ALL: FinishId = FinishId {
        root: PlaceId(0),
        number: 0,
    };

    /// Two ranks: an activity of the first runs at the second.
    fn accounts() -> [Account; 2] {
        let mut accounts = [Account::default(), Account::default()];
        accounts[0].spawned(ALL, 7);
        accounts[0].spawned(ALL, 9);
        accounts[0].ended(ALL, 7, 10);
        accounts[1].ended(ALL, 9, 30);
        accounts[0].done.push((ALL, 35));
        accounts[0].over.push(35);
        accounts[1].over.push(40);
        accounts
    }

    fn judged(change: impl Fn(&mut [Account; 2])) -> Result<Total, String> {
        let mut accounts = accounts();
        change(&mut accounts);
        judge(accounts.iter())
    }

    #[test]
    fn an_end_after_all_activities_is_right() {
        let total = Total {
            activities: 2,
            finishes: 1,
            last_ns: 30,
            known_ns: 35,
            over_ns: 40,
        };
        assert_eq!(judged(|_| ()), Ok(total));
    }

    #[test]
    fn wrong_ends_are_found() {
        let why = |change: fn(&mut [Account; 2])| judged(change).unwrap_err();
        let early = why(|accounts| accounts[0].done[0].1 = 29);
        assert!(early.contains("ends early, at 29"), "{early}");
        let twice = why(|accounts| accounts[0].done.push((ALL, 50)));
        assert!(twice.contains("ends twice"), "{twice}");
        let never = why(|accounts| accounts[0].done.clear());
        assert!(never.contains("does not end"), "{never}");
        let silent = why(|accounts| accounts[1].over.clear());
        assert_eq!(silent, "the end reaches rank 1 0 times");
        let other = why(|accounts| {
            accounts[1] = Account::default();
            accounts[1].over.push(40);
            accounts[1].ended(ALL, 8, 30);
        });
        assert!(other.contains("with other activities"), "{other}");
    }
}
