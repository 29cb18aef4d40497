//! Messages that no rank sends, at random: refused, or taken without harm; never a panic of what
//! receives them.

use super::at::{At, Handlers, Region, batch_handler, handler};
use super::pump::{Group, failed, receive};
use super::record::{Arrival, Kind, Record, push_framed};
use super::site::{Mail, Site, Within};
use crate::execution::runtime::{Cx, Runtime};
use crate::ranks::engine::{AnyLink, ProgressEngine};
use crate::ranks::team::Team;
use std::cell::Cell;
use std::mem;
use std::panic::{self, AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use tautline_core::finish::{Combined, FinishId, Message, Outcome, Reason};
use tautline_core::port::{Bell, Link, Lost, Spin};
use tautline_core::wire::{self, Bulk, Cause, Fault, Limits, Receiver, pack};
use tautline_core::{PlaceId, Rank};

const RANKS: u32 = 4;

/// A link to ranks that take everything and send nothing.
pub(super) struct Deaf(pub(super) u32);

impl Link for Deaf {
    fn here(&self) -> Rank {
        Rank(self.0)
    }

    fn ranks(&self) -> u32 {
        RANKS
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(|| ())
    }

    fn send(&mut self, _: Rank, _: &[u8]) {}

    fn poll(&mut self, _: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        Ok(false)
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

/// Inputs by a seed, from one rank to another one.
struct Numbers {
    state: u64,
    here: u32,
    from: u32,
}

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % n as u64) as usize
    }

    fn is_rare(&mut self) -> bool {
        self.below(20) == 0
    }

    fn among<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A rank, rarely one outside of the team.
    fn place(&mut self) -> PlaceId {
        match self.is_rare() {
            true => PlaceId(self.among(&[RANKS, u32::MAX])),
            false => PlaceId(self.below(RANKS as usize) as u32),
        }
    }

    fn number(&mut self) -> u64 {
        match self.is_rare() {
            true => self.among(&[100, 1 << 40, u64::MAX]),
            false => self.below(4) as u64,
        }
    }

    fn finish(&mut self) -> FinishId {
        let root = match self.below(6) {
            0 => self.place(),
            1 | 2 => PlaceId(self.from),
            _ => PlaceId(self.here),
        };
        let number = self.number();
        FinishId { root, number }
    }

    fn outcome(&mut self) -> Outcome {
        let at = self.place();
        match self.below(4) {
            0 => Outcome::Lost {
                at,
                rank: Rank(self.place().0),
            },
            1 => Outcome::Panicked {
                at,
                message: "a text".into(),
            },
            _ => Outcome::Cancelled {
                at,
                reason: self.among(&Reason::ALL),
            },
        }
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1))
            .map(|_| self.among(&[0, 1, 2, 127, 128, 255, 42, 9]))
            .collect()
    }

    /// Arguments of a handler, some of which are not.
    fn args(&mut self) -> Vec<u8> {
        let mut args = Vec::new();
        match self.below(8) {
            0 => args = self.bytes(20),
            1..=4 => pack(&(self.number() % 4), &mut args).expect("a number"),
            _ => pack(&"text".repeat(self.below(9)), &mut args).expect("a text"),
        }
        args
    }

    fn batch(&mut self) -> Vec<u8> {
        let mut batch = Vec::new();
        for _ in 0..self.below(6) {
            let args = self.args();
            let framed = push_framed(&mut batch, |into| {
                into.extend(args);
                Ok::<_, ()>(())
            });
            framed.expect("bytes");
        }
        match self.below(6) {
            // Of a billion bytes, which do not follow.
            0 => batch.extend([0x80, 0x94, 0xeb, 0xdc, 3]),
            1 => batch.extend(self.bytes(12)),
            _ => {}
        }
        batch
    }

    fn arrival(&mut self) -> Arrival {
        let kind = match self.below(4) {
            0 => Kind::Call(self.number()),
            1 => Kind::Batch,
            _ => Kind::Spawn,
        };
        let args = match kind {
            Kind::Batch => self.batch(),
            _ => self.args(),
        };
        Arrival {
            finish: self.finish(),
            handler: match self.is_rare() {
                true => self.among(&[4, u32::MAX]),
                false => self.below(4) as u32,
            },
            kind,
            args: Bulk(args),
        }
    }

    fn report(&mut self) -> Combined {
        let from = PlaceId(self.from);
        let mut report = Combined {
            epoch: u32::from(self.is_rare()),
            parts: vec![(from, self.number().saturating_add(1))],
            counts: Vec::new(),
            outcome: self.is_rare().then(|| self.outcome()),
        };
        for _ in 0..self.below(3) {
            let at = [from, PlaceId(self.here), self.place()][self.below(3)];
            let count = match self.is_rare() {
                true => self.among(&[i64::MIN, i64::MAX, i64::MAX / 2, i64::MIN + 1]),
                false => self.below(5) as i64 - 2,
            };
            report.counts.push((at, count));
        }
        if self.is_rare() {
            report.parts.push((self.place(), self.number()));
        } else {
            report.counts.sort_unstable();
        }
        report
    }

    fn message(&mut self) -> Message {
        let id = self.finish();
        match self.below(12) {
            0 => Message::Fail(id, self.outcome()),
            1 => Message::Cancel(id, self.outcome()),
            2 => Message::Over(id),
            3 => Message::Recount(id, vec![self.place()]),
            _ => Message::Report(id, self.report()),
        }
    }

    fn record(&mut self) -> Record {
        match self.below(14) {
            0 | 1 => Record::Reply {
                call: self.number(),
                result: Bulk(self.args()),
            },
            2 if self.is_rare() => Record::End((self.below(2) == 0).then(|| self.outcome())),
            3 => Record::Grant(match self.is_rare() {
                true => u64::MAX,
                false => self.among(&[0, 1, 20]),
            }),
            4..=8 => Record::Finish(self.message()),
            _ => Record::Spawn(self.arrival()),
        }
    }

    /// A record in bytes, some of which are changed; or any bytes.
    fn input(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.below(100) == 0 {
            return self.bytes(60);
        }
        pack(&self.record(), &mut bytes).expect("a record");
        if self.below(6) == 0 {
            for _ in 0..=self.below(3) {
                self.spoil(&mut bytes);
            }
        }
        bytes
    }

    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len().max(1)).min(bytes.len());
        match self.below(8) {
            0..3 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            3 if at < bytes.len() => bytes[at] = self.among(&[0, 1, 127, 128, 255]),
            4 => bytes.truncate(at),
            5 => bytes.insert(at, self.among(&[0, 1, 127, 128, 255])),
            6 => bytes.extend(self.bytes(20)),
            // Beyond what is sent at once.
            7 if self.below(200) == 0 => bytes.resize(100_000, self.among(&[0, 1, 255])),
            _ => {}
        }
    }
}

