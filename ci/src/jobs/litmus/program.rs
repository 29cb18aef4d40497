//! A litmus test as data: a few threads of atomic operations, and an outcome.
//!
//! | line | operation |
//! |---|---|
//! | `r = load x Acquire` | loads a location into a register |
//! | `store x 1 Release` | stores a number |
//! | `r = swap x 1 AcqRel`, `r = add x 1 AcqRel` | read-modify-write; `r` is the previous value |
//! | `w = cas x 0 1 Release Relaxed` | strong compare-exchange from 0 to 1; `w` is 1 if it succeeds |
//! | `fence SeqCst` | a fence; `none`: no operation |
//! | `light light` | the light half of an asymmetric fence: a compiler fence; `none`: its neighbours change places |
//! | `heavy 0 heavy` | the heavy half: makes thread 0 fence between any two of its operations; `SeqCst`: a fence of this thread alone |
//! | `when r == 1` | the rest of the thread is executed only then; part of the outcome |
//!
//! `$name` in place of an ordering or of a kind of fence is replaced by the value of that name.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

/// Names of orderings, and their values in one variant of a test.
pub(super) type Values = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl Order {
    fn parse(word: &str) -> Result<Self> {
        Ok(match word {
            "Relaxed" => Self::Relaxed,
            "Acquire" => Self::Acquire,
            "Release" => Self::Release,
            "AcqRel" => Self::AcqRel,
            "SeqCst" => Self::SeqCst,
            _ => {
                bail!("ordering `{word}`; allowed: Relaxed, Acquire, Release, AcqRel, SeqCst")
            }
        })
    }

    pub(super) fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    pub(super) fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Load {
        into: String,
        at: String,
        order: Order,
    },
    Store {
        at: String,
        value: u32,
        order: Order,
    },
    /// Stores a number, or the sum of it and the previous value.
    Update {
        adds: bool,
        into: String,
        at: String,
        value: u32,
        order: Order,
    },
    Cas {
        won: String,
        at: String,
        old: u32,
        new: u32,
        success: Order,
        failure: Order,
    },
    Fence(Order),
    /// The light fence, or without it: what the compiler may then do.
    Light {
        is_kept: bool,
    },
    Heavy {
        thread: usize,
    },
    When {
        register: String,
        value: u32,
    },
}

/// A final value: of a register of a thread, or of a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Final {
    pub thread: Option<usize>,
    pub name: String,
    pub value: u32,
}

/// One variant of a test, for every target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Locations and their first values.
    pub init: BTreeMap<String, u32>,
    pub threads: Vec<Vec<Op>>,
    /// The outcome in question: all of these.
    pub outcome: Vec<Final>,
}

impl Program {
    /// Returns the programs that together are the test: one for each place of a heavy fence in the
    /// thread on which it acts, otherwise one.
    pub(super) fn parse(
        init: &BTreeMap<String, u32>,
        threads: &[String],
        outcome: &[String],
        values: &Values,
    ) -> Result<Vec<Self>> {
        let parsed = threads.iter().map(|text| thread(text, values));
        let threads: Vec<Vec<Op>> = parsed.collect::<Result<_>>()?;
        let finals = outcome.iter().map(|text| final_value(text));
        let finals: Vec<Final> = finals.collect::<Result<_>>()?;
        let placed = place_heavy(&threads)?;
        placed
            .into_iter()
            .map(|(threads, is_fenced)| {
                let mut init = init.clone();
                if is_fenced {
                    init.extend([(REQUEST.to_owned(), 0), (ANSWER.to_owned(), 0)]);
                }
                let mut program = Self {
                    init,
                    threads,
                    outcome: finals.clone(),
                };
                program.outcome.extend(program.guards());
                program.check()?;
                Ok(program)
            })
            .collect()
    }

    fn guards(&self) -> Vec<Final> {
        let guard = |thread: usize, op: &Op| match op {
            Op::When { register, value } => Some(Final {
                thread: Some(thread),
                name: register.clone(),
                value: *value,
            }),
            _ => None,
        };
        let threads = self.threads.iter().enumerate();
        let guards = threads.flat_map(|(at, ops)| ops.iter().filter_map(move |op| guard(at, op)));
        guards.collect()
    }

    /// An error if a location has no first value, or a register of the outcome is never set: such
    /// an outcome would be impossible for the wrong reason.
    fn check(&self) -> Result<()> {
        for op in self.threads.iter().flatten() {
            if let Some(at) = op.location()
                && !self.init.contains_key(at)
            {
                bail!("location `{at}` has no first value");
            }
        }
        for Final { thread, name, .. } in &self.outcome {
            let known = match thread {
                None => self.init.contains_key(name),
                Some(thread) => {
                    let ops = self.threads.get(*thread).into_iter().flatten();
                    ops.filter_map(Op::register).any(|set| set == name)
                }
            };
            if !known {
                bail!("`{name}` in the outcome is never set");
            }
        }
        Ok(())
    }
}

