//! Ranks with tasks that read and put keys, and what must hold in every state.

use super::program::{Program, Shape};
use super::values::{Progress, Read, Values};
use tautline_core::Rank;
use tautline_core::collective::{Branch, Counts, InRound, Message as Wave};
use tautline_core::space::{Message, Names, Space, SpaceEffect, SpaceEvent, SpaceMessage, Supply};
use tautline_verify::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};

/// Ranks that run a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranks {
    pub(super) program: &'static Program,
    /// Values fetched ahead, at most.
    pub(super) ahead: Option<u32>,
    /// Tasks of a rank that are cancelled while they wait, at most.
    pub(super) cancels: u8,
    /// The rank that abandons the space, at any time.
    pub(super) abandons: Option<u8>,
    /// Ranks that are lost, at any time.
    pub(super) losses: u32,
    /// Rounds of counting of a rank, at most; 0 if it counts nothing.
    pub(super) rounds: u8,
    pub(super) fault: Option<Fault>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Each read fetches.
    FetchEach,
    /// A fetch that arrives before the put is forgotten.
    ForgetFetch,
    /// The home sends a value twice.
    SendTwice,
    /// The home sends a value to the rank that has put it.
    Echo,
    /// A put stays at its rank.
    KeepPut,
    /// The home changes a value.
    ChangeValue,
    /// Idle ranks fetch nothing.
    NoIdle,
    /// Idle ranks fetch nothing until the last fetch was answered.
    PatientIdle,
    /// A read has ended before its task runs.
    EndEarly,
    /// An error of the space stays at its rank.
    KeepEnd,
    /// The home names another rank than that of the put.
    WrongPutter,
    /// Equal sums of one round suffice.
    OneRound,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// The next read of a task begins.
    Begin(u8),
    Run(u8),
    /// A read of a task ends, of this key.
    End(u8, u8),
    Cancel(u8),
    Idle,
    Abandon,
    Rest,
    Close,
}

/// The history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Past {
    /// Values and fetches sent, by key and rank, as bits.
    pub(super) data: u32,
    pub(super) fetches: u32,
    pub(super) puts: u32,
    /// By key, the rank whose put came first at the home; `None` if none has.
    pub(super) first: Vec<Option<Rank>>,
    pub(super) lost: u32,
}

type Sent = SpaceMessage<u8, u8>;

impl Ranks {
    pub(super) fn shape(&self) -> Shape {
        Shape(self.program)
    }

    pub(super) fn bit(&self, key: u8, rank: Rank) -> u32 {
        1 << (u32::from(key) * self.peers() + rank.0)
    }

    pub(super) fn home(&self, key: u8) -> Rank {
        Rank(u32::from(self.program.homes[usize::from(key)]))
    }

    /// Records the first put that is known at the home of a key.
    pub(super) fn note_put(&self, at: &mut At<'_, Self>, key: u8, by: Rank) {
        at.ghost.first.resize(self.program.homes.len(), None);
        if self.home(key) == at.here {
            at.ghost.first[usize::from(key)].get_or_insert(by);
        }
    }

    /// Whether a task waits for a value that is to be fetched.
    fn is_due(&self, driver: &Values) -> bool {
        driver.reads().any(|(key, read, progress)| {
            let waits = read == Read::Open && driver.values[usize::from(key)].is_none();
            let is_fetched = driver.fetched >> key & 1 != 0 || self.home(key) == driver.here;
            waits && !is_fetched && !progress.has_failed && self.program.readers.is_none()
        })
    }

    fn task_acts(&self, here: Rank, driver: &Values) -> Vec<Act> {
        let mut acts = Vec::new();
        for (number, (task, progress)) in
            (0..).zip(self.shape().tasks(here).iter().zip(&driver.tasks))
        {
            let is_ready = task.reads.iter().all(|key| driver.ready >> key & 1 != 0);
            let waits = !progress.has_run && !progress.has_failed;
            let open = task
                .reads
                .iter()
                .zip(&progress.reads)
                .filter(|(_, read)| **read == Read::Open);
            if waits && !progress.has_begun() {
                acts.push(Act::Begin(number));
            } else if waits && is_ready {
                acts.push(Act::Run(number));
            }
            if waits && driver.cancelled < self.cancels && progress.has_begun() && !is_ready {
                acts.push(Act::Cancel(number));
            }
            let is_early = self.fault == Some(Fault::EndEarly) && is_ready;
            if !waits || is_early {
                acts.extend(open.map(|(key, _)| Act::End(number, *key)));
            }
        }
        acts
    }
}

