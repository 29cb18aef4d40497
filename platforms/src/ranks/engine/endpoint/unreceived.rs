//! Messages that were not received, of which no request informs the program: it has ended without
//! an error, or was dropped.

use super::super::Error;
use crate::process::messages;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tautline_core::Rank;
use tautline_core::comm::Tag;
use tautline_core::comm::Unreceived;

/// Those of a communicator whose requests were dropped.
#[derive(Default)]
pub(crate) struct Unsent(Mutex<BTreeMap<Rank, Lost>>);

/// Those to one rank: their number, the tag of the first, and why it has not.
struct Lost {
    messages: usize,
    tag: Tag,
    error: String,
}

impl Unsent {
    pub(crate) fn count(&self, (to, tag): (Rank, Tag), error: &Error) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = all.entry(to).or_insert_with(|| Lost {
            messages: 0,
            tag,
            error: error.to_string(),
        });
        lost.messages += 1;
    }

    /// Reports them, one line for each receiver; once.
    pub(crate) fn report(&self, here: Rank) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (to, lost) in all {
            messages::send(&lost.line(here, to));
        }
    }
}

impl Lost {
    fn line(&self, here: Rank, to: Rank) -> String {
        let Self {
            messages,
            tag,
            error,
        } = self;
        let sent = match messages {
            1 => format!("a message to {to} with {tag}"),
            _ => format!("{messages} messages to {to}, the first with {tag},"),
        };
        format!("tautline: {here}: {sent} did not arrive: {error}")
    }
}

/// Reports, at rank `here`, messages whose requests have ended without an error.
pub(crate) fn report(here: Rank, unreceived: Unreceived) {
    let Unreceived {
        from,
        to,
        messages,
        last,
    } = unreceived;
    let (way, other, whose) = match from == here {
        true => ("to", to, "its"),
        false => ("of", from, "this"),
    };
    let sent = match messages {
        1 => format!("a message {way} {other} with {last} was"),
        _ => format!("{messages} messages {way} {other}, the last with {last}, were"),
    };
    messages::send(&format!(
        "tautline: {here}: {sent} not received: {whose} program has ended"
    ));
}
