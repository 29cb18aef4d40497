//! The settings of a runtime: the machine, the environment and the builder's settings, read once.
//!
//! The variables of the [processors](crate::pinning), of [memories](crate::platform), of
//! [phasers](mod@crate::phaser) and of [observation](crate::watch) are described there; those of
//! the balancer are the setters of [`Balancer`](crate::balance::Balancer).
//!
#![doc = include_str!("../setting/table/table.md")]
//!
//! `TAUTLINE_WORKERS` counts the workers of each place if the number of places is set, else of all.
//! Records are described in [`watch`](crate::watch), the reaction to a deadlock in [`Stalled`].
//!
//! A setter of the [`Builder`] or of [`Balancer`](crate::balance::Balancer) overrides the variable.
//! An empty variable counts as unset, and blanks around a value are ignored; a malformed value is
//! an error that names the variable, the value, and what is allowed. A variable whose name begins
//! with `TAUTLINE_` and is [unknown](crate::variables::ALL) is reported once, unless
//! `TAUTLINE_WARN` is 0. [`Plan::explain`] lists every setting with its source.
#![forbid(unsafe_code)]

mod builder;
mod claimed;
mod explain;
mod placement;
mod thread;

use crate::error::refuse;
use crate::hierarchy::Hierarchy;
use crate::host::division::Division;
use crate::host::pinning::{Pinning, ranges};
use crate::observe::watch::{Observe, Stalled};
use crate::phaser;
use crate::setting::{
    self, PHASER_DEGREE, PIN, PLACES, PLATFORM, Rules, Setting, WORKERS, environment,
};
use crate::{Machine, Platform, Result};
use explain::Facts;
use tautline_core::glb::Config;
use tautline_core::lifeline::Crew;
use tautline_core::task::Outside;
use tautline_node::pool;

pub use crate::setting::{Choice, Source, WORKERS_MAX};

/// The settings with which a [`Runtime`](crate::Runtime) is built.
///
/// ```
/// # use tautline::prelude::*;
/// let rt = Runtime::builder()
///     .workers(2) // default: one for each processor
///     .at_most(8) // room for `Runtime::set_workers`
///     .pinned(false) // the system may move them
///     .build()?;
/// assert_eq!(rt.workers(), 2);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is built before `build`"]
pub struct Builder {
    machine: Machine,
    /// Whether environment variables apply.
    environment: bool,
    places: Option<u32>,
    workers: Option<usize>,
    most: usize,
    pinned: Option<bool>,
    pinning: Option<Pinning>,
    platform: Option<Platform>,
    outside: Outside,
    phasers: Option<phaser::Config>,
    observe: Option<Observe>,
    thread: pool::Thread,
    stalled: Option<Stalled>,
    pub(crate) idle: Option<pool::Idle>,
}

/// All settings of a runtime, checked; [`Builder::build`] starts it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The balancer's parameters: places, workers of each, and the rules for this number of places.
    pub balancing: Config,
    /// The maximum number of workers later.
    pub most: usize,
    /// Whether every worker stays on one processor.
    pub pinned: bool,
    /// The processor of each worker, place by place; empty if they are not pinned.
    pub cpus: Vec<usize>,
    /// The processors for workers.
    pub pinning: Pinning,
    /// Whether workers are pinned by default, and so only while no other runtime has workers on one
    /// of `cpus`.
    yields: bool,
    /// The memories of the node.
    pub tree: Hierarchy,
    /// The queue of tasks that were bound to a domain from outside it.
    pub outside: Outside,
    /// The structure of phasers of tasks.
    pub phasers: phaser::Config,
    /// The balancer's rules that the environment requests.
    pub(crate) rules: Rules,
    choices: Vec<Choice>,
    /// The records to make of the workers.
    pub observe: Observe,
    /// The way in which the threads of the workers are started.
    pub thread: pool::Thread,
    /// The reaction to a deadlock: no task can continue.
    pub stalled: Stalled,
    pub(crate) idle: Option<pool::Idle>,
    /// Whether the environment was read.
    pub(crate) environment: bool,
}

impl Plan {
    /// Returns the number of workers of all places.
    pub fn workers(&self) -> usize {
        self.balancing.all_workers()
    }

