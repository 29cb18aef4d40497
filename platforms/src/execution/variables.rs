//! The environment variables of this project, and unknown ones.
#![forbid(unsafe_code)]

use crate::Result;
use crate::process::messages;
use crate::setting::{RANK, TABLE, WARN, environment, launchers};
use std::sync::atomic::{AtomicBool, Ordering};

/// The prefix of all of them.
const PREFIX: &str = "TAUTLINE_";

/// The variables of the library and of its command, which [`plan`](mod@crate::plan#) and
/// [`watch`](mod@crate::watch) describe.
///
/// ```
/// assert!(tautline::variables::ALL.contains(&"TAUTLINE_WORKERS"));
/// ```
pub const ALL: [&str; TABLE.len()] = {
    let mut names = [""; TABLE.len()];
    let mut at = 0;
    while at < TABLE.len() {
        names[at] = TABLE[at].variable;
        at += 1;
    }
    names
};

/// Refuses values that are not Unicode.
///
/// ```
/// tautline::variables::check()?;
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Errors
/// The first such variable, with its value.
pub fn check() -> Result<()> {
    ALL.into_iter()
        .try_for_each(|name| environment::text(name).map(drop))
}

/// Reports in one line the variables that begin with `TAUTLINE_` and are not in [`ALL`], since a
/// mistyped name has no effect: once in the life of the process, by the launcher or the first rank
/// alone, and unless `TAUTLINE_WARN` is `0`. The first [runtime](crate::Runtime) with the settings
/// of the environment does this; a program may earlier.
///
/// ```
/// tautline::variables::warn_of_unknown();
/// ```
pub fn warn_of_unknown() {
    static WAS_WARNED: AtomicBool = AtomicBool::new(false);
    // ORDERING: Relaxed: it publishes nothing.
    if WAS_WARNED.swap(true, Ordering::Relaxed) || !environment::warns() {
        return;
    }
    let is_first = launchers::rank().is_ok_and(|rank| match rank.as_deref() {
        None => true,
        // The launcher of this project has reported them.
        Some("0") => std::env::var_os(RANK.variable).is_none(),
        Some(_) => false,
    });
    let names = unknown(set_variables());
    if is_first && !names.is_empty() {
        let (names, all, warn) = (names.join(" "), ALL.join(" "), WARN.variable);
        messages::send(&format!(
            "tautline: {names}: unknown and ignored; the variables are {all}; {warn}=0 silences this"
        ));
    }
}

/// Returns the names of the variables that are not empty.
fn set_variables() -> impl Iterator<Item = String> {
    let set = std::env::vars_os().filter(|(_, value)| !environment::is_blank(value));
    set.map(|(name, _)| name.to_string_lossy().into_owned())
}

/// Returns the unknown ones among the names of variables, in order.
fn unknown(names: impl Iterator<Item = String>) -> Vec<String> {
    let is_unknown = |name: &String| name.starts_with(PREFIX) && !ALL.contains(&&**name);
    let mut names: Vec<String> = names.filter(is_unknown).collect();
    names.sort_unstable();
    names
        .iter_mut()
        .for_each(|name| *name = name.escape_debug().to_string());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_once() {
        let mut all = ALL;
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        assert!(all.iter().all(|name| name.starts_with(PREFIX)));
    }

    #[test]
    fn only_names_with_the_prefix_are_unknown() {
        let names = [
            "PATH",
            "TAUTLINE_WORKRS",
            "TAUTLINE_WORKERS",
            "TAUTLINE_A\n",
            "TAUTLINE_",
        ];
        let found = unknown(names.map(str::to_owned).into_iter());
        assert_eq!(found, ["TAUTLINE_", r"TAUTLINE_A\n", "TAUTLINE_WORKRS"]);
    }
}
