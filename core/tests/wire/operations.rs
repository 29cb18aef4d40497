//! Operations of groups over one channel: each gets its own messages, and ranks that differ learn
//! it.

use crate::net::{Net, Wire, errors, settle};
use std::panic::Location;
use std::sync::{Arc, Mutex};
use tautline_core::group::{Group, GroupId, Name};
use tautline_core::port::Spin;
use tautline_core::service::{Calls, Operation, Operations};
use tautline_core::wire::{Cause, Error, Exchange, Fault, Limits, Receiver, unpack};
use tautline_core::{PlaceId, Rank};

pub(crate) const TIGHT: Limits = Limits {
    body: 200,
    window: 1 << 20,
    early: 300,
    waiting: 1024,
};

/// The messages that an operation has received, by sender, and its end.
#[derive(Default)]
pub(crate) struct Log {
    got: Mutex<Vec<(u32, u32)>>,
    pub(crate) failed: Mutex<Option<Error>>,
    /// Whether it tolerates the loss of ranks.
    tolerates: bool,
}

impl Receiver for Log {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        self.got.lock().unwrap().push((from.0, unpack(body)?));
        Ok(())
    }

    fn fail(&self, error: &Error) {
        *self.failed.lock().unwrap() = Some(error.clone());
    }

    fn lost(&self, _: &Error) -> bool {
        self.tolerates
    }
}

impl Log {
    pub(crate) fn of(tolerates: bool) -> Arc<Self> {
        Arc::new(Self {
            tolerates,
            ..Self::default()
        })
    }

    pub(crate) fn got(&self) -> Vec<(u32, u32)> {
        self.got.lock().unwrap().clone()
    }
}

type Begun = (Operation<u32>, Arc<Log>);

#[track_caller]
fn begin(calls: &Calls, kind: &'static str) -> Begun {
    begin_at(Location::caller(), calls, kind)
}

fn begin_at(site: &'static Location<'static>, calls: &Calls, kind: &'static str) -> Begun {
    let log = Arc::new(Log::default());
    (calls.begin(site, kind, log.clone()), log)
}

/// The exchanges of some ranks, with their operations.
pub(crate) fn ranks(
    ranks: usize,
    limits: Limits,
) -> (Net, Vec<Exchange<Wire>>, Vec<Arc<Operations>>) {
    let (net, all) = Net::exchanges(ranks, limits);
    let operations = all.iter().map(|exchange| Operations::open(exchange, Spin));
    let operations = operations.collect();
    (net, all, operations)
}

pub(crate) fn groups(operations: &[Arc<Operations>]) -> Vec<Calls> {
    operations.iter().map(Operations::all).collect()
}

/// Lets time pass at all ranks until nothing moves.
pub(crate) fn wait(all: &[Exchange<Wire>]) {
    for _ in 0..5 {
        all.iter().for_each(Exchange::nudge);
        _ = settle(all);
    }
}

/// Two operations at once, and a third that one rank begins late, at all ranks.
#[test]
fn each_operation_gets_its_own_messages() {
    let (_, all, operations) = ranks(3, Limits::default());
    let groups = groups(&operations);
    let site = Location::caller();
    let mut begun: Vec<Vec<Begun>> = Vec::new();
    for number in 0..2 {
        let of_all = groups.iter().map(|calls| begin_at(site, calls, "sum"));
        begun.push(of_all.collect());
        for (from, to) in [(0, 1), (1, 0), (2, 0)] {
            begun[number][from].0.send(Rank(to), &(number as u32));
        }
    }
    let mut late: Vec<Begun> = groups[..2]
        .iter()
        .map(|g| begin_at(site, g, "late"))
        .collect();
    late[0].0.send(Rank(2), &7);
    late[1].0.send(Rank(2), &8);
    settle(&all).unwrap();
    for (number, of_all) in (0..).zip(&begun) {
        assert_eq!(of_all[0].0.number(), u64::from(number));
        let mut got = of_all[0].1.got();
        got.sort_unstable();
        assert_eq!(got, [(1, number), (2, number)]);
        assert_eq!(of_all[1].1.got(), [(0, number)]);
        assert_eq!(of_all[2].1.got(), []);
    }
    late.push(begin_at(site, &groups[2], "late"));
    assert_eq!(late[2].1.got(), [(0, 7), (1, 8)], "as it begins");
}

