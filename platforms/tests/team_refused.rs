//! Mistakes of programs over ranks: each is an error or a panic that names it, and the rest of the
//! program continues where it can.

mod ranks;

use ranks::runtime;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tautline::prelude::*;
use tautline::team::{Arguments, At, Handlers, Team, batch_handler, handler};
use tautline::world::{self, Limits, Rank, World};

/// Arguments of which some cannot be encoded, or decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Odd {
    Good,
    /// Its encoding is longer than a message.
    Long,
    FailsThere,
    PanicsThere,
    FailsHere,
    PanicsHere,
}

impl Serialize for Odd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::FailsThere => Err(ser::Error::custom("it is secret")),
            Self::PanicsThere => panic!("no encoding"),
            other => {
                let bytes = if *other == Self::Long { LIMIT } else { 0 };
                (*other as u8, "x".repeat(bytes)).serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Odd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (kind, _) = <(u8, String)>::deserialize(deserializer)?;
        match kind {
            0 => Ok(Self::Good),
            4 => Err(de::Error::custom("it is broken")),
            _ => panic!("no decoding"),
        }
    }
}

/// Bytes of a message.
const LIMIT: usize = 2000;

/// Runs `program` as each of three ranks, whose messages are short.
fn three<T: Send>(program: impl Fn(&World) -> T + Sync) -> Vec<T> {
    let limits = Limits {
        body: LIMIT,
        ..Limits::default()
    };
    let builder = World::builder().limits(limits);
    builder.links(tautline_node::Loopback::new(3), program)
}

/// Returns the text of a panic.
fn text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.expect("a text")
}

/// Runs what panics, and returns the text.
fn panic_of<R>(run: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).err();
    text(&*payload.expect("a panic")).to_owned()
}

/// Returns the line with which `run` ends, by an error or a panic.
fn line_of<T>(run: impl FnOnce() -> tautline::Result<T>) -> String {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(ended) => ended.err().expect("an error").to_string(),
        Err(payload) => text(&*payload).to_owned(),
    }
}

/// Code that runs until its finish is cancelled.
fn wait(cx: &mut Cx<'_, '_>) {
    while cx.cancelled().is_none() {
        cx.block_on(cx.task().yield_now());
    }
}

/// Arguments that cannot be sent are a panic of the caller, which may catch it: nothing was sent,
/// and nothing is counted.
#[test]
fn arguments_that_cannot_be_encoded() {
    let ran = three(|world| {
        let ran = AtomicU32::new(0);
        let count = handler(|_, _, _: Odd| ran.fetch_add(1, SeqCst));
        let ended = runtime(world, 1).run(|cx| {
            world.team().finish(cx, &count, |cx, at| {
                let other = Rank((at.rank().0 + 1) % 3);
                for (odd, why) in [
                    (Odd::FailsThere, "Odd cannot be encoded: "),
                    (Odd::PanicsThere, "no encoding"),
                    (Odd::Long, "Odd cannot be encoded: "),
                ] {
                    let mut batch = at.batch(cx, &count);
                    batch.push(cx, other, Odd::Good);
                    for line in [
                        panic_of(|| at.spawn(cx, other, &count, odd)),
                        panic_of(|| at.call(cx, other, &count, odd)),
                        panic_of(|| batch.push(cx, other, odd)),
                    ] {
                        assert!(line.contains(why), "{line}");
                        assert_eq!(
                            line.contains("arguments of a handler"),
                            why != "no encoding"
                        );
                        let longest = line.split(' ').find_map(|word| word.parse::<usize>().ok());
                        let is_named = longest.is_some_and(|n| (LIMIT - 200..LIMIT).contains(&n));
                        assert_eq!(is_named, odd == Odd::Long, "{line}");
                    }
                    batch.push(cx, other, Odd::Good);
                    drop(batch);
                    // Also in a finish of its own, which ends.
                    let inner = cx.finish(|cx| {
                        at.spawn(cx, other, &count, Odd::Good);
                        panic_of(|| at.spawn(cx, other, &count, odd))
                    });
                    inner.expect("nothing was cancelled");
                }
            })
        });
        ended.expect("nothing that was sent fails");
        ran.into_inner()
    });
    assert_eq!(ran, [9; 3]);
}