impl Checked for Ranks {
    type Machine = Space<Values>;
    type Driver = Values;
    type Act = Act;
    type Ghost = Past;

    fn peers(&self) -> u32 {
        self.program.tasks.len() as u32
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        let ahead = self.ahead;
        let supply = match self.program.readers {
            Some(_) => Supply::Declared,
            None => Supply::Fetched { ahead },
        };
        Part {
            machine: Space::new(
                Names::new(here, self.peers(), supply),
                Branch::new(here, self.peers(), 2),
            ),
            driver: Values::new(here, self.shape()),
        }
    }

    fn acts(&self, here: Rank, Part { driver, .. }: &PartOf<Self>, _: &Past) -> Vec<Act> {
        if driver.ended.is_some() {
            return Vec::new();
        }
        let mut acts = self.task_acts(here, driver);
        let is_patient = self.fault == Some(Fault::PatientIdle) && driver.ahead != 0;
        let reports = self.fault != Some(Fault::NoIdle) && !is_patient;
        if reports && !driver.is_busy() && self.is_due(driver) {
            acts.push(Act::Idle);
        }
        let may_rest = !driver.is_busy() && !self.is_due(driver);
        if may_rest && !driver.is_over && !driver.has_counted && driver.rounds < self.rounds {
            acts.push(match driver.tasks.iter().all(Progress::has_ended) {
                true => Act::Close,
                false => Act::Rest,
            });
        }
        if self.abandons == Some(here.0 as u8) {
            acts.push(Act::Abandon);
        }
        acts
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<SpaceEvent<u8, u8>> {
        if matches!(act, Act::Rest | Act::Close) {
            at.driver.has_counted = true;
            return Some(match act {
                Act::Close => SpaceEvent::Close,
                _ => SpaceEvent::Rest,
            });
        }
        self.act(at, act).map(SpaceEvent::Of)
    }

    fn calls(values: &mut Values) -> &mut Values {
        values
    }

    fn effect(
        &self,
        at: &mut At<'_, Self>,
        _: &Space<Values>,
        effect: SpaceEffect<u8>,
    ) -> Option<SpaceEvent<u8, u8>> {
        match effect {
            SpaceEffect::Of(effect) => self.about_key(at, effect),
            SpaceEffect::Busy => {
                at.driver.has_counted = false;
                at.driver.rounds += 1;
            }
            SpaceEffect::Quiet => at.driver.is_quiet = true,
            SpaceEffect::Unknown(rank) => {
                at.driver.is_over = true;
                if at.ghost.lost >> rank.0 & 1 == 0 {
                    at.find(Flaw::Outcome);
                }
            }
        }
        None
    }

    fn send(&self, at: &mut At<'_, Self>, to: Rank, message: Sent) -> Option<Sent> {
        match message {
            SpaceMessage::Of(message) => self.send_of(at, to, message).map(SpaceMessage::Of),
            message => Some(message),
        }
    }

    fn receive(&self, at: &mut At<'_, Self>, from: Rank, message: Sent) -> Option<(Rank, Sent)> {
        let message = match message {
            SpaceMessage::Of(message) => SpaceMessage::Of(self.receive_of(at, from, message)?),
            message => message,
        };
        if let SpaceMessage::Round(InRound {
            message: Wave::Down(sums),
            ..
        }) = message
        {
            let is_equal = sums.sent == sums.processed;
            at.driver.is_quiet |= self.fault == Some(Fault::OneRound) && is_equal;
        }
        Some((from, message))
    }

    fn stepped(&self, at: &mut At<'_, Self>, _: &Space<Values>, _: &Space<Values>) {
        let is_refused = at.driver.given_back.take().is_some();
        if let Some(key) = at.driver.putting.take()
            && !is_refused
        {
            at.driver.put |= 1 << key;
            self.note_put(at, key, at.here);
        }
        at.driver.beginning = None;
        at.driver.note_reads();
        at.driver.is_idle = false;
        if let Some(flaw) = at.driver.flaw {
            at.find(flaw);
        }
    }

    fn note_loss(&self, part: Option<&PartOf<Self>>, _: Option<&Sent>, past: &mut Past) {
        if let Some(part) = part {
            past.lost |= 1 << part.driver.here.0;
        }
    }

    fn malformed(&self, _: &Space<Values>) -> Vec<Sent> {
        let keys = 0..=self.program.homes.len() as u8;
        let ranks = [0, 1, 2, u32::MAX].map(Rank);
        let about = |key| {
            let data = ranks.map(|by| Message::Data { key, by, value: 9 });
            let put = Message::Put { key, value: 9 };
            data.into_iter().chain([put, Message::Fetch { key }])
        };
        let rounds = [0, 7].map(|round| {
            let message = Wave::Down(Counts::default());
            SpaceMessage::Round(InRound { round, message })
        });
        keys.flat_map(about)
            .map(SpaceMessage::Of)
            .chain(rounds)
            .collect()
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        for (_, Part { machine, driver }) in view.living() {
            let machine = machine.names();
            if machine.ended() != driver.ended.as_ref() {
                return Some(Flaw::Outcome);
            }
            if driver.ended.is_some() {
                continue;
            }
            for (key, read, _) in driver.reads().filter(|(_, read, _)| *read == Read::Open) {
                let is_ready = driver.ready >> key & 1 != 0;
                let is_here = driver.values[usize::from(key)].is_some();
                let waits = machine.waiting().any(|(waiting, _)| *waiting == key);
                debug_assert_eq!(read, Read::Open);
                if is_ready != is_here || waits == is_here {
                    return Some(Flaw::Unperformed);
                }
            }
            let kept = machine.kept().copied();
            let here = (0..)
                .zip(&driver.values)
                .filter(|(_, value)| value.is_some());
            if !kept.eq(here.map(|(key, _)| key)) {
                return Some(Flaw::Kept);
            }
        }
        if view.living().any(|(_, part)| part.driver.is_quiet) && !self.is_quiet(view) {
            return Some(Flaw::Early);
        }
        self.judge_rest(view)
    }

    /// Each task has ended, or waits for a key that no rank has put.
    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let may_wait = |act: &Act| matches!(act, Act::Cancel(_) | Act::Abandon);
        view.parcels.is_empty()
            && view.living().all(|(place, part)| {
                let acts = self.acts(Rank(place.0), part, &view.ghost.ghost);
                acts.iter().all(may_wait)
            })
    }
}