/// Ranks 0 and 2 have a group; rank 1 is in none of its calls, and rank 2 makes it late.
#[test]
fn some_ranks_have_operations_of_their_own() {
    let (_, all, operations) = ranks(3, Limits::default());
    let home = Rank(2);
    let name = Name { home, number: 5 };
    let group = |here| Group::of(Rank(here), [Rank(0), Rank(2)]).expect("a member");
    let site = Location::caller();
    let first = operations[0].of(name, group(0));
    let (at_0, log_0) = begin_at(site, &first, "pair");
    at_0.send(Rank(1), &3);
    settle(&all).unwrap();
    let last = operations[2].of(name, group(2));
    let (at_2, log_2) = begin_at(site, &last, "pair");
    assert_eq!(log_2.got(), [(0, 3)]);
    at_2.send(Rank(0), &4);
    settle(&all).unwrap();
    assert_eq!(log_0.got(), [(1, 4)]);
    assert_eq!(Group::of(Rank(1), [Rank(0), Rank(2)]), None);
}

/// All ranks learn both calls: where a message shows it, where no rank sends, and where the
/// messages differ.
#[test]
fn other_calls_are_an_error_that_names_both() {
    for sends in [true, false] {
        let (_, all, operations) = ranks(3, Limits::default());
        let groups = groups(&operations);
        let site = Location::caller();
        let same: Vec<_> = groups.iter().map(|g| begin_at(site, g, "same")).collect();
        let other = [
            begin_at(site, &groups[0], "left"),
            begin_at(site, &groups[1], "left"),
            begin(&groups[2], "right"),
        ];
        if sends {
            other[0].0.send(Rank(2), &1);
        }
        wait(&all);
        let lines = errors(&all)
            .into_iter()
            .map(|error| error.expect("each fails").to_string());
        for line in lines {
            for part in [
                "operation 1 (",
                "`left` at core/tests/wire/operations.rs:",
                "`right` at core/tests/wire/operations.rs:",
                "all ranks must begin the same operations in the same order",
            ] {
                assert!(line.contains(part), "{line}\nlacks {part}");
            }
        }
        assert!(other[2].1.got().is_empty(), "it is of another call");
        assert!(same[0].1.failed.lock().unwrap().is_some());
        // Those that begin later learn it, too.
        let (_, log) = begin(&groups[1], "later");
        assert!(log.failed.lock().unwrap().is_some());
    }
}

#[test]
fn other_types_are_an_error() {
    let (_, all, operations) = ranks(2, Limits::default());
    let groups = groups(&operations);
    let site = Location::caller();
    let words = groups[0].begin::<u32>(site, "same", Arc::new(Log::default()));
    let _bytes = groups[1].begin::<u8>(site, "same", Arc::new(Log::default()));
    words.send(Rank(1), &300);
    wait(&all);
    for error in errors(&all) {
        let line = error.expect("both fail").to_string();
        assert!(
            line.contains("messages: u32") && line.contains("messages: u8"),
            "{line}"
        );
    }
}

/// Of a rank that is ahead, little is kept; the rest waits there, and all arrives in order.
#[test]
fn a_rank_that_is_ahead_waits() {
    let (net, all, operations) = ranks(2, TIGHT);
    let groups = groups(&operations);
    let site = Location::caller();
    for i in 0..50 {
        let (ahead, _) = begin_at(site, &groups[0], "spread");
        ahead.send(Rank(1), &i);
        settle(&all).unwrap();
    }
    assert!(
        net.with(0, 1, |mail| mail.is_empty()),
        "rank 1 keeps what has arrived"
    );
    for i in 0..50 {
        let begun = begin_at(site, &groups[1], "spread");
        settle(&all).unwrap();
        assert_eq!(begun.1.got(), [(0, i)]);
    }
    // A rank that does not keep the bound.
    let net = Net::new(2);
    let faulty = Exchange::within(Limits::default(), net.link(0), Spin);
    let strict = Exchange::within(TIGHT, net.link(1), Spin);
    let ends = [&faulty, &strict].map(|exchange| Operations::open(exchange, Spin));
    let calls = ends[0].all();
    for i in 0..50 {
        begin_at(site, &calls, "spread").0.send(Rank(1), &i);
    }
    faulty.turn().unwrap();
    let line = strict.turn().unwrap_err().to_string();
    let rest = "at most 300 are kept for operations that have not begun here";
    assert!(
        line.contains("rank 0 sent ") && line.ends_with(rest),
        "{line}"
    );
}

