//! MPI's rule of matching without time: in the order of posting, each receive takes the first
//! message to arrive that no earlier receive takes.

use tautline_core::Rank;
use tautline_core::comm::{CommId, Envelope, Pattern};

/// The name of an operation at its rank: its place in the program.
pub(crate) type Key = usize;

/// A message: its sender, and the operation that sends it.
pub(crate) type Name = (Rank, Key);

/// A receive, or a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Post {
    Receive(usize),
    /// Takes a message only if it is here with its body, which is not longer.
    AtOnce(usize),
    Probe,
}

/// Events at a rank, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Seen {
    Arrived {
        name: Name,
        envelope: Envelope,
        /// Whether it has come with its body.
        is_here: bool,
    },
    Posted(Key, Pattern, Post),
    Cancelled(Key),
    Freed(CommId),
    Lost(Rank),
}

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Took(Name),
    Truncated(Name),
    Probed(Envelope),
    /// A receive at once without a message.
    Nothing,
    Cancelled,
    Freed,
    Lost(Rank),
    Sent,
    /// An operation that only ends others.
    Done,
}

/// Ends that the rule requires.
#[derive(Debug, Default)]
pub(crate) struct Required {
    /// By receive and probe: its end, and whether the body of its message comes later. Without an
    /// end it waits.
    pub(crate) ends: Vec<(Key, Option<End>, bool)>,
    /// The messages that have arrived, and that no receive has taken.
    pub(crate) kept: Vec<Name>,
    /// The messages with their bodies that have gone, by sender and length: their room is to be
    /// given back.
    pub(crate) gone: Vec<(Rank, usize)>,
    /// Whether a message has arrived twice.
    pub(crate) is_doubled: bool,
}

struct Arrival {
    at: usize,
    name: Name,
    envelope: Envelope,
    is_here: bool,
    is_taken: bool,
    /// The time at which it was dropped.
    dropped: Option<usize>,
}

/// Returns what the rule requires after `seen`.
pub(crate) fn required(seen: &[Seen]) -> Required {
    let mut arrivals = arrivals(seen);
    let mut required = Required::default();
    for (at, event) in seen.iter().enumerate() {
        let &Seen::Posted(key, pattern, post) = event else {
            continue;
        };
        let (until, over) = window(&seen[at + 1..], key, &pattern);
        let (_, before) = window(&seen[..at], key, &pattern);
        // One that has ended at once takes what is here.
        let (until, over) = match (before, post) {
            (_, Post::AtOnce(_)) => (at, Some(End::Nothing)),
            (Some(_), _) => (at, before),
            (None, _) => (until.map_or(usize::MAX, |until| at + 1 + until), over),
        };
        let first = arrivals.iter_mut().find(|message| {
            let is_there = message.dropped.is_none_or(|end| message.at.max(at) < end);
            is_there
                && !message.is_taken
                && message.at < until
                && pattern.accepts(&message.envelope)
        });
        let end = first.and_then(|message| take(message, post));
        let is_later = matches!(end, Some((End::Took(_), false)));
        required
            .ends
            .push((key, end.map(|(end, _)| end).or(over), is_later));
    }
    let names: Vec<_> = arrivals.iter().map(|message| message.name).collect();
    required.is_doubled = (1..names.len()).any(|at| names[..at].contains(&names[at]));
    for message in arrivals {
        let bytes = message.envelope.bytes;
        match message.is_taken || message.dropped.is_some() {
            false => required.kept.push(message.name),
            true if message.is_here => required.gone.push((message.name.0, bytes)),
            true => {}
        }
    }
    required
}

/// Returns the end of a receive or a probe that has found a message, and whether its body is here.
fn take(message: &mut Arrival, post: Post) -> Option<(End, bool)> {
    let Arrival {
        name,
        envelope,
        is_here,
        ..
    } = *message;
    let end = match post {
        Post::Probe => return Some((End::Probed(envelope), true)),
        Post::AtOnce(limit) if !is_here || envelope.bytes > limit => return None,
        Post::Receive(limit) if envelope.bytes > limit => (End::Truncated(name), true),
        Post::AtOnce(_) | Post::Receive(_) => (End::Took(name), is_here),
    };
    message.is_taken = true;
    Some(end)
}

/// Returns the messages in the order of arrival, and when they were dropped.
fn arrivals(seen: &[Seen]) -> Vec<Arrival> {
    let all = seen.iter().enumerate().filter_map(|(at, event)| {
        let Seen::Arrived {
            name,
            envelope,
            is_here,
        } = *event
        else {
            return None;
        };
        let drops = |event: &Seen| match *event {
            Seen::Freed(comm) => comm == envelope.comm,
            Seen::Lost(rank) => rank == name.0 && !is_here,
            _ => false,
        };
        let end = seen.iter().position(drops);
        let dropped = end.map(|end| end.max(at));
        Some(Arrival {
            at,
            name,
            envelope,
            is_here,
            is_taken: false,
            dropped,
        })
    });
    all.collect()
}

/// Returns when something ends a receive or a probe that has no message, and how.
fn window(seen: &[Seen], key: Key, pattern: &Pattern) -> (Option<usize>, Option<End>) {
    let over = |event: &Seen| match *event {
        Seen::Cancelled(of) => (of == key).then_some(End::Cancelled),
        Seen::Freed(comm) => (comm == pattern.comm).then_some(End::Freed),
        Seen::Lost(rank) => (pattern.source == Some(rank)).then_some(End::Lost(rank)),
        _ => None,
    };
    let mut found = seen
        .iter()
        .enumerate()
        .filter_map(|(at, event)| Some((at, over(event)?)));
    found.next().unzip()
}
