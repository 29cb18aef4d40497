//! Messages of a finish that no correct rank sends: its ranks end, with an error that names the
//! sender, or the handler for which they were.

mod forged;
mod ranks;

use forged::{Forge, forged};
use ranks::runtime;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tautline::team::handler;
use tautline::world::{Rank, World};

const RANKS: u32 = 3;

/// Arguments by which a message is found.
const MARK: &str = "activity";

/// Returns the position of the mark in a message, where its bytes are those of the text.
fn marked(body: &[u8]) -> Option<usize> {
    let mark = MARK.as_bytes();
    body.windows(mark.len()).position(|bytes| bytes == mark)
}

/// Sets a byte before the mark, of an activity: the length of the text, that of its encoding, the
/// kind, the handler, the number and the rank of the finish, the kind of the record.
fn set<const BACK: usize>(body: &mut [u8], to: u8) -> bool {
    let Some(at) = marked(body) else {
        return false;
    };
    body[at - BACK] = to;
    true
}

const LENGTH: usize = 1;
const KIND: usize = 3;
const HANDLER: usize = 4;
const NUMBER: usize = 5;
const HOME: usize = 6;
const RECORD: usize = 7;

/// Runs a finish in which rank 1 starts an activity at rank 2, and changes its message. Returns the
/// lines with which the ranks end.
fn lines(forge: Forge) -> Vec<String> {
    World::builder().links(forged(RANKS, 1, forge), |world| {
        let rt = runtime(world, 1);
        let read = handler(|_, _, text: String| text.len());
        let run = || {
            rt.run(|cx| {
                world.team().finish(cx, &read, |cx, at| {
                    if at.rank() == Rank(1) {
                        at.spawn(cx, Rank(2), &read, MARK.to_owned());
                    }
                })
            })
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(ended) => ended.expect_err("a message was changed").to_string(),
            Err(payload) => payload.downcast_ref::<String>().expect("a text").clone(),
        }
    })
}

/// The channels of all ranks end with an error that names the sender.
#[test]
fn records_that_no_rank_sends() {
    let forges: [(&str, Forge, &str); 7] = [
        (
            "a handler",
            |body| set::<HANDLER>(body, 1),
            "the finish has no such handler",
        ),
        (
            "a finish of the receiver",
            |body| set::<HOME>(body, 2),
            "contradicts",
        ),
        (
            "the finish of all",
            |body| set::<HOME>(body, 0) && set::<NUMBER>(body, 0),
            "no such activity",
        ),
        (
            "a rank of the finish",
            |body| set::<HOME>(body, 9),
            "contradicts",
        ),
        (
            "a kind of record",
            |body| set::<RECORD>(body, 9),
            "do not encode such a value",
        ),
        ("a report", |body| set::<RECORD>(body, 2), ""),
        (
            "a kind of activity",
            |body| set::<KIND>(body, 9),
            "do not encode such a value",
        ),
    ];
    for (what, forge, why) in forges {
        let lines = lines(forge);
        for line in &lines {
            assert!(
                line.contains("rank 1") && !line.contains("panicked"),
                "{what}: {line}"
            );
        }
        assert!(lines[2].contains(why), "{what}: {}", lines[2]);
    }
}

/// Arguments are the handler's: they end its finish, at all ranks.
#[test]
fn arguments_that_no_rank_sends() {
    let forges: [(&str, Forge, &str); 4] = [
        (
            "a text",
            |body| {
                marked(body).is_some_and(|at| {
                    body[at] = 0xff;
                    true
                })
            },
            "do not encode such a value",
        ),
        (
            "a length",
            |body| set::<LENGTH>(body, 200),
            "they end too early",
        ),
        (
            "a shorter length",
            |body| set::<LENGTH>(body, 2),
            "left over",
        ),
        // Its first length is that of the text, and is followed by as many bytes.
        ("a batch", |body| set::<KIND>(body, 2), "they end too early"),
    ];
    for (what, forge, why) in forges {
        for line in lines(forge) {
            let named = "rank 2: the handler at platforms/tests/team_garbled.rs:";
            assert!(
                line.contains(named) && line.contains("rank 1"),
                "{what}: {line}"
            );
            assert!(line.contains(why), "{what}: {line}");
        }
    }
}

/// A batch whose length announces a billion bytes reserves no memory for them.
#[test]
fn a_batch_that_announces_a_billion_bytes() {
    let lines = lines(|body| {
        let Some(at) = marked(body) else {
            return false;
        };
        body[at - KIND] = 2;
        body[at - LENGTH..at + 4].copy_from_slice(&[0x80, 0x94, 0xeb, 0xdc, 3]);
        true
    });
    for line in lines {
        assert!(line.contains("rank 1 has sent a malformed batch"), "{line}");
    }
}