thread_local! {
    /// Whether panics of this thread are not printed.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Prints no panic of the calling thread: those of handlers are expected.
fn quiet() {
    IS_QUIET.set(true);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_own = || {
            let text = info.payload().downcast_ref::<String>();
            text.is_some_and(|text| text.contains("the handler at"))
        };
        if !IS_QUIET.get() || !is_own() {
            before(info);
        }
    }));
}

/// Whether the text of a panic is about arguments, or one that another rank has sent.
fn is_of_others(text: &str) -> bool {
    text.starts_with("the handler at") || text.starts_with("rank ")
}

/// Counts of what became of inputs.
#[derive(Debug, Default)]
struct Fates {
    taken: usize,
    refused: usize,
    /// Groups of activities that ran to their end, and that failed.
    ran: usize,
    failed: usize,
}

/// Passes a message to the site, as its channel and its task do.
fn pass<'s>(
    region: Region<'s>,
    from: Rank,
    bytes: &[u8],
    groups: &mut Vec<Group<'s>>,
) -> Result<(), Fault> {
    let site = region.site();
    site.inlet()
        .take(PlaceId(from.0), PlaceId(site.here.0), bytes)?;
    while let Some(mail) = site.mail.pop(&Spin) {
        match mail {
            Mail::Aborted(scope) => site.aborted(scope),
            Mail::Lost(error) => site.without(&error),
            Mail::Record(from, record) => receive(region, from, record, groups)?,
        }
    }
    Ok(())
}

/// Runs the activities of a group, as their task does.
fn run<'s>(cx: &mut Cx<'_, '_>, region: Region<'s>, group: Group<'s>, fates: &mut Fates) {
    let Group {
        finish,
        token,
        arrivals,
    } = group;
    let run = || {
        cx.finish_until(&token, |cx| {
            let scope = cx.scope_id();
            for arrived in arrivals {
                arrived.run(cx, region, Within { finish, scope });
            }
        })
    };
    let failed = failed(region.team.rank(), &catch_unwind(AssertUnwindSafe(run)));
    if let Some(Outcome::Panicked { message, .. }) = &failed {
        assert!(is_of_others(message), "{message}");
    }
    *(if failed.is_some() {
        &mut fates.failed
    } else {
        &mut fates.ran
    }) += 1;
    region.site().end_group(finish, failed);
}

