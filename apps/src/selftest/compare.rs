//! The comparison of what ranks have recorded with what must happen.

use super::expected::{Events, Expected};
use super::log::{Recorded, Time, is_comparable};
use super::program::Failure;
use std::collections::BTreeMap;

/// Returns the first promise that is broken, as a line, or the number of events whose times were
/// compared with the return of their finish.
pub(super) fn compare(all: &[Recorded], expected: &Expected) -> Result<u64, String> {
    for (rank, recorded) in all.iter().enumerate() {
        if let Some(line) = recorded.broken.first() {
            return Err(format!("rank {rank}: {line}"));
        }
    }
    events(all, expected)?;
    ends(all, expected)?;
    calls(all, expected)?;
    order(all)
}

/// Each certain event has happened once, others at most once.
fn events(all: &[Recorded], expected: &Expected) -> Result<(), String> {
    let mut found = Events::new();
    for (rank, recorded) in (0..).zip(all) {
        for (event, _) in &recorded.events {
            *found.entry((*event, rank)).or_default() += 1;
        }
    }
    for event in expected.certain.keys().chain(found.keys()) {
        let of = |events: &Events| events.get(event).copied().unwrap_or(0);
        let (certain, found) = (of(&expected.certain), of(&found));
        let most = certain + of(&expected.possible);
        if !(certain..=most).contains(&found) {
            let (event, rank) = event;
            let (number, finish) = (event.number, event.finish);
            return Err(format!(
                "event {number:x} of finish {finish:x} has happened {found} times at rank {rank}, \
                 expected {certain} to {most}"
            ));
        }
    }
    Ok(())
}

/// Each finish has ended as it must, where it is waited for.
fn ends(all: &[Recorded], expected: &Expected) -> Result<(), String> {
    let of = |(rank, recorded): (u32, &Recorded)| {
        let ends = recorded.ends.iter();
        let ends = ends.map(move |(finish, _, failure)| ((*finish, rank), *failure));
        ends.collect::<Vec<_>>()
    };
    let found: BTreeMap<_, Option<Failure>> = (0..).zip(all).flat_map(of).collect();
    for ((finish, rank), failure) in &expected.ends {
        match found.get(&(*finish, *rank)) {
            Some(ended) if ended == failure => {}
            Some(ended) => {
                return Err(format!(
                    "finish {finish:x} has ended with {ended:?} at rank {rank}, expected {failure:?}"
                ));
            }
            None => return Err(format!("finish {finish:x} has not returned at rank {rank}")),
        }
    }
    Ok(())
}

/// No event happens after its finish has returned, anywhere. Returns the number of comparisons.
fn order(all: &[Recorded]) -> Result<u64, String> {
    let mut compared = 0;
    let mut ends = BTreeMap::<u64, Vec<(usize, Time)>>::new();
    for (rank, recorded) in all.iter().enumerate() {
        for (finish, time, _) in &recorded.ends {
            ends.entry(*finish).or_default().push((rank, *time));
        }
    }
    for (rank, recorded) in all.iter().enumerate() {
        for (event, time) in &recorded.events {
            for (other, end) in ends.get(&event.finish).into_iter().flatten() {
                if !is_comparable(recorded, &all[*other]) {
                    continue;
                }
                compared += 1;
                if end < time {
                    let (number, finish) = (event.number, event.finish);
                    return Err(format!(
                        "event {number:x} at rank {rank} is {} ns later than the return of its \
                         finish {finish:x} at rank {other}",
                        time - end
                    ));
                }
            }
        }
    }
    Ok(compared)
}