impl Ranks {
    /// Whether all messages about keys are processed, and all tasks wait or have ended.
    fn is_quiet(&self, view: &View<Parts<Self>>) -> bool {
        let is_of_key = |message: &Option<Sent>| matches!(message, Some(SpaceMessage::Of(_)));
        let mut parcels = view.parcels.iter().map(|parcel| &parcel.message);
        let mut parts = view.living().map(|(_, part)| &part.driver);
        !parcels.any(is_of_key) && parts.all(|driver| !driver.is_busy())
    }

    /// Judges a state in which nothing is in flight and no task can continue.
    fn judge_rest(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        if !view.parcels.is_empty() || !self.is_final(view) {
            return None;
        }
        // The rounds that a rank may begin end busy, or all end.
        let is_over = |driver: &Values| driver.is_quiet || driver.is_over || driver.ended.is_some();
        let drivers = || view.living().map(|(_, part)| &part.driver);
        let is_spent = drivers().any(|driver| driver.rounds == self.rounds);
        if !is_spent && !drivers().all(is_over) {
            return Some(Flaw::Late);
        }
        let ends = view
            .living()
            .filter(|(_, part)| part.driver.ended.is_some())
            .count();
        let living = view.living().count();
        if ends > 0 {
            return (ends < living).then_some(Flaw::Outcome);
        }
        let past = &view.ghost.ghost;
        let first = |key: u8| past.first.get(usize::from(key)).copied().flatten();
        let is_lost = |rank: Rank| past.lost >> rank.0 & 1 != 0;
        for (rank, Part { machine, driver }) in view.living() {
            let machine = machine.names();
            // A key that is known at its home is known where it is read.
            let is_known = |key: u8| first(key).is_some() || is_lost(self.home(key));
            if machine.waiting().any(|(key, _)| is_known(*key)) || self.is_due(driver) {
                return Some(Flaw::Stuck);
            }
            // Each put is known at its home, and two of a key end the space.
            for key in 0..self.program.homes.len() as u8 {
                let is_first = first(key).is_some_and(|first| first.0 == rank.0);
                if driver.put >> key & 1 != 0 && !is_first && !is_lost(self.home(key)) {
                    return Some(Flaw::Count);
                }
            }
            let is_done = driver.tasks.iter().all(Progress::has_ended) && self.losses == 0;
            let is_put = (0..self.program.homes.len() as u8).all(|key| first(key).is_some());
            if self.program.readers.is_some() && is_done && is_put && machine.known() > 0 {
                return Some(Flaw::Kept);
            }
        }
        None
    }
}
