//! The rows of the settings.
#![forbid(unsafe_code)]

use super::rules::{BINARY_PLACES, Rule, SHARE, Value, lifelines, random_steals};
use super::spelling::{self, Lifelines, Spelled};
use super::{Kind, Opt, Setting, WORKERS_MAX};
use tautline_core::glb::{Config, Fairness, Grain, Steal};
use tautline_core::grain::{GRAIN_MAX, Rule as Tuner};
use tautline_core::lifeline::Graph;

/// The option of a setting, of a long name and the name of its value.
const fn option(long: &'static str, value: &'static str) -> Option<Opt> {
    let short = None;
    Some(Opt { long, short, value })
}

/// The same with a short name.
const fn short(short: char, long: &'static str, value: &'static str) -> Option<Opt> {
    let short = Some(short);
    Some(Opt { long, short, value })
}

/// The rows: each a constant, and all of them the table.
macro_rules! rows {
    ($($name:ident = $row:expr;)*) => {
        $(
            #[doc = concat!("The row of `TAUTLINE_", stringify!($name), "`.")]
            pub const $name: Setting = $row;
        )*

        /// All settings that have a variable.
        pub const TABLE: &[&Setting] = &[$(&$name),*];
    };
}

/// A parameter of the balancer: its functions on the field, and others.
macro_rules! rule {
    ($field:ident, $read:expr, default: $default:expr, fixed: $fixed:expr, $($name:ident: $value:expr,)*) => {
        Kind::Rule(Rule {
            read: |text, rules| {
                rules.$field = ($read)(text)?;
                Ok(())
            },
            is_set: |rules| rules.$field.is_some(),
            or: |rules, others| rules.$field = rules.$field.or(others.$field),
            over: |rules, config| {
                let places = config.places;
                config.$field = match rules.$field {
                    Some(value) => ($fixed)(value, places),
                    None => ($default)(places),
                };
            },
            fix: |rules, config| rules.$field = Some(config.$field.into()),
            $($name: $value,)*
        })
    };
}

/// A reader of values of which none is left to the runtime.
fn some<T>(read: fn(&str) -> Result<T, String>) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |text| read(text).map(Some)
}

fn itself<T>(value: T, _places: u32) -> T {
    value
}

fn text(of: impl ToString) -> Value {
    Value::Text(of.to_string())
}

