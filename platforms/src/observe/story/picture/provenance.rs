//! The provenance of a file: the command line, the date and the version.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the facts that identify a run when its picture is sent to others.
pub(super) fn facts() -> [(&'static str, String); 3] {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH);
    [
        (
            "command",
            command(env::args_os().map(|word| word.to_string_lossy().into_owned())),
        ),
        ("written", date(seconds.map_or(0, |since| since.as_secs()))),
        ("tautline", env!("CARGO_PKG_VERSION").to_owned()),
    ]
}

/// Returns a command line as a shell reads it.
fn command(words: impl Iterator<Item = String>) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=+:,./@%^".contains(c);
    let quoted = words.map(
        |word| match !word.is_empty() && word.chars().all(is_plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', "'\\''")),
        },
    );
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns a moment by its seconds since 1970, as `2026-11-28 07:10 UTC`.
fn date(seconds: u64) -> String {
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    // Years that begin in March, in eras of 400 years since 0000-03-01 (Hinnant, chrono-compatible
    // low-level date algorithms).
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = 400 * era + year + later;
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02} UTC",
        minutes / 60,
        minutes % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_735_689_540, "2024-12-31 23:59 UTC"),
            (1_795_849_800, "2026-11-28 07:10 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn a_command_is_quoted_as_for_a_shell() {
        let words = ["./uts", "T1", "--life=a b.html", "", "it's", "a<b"];
        let expected = "./uts T1 '--life=a b.html' '' 'it'\\''s' 'a<b'";
        assert_eq!(command(words.into_iter().map(str::to_owned)), expected);
    }
}