/// Arguments that cannot be decoded end their finish, by a line that names rank and handler, and
/// cancel what else runs in it.
#[test]
fn arguments_that_cannot_be_decoded() {
    for odd in [Odd::FailsHere, Odd::PanicsHere] {
        for is_short in [false, true] {
            let cancelled = AtomicU32::new(0);
            world::loopback(3, |world| {
                let nothing = handler(|_, _, _: Odd| ());
                let nothing = if is_short { nothing.short() } else { nothing };
                let wait = handler(|cx, _, (): ()| {
                    wait(cx);
                    cancelled.fetch_add(1, SeqCst);
                });
                let ended = runtime(world, 1).run(|cx| {
                    world.team().finish(cx, &(&nothing, &wait), |cx, at| {
                        if at.rank() != Rank(0) {
                            return;
                        }
                        for in_batch in [false, true] {
                            let line = panic_of(|| {
                                cx.finish(|cx| {
                                    // It has begun when the other one comes.
                                    at.spawn(cx, Rank(2), &wait, ());
                                    _ = at.call(cx, Rank(2), &nothing, Odd::Good).wait(cx);
                                    match in_batch {
                                        true => at.batch(cx, &nothing).push(cx, Rank(1), odd),
                                        false => at.spawn(cx, Rank(1), &nothing, odd),
                                    }
                                })
                            });
                            let begin = "rank 1: the handler at platforms/tests/team_refused.rs:";
                            assert!(line.starts_with(begin), "{line}");
                            let why = match odd {
                                Odd::PanicsHere => "decoding its arguments: no decoding",
                                _ => "Odd was expected: they do not encode such a value",
                            };
                            assert!(line.ends_with(why), "{line}");
                        }
                    })
                });
                ended.expect("the panics were caught");
            });
            assert_eq!(cancelled.into_inner(), 2);
        }
    }
}

/// A handler of batches that catches a panic of the decoding continues with the next arguments; a
/// later panic of its own has its own text.
#[test]
fn undecoded_arguments_that_a_handler_catches() {
    let counts = world::loopback(2, |world| {
        let (good, caught) = (AtomicU32::new(0), AtomicU32::new(0));
        let count = batch_handler(|_, at: At<'_>, mut all: Arguments<'_, Odd>| {
            loop {
                match catch_unwind(AssertUnwindSafe(|| all.next())) {
                    Ok(Some(_)) => _ = good.fetch_add(1, SeqCst),
                    Ok(None) => break,
                    Err(_) => _ = caught.fetch_add(1, SeqCst),
                }
            }
            assert!(at.from() == at.rank(), "enough");
        });
        let ended = runtime(world, 1).run(|cx| {
            world.team().finish(cx, &count, |cx, at| {
                let other = Rank(1 - at.rank().0);
                let line = panic_of(|| {
                    cx.finish(|cx| {
                        let mut batch = at.batch(cx, &count);
                        for odd in [Odd::Good, Odd::PanicsHere, Odd::Good] {
                            batch.push(cx, other, odd);
                        }
                    })
                });
                assert_eq!(line, format!("{other}: enough"));
            })
        });
        ended.expect("the panics were caught");
        (good.into_inner(), caught.into_inner())
    });
    assert_eq!(counts, [(2, 1); 2]);
}

/// If nothing catches it, it ends the finish of all ranks.
#[test]
fn undecoded_arguments_end_the_finish_of_all() {
    for odd in [Odd::FailsHere, Odd::PanicsHere] {
        let lines = three(|world| {
            let nothing = handler(|_, _, _: Odd| ());
            let rt = runtime(world, 1);
            line_of(|| {
                rt.run(|cx| {
                    world.team().finish(cx, &nothing, |cx, at| {
                        if at.rank() == Rank(2) {
                            at.spawn(cx, Rank(1), &nothing, odd);
                        }
                    })
                })
            })
        });
        for line in lines {
            let named = "rank 1: the handler at platforms/tests/team_refused.rs:";
            assert!(line.contains(named), "{line}");
        }
    }
}

