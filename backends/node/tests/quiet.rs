//! A dry place costs nothing. Alone in its file: it measures the threads of the whole process.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tautline_core::PlaceId;
use tautline_core::glb::{Bag, Config, Control, Fairness, Share};

#[path = "balanced/mod.rs"]
mod balanced;

use balanced::run;

const PLACES: u32 = 4;
const SMALL: usize = 400;
/// The time for which the quiet places are observed.
const LOOK: Duration = Duration::from_millis(300);
/// The time to wait for an event. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// State shared by all places.
struct Scene {
    /// Small units done, by place.
    done: [AtomicUsize; PLACES as usize],
    seen: AtomicUsize,
}

impl Scene {
    fn new() -> Self {
        Self {
            done: Default::default(),
            seen: AtomicUsize::new(0),
        }
    }
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        std::thread::yield_now();
    }
}

/// Of every other worker thread: whether it sleeps, its processor time in nanoseconds, time waiting
/// for a processor, turns on one.
fn others() -> BTreeMap<String, (bool, String)> {
    let me = std::thread::current().name().map(str::to_owned);
    let tasks = fs::read_dir("/proc/self/task").expect("Linux");
    let tasks = tasks.filter_map(|task| {
        let task = task.ok()?.path();
        let name = fs::read_to_string(task.join("comm")).ok()?;
        let name = name.trim().to_owned();
        let stat = fs::read_to_string(task.join("schedstat")).ok()?;
        let state = fs::read_to_string(task.join("stat")).ok()?;
        let sleeps = state.rsplit(')').next()?.trim_start().starts_with('S');
        let is_other = name.starts_with("tautline-") && me.as_ref() != Some(&name);
        is_other.then_some((name, (sleeps, stat)))
    });
    tasks.collect()
}

/// Computes until `until`.
fn compute(until: Instant) {
    let mut x = 1u64;
    while Instant::now() < until {
        for _ in 0..1000 {
            x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005));
        }
    }
}

/// The long unit: the others have gone to sleep after a while, and then nothing moves.
fn look(scene: &Scene) {
    let deadline = Instant::now() + PATIENCE;
    let slice = Duration::from_millis(20);
    let mut before = others();
    loop {
        compute(Instant::now() + slice);
        let now = others();
        // One that only waits for a processor, as on a busy machine, has yet to go to sleep.
        if now == before && now.values().all(|(sleeps, _)| *sleeps) {
            break;
        }
        assert!(Instant::now() < deadline, "they never sleep: {now:?}");
        before = now;
    }
    compute(Instant::now() + LOOK);
    assert_eq!(others(), before, "a dry place used the processor");
    let me = std::thread::current();
    let is_started = me.name().is_some_and(|name| name.starts_with("tautline-"));
    scene
        .seen
        .store(before.len() + usize::from(is_started), SeqCst);
}

/// Small units that can be given away, and maybe the long one, which stays and is done after those
/// that stay.
struct Mixed {
    small: usize,
    long: bool,
}

impl Bag for Mixed {
    type Shared = (PlaceId, &'static Scene);
    type Output = ();

    fn process(&mut self, n: usize, (here, scene): &Self::Shared) -> usize {
        let done = n.min(self.small);
        self.small -= done;
        scene.done[here.index()].fetch_add(done, SeqCst);
        if *here == PlaceId::HOME {
            // Thieves were served before this turn; no thief may be late.
            let all = || scene.done.iter().all(|done| done.load(SeqCst) > 0);
            wait_until("every place works", all);
        }
        if self.small > 0 || !self.long || done == n {
            return done;
        }
        self.long = false;
        look(scene);
        done + 1
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let small = share.of(self.small);
        self.small -= small;
        (small > 0).then_some(Self { small, long: false })
    }

    fn merge(&mut self, other: Self) {
        self.small += other.small;
        self.long |= other.long;
    }

    fn len(&self) -> usize {
        self.small + usize::from(self.long)
    }

    fn is_splittable(&self) -> bool {
        self.small >= 2
    }

    fn submit(self, (): &mut ()) {}
}

/// Finnerty, acceptance fact 7; Saraswat, acceptance fact 5: while one place computes, the threads
/// of places that have worked and run dry use no processor time at all: not a nanosecond, not a
/// turn. A place that does not run sends no message either.
#[test]
fn dry_places_sleep() {
    for fairness in [
        Fairness::Inline,
        Fairness::Yield,
        Fairness::OneCoreFree,
        Fairness::Never,
    ] {
        let config = Config {
            places: PLACES,
            workers: 1 + usize::from(fairness == Fairness::OneCoreFree),
            grain: 1.into(),
            fairness,
            ..Config::default()
        };
        let scene: &'static Scene = Box::leak(Box::new(Scene::new()));
        let bag = Mixed {
            small: SMALL,
            long: true,
        };
        let control = Control::new();
        let run = run(&config, bag, |here| (here, scene), (), &control, |_, _| ());
        assert!(run.complete);
        let threads = config.all_threads();
        assert_eq!(scene.seen.load(SeqCst), threads - 1, "{fairness:?}");
        for place in &run.places[1..] {
            assert!(
                place.tally.received.count > 0,
                "it was quiet from the start"
            );
        }
    }
}
