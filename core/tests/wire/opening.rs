//! Channels are opened alike by every rank, or each rank ends with an error.

use crate::net::{Net, errors, open, settle};
use tautline_core::PlaceId;
use tautline_core::wire::{Cause, Limits};

/// Checks the error of two ranks that disagree.
fn name_both_calls(lines: &[String], channel: &str, kinds: [&str; 2]) {
    for (rank, line) in lines.iter().enumerate() {
        let peer = 1 - rank;
        assert!(
            line.starts_with(&format!("rank {rank}: channel {channel} ({})", kinds[rank])),
            "{line}"
        );
        for part in [
            &format!(
                "rank {peer} has opened `{}` at core/tests/wire/opening.rs:",
                kinds[peer]
            ),
            &format!("this rank `{}` at core/tests/wire/opening.rs:", kinds[rank]),
            "all ranks must open the same channels in the same order",
        ] {
            assert!(line.contains(part), "{line}\nlacks {part}");
        }
        assert_eq!(line.lines().count(), 1);
    }
}

fn lines(all: &[tautline_core::wire::Exchange<crate::net::Wire>]) -> Vec<String> {
    let errors = errors(all).into_iter();
    errors
        .map(|e| e.expect("each rank fails").to_string())
        .collect()
}

#[test]
fn another_order_is_an_error_that_names_both_calls() {
    let (_, all) = Net::exchanges(2, Limits::default());
    let ends: Vec<_> = all.iter().map(|e| open::<u8>(e, "same")).collect();
    settle(&all).unwrap();
    let _first = (open::<u8>(&all[0], "left"), open::<u8>(&all[0], "right"));
    let _second = (open::<u8>(&all[1], "right"), open::<u8>(&all[1], "left"));
    name_both_calls(&lines(&all), "1", ["left", "right"]);
    drop(ends);
}

/// The same kind, by another call.
#[test]
fn another_call_is_an_error() {
    let (_, all) = Net::exchanges(2, Limits::default());
    let _one = open::<u8>(&all[0], "same");
    let _two = open::<u8>(&all[1], "same");
    name_both_calls(&lines(&all), "0", ["same", "same"]);
}

#[test]
fn other_messages_or_places_are_an_error() {
    let here = std::panic::Location::caller();
    let (_, all) = Net::exchanges(2, Limits::default());
    let _bytes = all[0].open_at::<u8>(here, "same", 1, |_, _, _: &[u8]| Ok(()));
    let _words = all[1].open_at::<u16>(here, "same", 1, |_, _, _: &[u8]| Ok(()));
    let all = lines(&all);
    for named in ["messages: u8;", "messages: u16,"] {
        assert!(all[0].contains(named), "{}", all[0]);
    }
    assert!(!all[0].contains("places"), "they agree: {}", all[0]);

    let (_, all) = Net::exchanges(2, Limits::default());
    let _one = all[0].open_at::<u8>(here, "same", 1, |_, _, _: &[u8]| Ok(()));
    let _two = all[1].open_at::<u8>(here, "same", 2, |_, _, _: &[u8]| Ok(()));
    let all = lines(&all);
    for named in ["places of a rank: 1;", "places of a rank: 2,"] {
        assert!(all[0].contains(named), "{}", all[0]);
    }
    assert!(!all[0].contains("messages:"), "they agree: {}", all[0]);
}

/// Ranks that agree with each other learn what went wrong elsewhere.
#[test]
fn every_rank_learns_of_the_error() {
    let (_, all) = Net::exchanges(3, Limits::default());
    let right: Vec<_> = all[1..].iter().map(|e| open::<u8>(e, "right")).collect();
    let _wrong = open::<u8>(&all[0], "wrong");
    let errors: Vec<_> = errors(&all).into_iter().map(Option::unwrap).collect();
    assert!(
        errors
            .iter()
            .any(|e| matches!(e.cause, Cause::Mismatch { .. }))
    );
    for error in &errors {
        match &error.cause {
            Cause::Mismatch { .. } => {}
            Cause::Failed { message: why, .. } => assert!(why.contains("has opened `"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    drop(right);
}

/// More ranks than announce everything to each other: neighbours in a tree compare, and others
/// before their first message.
#[test]
fn many_ranks_agree_by_a_tree() {
    let (net, all) = Net::exchanges(40, Limits::default());
    let ends: Vec<_> = all.iter().map(|e| open::<u32>(e, "many")).collect();
    for exchange in &all {
        exchange.turn().unwrap();
    }
    let announced = (0..40)
        .map(|to| net.with(7, to, |mail| mail.len()))
        .sum::<usize>();
    assert!(
        announced <= 3,
        "rank 7 has three neighbours, and announced to {announced}"
    );
    for (from, (end, _)) in ends.iter().enumerate() {
        for to in 0..40 {
            end.send(PlaceId(from as u32), PlaceId(to), from as u32 * 100 + to);
        }
    }
    settle(&all).unwrap();
    for (to, (_, got)) in ends.iter().enumerate() {
        let mut got = got.lock().unwrap().clone();
        got.sort_unstable();
        let expected = (0..40).map(|from| (from, to as u32, from * 100 + to as u32));
        assert!(got.into_iter().eq(expected), "rank {to}");
        assert_eq!(all[to].absent(), None);
    }
    // One rank opens something else.
    let wrong = open::<u32>(&all[23], "wrong");
    let here = std::panic::Location::caller();
    let others = all.iter().enumerate().filter(|(rank, _)| *rank != 23);
    let right: Vec<_> = others
        .map(|(_, e)| e.open_at::<u32>(here, "right", 1, |_, _, _: &[u8]| Ok(())))
        .collect();
    let errors = errors(&all);
    assert!(errors.iter().all(Option::is_some), "all ranks end");
    drop((wrong, right));
}

/// A rank that runs far ahead is stopped.
#[test]
fn a_rank_cannot_open_without_end() {
    let (_, all) = Net::exchanges(2, Limits::default());
    let ends: Vec<_> = (0..2000).map(|_| open::<u8>(&all[0], "ahead")).collect();
    let error = errors(&all)[1].clone().expect("too many channels");
    let is_early = matches!(error.cause, Cause::TooEarly { .. });
    let ordinal = error.channel.map(|name| name.ordinal);
    assert!(is_early && ordinal >= Some(1000), "{error}");
    let line = error.to_string();
    assert!(line.contains("(not open here): rank 0 sent"), "{line}");
    drop(ends);
}
