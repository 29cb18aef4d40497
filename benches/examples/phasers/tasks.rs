//! Barriers of async tasks, many more than there are workers.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use tautline::Runtime;
use tautline::phaser::{Config, Mode};
use tautline_cli::bench::{Kind, Plan, Sample, Taken};

use crate::barriers::DEGREES;

/// A task's handle of a barrier that holds no worker.
trait Episodes: Send + 'static {
    /// Ends when all parties have called it once more.
    fn wait(&mut self) -> impl Future<Output = ()> + Send;
}

/// All ways, ours first.
pub(crate) fn kinds(workers: usize) -> Vec<Kind> {
    let mut all: Vec<Kind> = DEGREES
        .iter()
        .chain(&[16])
        .map(|&degree| phased(degree, workers))
        .collect();
    all.push(kind("tokio::sync::Barrier", workers, tokio_parties));
    all.push(tokio_alone(workers));
    all.push(kind("a lock and wakers", workers, Wakers::parties));
    all
}

/// Tasks spawned on a phaser, on this number of workers.
fn phased(degree: usize, workers: usize) -> Kind {
    Kind::measured(format!("phased tasks, degree {degree}"), move |plan| {
        let config = Config {
            degree,
            help_after: 0,
            ..Config::default()
        };
        let runtime = Runtime::builder().workers(workers).phasers(config).build();
        let runtime = runtime.map_err(std::io::Error::other)?;
        let (iterations, elapsed) = (plan.iterations, &Mutex::new(Duration::ZERO));
        runtime.run(|cx| {
            cx.scope(|cx| {
                let mut ph = cx.phaser(Mode::SignalWait).expect("a degree of the list");
                for at in 0..plan.cpus.len() {
                    let spawned = cx.spawn_phased([ph.signal_wait()], move |mut task| async move {
                        task.next().await.expect("phases to come");
                        let start = Instant::now();
                        for _ in 0..iterations {
                            task.next().await.expect("phases to come");
                        }
                        if at == 0 {
                            *elapsed.lock().expect("no thread panics here") = start.elapsed();
                        }
                    });
                    spawned.expect("its own mode, in its scope");
                }
            })
        });
        Ok(overhead(elapsed, iterations))
    })
}

fn tokio_parties(tasks: usize) -> Vec<Arc<tokio::sync::Barrier>> {
    let barrier = Arc::new(tokio::sync::Barrier::new(tasks));
    vec![barrier; tasks]
}

/// tokio's barrier on tokio's own runtime, its n-th thread on the n-th processor.
fn tokio_alone(workers: usize) -> Kind {
    Kind::measured("tokio::sync::Barrier, tokio's runtime", move |plan| {
        let cpus = tautline::Machine::discover().cpus();
        let started = AtomicUsize::new(0);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .on_thread_start(move || {
                let at = started.fetch_add(1, Ordering::Relaxed);
                let id = cpus[at % cpus.len()];
                core_affinity::set_for_current(core_affinity::CoreId { id });
            })
            .build()?;
        let (iterations, elapsed) = (plan.iterations, Arc::new(Mutex::new(Duration::ZERO)));
        let parties = tokio_parties(plan.cpus.len()).into_iter().enumerate();
        let tasks = parties.map(|(task, mut party)| {
            let elapsed = elapsed.clone();
            runtime.spawn(async move {
                Episodes::wait(&mut party).await;
                let start = Instant::now();
                for _ in 0..iterations {
                    Episodes::wait(&mut party).await;
                }
                if task == 0 {
                    *elapsed.lock().expect("nothing panics here") = start.elapsed();
                }
            })
        });
        let tasks: Vec<_> = tasks.collect();
        for task in tasks {
            runtime.block_on(task).map_err(std::io::Error::other)?;
        }
        Ok(overhead(&elapsed, iterations))
    })
}

impl Episodes for Arc<tokio::sync::Barrier> {
    async fn wait(&mut self) {
        tokio::sync::Barrier::wait(self).await;
    }
}

/// Measures what `parties` creates for a number of tasks, on this number of workers.
fn kind<E: Episodes>(
    name: &str,
    workers: usize,
    parties: impl Fn(usize) -> Vec<E> + 'static,
) -> Kind {
    Kind::measured(name, move |plan| {
        let runtime = Runtime::builder().workers(workers).build();
        let runtime = runtime.map_err(std::io::Error::other)?;
        Ok(sample(&runtime, parties(plan.cpus.len()), plan))
    })
}

/// Tasks that meet as often as planned, and once before; the first one reads the clock.
fn sample<E: Episodes>(runtime: &Runtime, parties: Vec<E>, plan: &Plan) -> Sample {
    let (iterations, elapsed) = (plan.iterations, Mutex::new(Duration::ZERO));
    let elapsed = &elapsed;
    runtime.run(|cx| {
        cx.scope(|cx| {
            for (task, mut party) in parties.into_iter().enumerate() {
                cx.spawn_async(move |_| async move {
                    party.wait().await;
                    let start = Instant::now();
                    for _ in 0..iterations {
                        party.wait().await;
                    }
                    if task == 0 {
                        *elapsed.lock().expect("no thread panics here") = start.elapsed();
                    }
                });
            }
        })
    });
    overhead(elapsed, iterations)
}

fn overhead(elapsed: &Mutex<Duration>, iterations: u32) -> Sample {
    let elapsed = *elapsed.lock().expect("no thread panics here");
    Sample {
        ns: elapsed.as_nanos() as f64 / f64::from(iterations),
        pinned: true,
        lost: Taken::default(),
    }
}

/// A barrier written by hand: the last to come wakes all the others.
struct Wakers {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    tasks: usize,
    missing: usize,
    episode: u64,
    waiting: Vec<Waker>,
}

impl Wakers {
    fn parties(tasks: usize) -> Vec<Self> {
        let shared = Arc::new(Mutex::new(Shared {
            tasks,
            missing: tasks,
            episode: 0,
            waiting: Vec::with_capacity(tasks),
        }));
        let party = |_| Self {
            shared: shared.clone(),
        };
        (0..tasks).map(party).collect()
    }
}

impl Episodes for Wakers {
    async fn wait(&mut self) {
        let mut came_in = None;
        poll_fn(|cx| {
            let mut shared = self.shared.lock().expect("no thread panics here");
            match came_in {
                Some(episode) if shared.episode > episode => return Poll::Ready(()),
                Some(_) => {}
                None => {
                    came_in = Some(shared.episode);
                    shared.missing -= 1;
                }
            }
            if shared.missing > 0 {
                shared.waiting.push(cx.waker().clone());
                return Poll::Pending;
            }
            shared.missing = shared.tasks;
            shared.episode += 1;
            let woken: Vec<Waker> = shared.waiting.drain(..).collect();
            drop(shared);
            woken.into_iter().for_each(Waker::wake);
            Poll::Ready(())
        })
        .await;
    }
}