/// Calls have their values, and no rank has returned from one before all had entered it.
fn calls(all: &[Recorded], expected: &Expected) -> Result<(), String> {
    let of = |rank: u32, number: u64| {
        let mut calls = all[rank as usize].calls.iter();
        calls.find(|(found, ..)| *found == number)
    };
    for (number, (ranks, value)) in &expected.calls {
        for rank in ranks {
            let Some((_, [_, returned], found)) = of(*rank, *number) else {
                return Err(format!("call {number:x} has not returned at rank {rank}"));
            };
            if found != value {
                return Err(format!(
                    "call {number:x} has the value {found:x} at rank {rank}, expected {value:x}"
                ));
            }
            for other in ranks {
                let entered = of(*other, *number).map_or(0, |(_, [entered, _], _)| *entered);
                let is_comparable = is_comparable(&all[*rank as usize], &all[*other as usize]);
                if *returned < entered && is_comparable {
                    return Err(format!(
                        "call {number:x} has returned at rank {rank} before rank {other} has \
                         entered it"
                    ));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::program::Program;
    use super::*;

    /// Returns records that are as they must be, and what must happen, of a program that has
    /// everything.
    fn recorded() -> ([Recorded; 2], Expected) {
        let mut programs = (0..).map(|seed| Expected::of(&Program::new(seed, 3), 2));
        let has_all = |it: &Expected| {
            let has = |failure: &Option<Failure>| it.ends.values().any(|end| end == failure);
            let ends = |finish, rank| it.ends.contains_key(&(finish, rank));
            let is_of_all = |finish| ends(finish, 0) && ends(finish, 1);
            let mut events = it.certain.keys();
            has(&None)
                && has(&Some(Failure::Panic))
                && it.calls.values().any(|(_, value)| *value > 0)
                && it.possible.len() > 2
                && events.any(|(event, rank)| *rank == 0 && is_of_all(event.finish))
        };
        let expected = programs.find(has_all).expect("one of all");
        let machine = Some("here".to_owned());
        let mut all = [(); 2].map(|()| Recorded {
            machine: machine.clone(),
            ..Recorded::default()
        });
        for ((event, rank), count) in &expected.certain {
            let events = &mut all[*rank as usize].events;
            events.extend((0..*count).map(|_| (*event, 10)));
        }
        for ((finish, rank), failure) in &expected.ends {
            all[*rank as usize].ends.push((*finish, 20, *failure));
        }
        for (number, (ranks, value)) in &expected.calls {
            for rank in ranks {
                let calls = &mut all[*rank as usize].calls;
                calls.push((*number, [5, 30], *value));
            }
        }
        (all, expected)
    }

    /// Asserts that the comparison finds what `spoil` does, and returns its line.
    fn line(spoil: impl FnOnce(&mut [Recorded; 2])) -> String {
        let (mut all, expected) = recorded();
        compare(&all, &expected).expect("as they must be");
        spoil(&mut all);
        compare(&all, &expected).expect_err("a broken promise")
    }

    /// Returns the position of an event at rank 0 in a finish that ends there.
    fn inner(all: &[Recorded; 2]) -> usize {
        let ends = |finish| all[0].ends.iter().any(|(end, ..)| *end == finish);
        let mut events = all[0].events.iter();
        let inner = events.position(|(event, _)| ends(event.finish));
        inner.expect("an event in a finish")
    }

    type Spoil = fn(&mut [Recorded; 2]);

    #[test]
    fn each_broken_promise_is_found() {
        let cases: [(Spoil, &str); 10] = [
            (
                |all| _ = all[0].events.pop(),
                "has happened 0 times at rank 0, expected 1 to 1",
            ),
            (
                |all| {
                    let first = all[0].events[0];
                    all[0].events.push(first);
                },
                "has happened 2 times",
            ),
            (
                |all| {
                    let moved = all[0].events.pop().expect("an event");
                    all[1].events.push(moved);
                },
                "times at rank",
            ),
            (
                |all| {
                    let at = inner(all);
                    all[0].events[at].1 = 21;
                },
                "is 1 ns later than the return of its finish",
            ),
            (
                |all| {
                    let ends = all[0].ends.iter_mut();
                    let mut complete = ends.filter(|(.., end)| end.is_none());
                    complete.next().expect("a complete one").2 = Some(Failure::Cancel);
                },
                "has ended with Some(Cancel) at rank 0, expected None",
            ),
            (|all| _ = all[1].ends.pop(), "has not returned at rank 1"),
            (|all| all[1].calls[0].2 += 1, "has the value"),
            (|all| _ = all[1].calls.pop(), "has not returned at rank 1"),
            (
                |all| {
                    let number = all[1].calls[0].0;
                    let of = all[0].calls.iter_mut().find(|(of, ..)| *of == number);
                    of.expect("a call of both").1 = [0, 4];
                },
                "before rank 1 has entered it",
            ),
            (|all| all[1].broken.push("x".into()), "rank 1: x"),
        ];
        for (spoil, found) in cases {
            let line = line(spoil);
            assert!(line.contains(found), "{line}, expected {found}");
        }
    }

    #[test]
    fn times_of_several_machines_are_not_compared() {
        let (mut all, expected) = recorded();
        for (_, time) in &mut all[0].events {
            *time = 15;
        }
        for (_, time, _) in &mut all[1].ends {
            *time = 12;
        }
        assert!(compare(&all, &expected).is_err());
        all[1].machine = Some("there".to_owned());
        compare(&all, &expected).expect("other clocks");
        all[1].machine = None;
        compare(&all, &expected).expect("a clock that was set");
    }
}