rows! {
    PLACES = Setting {
        name: "places",
        variable: "TAUTLINE_PLACES",
        option: option("places", "P"),
        kind: Kind::Number { least: 1, most: WORKERS_MAX },
        default: "as few as the workers need",
        why: "as few as the workers need, at most 64 a place",
        help: "Places: shares of the machine that exchange work by messages",
    };
    PIN = Setting {
        name: "pinned to",
        variable: "TAUTLINE_PIN",
        option: option("pin", "LIST"),
        kind: Kind::Text("a list as in OMP_PLACES"),
        default: "OMP_PLACES, else all allowed processors",
        why: "one worker for each core first",
        help: "Processors to pin the workers to, a list as in OMP_PLACES: cores, sockets(1), {0:4},{8:4}",
    };
    WORKERS = Setting {
        name: "workers",
        variable: "TAUTLINE_WORKERS",
        option: option("workers", "W"),
        kind: Kind::Number { least: 1, most: WORKERS_MAX },
        default: "the allowed processors, divided among the places",
        why: "one for each processor that this process may use",
        help: "Workers of a place, 1 to 64",
    };
    RANDOM_STEALS = Setting {
        name: "random steals",
        variable: "TAUTLINE_RANDOM_STEALS",
        option: short('w', "random-steals", "auto|N"),
        kind: rule! {
            random_steals, spelling::random_steals, default: random_steals, fixed: itself,
            allowed: "auto, or a whole number, not negative",
            known: &[("auto", "")],
            is_closed: false,
            value: |config| Value::Number(config.random_steals as u64),
            why: |config| {
                format!(
                    "{}, one for each doubling of the places ({}): with 1, simulated trees on 1024 places lose up \
                     to a tenth; with more than 16 nothing is gained",
                    random_steals(config.places),
                    config.places
                )
            },
            is_explained: true,
            is_default: |config| config.random_steals == random_steals(config.places),
            check: |_| Ok(()),
        },
        default: "auto",
        why: "",
        help: "Random steals before a place uses its lifelines",
    };
    LIFELINES = Setting {
        name: "lifelines",
        variable: "TAUTLINE_LIFELINES",
        option: option("lifelines", "GRAPH"),
        kind: rule! {
            lifelines, spelling::lifelines, default: lifelines, fixed: Lifelines::of,
            allowed: spelling::LIFELINES,
            known: &[("auto", ""), ("ring", ""), ("full", "")],
            is_closed: false,
            value: |config| text(Spelled(config.lifelines)),
            why: |config| {
                format!(
                    "{}: 2 has the highest efficiency on 1024 places; 8 above {BINARY_PLACES} places saves messages",
                    Spelled(lifelines(config.places))
                )
            },
            is_explained: true,
            is_default: |config| config.lifelines == lifelines(config.places),
            check: |config| match config.lifelines {
                Graph::Hypercube { radix: radix @ 0..2 } => Err((
                    format!("hypercube:{radix}"),
                    "ring, full, or hypercube:H with a radix H from 2".to_owned(),
                )),
                _ => Ok(()),
            },
        },
        default: "auto",
        why: "",
        help: "Lifeline graph: by the number of places (auto), ring, full, hypercube:H with radix H, or dimension:Z, the \
               hypercube of Z dimensions with the least radix",
    };
    STEAL = Setting {
        name: "steal",
        variable: "TAUTLINE_STEAL",
        option: option("steal", "half|K"),
        kind: rule! {
            steal, some(spelling::steal), default: |_| SHARE, fixed: itself,
            allowed: spelling::STEAL,
            known: &[("half", "")],
            is_closed: false,
            value: |config| text(Spelled(config.steal)),
            why: |_| {
                "half: on 1024 places 7 tasks are better by 4 points of efficiency where the work is near the \
                 root, and worse by 14 where it is not"
                    .to_owned()
            },
            is_explained: true,
            is_default: |config| config.steal == SHARE,
            check: |config| match config.steal {
                Steal::Count(0) => Err(("0".to_owned(), spelling::STEAL.to_owned())),
                _ => Ok(()),
            },
        },
        default: "half",
        why: "",
        help: "What a thief gets: half, or this number of tasks",
    };
    GRAIN = Setting {
        name: "grain",
        variable: "TAUTLINE_GRAIN",
        option: short('n', "grain", "auto|RULE|N"),
        kind: rule! {
            grain, some(spelling::grain), default: |_| Config::default().grain, fixed: itself,
            allowed: spelling::GRAIN,
            known: &[("auto", ""), ("merge-empty", ""), ("split-merge", "")],
            is_closed: false,
            value: |config| match config.grain {
                Grain::Fixed(tasks) => Value::Number(tasks as u64),
                tuned @ Grain::Tuned(_) => text(Spelled(tuned)),
            },
            why: |_| {
                "measured at each place: an empty look outside takes one part in 64 of the time at most, more \
                 only where workers wait for work, at this place or at others"
                    .to_owned()
            },
            is_explained: true,
            is_default: |config| {
                matches!(config.grain, Grain::Tuned(tuning) if tuning.rule == Tuner::Direct && !tuning.frozen)
            },
            check: |config| match config.grain.initial() {
                1..=GRAIN_MAX => Ok(()),
                grain => Err((grain.to_string(), format!("from 1 to {GRAIN_MAX}"))),
            },
        },
        default: "auto",
        why: "",
        help: "Tasks between two polls: measured (auto), by a rule of Finnerty's from 10 on (merge-empty, split-merge), \
               fixed (N), or frozen:N (fixed; the tuner runs but its result is ignored)",
    };
    FAIRNESS = Setting {
        name: "fairness",
        variable: "TAUTLINE_FAIRNESS",
        option: option("fairness", "FAIRNESS"),
        kind: rule! {
            fairness, some(spelling::fairness), default: |_| Config::default().fairness, fixed: itself,
            allowed: spelling::FAIRNESS,
            known: &[
                ("inline", "A worker, between two grains"),
                ("yield", "One worker yields until another thread has served them"),
                ("one-core-free", "One worker fewer: its thread only serves messages"),
                ("never", "No thread, until a worker runs dry"),
            ],
            is_closed: true,
            value: |config| text(Spelled(config.fairness)),
            why: |config| match config.fairness {
                Fairness::Inline => "inline: a worker serves messages between two grains".to_owned(),
                _ => "inline".to_owned(),
            },
            is_explained: false,
            is_default: |config| config.fairness == Config::default().fairness,
            check: |config| {
                let least = 2 * config.places as usize;
                match config.fairness == Fairness::OneCoreFree && config.all_workers() < least {
                    true => Err((
                        Spelled(config.fairness).to_string(),
                        "at least 2 workers a place: one of them only serves messages".to_owned(),
                    )),
                    false => Ok(()),
                }
            },
        },
        default: "inline",
        why: "",
        help: "The thread that serves messages while all workers of a place are busy",
    };
    SEED = Setting {
        name: "seed",
        variable: "TAUTLINE_SEED",
        option: option("seed", "N"),
        kind: rule! {
            seed, some(spelling::seed), default: |_| Config::default().seed, fixed: itself,
            allowed: "a whole number, not negative",
            known: &[],
            is_closed: false,
            value: |config| Value::Number(config.seed),
            why: |_| "1".to_owned(),
            is_explained: false,
            is_default: |config| config.seed == Config::default().seed,
            check: |_| Ok(()),
        },
        default: "1",
        why: "",
        help: "Seed of the choice of victims",
    };
    NO_PIN = Setting {
        name: "no pin",
        variable: "TAUTLINE_NO_PIN",
        option: option("no-pin", ""),
        kind: Kind::Flag,
        default: "workers are pinned if they have the processors for themselves; 0 pins them in any case",
        why: "",
        help: "Let the system move workers between processors",
    };
    DEADLINE = Setting {
        name: "deadline",
        variable: "TAUTLINE_DEADLINE",
        option: option("deadline", "TIME"),
        kind: Kind::Text("a time from 0.001 to 100000000 seconds, such as 10, 500ms or 1h30m"),
        default: "none",
        why: "",
        help: "Stop after this time, seconds or with units as in 500ms and 1h30m, and show the partial result",
    };
    RANK = launcher("rank", "TAUTLINE_RANK", "The rank of this process");
    RANKS = launcher("ranks", "TAUTLINE_RANKS", "The number of ranks");
    SEGMENT = launcher("segment", "TAUTLINE_SEGMENT", "The descriptor of the memory that all ranks share");
    WARN = Setting {
        name: "warnings",
        kind: Kind::Word(&["0", "1"]),
        default: "1",
        ..other("TAUTLINE_WARN", "0: silence warnings")
    };
    PHASER_DEGREE = Setting {
        name: "task phasers",
        kind: Kind::Number { least: 2, most: 1024 },
        default: "by the machine",
        why: "few levels, since tasks share workers",
        ..other("TAUTLINE_PHASER_DEGREE", "The degree of the trees of phasers")
    };
    PLATFORM = Setting {
        name: "memories",
        kind: Kind::Text("a file that describes a platform"),
        default: "one tree for all workers",
        why: "one for all workers",
        ..other("TAUTLINE_PLATFORM", "The tree of memories of this machine")
    };
    TRACE = Setting {
        name: "trace",
        kind: Kind::Text("a file"),
        ..other("TAUTLINE_TRACE", "Write the latest states of every worker, for ui.perfetto.dev")
    };
    LIFE = Setting {
        name: "life",
        kind: Kind::Text("a file"),
        ..other("TAUTLINE_LIFE", "Write a page that draws what every worker did over time")
    };
    TIMES = Setting {
        name: "times",
        kind: Kind::Flag,
        ..other("TAUTLINE_TIMES", "Print the time that every worker spent in each state")
    };
    DUMP = Setting {
        name: "dump",
        kind: Kind::Flag,
        ..other(
            "TAUTLINE_DUMP",
            "Print what every worker does upon SIGUSR1, and for which other ranks each rank waits",
        )
    };
    STALLED = Setting {
        name: "stalled",
        kind: Kind::Word(&["report", "panic", "abort", "ignore"]),
        default: "report",
        ..other("TAUTLINE_STALLED", "What happens if no task can continue")
    };
}

/// A setting without an option: a switch that is off by default, unless fields are replaced.
const fn other(variable: &'static str, help: &'static str) -> Setting {
    Setting {
        name: "",
        variable,
        option: None,
        kind: Kind::Flag,
        default: "none",
        why: "",
        help,
    }
}

/// A variable that the launcher of this project sets.
const fn launcher(name: &'static str, variable: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        kind: Kind::Text("set by `tautline launch`"),
        ..other(variable, help)
    }
}