/// So does a result that cannot be sent back.
#[test]
fn results_that_cannot_be_encoded() {
    for odd in [Odd::FailsThere, Odd::PanicsThere, Odd::Long] {
        let lines = three(|world| {
            let get = handler(move |_, _, (): ()| odd);
            let rt = runtime(world, 1);
            line_of(|| {
                rt.run(|cx| {
                    world.team().finish(cx, &get, |cx, at| {
                        if at.rank() == Rank(2) {
                            let result = at.call(cx, Rank(1), &get, ()).wait(cx);
                            assert!(result.is_err(), "{result:?}");
                        }
                    })
                })
            })
        });
        for line in lines {
            let why = match odd {
                Odd::PanicsThere => "rank 1: no encoding",
                _ => "rank 1: the result of the handler at platforms/tests/team_refused.rs:",
            };
            assert!(line.contains(why), "{line}");
        }
    }
}

/// Ranks that the team does not have, and batches with nothing in them: at each rank of several.
#[test]
fn ranks_out_of_the_team_and_empty_batches() {
    let ran = three(|world| {
        let ran = AtomicU32::new(0);
        let count = handler(|_, _, (): ()| _ = ran.fetch_add(1, SeqCst));
        let ended = runtime(world, 1).run(|cx| {
            let mut team = world.team();
            let half = team.split(Some(world.rank().0 / 2)).wait(cx)?;
            // A rank of the world that is not in its team.
            let mut half = half.expect("a team for each colour");
            let outside = half.ranks();
            half.finish(cx, &count, |cx, at| {
                let mut batch = at.batch(cx, &count);
                for to in [Rank(outside), Rank(u32::MAX)] {
                    let refused = format!("{to} of a group of {outside} ranks");
                    assert_eq!(panic_of(|| at.spawn(cx, to, &count, ())), refused);
                    assert_eq!(panic_of(|| at.call(cx, to, &count, ())), refused);
                    assert_eq!(panic_of(|| batch.push(cx, to, ())), refused);
                }
                batch.flush();
                batch.flush();
                drop(batch);
                cx.scope(|cx| drop(at.batch(cx, &count)));
                at.all().for_each(|to| at.spawn(cx, to, &count, ()));
            })
        });
        ended.expect("no error");
        ran.into_inner()
    });
    assert_eq!(ran, [2, 2, 1]);
}

/// A batch that is dropped by a panic sends nothing that has not left, and keeps no rank waiting.
#[test]
fn a_batch_dropped_by_a_panic() {
    let ran = three(|world| {
        let ran = AtomicU32::new(0);
        let count = handler(|_, _, n: u32| _ = ran.fetch_add(n, SeqCst));
        let ended = runtime(world, 1).run(|cx| {
            world.team().finish(cx, &count, |cx, at| {
                let other = Rank((at.rank().0 + 1) % 3);
                let line = panic_of(|| {
                    cx.scope(|cx| {
                        let mut batch = at.batch(cx, &count);
                        batch.push(cx, other, 100);
                        panic!("with a batch");
                    })
                });
                assert_eq!(line, "with a batch");
                at.batch(cx, &count).push(cx, other, 1);
            })
        });
        ended.expect("the panic was caught");
        ran.into_inner()
    });
    assert_eq!(ran, [1; 3]);
}

