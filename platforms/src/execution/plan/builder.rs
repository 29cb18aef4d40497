//! The setters of a builder.
#![forbid(unsafe_code)]

use super::Builder;
use crate::host::pinning::Pinning;
use crate::observe::watch::{Observe, Stalled};
use crate::phaser;
use crate::{Machine, Platform};
use tautline_core::task::Outside;
use tautline_node::pool;

impl Builder {
    /// Creates a builder for the processors that [`Machine::discover`] finds, with the settings of
    /// the environment.
    ///
    /// ```
    /// use tautline::runtime::Builder;
    ///
    /// let rt = Builder::new().workers(1).build()?;
    /// assert_eq!(rt.workers(), 1);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn new() -> Self {
        Self {
            environment: true,
            ..Self::on(Machine::discover())
        }
    }

    /// Creates a builder for the processors of `machine`, which need not be this one: environment
    /// variables are ignored.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::runtime::Builder;
    ///
    /// // A machine with these processors. Nothing is started.
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// assert_eq!(Builder::on(machine).plan()?.workers(), 4);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn on(machine: Machine) -> Self {
        Self {
            machine,
            environment: false,
            places: None,
            workers: None,
            most: 0,
            pinned: None,
            pinning: None,
            platform: None,
            outside: Outside::default(),
            phasers: None,
            observe: None,
            thread: pool::Thread::default(),
            stalled: None,
            idle: None,
        }
    }

    /// Returns the machine whose processors it uses.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Restricts the builder to these processors of its machine, as if the process could use no
    /// others: a rank of a launch.
    ///
    /// ```
    /// # use tautline::{Machine, runtime::Builder};
    /// let builder = Builder::on(Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]));
    /// assert_eq!(builder.restricted(&[2, 3]).plan()?.cpus, [2, 3]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// None of `cpus` is a processor of the machine.
    pub fn restricted(mut self, cpus: &[usize]) -> Self {
        self.machine = self.machine.restricted(cpus);
        self
    }

    /// Sets the number of places, 1 to 4096. Default: `TAUTLINE_PLACES`, else as few as the workers
    /// need, at most 64 for each.
    pub fn places(mut self, places: u32) -> Self {
        self.places = Some(places);
        self
    }

    /// Sets the number of workers: of each place if their number is set, else in all; the caller of
    /// [`Runtime::run`](crate::Runtime::run) is one of them. Default: `TAUTLINE_WORKERS`, else the
    /// workers of the [`platform`](Self::platform), else one for each processor that this process
    /// may use.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::builder().workers(2).build()?;
    /// assert_eq!(rt.workers(), 2);
    /// assert!(Runtime::builder().workers(0).build().is_err());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the maximum for [`Runtime::set_workers`](crate::Runtime::set_workers). Default: the
    /// processors of this process, or the workers if they are more.
    pub fn at_most(mut self, workers: usize) -> Self {
        self.most = workers;
        self
    }

    /// Sets whether workers are pinned to processors, all but the thread that calls
    /// [`Runtime::run`](crate::Runtime::run). Default: yes, unless `TAUTLINE_NO_PIN` is 1, the
    /// quota of the control group is below the number of processors, the process is in a network
    /// namespace of its own, as in a container, or another runtime has workers pinned to one of the
    /// processors ([`pinning`](crate::pinning)).
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let first = Runtime::builder().pinned(true).build()?;
    /// let second = Runtime::new()?; // leaves the processors of its workers to the system
    /// assert!(!second.plan().pinned);
    /// # drop(first);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = Some(pinned);
        self
    }

    /// Sets the processors for workers. Default: those of the environment
    /// ([`pinning`](crate::pinning)).
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::Machine;
    /// use tautline::pinning::{Bind, Pinning};
    ///
    /// let machine = Machine::discover();
    /// let pinning = Pinning::listed(&machine, &"cores".parse()?, Bind::Spread)?;
    /// let plan = Runtime::builder().pinning(pinning).plan()?;
    /// println!("on processors {:?}", plan.cpus);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.pinning = Some(pinning);
        self
    }

    /// Sets the domains that tasks can be bound to
    /// ([`Cx::spawn_in`](tautline_core::task::Cx::spawn_in)), and with them the order of victims.
    /// Default: one domain with all workers.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::Platform;
    ///
    /// let rt = Runtime::builder().platform(Platform::discover()).build()?;
    /// let tree = &rt.plan().tree;
    /// println!("{} domains, {} workers", tree.len(), tree.workers());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn platform(mut self, platform: Platform) -> Self {
        self.platform = Some(platform);
        self
    }

    /// Sets where tasks wait that were bound to a domain by a worker that is not below it.
    pub fn outside(mut self, outside: Outside) -> Self {
        self.outside = outside;
        self
    }

    /// Sets how phasers of tasks are built. Default: by the [rule](mod@phaser::rule) and the
    /// environment.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::phaser::Config;
    ///
    /// let config = Config { degree: 8, ..Config::default() };
    /// let rt = Runtime::builder().phasers(config).build()?;
    /// let degree = rt.run(|cx| Ok::<_, tautline::Error>(cx.phaser(Mode::SignalWait)?.phaser().config().degree));
    /// assert_eq!(degree?, 8);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn phasers(mut self, config: phaser::Config) -> Self {
        self.phasers = Some(config);
        self
    }

    /// Sets what is recorded of the workers. Default: what the [environment](crate::watch)
    /// requests.
    ///
    /// ```
    /// # use tautline::{prelude::*, watch::Observe};
    /// let rt = Runtime::builder().observe(Observe::new()).build()?;
    /// assert!(rt.times().is_some());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn observe(mut self, observe: Observe) -> Self {
        self.observe = Some(observe);
        self
    }

    /// Sets the reaction if no task of the runtime can continue. Default: `TAUTLINE_STALLED`, else
    /// a line on standard error.
    pub fn stalled(mut self, stalled: Stalled) -> Self {
        self.stalled = Some(stalled);
        self
    }
}