/// The ranks that have not begun an operation are named, after a while, and when they leave without
/// it.
#[test]
fn absent_ranks_are_named() {
    let (_, all, operations) = ranks(3, Limits::default());
    let groups = groups(&operations);
    let site = Location::caller();
    let begun: Vec<_> = groups[..2]
        .iter()
        .map(|g| begin_at(site, g, "meet"))
        .collect();
    settle(&all).unwrap();
    assert_eq!(operations[0].absent(), None, "no time has passed");
    let open = operations[0].open_operations();
    assert_eq!(
        (open.len(), &open[0].absent[..], &open[0].begun[..]),
        (1, &[][..], &[][..])
    );
    wait(&all);
    for (here, operations) in operations[..2].iter().enumerate() {
        let line = operations
            .absent()
            .expect("rank 2 has not begun")
            .to_string();
        let other = Rank(1 - here as u32);
        let expected =
            format!("operation 0 (meet) at {site}: rank 2 has not begun it; {other} has");
        assert!(line.ends_with(&expected), "{line}");
        let [open] = &mut operations.open_operations()[..] else {
            panic!("one operation is open");
        };
        assert_eq!((open.kind.name(), open.site), ("meet", site));
        assert_eq!(
            (&open.absent[..], &open.begun[..]),
            (&[Rank(2)][..], &[other][..])
        );
        // That of a receiver that is no finish.
        assert_eq!(open.outstanding(), Some(Vec::new()));
        let mut names = vec![(GroupId::All(7), 7)];
        operations.open_names(&mut names);
        assert_eq!(names, [open.id]);
    }
    assert_eq!(operations[2].absent(), None);
    assert!(operations[2].open_operations().is_empty());
    operations[2].leave();
    while all[2].leave() == Ok(false) {
        _ = all[0].turn();
        _ = all[1].turn();
    }
    _ = settle(&all[..2]);
    let errors = errors(&all[..2]);
    let absent = errors
        .iter()
        .flatten()
        .filter(|e| matches!(e.cause, Cause::Absent { .. }));
    let lines: Vec<_> = absent.map(ToString::to_string).collect();
    let named = format!("(meet) at {site}: rank 2 has not begun it; rank ");
    assert!(lines.iter().any(|line| line.contains(&named)), "{errors:?}");
    assert!(
        begun
            .iter()
            .all(|(_, log)| log.failed.lock().unwrap().is_some())
    );
}

/// A rank that has made all calls may leave before the others have.
#[test]
fn a_rank_may_leave_first() {
    let (_, all, operations) = ranks(3, Limits::default());
    let groups = groups(&operations);
    let site = Location::caller();
    drop(begin_at(site, &groups[2], "spread"));
    operations[2].leave();
    while !all[2].leave().unwrap() {
        settle(&all[..2]).unwrap();
    }
    let begun: Vec<_> = groups[..2]
        .iter()
        .map(|g| begin_at(site, g, "spread"))
        .collect();
    begun[0].0.send(Rank(1), &9);
    wait(&all[..2]);
    assert_eq!(begun[1].1.got(), [(0, 9)]);
    assert_eq!(errors(&all[..2]), [None, None]);
}

/// A message that cannot be encoded is an error that names its type and the operation's rank.
#[test]
fn long_messages_are_an_error() {
    let (_, all, operations) = ranks(2, TIGHT);
    let groups = groups(&operations);
    let site = Location::caller();
    let begun = groups[0].begin::<Vec<u8>>(site, "long", Arc::new(Log::default()));
    begun.send(Rank(1), &vec![1; 201]);
    _ = settle(&all);
    let error = errors(&all).remove(0).expect("it fails");
    assert!(
        error
            .to_string()
            .contains("alloc::vec::Vec<u8> cannot be encoded"),
        "{error}"
    );
}