impl Op {
    fn location(&self) -> Option<&str> {
        match self {
            Self::Load { at, .. }
            | Self::Store { at, .. }
            | Self::Update { at, .. }
            | Self::Cas { at, .. } => Some(at),
            _ => None,
        }
    }

    /// The register that the operation sets.
    fn register(&self) -> Option<&str> {
        match self {
            Self::Load { into, .. } | Self::Update { into, .. } => Some(into),
            Self::Cas { won, .. } => Some(won),
            _ => None,
        }
    }
}

/// The locations of the message that stands for a heavy fence.
const REQUEST: &str = "request_fence";
const ANSWER: &str = "fenced";

/// Puts a heavy fence at each place where it may act. The system interrupts the other thread, which
/// fences and answers: two messages.
fn place_heavy(threads: &[Vec<Op>]) -> Result<Vec<(Vec<Vec<Op>>, bool)>> {
    let heavy = threads.iter().enumerate().flat_map(|(by, ops)| {
        let heavy = ops.iter().enumerate();
        heavy.filter_map(move |(at, op)| match op {
            Op::Heavy { thread } => Some((by, at, *thread)),
            _ => None,
        })
    });
    let heavy: Vec<(usize, usize, usize)> = heavy.collect();
    let &[(by, at, on)] = heavy.as_slice() else {
        return match heavy.len() {
            0 => Ok(vec![(threads.to_vec(), false)]),
            n => bail!("{n} heavy fences; allowed: 1"),
        };
    };
    if on == by || on >= threads.len() {
        bail!(
            "a heavy fence on thread {on}; allowed: another of the {}",
            threads.len()
        );
    }
    let load = |at: &str| Op::Load {
        into: at.to_owned(),
        at: at.to_owned(),
        order: Order::Relaxed,
    };
    let store = |at: &str| Op::Store {
        at: at.to_owned(),
        value: 1,
        order: Order::Relaxed,
    };
    let when = |register: &str| Op::When {
        register: register.to_owned(),
        value: 1,
    };
    let fence = || Op::Fence(Order::SeqCst);
    let asks = [fence(), store(REQUEST), load(ANSWER), when(ANSWER), fence()];
    let answers = [load(REQUEST), when(REQUEST), fence(), store(ANSWER)];
    let places = 0..=threads[on].len();
    let placed = places.map(|place| {
        let mut threads = threads.to_vec();
        threads[by].splice(at..=at, asks.clone());
        threads[on].splice(place..place, answers.clone());
        (threads, true)
    });
    Ok(placed.collect())
}

fn thread(text: &str, values: &Values) -> Result<Vec<Op>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut ops = Vec::new();
    for line in lines {
        ops.extend(op(line, values).with_context(|| format!("in `{line}`"))?);
    }
    // Without the light fence the compiler may exchange the accesses on both sides of it.
    let is_missing = |op: &Op| *op == Op::Light { is_kept: false };
    while let Some(at) = ops.iter().position(is_missing) {
        if at == 0 || at + 1 == ops.len() {
            bail!("a light fence needs an operation on either side");
        }
        ops.swap(at - 1, at + 1);
        ops.remove(at);
    }
    ops.retain(|op| *op != Op::Light { is_kept: true });
    Ok(ops)
}

/// Returns the words of a line, names of orderings replaced by their values.
fn words<'t>(line: &'t str, values: &'t Values) -> Result<Vec<&'t str>> {
    let words = line
        .split_whitespace()
        .map(|word| match word.strip_prefix('$') {
            None => Ok(word),
            Some(name) => {
                let value = values.get(name).map(String::as_str);
                value.with_context(|| format!("ordering `{name}` is not in the table"))
            }
        });
    words.collect()
}

fn number(word: &str) -> Result<u32> {
    let parsed = word.parse::<u32>().ok().filter(|n| *n < 256);
    parsed.with_context(|| format!("number `{word}`; allowed: 0 to 255"))
}

fn op(line: &str, values: &Values) -> Result<Option<Op>> {
    let words = words(line, values)?;
    let text = |word: &str| word.to_owned();
    let order = Order::parse;
    Ok(Some(match *words.as_slice() {
        [into, "=", "load", at, o] => Op::Load {
            into: text(into),
            at: text(at),
            order: order(o)?,
        },
        ["store", at, value, o] => Op::Store {
            at: text(at),
            value: number(value)?,
            order: order(o)?,
        },
        [into, "=", kind @ ("swap" | "add"), at, value, o] => Op::Update {
            adds: kind == "add",
            into: text(into),
            at: text(at),
            value: number(value)?,
            order: order(o)?,
        },
        [won, "=", "cas", at, old, new, success, failure] => Op::Cas {
            won: text(won),
            at: text(at),
            old: number(old)?,
            new: number(new)?,
            success: order(success)?,
            failure: order(failure)?,
        },
        ["when", register, "==", value] => Op::When {
            register: text(register),
            value: number(value)?,
        },
        // Of compiler fences, one that is weaker than SeqCst lets a load precede a store.
        ["light", kind @ ("light" | "SeqCst" | "AcqRel" | "none")] => Op::Light {
            is_kept: matches!(kind, "light" | "SeqCst"),
        },
        ["heavy", thread, "heavy"] => Op::Heavy {
            thread: number(thread)? as usize,
        },
        ["fence" | "heavy", .., "none"] => return Ok(None),
        ["fence", o] | ["heavy", _, o] => Op::Fence(order(o)?),
        _ => bail!("not an operation"),
    }))
}