/// Passes inputs to a finish until one is refused, and then ends its channels. Activities run now
/// or later.
fn scene(cx: &mut Cx<'_, '_>, region: Region<'_>, numbers: &mut Numbers, fates: &mut Fates) {
    let site = region.site();
    let (mut last, mut waiting) = (Vec::new(), Vec::new());
    numbers.here = site.here.0;
    let mut is_refused = false;
    for _ in 0..30 {
        numbers.from = (site.here.0 + 1 + numbers.below(RANKS as usize - 1) as u32) % RANKS;
        let bytes = match numbers.is_rare() && !last.is_empty() {
            true => mem::take(&mut last),
            false => numbers.input(),
        };
        let mut groups = Vec::new();
        is_refused = pass(region, Rank(numbers.from), &bytes, &mut groups).is_err();
        waiting.append(&mut groups);
        *(match is_refused {
            true => &mut fates.refused,
            false => &mut fates.taken,
        }) += 1;
        if is_refused {
            break;
        }
        while !waiting.is_empty() && numbers.below(3) > 0 {
            let group = waiting.swap_remove(numbers.below(waiting.len()));
            run(cx, region, group, fates);
        }
        site.flush();
        last = bytes;
    }
    let error = wire::Error {
        here: site.here,
        peer: Rank(numbers.from),
        channel: None,
        cause: Cause::Lost {
            doing: "the end of a test",
        },
    };
    if is_refused {
        site.inlet().fail(&error);
    }
    for group in waiting {
        run(cx, region, group, fates);
    }
    site.inlet().fail(&error);
}

/// Runs `body` in a finish, which fails as the messages of others say.
fn own_finish<'e>(cx: &mut Cx<'_, '_>, body: impl for<'s> FnOnce(&mut Cx<'s, 'e>)) {
    let run = || cx.finish(body);
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        let text = payload.downcast_ref::<String>();
        assert!(text.is_some_and(|text| is_of_others(text)), "{text:?}");
    }
}

/// Passes at least this number of inputs to finishes of each rank.
fn pass_inputs(inputs: usize, seed: u64) -> Fates {
    quiet();
    let mut fates = Fates::default();
    let mut numbers = Numbers {
        state: seed,
        here: 0,
        from: 0,
    };
    let rt = Runtime::builder().workers(1).pinned(false).build();
    let rt = rt.expect("one worker");
    let add = handler(|_, _, n: u64| n + 1).short();
    let pass_on = handler(|cx, at, n: u64| {
        if n > 0 {
            at.again(cx, Rank((at.rank().0 + n as u32) % at.ranks()), n - 1);
        }
        if n == 3 {
            // A finish of its own; none that waits for another rank, which does not answer.
            _ = cx.finish(|cx| {
                _ = cx.cancel(Reason::Found);
                at.again(cx, at.from(), 1u64);
            });
        }
    });
    let length = handler(|_, _, text: String| text.len());
    let sum = batch_handler(|_, _, numbers| _ = numbers.fold(0u64, u64::wrapping_add));
    let handlers = (&add, &pass_on, &length, &sum);
    for here in [0, 1, 3] {
        let link: AnyLink = Box::new(Deaf(here));
        let engine = ProgressEngine::new(Limits::default(), link, None, false);
        let calls = engine.operations.all();
        let until = fates.taken + fates.refused + inputs / 3;
        while fates.taken + fates.refused <= until {
            let site = Site::begin(&engine, &calls, Location::caller(), "tests");
            let team = Team {
                engine: Arc::clone(&engine),
                calls: calls.clone(),
                site: Some(site),
                finishes: Default::default(),
                handlers: None,
            };
            let region = Region {
                team: &team,
                handlers: &handlers as &dyn Handlers,
            };
            rt.run(|cx| {
                let at = At::of_body(region);
                let others = [1, 2].map(|n| Rank((here + n) % RANKS));
                // Calls that wait for their results, of two finishes.
                own_finish(cx, |cx| {
                    drop(at.call(cx, others[0], &add, 1));
                    drop(at.call(cx, others[1], &length, "text".into()));
                    own_finish(cx, |cx| {
                        drop(at.call(cx, others[0], &add, 2));
                        scene(cx, region, &mut numbers, &mut fates);
                    });
                });
            });
        }
    }
    println!("FUZZ {fates:?}");
    fates
}

fn check(inputs: usize, seed: u64) {
    let fates = pass_inputs(inputs, seed);
    let Fates {
        taken,
        refused,
        ran,
        failed,
    } = fates;
    let least = inputs / 20;
    assert!(taken > 5 * least && refused > least, "{fates:?}");
    assert!(ran > least / 5 && failed > least / 50, "{fates:?}");
}

#[test]
fn records_at_random_are_taken_or_refused() {
    check(100_000, 5);
}

/// Neither does any of them reserve memory that it does not fill.
#[test]
#[ignore = "cargo ci deep: minutes"]
fn ten_million_records_at_random() {
    check(10_000_000, 6);
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").expect("this system has it");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmPeak:"));
        let peak = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<u64>().ok());
        let peak = peak.expect("a number of KiB");
        assert!(peak <= 1 << 20, "{peak} KiB");
    }
}