    /// Returns every setting, with its value, its source, and what the runtime chooses by default.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// for choice in Runtime::builder().plan()?.explain() {
    ///     println!("{}: {choice}", choice.setting);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn explain(&self) -> &[Choice] {
        &self.choices
    }

    /// Adapts this plan to the workers that the system has allowed: what is reported is what runs.
    /// A place keeps one worker at least.
    pub(crate) fn reduce(&mut self, started: usize) {
        let wanted = self.workers();
        self.balancing = setting::reduced(self.balancing, started);
        self.cpus.truncate(started);
        let stale = self.pinning.surprise(wanted, self.pinned);
        self.choices
            .retain(|choice| stale.as_ref() != Some(&choice.value));
        for choice in &mut self.choices {
            match choice.setting {
                at if at == WORKERS.name => {
                    choice.value = started.to_string();
                    choice.source = Source::Detected;
                    choice.why = format!("{started}: the system refused threads for {wanted}");
                }
                at if at == PIN.name && self.pinned => choice.value = ranges(&self.cpus),
                _ => {}
            }
        }
        let surprise = self.pinning.surprise(started, self.pinned);
        self.choices.extend(
            surprise.map(|line| Choice::chosen("placement", &line, Source::Detected, line.clone())),
        );
    }

    /// Warns of unexpected effects of this plan, in one line.
    pub(crate) fn warn(&self) {
        self.pinning.warn(self.workers(), self.pinned);
    }

    pub(crate) fn threads(&self) -> pool::Plan {
        pool::Plan {
            workers: self.workers(),
            most: self.most,
            tree: self.tree.clone(),
            outside: self.outside,
            cpus: self.cpus.clone(),
            phasers: self.phasers,
            balancing: self.balancing,
            watcher: None,
            thread: self.thread.clone(),
            stalls: self.stalled.watch(),
            idle: self.idle.clone(),
            extension: None,
        }
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// Checks all settings and returns them, as [`build`](Self::build) will use them.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let plan = Runtime::builder().places(2).workers(3).plan()?; // nothing is started
    /// assert_eq!((plan.balancing.places, plan.workers()), (2, 6));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// A setting, or a variable of the environment, that is out of its bounds or malformed.
    pub fn plan(&self) -> Result<Plan> {
        let pinning = self.planned_pinning()?;
        let described = self.described()?;
        let tree = described.as_ref().map(Platform::hierarchy);
        let processors = pinning.processors().max(1);
        let default = tree.map_or(processors, |tree| tree.workers() as usize);
        let (shape, division) = match self.shape(default)? {
            Some(shape) => (shape, None),
            None => match tree {
                Some(_) => (cut(default), None),
                None => self.divided(&pinning, processors),
            },
        };
        let rules = self.rules()?;
        let balancing = rules.over(shape);
        checked(&balancing)?;
        let all = balancing.all_workers();
        let (phasers, placement) = (self.planned_phasers()?, self.placement(&pinning)?);
        let tree = tree.cloned().or_else(|| Hierarchy::single(all as u32).ok());
        let cpus = match (placement.is_pinned, &division) {
            (false, _) => Vec::new(),
            (true, Some(division)) => division.seats(),
            (true, None) => cpus(described.as_ref(), &pinning, all),
        };
        let choices = Facts {
            machine: &self.machine,
            balancing: &balancing,
            rules: &rules,
            places: self.source(self.places.is_some(), &PLACES)?,
            workers: self.workers_source()?,
            division: division.as_ref().map(Division::why),
            cpus: &cpus,
            surprises: self.surprises(&pinning, all, placement.is_pinned)?,
            placement: &placement,
            platform: described.as_ref().map(Platform::info),
            described: self.source(self.platform.is_some(), &PLATFORM)?,
            phasers,
            degree: self.source(self.phasers.is_some(), &PHASER_DEGREE)?,
        }
        .choices();
        Ok(Plan {
            balancing,
            most: self.most.max(all).max(processors).min(WORKERS_MAX),
            pinned: placement.is_pinned,
            cpus,
            yields: placement.yields,
            pinning,
            tree: tree.expect("there is a worker"),
            outside: self.outside,
            phasers,
            rules,
            choices,
            observe: self.observed()?,
            thread: self.checked_thread()?,
            stalled: Stalled::or_environment(self.stalled, self.environment)?,
            idle: self.idle.clone(),
            environment: self.environment,
        })
    }

    fn described(&self) -> Result<Option<Platform>> {
        match &self.platform {
            None if self.environment => Platform::from_environment(&self.machine),
            platform => Ok(platform.clone()),
        }
    }

    fn planned_phasers(&self) -> Result<phaser::Config> {
        match self.phasers {
            Some(phasers) => Ok(phasers),
            None if self.environment => phaser::config(&self.machine, None),
            None => {
                let site = phaser::rule::Site::of(&self.machine);
                Ok(phaser::rule::rule(&site, None).config)
            }
        }
    }

    /// The balancer's rules that the environment requests.
    pub(crate) fn rules(&self) -> Result<Rules> {
        match self.environment {
            true => environment::rules(),
            false => Ok(Rules::default()),
        }
    }

    /// Returns the source of a setting: a setter, called if `is_set`, a variable, or the default.
    fn source(&self, is_set: bool, setting: &Setting) -> Result<Source> {
        Ok(match is_set {
            true => Source::Asked,
            false if self.environment && environment::text(setting.variable)?.is_some() => {
                Source::Variable(setting.variable)
            }
            false => Source::Rule,
        })
    }

    fn workers_source(&self) -> Result<Source> {
        let source = self.source(self.workers.is_some(), &WORKERS)?;
        Ok(match source {
            Source::Rule => Source::Detected,
            source => source,
        })
    }

    /// Returns the records to make of the workers.
    fn observed(&self) -> Result<Observe> {
        let observe = self.observe.clone().unwrap_or_default();
        let environment = match self.environment {
            true => Observe::from_environment()?,
            false => Observe::default(),
        };
        observe.or(environment).check()
    }

    /// Returns the numbers of places and workers, if either was set.
    fn shape(&self, default: usize) -> Result<Option<Config>> {
        let places = match self.places {
            Some(places) => Some((PLACES.name, places as usize)),
            None => self.variable(&PLACES)?,
        };
        let workers = match self.workers {
            Some(workers) => Some((WORKERS.name, workers)),
            None => self.variable(&WORKERS)?,
        };
        match (places, workers) {
            (None, None) => Ok(None),
            (None, Some((setting, all))) => {
                within(setting, all, WORKERS_MAX)?;
                Ok(Some(cut(all)))
            }
            (Some((setting, places)), workers) => {
                within(setting, places, WORKERS_MAX)?;
                places_of(places, workers, default).map(Some)
            }
        }
    }

    /// All processors, where neither places nor workers were set.
    fn divided(&self, pinning: &Pinning, processors: usize) -> (Config, Option<Division>) {
        if processors <= Crew::MAX || *pinning != Pinning::of(&self.machine) {
            return (cut(processors.min(WORKERS_MAX)), None);
        }
        let division = Division::of(&self.machine);
        (division.config(), Some(division))
    }

    fn variable(&self, setting: &Setting) -> Result<Option<(&'static str, usize)>> {
        if !self.environment {
            return Ok(None);
        }
        let number = environment::number(setting)?;
        Ok(number.map(|number| (setting.variable, number)))
    }
}