/// A short handler that waits for a reply, as an arrival and in a batch for its own rank.
#[test]
fn a_short_handler_does_not_wait() {
    world::loopback(2, |world| {
        let (get, others) = (handler(|_, _, (): ()| 7), AtomicU32::new(0));
        let get = &get;
        let ask = handler(move |cx, at, (): ()| {
            let other = Rank(1 - at.rank().0);
            at.call(cx, other, get, ()).wait(cx).expect("a result")
        })
        .short();
        let ended = runtime(world, 1).run(|cx| {
            world.team().finish(cx, &(get, &ask), |cx, at| {
                for to in at.all() {
                    let line = panic_of(|| {
                        cx.finish(|cx| at.batch(cx, &ask).push(cx, to, ()))
                            .expect("no cancel")
                    });
                    let line = line.strip_prefix(&format!("{to}: ")).unwrap_or(&line);
                    assert_eq!(line, "a short handler must not wait for a reply");
                    others.fetch_add(1, SeqCst);
                }
            })
        });
        ended.expect("the panics were caught");
        assert_eq!(others.into_inner(), 2);
    });
}

/// Makes a finish of these handlers, which are not those of all ranks, and returns its error.
fn refused<'e, H: Handlers>(
    cx: &mut Cx<'_, '_>,
    team: &'e mut Team,
    handlers: &'e H,
    body: impl for<'s> FnOnce(&mut Cx<'s, 'e>, At<'s>),
) -> String {
    let ended = team.finish(cx, handlers, body);
    ended.expect_err("the handlers differ").to_string()
}

/// Handlers that differ at one rank, in any way, are an error of every rank, and do not run
/// for a rank that has others.
#[test]
fn handlers_that_differ_at_one_rank() {
    for way in ["number", "order", "type", "short", "place"] {
        let ran = AtomicU32::new(0);
        let lines = world::loopback(3, |world| {
            let run = || _ = ran.fetch_add(1, SeqCst);
            let differs = world.rank() == Rank(1);
            // Types of handlers that differ have the same name, unless arguments do.
            let (one, two) = (handler(|_, _, (): ()| run()), handler(|_, _, (): ()| run()));
            let (three, four) = (handler(|_, _, _: u8| run()), handler(|_, _, (): ()| run()));
            let four = if differs { four.short() } else { four };
            let (one, two, three, four) = (&one, &two, &three, &four);
            // Those with other handlers.
            let others = if differs {
                vec![Rank(0), Rank(2)]
            } else {
                vec![Rank(1)]
            };
            runtime(world, 1).run(|cx| {
                let team = &mut world.team();
                match (way, differs) {
                    ("number", false) => refused(cx, team, &(one, two), |cx, at| {
                        others.iter().for_each(|to| at.spawn(cx, *to, one, ()));
                    }),
                    ("number", true) => refused(cx, team, &(one,), |cx, at| {
                        others.iter().for_each(|to| at.spawn(cx, *to, one, ()));
                    }),
                    ("order", false) => refused(cx, team, &(one, two), |cx, at| {
                        others.iter().for_each(|to| at.spawn(cx, *to, one, ()));
                    }),
                    ("order", true) => refused(cx, team, &(two, one), |cx, at| {
                        others.iter().for_each(|to| at.spawn(cx, *to, one, ()));
                    }),
                    ("type", true) => refused(cx, team, &(one, three), |cx, at| {
                        others.iter().for_each(|to| at.spawn(cx, *to, three, 1));
                    }),
                    ("type" | "place", false) => refused(cx, team, &(one, two), |cx, at| {
                        others.iter().for_each(|to| at.spawn(cx, *to, two, ()));
                    }),
                    ("place", true) => refused(cx, team, &(one, four), |cx, at| {
                        others.iter().for_each(|to| at.spawn(cx, *to, four, ()));
                    }),
                    _ => refused(cx, team, &(one, four), |cx, at| {
                        others.iter().for_each(|to| at.spawn(cx, *to, four, ()));
                    }),
                }
            })
        });
        for line in lines {
            // One rank has the difference, the others that it has given up for it.
            let names = line.contains("`finish` at platforms/tests/team_refused.rs:");
            assert!(names && line.contains("rank 1"), "{way}: {line}");
            assert_eq!(
                line.contains("(short)"),
                way == "short" || way == "place",
                "{line}"
            );
        }
        assert_eq!(ran.into_inner(), 0, "{way}");
    }
}