/// Messages of a begun operation do not wait for those that another rank may not keep yet.
#[test]
fn a_call_that_has_begun_waits_for_no_later_one() {
    let (_, all, operations) = ranks(2, TIGHT);
    let groups = groups(&operations);
    let site = Location::caller();
    let ahead: Vec<_> = (0..12).map(|_| begin_at(site, &groups[0], "any")).collect();
    let first = begin_at(site, &groups[1], "any");
    // From the last to the first but one, so that the last are those that are held back.
    for i in (1..12).rev() {
        ahead[i].0.send(Rank(1), &(i as u32));
    }
    settle(&all).unwrap();
    ahead[0].0.send(Rank(1), &0);
    settle(&all).unwrap();
    assert_eq!(first.1.got(), [(0, 0)]);
    assert!(!operations[0].is_sent());
    for i in 1..12 {
        let next = begin_at(site, &groups[1], "any");
        settle(&all).unwrap();
        assert_eq!(next.1.got(), [(0, i)]);
    }
    assert!(operations[0].is_sent());
}

/// A rank that has dropped its group, and then leaves, has made the calls that it has made.
#[test]
fn a_group_that_is_dropped_is_not_absent() {
    let (_, all, operations) = ranks(3, Limits::default());
    let mut groups = groups(&operations);
    let site = Location::caller();
    drop(begin_at(
        site,
        &groups.pop().expect("that of rank 2"),
        "spread",
    ));
    let begun: Vec<_> = groups.iter().map(|g| begin_at(site, g, "spread")).collect();
    operations[2].leave();
    while !all[2].leave().unwrap() {
        settle(&all[..2]).unwrap();
    }
    wait(&all[..2]);
    assert_eq!(errors(&all[..2]), [None, None]);
    drop(begun);
    // It has not made the next call, nor does it make another group.
    let _next = begin_at(site, &groups[0], "spread");
    wait(&all[..2]);
    let error = errors(&all[..2]).remove(0).expect("rank 2 has left");
    assert!(matches!(error.cause, Cause::Absent { .. }), "{error}");
}

/// A rank that makes a group after another one has left learns it with its first call.
#[test]
fn a_rank_that_has_left_is_absent_in_later_groups() {
    let (_, all, operations) = ranks(2, Limits::default());
    operations[1].leave();
    while !all[1].leave().unwrap() {
        settle(&all[..1]).unwrap();
    }
    let late = operations[0].all();
    let (_begun, log) = begin(&late, "meet");
    wait(&all[..1]);
    let error = errors(&all[..1]).remove(0).expect("rank 1 has left");
    assert!(matches!(error.cause, Cause::Absent { .. }), "{error}");
    assert!(log.failed.lock().unwrap().is_some());
}

/// Two calls at once, of which only the second one shows that the ranks differ in the first.
#[test]
fn an_earlier_call_that_differs_is_found() {
    let (_, all, operations) = ranks(2, Limits::default());
    let groups = groups(&operations);
    let site = Location::caller();
    let _first = [
        begin_at(site, &groups[0], "left"),
        begin_at(site, &groups[1], "right"),
    ];
    let second: Vec<_> = groups.iter().map(|g| begin_at(site, g, "same")).collect();
    second[0].0.send(Rank(1), &1);
    second[1].0.send(Rank(0), &1);
    wait(&all);
    let errors = errors(&all);
    let lines = errors.iter().flatten().map(ToString::to_string);
    let named = lines.filter(|line| line.contains("`left` at") && line.contains("`right` at"));
    assert_eq!(named.count(), 2, "{errors:?}");
}

/// A question's terms that are longer than a message may be do not end the channels.
#[test]
fn long_terms_are_not_shown() {
    type Long = [[[[Option<Result<(u32, u32), (u32, u32)>>; 1]; 1]; 1]; 1];
    type Longer = (Long, Long, Long, Long);
    let (_, all, operations) = ranks(2, TIGHT);
    let groups = groups(&operations);
    assert!(std::any::type_name::<Longer>().len() > TIGHT.body);
    let site = Location::caller();
    let _begun = groups[0].begin::<Longer>(site, "long", Arc::new(Log::default()));
    wait(&all);
    assert_eq!(errors(&all), [None, None]);
    let absent = operations[0].absent().expect("rank 1 has not begun");
    assert_eq!(absent.peer, Rank(1));
}
