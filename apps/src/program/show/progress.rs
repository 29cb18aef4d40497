//! Progress of a run, on a terminal's stderr.

use super::number::{grouped, rate};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tautline::glb::Control;

/// Time between two polls of the run.
const PERIOD: Duration = Duration::from_millis(100);

/// A line that is updated until this is dropped; nothing if stderr is not a terminal. The thread that updates
/// it holds a weak reference.
pub struct Progress(Option<(Arc<()>, JoinHandle<()>)>);

impl Progress {
    /// Shows the progress of `control`, which counts in `unit`; `total` is the amount of work, if known.
    pub fn start(
        quiet: bool,
        control: &Arc<Control>,
        unit: &'static str,
        total: Option<u64>,
    ) -> Self {
        let control = Arc::clone(control);
        Self::show(quiet, total, move |seconds| {
            let done = control.done() as u64;
            (done, counted(done, unit, seconds))
        })
    }

    /// Shows what `look` returns for the elapsed seconds: the work done, of `total` if that is known, and a line.
    pub fn show(
        quiet: bool,
        total: Option<u64>,
        look: impl Fn(f64) -> (u64, String) + Send + 'static,
    ) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let running = Arc::new(());
        let still_running = Arc::downgrade(&running);
        let watch = move || {
            let bar = bar(total);
            loop {
                thread::park_timeout(PERIOD);
                if still_running.upgrade().is_none() {
                    break;
                }
                let (done, line) = look(bar.elapsed().as_secs_f64());
                bar.set_message(line);
                bar.set_position(done);
            }
            bar.finish_and_clear();
        };
        // A run does not require a progress line.
        let thread = thread::Builder::new().name("progress".into()).spawn(watch);
        Self(thread.ok().map(|thread| (running, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((running, thread)) = self.0.take() {
            drop(running);
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Formats the work done in this time, with its rate: `1 234 nodes, 39.50 Mnodes/s`.
pub fn counted(done: u64, unit: &str, seconds: f64) -> String {
    let rate = rate(done as f64 / seconds.max(1e-9));
    format!("{} {unit}, {rate}{unit}/s", grouped(done))
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{wide_bar} {percent:>3} %  {msg}, {eta} left",
        ),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}, {elapsed}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