/// A rank that does not enter a finish is named, within the limit of the wait; so is one that
/// leaves.
#[test]
fn a_rank_that_does_not_enter_a_finish() {
    for leaves in [false, true] {
        let ended = std::sync::Barrier::new(3);
        let lines = world::loopback(3, |world| {
            if !leaves {
                world.wait_at_most(Duration::from_millis(100));
            }
            let line = (world.rank() != Rank(1)).then(|| {
                let nothing = handler(|_, _, (): ()| ());
                let rt = runtime(world, 1);
                line_of(|| {
                    rt.run(|cx| {
                        world.team().finish(cx, &nothing, |cx, at| {
                            at.all().for_each(|to| at.spawn(cx, to, &nothing, ()));
                        })
                    })
                })
            });
            if !leaves {
                ended.wait();
            }
            line
        });
        let lines: Vec<_> = lines.into_iter().flatten().collect();
        let why = match leaves {
            true => "rank 1",
            // Also rank 2, if it was late.
            false => " not begun it within 100",
        };
        // One of the two may have the error of the other one.
        assert!(
            lines.iter().all(|line| line.contains("rank 1")),
            "{lines:?}"
        );
        assert!(lines.iter().any(|line| line.contains(why)), "{lines:?}");
    }
}

/// A team that a rank drops while the others make further calls of it: what it has sent arrives,
/// other teams continue, and the calls end with its name when it leaves.
#[test]
fn a_team_dropped_early() {
    world::loopback(3, |world| {
        runtime(world, 1).run(|cx| {
            let (mut team, mut other) = (world.team(), world.team());
            let sent = team.broadcast(Rank(0), world.rank().0 + 5).wait(cx);
            assert_eq!(sent.expect("a value"), 5);
            let rest = match world.is_home() {
                true => {
                    drop(team);
                    None
                }
                false => Some(team.all_gather(1)),
            };
            for _ in 0..3 {
                let sum = other.all_reduce(1, |a, b| a + b).wait(cx);
                assert_eq!(sum.expect("all ranks make it"), 3);
            }
            if let Some(rest) = rest {
                let error = rest.wait(cx).expect_err("rank 0 has left");
                assert!(error.to_string().contains("rank 0"), "{error}");
            }
        });
    });
}

/// A colour at one rank only, none at any, teams of one, copies of copies of them.
#[test]
fn odd_divisions() {
    world::loopback(3, |world| {
        let ended = runtime(world, 1).run(|cx| {
            let mut team = world.team();
            let is_last = world.rank() == Rank(2);
            for colour in [0, u32::MAX] {
                let one = team.split(is_last.then_some(colour)).wait(cx)?;
                assert_eq!(one.is_some(), is_last);
                if let Some(mut one) = one {
                    assert_eq!(
                        (one.ranks(), one.rank(), one.world_rank(Rank(0))),
                        (1, Rank(0), Rank(2))
                    );
                    let mut copy = one.dup().wait(cx)?.dup().wait(cx)?;
                    assert_eq!(copy.all_reduce(7, |a, b| a + b).wait(cx)?, 7);
                    let ran = AtomicU32::new(0);
                    let count = handler(|_, _, n: u32| _ = ran.fetch_add(n, SeqCst));
                    copy.finish(cx, &count, |cx, at| at.spawn(cx, Rank(0), &count, 3))?;
                    assert_eq!(ran.into_inner(), 3);
                }
            }
            assert!(team.split(None).wait(cx)?.is_none());
            let mut copy = team.dup().wait(cx)?.dup().wait(cx)?.dup().wait(cx)?;
            assert!(copy.split(None).wait(cx)?.is_none());
            let own = copy.split(Some(world.rank().0)).wait(cx)?;
            assert_eq!(own.expect("a colour").ranks(), 1);
            copy.all_reduce(1, |a, b| a + b).wait(cx)
        });
        assert_eq!(ended.expect("no error"), 3);
    });
}