/// Parses `0:r = 1` or `x = 1`.
fn final_value(text: &str) -> Result<Final> {
    let parsed = || {
        let (place, value) = text.split_once('=')?;
        let value = value.trim().parse().ok()?;
        let (thread, name) = match place.split_once(':') {
            Some((thread, name)) => (Some(thread.trim().parse().ok()?), name),
            None => (None, place),
        };
        let name = name.trim().to_owned();
        Some(Final {
            thread,
            name,
            value,
        })
    };
    parsed().with_context(|| {
        format!("outcome `{text}`; allowed: `THREAD:REGISTER = N` or `LOCATION = N`")
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Op, Order, Program, Values};
    use std::collections::BTreeMap;

    /// The programs of one variant; `init` and `outcome` are lists with commas.
    pub(in super::super) fn programs(
        init: &[&str],
        threads: &[&str],
        outcome: &[&str],
        values: &[(&str, &str)],
    ) -> anyhow::Result<Vec<Program>> {
        let texts = |list: &[&str]| -> Vec<String> { list.iter().map(|&t| t.to_owned()).collect() };
        let init: BTreeMap<String, u32> = texts(init).into_iter().map(|at| (at, 0)).collect();
        let values = values
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        let values: Values = values.collect();
        Program::parse(&init, &texts(threads), &texts(outcome), &values)
    }

    fn error(thread: &str, outcome: &str) -> String {
        let all = programs(&["x"], &[thread], &[outcome], &[]);
        format!("{:#}", all.unwrap_err())
    }

    #[test]
    fn a_heavy_fence_acts_between_any_two_operations() {
        let threads = [
            "store x 1 Relaxed\nr = load y Relaxed",
            "store y 1 Relaxed\nheavy 0 $h",
        ];
        let at = |h: &str| programs(&["x", "y"], &threads, &["0:r = 0"], &[("h", h)]).unwrap();
        let placed = at("heavy");
        assert_eq!(placed.len(), 3);
        let fences = placed.iter().map(|program| {
            let is_fence = |op: &Op| *op == Op::Fence(Order::SeqCst);
            program.threads[0].iter().position(is_fence).unwrap()
        });
        assert_eq!(fences.collect::<Vec<_>>(), [2, 3, 4]);
        // The fence was executed, on both sides.
        assert_eq!(placed[0].outcome.len(), 3);
        assert_eq!(at("SeqCst").len(), 1);
        assert_eq!(at("none")[0].threads[1].len(), 1);
    }

    #[test]
    fn without_a_light_fence_its_neighbours_change_places() {
        let threads = ["store x 1 Relaxed\nlight $l\nr = load y Relaxed"];
        let ops = |l: &str| {
            let all = programs(&["x", "y"], &threads, &["0:r = 0"], &[("l", l)]);
            all.unwrap()[0].threads[0].clone()
        };
        let (kept, missing) = (ops("light"), ops("none"));
        assert_eq!(kept.len(), 2);
        assert_eq!(
            (ops("SeqCst"), ops("AcqRel")),
            (kept.clone(), missing.clone())
        );
        assert_eq!(missing, [kept[1].clone(), kept[0].clone()]);
    }

    #[test]
    fn a_condition_is_part_of_the_outcome() {
        let thread = "r = load x Acquire\nwhen r == 1\ns = load x Relaxed";
        let program = &programs(&["x"], &[thread], &["0:s = 0"], &[]).unwrap()[0];
        assert_eq!(program.outcome.len(), 2);
        assert_eq!(program.outcome[1].name, "r");
    }

    #[test]
    fn errors_name_the_line_and_what_is_allowed() {
        let outcome = "0:r = 1";
        let weak = error("r = load x Weak", outcome);
        assert!(
            weak.contains("`r = load x Weak`") && weak.contains("allowed: Relaxed"),
            "{weak}"
        );
        assert!(error("r = load x $o", outcome).contains("`o` is not in the table"));
        assert!(error("r = laod x Relaxed", outcome).contains("not an operation"));
        assert!(error("store x 256 Relaxed", "x = 1").contains("`256`; allowed: 0 to 255"));
        assert!(error("r = load y Relaxed", outcome).contains("`y` has no first value"));
        assert!(error("r = load x Relaxed", "0:q = 1").contains("`q` in the outcome is never set"));
        assert!(error("r = load x Relaxed", "r is 1").contains("allowed: `THREAD:REGISTER = N`"));
        assert!(error("heavy 0 heavy", "x = 1").contains("fence on thread 0"));
        assert!(error("light none", "x = 1").contains("on either side"));
    }
}
