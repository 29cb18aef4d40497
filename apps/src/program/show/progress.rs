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
        if quiet || !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let running = Arc::new(());
        let still_running = Arc::downgrade(&running);
        let control = Arc::clone(control);
        let watch = move || {
            let bar = bar(total);
            loop {
                thread::park_timeout(PERIOD);
                if still_running.upgrade().is_none() {
                    break;
                }
                let done = control.done() as u64;
                let per_second = done as f64 / bar.elapsed().as_secs_f64().max(1e-9);
                let (count, rate) = (grouped(done), rate(per_second));
                bar.set_message(format!("{count} {unit}, {rate}{unit}/s"));
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
