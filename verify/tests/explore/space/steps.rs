//! The steps of a rank: acts of its tasks, messages and effects about keys, and injected faults.

use super::ranks::{Act, Fault, Ranks};
use super::values::Read;
use tautline_core::Rank;
use tautline_core::space::{Effect, Event, Failure, Message, Misuse, SpaceMessage};
use tautline_verify::explore::{At, Flaw};

impl Ranks {
    pub(super) fn act(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event<u8, u8>> {
        let tasks = self.shape().tasks(at.here);
        at.driver.is_idle = matches!(act, Act::Idle);
        match act {
            Act::Begin(number) => {
                let (task, progress) = (
                    &tasks[usize::from(number)],
                    &mut at.driver.tasks[usize::from(number)],
                );
                let next = progress.reads.iter().position(|read| *read == Read::ToCome);
                let Some(next) = next else {
                    return None;
                };
                progress.reads[next] = Read::Open;
                let key = task.reads[next];
                at.driver.beginning = Some((number, next as u8));
                let is_here = at.driver.values[usize::from(key)].is_some();
                let is_fetched = at.driver.fetched >> key & 1 != 0;
                if self.fault == Some(Fault::FetchEach) && is_fetched && !is_here {
                    at.send(self.home(key), SpaceMessage::Of(Message::Fetch { key }));
                }
                let takes = task.takes && next + 1 == task.reads.len();
                Some(if takes {
                    Event::Take(key)
                } else {
                    Event::Get(key)
                })
            }
            Act::Run(number) => {
                let task = &tasks[usize::from(number)];
                at.driver.tasks[usize::from(number)].has_run = true;
                for key in task.reads {
                    let value = at.driver.values[usize::from(*key)];
                    let is_right = value.is_some_and(|value| {
                        value / 8 == *key && self.shape().puts(*key, Rank(u32::from(value % 8)))
                    });
                    if !is_right {
                        at.find(Flaw::Stale);
                    }
                }
                let key = task.put?;
                at.driver.putting = Some(key);
                Some(Event::Put(key, key * 8 + at.here.0 as u8))
            }
            Act::End(number, key) => {
                let (task, progress) = (
                    &tasks[usize::from(number)],
                    &mut at.driver.tasks[usize::from(number)],
                );
                let mut reads = task.reads.iter().zip(&mut progress.reads);
                let read = reads.find(|(k, read)| **k == key && **read == Read::Open);
                *read.expect("an open read").1 = Read::Ended;
                at.driver.note_reads();
                Some(Event::Read(key, 1))
            }
            Act::Cancel(number) => {
                at.driver.tasks[usize::from(number)].has_failed = true;
                at.driver.cancelled += 1;
                None
            }
            Act::Idle => Some(Event::Idle),
            Act::Abandon => Some(Event::Abandon("given up".into())),
            Act::Rest | Act::Close => None,
        }
    }

    pub(super) fn about_key(&self, at: &mut At<'_, Self>, effect: Effect<u8>) {
        match effect {
            Effect::Ready(key) => {
                at.driver.ready |= 1 << key;
                if at.driver.values[usize::from(key)].is_none() {
                    at.find(Flaw::Stale);
                }
            }
            Effect::Lost(key, rank) => {
                if at.ghost.lost >> rank.0 & 1 == 0 || self.home(key) != rank {
                    at.find(Flaw::Outcome);
                }
                at.driver.fail(key);
            }
            Effect::Refused(key, misuse) => self.refused(at, key, misuse),
            Effect::Ended(failure) => {
                if let Failure::PutTwice { key, first, second } = failure {
                    let known = at.ghost.first.get(usize::from(key)).copied().flatten();
                    let is_right = first != second
                        && self.shape().puts(key, second)
                        && known.is_none_or(|known| known == first);
                    if !is_right {
                        at.find(Flaw::Outcome);
                    }
                }
                at.driver.ended = Some(failure);
            }
        }
    }

    pub(super) fn send_of(
        &self,
        at: &mut At<'_, Self>,
        to: Rank,
        message: Message<u8, u8>,
    ) -> Option<Message<u8, u8>> {
        let (here, driver) = (at.here, &mut *at.driver);
        let (sent, bit) = match message {
            Message::Put { key, .. } => (&mut at.ghost.puts, self.bit(key, here)),
            Message::Fetch { key } => {
                driver.note_reads();
                let many = self
                    .ahead
                    .is_some_and(|ahead| driver.ahead.count_ones() >= ahead);
                if many && !driver.is_idle {
                    driver.flaw = Some(Flaw::Requests);
                }
                driver.fetched |= 1 << key;
                driver.ahead |= 1 << key;
                (&mut at.ghost.fetches, self.bit(key, here))
            }
            Message::Data { key, .. } => (&mut at.ghost.data, self.bit(key, to)),
            Message::End(_) => return self.tamper(at, to, message),
        };
        if *sent & bit != 0 {
            driver.flaw = Some(Flaw::Twice);
        }
        *sent |= bit;
        self.tamper(at, to, message)
    }

    pub(super) fn receive_of(
        &self,
        at: &mut At<'_, Self>,
        from: Rank,
        message: Message<u8, u8>,
    ) -> Option<Message<u8, u8>> {
        match &message {
            Message::Put { key, value } if at.driver.ended.is_none() => {
                self.note_put(at, *key, from);
                if self.fault == Some(Fault::Echo) {
                    let (key, by, value) = (*key, from, *value);
                    at.send(from, SpaceMessage::Of(Message::Data { key, by, value }));
                }
            }
            Message::Fetch { key }
                if self.fault == Some(Fault::ForgetFetch)
                    && at.driver.values[usize::from(*key)].is_none() =>
            {
                return None;
            }
            _ => {}
        }
        Some(message)
    }

    fn refused(&self, at: &mut At<'_, Self>, key: u8, misuse: Misuse) {
        let begun = at
            .driver
            .reads()
            .filter(|(k, read, _)| *k == key && *read != Read::ToCome);
        // With the one that is refused.
        let begun = begun.count();
        let is_right = match misuse {
            Misuse::AlreadyPut => at.driver.put >> key & 1 != 0 && at.driver.given_back.is_some(),
            Misuse::Undeclared(reads) => {
                let declared = self.shape().declared(key, at.here);
                declared == reads as usize && begun > declared
            }
            _ => false,
        };
        if !is_right {
            at.find(Flaw::Outcome);
        }
        if let Some((task, read)) = at.driver.beginning {
            let progress = &mut at.driver.tasks[usize::from(task)];
            progress.reads[usize::from(read)] = Read::Ended;
            progress.has_failed = true;
        }
    }

    fn tamper(
        &self,
        at: &mut At<'_, Self>,
        to: Rank,
        message: Message<u8, u8>,
    ) -> Option<Message<u8, u8>> {
        Some(match (self.fault, message) {
            (Some(Fault::KeepPut), Message::Put { .. }) => return None,
            (Some(Fault::KeepEnd), Message::End(_)) => return None,
            (Some(Fault::ChangeValue), Message::Data { key, by, value }) => {
                let value = value ^ 64;
                Message::Data { key, by, value }
            }
            (Some(Fault::WrongPutter), Message::Data { key, value, .. }) => {
                Message::Data { key, by: to, value }
            }
            (Some(Fault::SendTwice), message @ Message::Data { .. }) => {
                at.send(to, SpaceMessage::Of(message.clone()));
                message
            }
            (_, message) => message,
        })
    }
}