/// Refuses rules of the environment that are out of bounds.
fn checked(balancing: &Config) -> Result<()> {
    setting::check(balancing)
        .or_else(|(setting, value, allowed)| refuse(setting.variable, value, allowed))
}

/// Returns the processor of each of `workers` workers: of the platform, if it knows all of them.
fn cpus(platform: Option<&Platform>, pinning: &Pinning, workers: usize) -> Vec<usize> {
    let known = |platform: &Platform| (0..workers as u32).map_while(|w| platform.cpu(w)).collect();
    let cpus: Vec<usize> = platform.map_or_else(Vec::new, known);
    if cpus.len() < workers {
        pinning.cpus(workers)
    } else {
        cpus
    }
}

/// Returns `places` places with the requested workers, else with their shares of `default`.
pub(crate) fn places_of(
    places: usize,
    workers: Option<(&'static str, usize)>,
    default: usize,
) -> Result<Config> {
    let Some((setting, workers)) = workers else {
        let all = default.clamp(places, places * Crew::MAX);
        return Ok(Config::default().divided(places as u32, all.min(WORKERS_MAX)));
    };
    if !(1..=Crew::MAX).contains(&workers) {
        return refuse(setting, workers, format!("from 1 to {} a place", Crew::MAX));
    }
    let all = places * workers;
    if all > WORKERS_MAX {
        let allowed =
            format!("at most {WORKERS_MAX} workers in all, and {places} places need {all}");
        return refuse(setting, workers, allowed);
    }
    Ok(Config::default().divided(places as u32, all))
}

/// Returns the least number of places that `workers` need.
fn cut(workers: usize) -> Config {
    Config::default().divided(workers.div_ceil(Crew::MAX) as u32, workers)
}

fn within(setting: &'static str, value: usize, most: usize) -> Result<()> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    refuse(setting, value, format!("from 1 to {most}"))
}
