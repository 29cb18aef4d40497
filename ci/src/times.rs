//! Processor time of a command and of a thread, as Linux counts it; zero on other systems.

use std::fs;
use std::io;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

/// Linux counts the times in `/proc` in hundredths of a second on every processor.
const TICK: Duration = Duration::from_millis(10);

/// The time between two polls for the end of a process, at first and at most.
const POLL: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// Waits for the end of a process. Returns its status and the processor time that it used, with all
/// processes below it that were waited for.
pub(crate) fn wait(child: &mut Child) -> io::Result<(ExitStatus, Duration)> {
    let file = format!("/proc/{}/stat", child.id());
    let mut pause = POLL[0];
    // Its times can be read while it has ended and has not been waited for; waiting would discard
    // them.
    let used = loop {
        let Some(fields) = read(&file) else {
            break Duration::ZERO;
        };
        if fields.has_ended {
            break fields.own + fields.children;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(POLL[1]);
    };
    Ok((child.wait()?, used))
}

/// Returns the processor time of the calling thread.
pub(crate) fn of_this_thread() -> Duration {
    read("/proc/thread-self/stat").map_or(Duration::ZERO, |fields| fields.own)
}

struct Fields {
    has_ended: bool,
    own: Duration,
    children: Duration,
}

fn read(file: &str) -> Option<Fields> {
    parse(&fs::read_to_string(file).ok()?)
}

/// The fields after the name, which is in parentheses and may contain anything: the state, and from
/// the twelfth on the times in user and system mode, of the process and of its children.
fn parse(line: &str) -> Option<Fields> {
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let mut times = fields.skip(10).map(|word| word.parse::<u32>().ok());
    let mut both = || Some(TICK * (times.next()?? + times.next()??));
    Some(Fields {
        has_ended: matches!(state, "Z" | "X"),
        own: both()?,
        children: both()?,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{of_this_thread, parse, wait};
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn fields_are_counted_after_a_name_with_spaces_and_parentheses() {
        let line = "7 (a) Z (b) Z 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0";
        let fields = parse(line).unwrap();
        assert!(fields.has_ended);
        assert_eq!(fields.own, Duration::from_millis(1200));
        assert_eq!(fields.children, Duration::from_millis(70));
        assert!(!parse(&line.replace(") Z 1", ") S 1")).unwrap().has_ended);
        assert!(parse("7 (a").is_none());
    }

    #[test]
    fn a_process_counts_with_what_it_started_and_waited_for() {
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let program = format!("sh -c '{spin}; true'; exit 3");
        let mut child = Command::new("sh").args(["-c", &program]).spawn().unwrap();
        let (status, used) = wait(&mut child).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(used >= Duration::from_millis(20), "{used:?}");

        let mut child = Command::new("sleep").arg("0.2").spawn().unwrap();
        let (status, used) = wait(&mut child).unwrap();
        assert!(
            status.success() && used < Duration::from_millis(100),
            "{used:?}"
        );
    }

    #[test]
    fn the_time_of_a_thread_grows_while_it_computes() {
        let (start, before) = (Instant::now(), of_this_thread());
        let mut n = 0u64;
        while of_this_thread() < before + Duration::from_millis(50) {
            n = std::hint::black_box(n + 1);
            assert!(start.elapsed() < Duration::from_secs(60));
        }
    }
}
