//! Progress of a run, on a terminal's stderr.

use super::number::{grouped, rate};
use super::terminal::is_terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tautline::balance::Control;

/// Time between two polls of the run.
const PERIOD: Duration = Duration::from_millis(100);

/// A line that is updated until this is dropped; nothing if stderr is not the terminal of this
/// process. The thread that updates it holds a weak reference.
pub struct Progress(Option<(Arc<()>, JoinHandle<()>)>);

impl Progress {
    /// Shows the progress of `control`, which counts in `unit`; `total` is the amount of work, if
    /// known. The run is stopped at the `deadline`, if there is one.
    pub fn start(
        quiet: bool,
        control: &Arc<Control>,
        unit: &'static str,
        total: Option<u64>,
        deadline: Option<Duration>,
    ) -> Self {
        let control = Arc::clone(control);
        Self::show(quiet, total, deadline, move |seconds| {
            let done = control.done() as u64;
            (done, counted(done, unit, seconds))
        })
    }

    /// Shows what `look` returns for the elapsed seconds: the work done, of `total` if that is
    /// known, and a line.
    pub fn show(
        quiet: bool,
        total: Option<u64>,
        deadline: Option<Duration>,
        look: impl Fn(f64) -> (u64, String) + Send + 'static,
    ) -> Self {
        if quiet || !is_terminal(&std::io::stderr()) {
            return Self(None);
        }
        let running = Arc::new(());
        let still_running = Arc::downgrade(&running);
        let watch = move || {
            let bar = bar(total, deadline);
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

fn bar(total: Option<u64>, deadline: Option<Duration>) -> ProgressBar {
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    bar.set_style(style(total, deadline));
    bar
}

fn style(total: Option<u64>, deadline: Option<Duration>) -> ProgressStyle {
    let template = match (total, deadline) {
        (Some(_), _) => "{wide_bar} {percent:>3} %  {msg}, {left} left",
        (None, Some(_)) => "{spinner} {msg}, {elapsed}, at most {left} left",
        (None, None) => "{spinner} {msg}, {elapsed}",
    };
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key(
        "left",
        move |state: &ProgressState, line: &mut dyn Write| {
            let work = total.map(|_| state.eta());
            if let Some(time) = left(work, state.elapsed(), deadline) {
                let _ = line.write_str(&spell(time));
            }
        },
    )
}

/// Returns the time that a run still takes: that of its work, by estimate, but never more than
/// there is until its deadline.
fn left(work: Option<Duration>, elapsed: Duration, deadline: Option<Duration>) -> Option<Duration> {
    let until = deadline.map(|deadline| deadline.saturating_sub(elapsed));
    work.into_iter().chain(until).min()
}

/// Formats a time in its two largest units, rounded down.
fn spell(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {:02} s", seconds % 60),
        _ => format!("{hours} h {:02} min", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use std::io::Result;
    use std::sync::Mutex;

    /// A terminal that keeps what is written to it.
    #[derive(Clone, Debug, Default)]
    struct Kept(Arc<Mutex<String>>);

    impl TermLike for Kept {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> Result<()> {
            Ok(())
        }

        fn flush(&self) -> Result<()> {
            Ok(())
        }
    }

    /// The line at this time.
    fn line(total: Option<u64>, elapsed_ms: u64, deadline_s: Option<u64>) -> String {
        let kept = Kept::default();
        let bar = bar(total, deadline_s.map(Duration::from_secs));
        bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(kept.clone())));
        bar.set_elapsed(Duration::from_millis(elapsed_ms));
        bar.tick();
        let line = kept.0.lock().unwrap();
        line.clone()
    }

    #[test]
    fn the_line_ends_with_the_time_until_the_deadline() {
        let spun = line(None, 3_100, Some(10));
        assert!(spun.contains("at most 6 s left"), "{spun}");
        let spun = line(None, 3_100, None);
        assert!(
            spun.trim_end().ends_with('s') && !spun.contains("left"),
            "{spun}"
        );
        let bar = line(Some(100), 12_000, Some(10));
        assert!(bar.contains(", 0 s left"), "{bar}");
    }

    #[test]
    fn no_more_time_is_left_than_until_the_deadline() {
        let seconds = Duration::from_secs;
        for (work, elapsed, deadline, expected) in [
            (Some(50), 2, Some(10), Some(8)),
            (Some(5), 2, Some(10), Some(5)),
            (Some(50), 2, None, Some(50)),
            (None, 2, Some(10), Some(8)),
            (Some(50), 11, Some(10), Some(0)),
            (None, 2, None, None),
        ] {
            let found = left(work.map(seconds), seconds(elapsed), deadline.map(seconds));
            assert_eq!(
                found,
                expected.map(seconds),
                "{work:?} {elapsed} {deadline:?}"
            );
        }
    }

    #[test]
    fn times_are_rounded_down() {
        let spelled = [0, 999, 59_999, 90_000, 3_599_000, 7_259_000, 400_000_000];
        let spelled = spelled.map(|ms| spell(Duration::from_millis(ms)));
        let expected = [
            "0 s",
            "0 s",
            "59 s",
            "1 min 30 s",
            "59 min 59 s",
            "2 h 00 min",
            "111 h 06 min",
        ];
        assert_eq!(spelled, expected);
    }
}
