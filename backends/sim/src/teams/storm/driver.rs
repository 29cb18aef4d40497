//! The thread of a rank: it runs activities, and keeps account of them.

use super::Storm;
use super::judge::Account;
use super::site::{Effect, Event, Gust, Sent, Site};
use crate::protocol::{Driver, Weight};
use std::collections::VecDeque;
use tautline_core::finish::Message;

/// The kind of messages that have reports.
pub(super) const REPORT: usize = 1;

/// The bytes of the name of a finish, of a count or a number of a report, of an activity.
const NAME_BYTES: u64 = 12;
const COUNT_BYTES: u64 = 12;
const ACTIVITY_BYTES: u64 = NAME_BYTES + 12;

/// The thread of a rank.
pub(super) struct Blown {
    storm: Storm,
    has_begun: bool,
    /// The activities that are to run.
    ready: VecDeque<Gust>,
    pub(super) account: Account,
}

impl Blown {
    pub(super) fn new(storm: Storm) -> Self {
        Self {
            storm,
            has_begun: false,
            ready: VecDeque::new(),
            account: Account::default(),
        }
    }
}

impl Driver for Blown {
    type Machine = Site;
    type Calls = ();

    /// Activities, reports, ends.
    const KINDS: usize = 3;

    fn calls(calls: &mut ()) -> &mut () {
        calls
    }

    fn work(&mut self, site: &Site, _: u64) -> Option<(u64, Event)> {
        if !std::mem::replace(&mut self.has_begun, true) {
            return Some((0, Event::Begin));
        }
        if site.holds {
            return Some((0, Event::Flush));
        }
        let gust = self.ready.pop_front()?;
        Some((self.storm.duration_ns(&gust), Event::Ran(gust)))
    }

    fn effect(&mut self, effect: Effect, now: u64) -> Option<Event> {
        match effect {
            Effect::Run(gust) => self.ready.push_back(gust),
            Effect::Spawned(finish, number) => self.account.spawned(finish, number),
            Effect::Ended(finish, number) => self.account.ended(finish, number, now),
            Effect::Done(finish) => self.account.done.push((finish, now)),
            Effect::Over => self.account.over.push(now),
        }
        None
    }

    fn weigh(&self, message: &Sent) -> Weight {
        let (kind, bytes) = match message {
            Sent::Spawn(_) => (0, ACTIVITY_BYTES),
            Sent::Finish(Message::Report(_, report)) => {
                let counts = report.parts.len() + report.counts.len();
                (REPORT, NAME_BYTES + counts as u64 * COUNT_BYTES)
            }
            Sent::Finish(_) | Sent::End => (2, NAME_BYTES),
        };
        Weight {
            kind,
            bytes,
            delay_ns: 0,
        }
    }

    fn serve_ns(&self, _: &Sent) -> Option<u64> {
        self.storm.costs.service()
    }
}
