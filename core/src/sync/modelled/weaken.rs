//! Accesses by their place in the code, and a weaker ordering for one of them.
//!
//! A mutant that weakens an ordering needs no build: a run with `TAUTLINE_SITES=FILE` appends a
//! line to the file for each site that its executions reach, and one with
//! `TAUTLINE_WEAKEN=SITE=ORDERING` executes that site with the weaker ordering, or leaves out a
//! fence, for `none`. A site is `FILE:LINE:COLUMN ROLE ORDERING`, where the role of an ordering is
//! `order`, or, of a compare-exchange, `success` or `failure`. `cargo ci weaken` runs both.

#![expect(
    clippy::std_instead_of_alloc,
    reason = "std is here anyway, alloc is a feature"
)]

use core::panic::Location;
use loom::sync::atomic::Ordering;
use std::collections::HashSet;
use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::string::{String, ToString as _};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A place in the code: addresses of locations are not unique.
type Place = (&'static str, u32, u32);

/// Sites, where an ordering has a role.
type Site = (Place, &'static str, Ordering);

/// Written sites, and the file.
struct Listed {
    seen: HashSet<Site>,
    file: File,
}

/// A site, and its ordering in this run.
struct Weaker {
    file: String,
    line: u32,
    column: u32,
    /// Role and ordering.
    rest: String,
    to: Option<Ordering>,
}

static LISTED: OnceLock<Option<Mutex<Listed>>> = OnceLock::new();
static WEAKER: OnceLock<Option<Weaker>> = OnceLock::new();

/// Writes a site that is reached for the first time, if sites are listed.
pub(super) fn reach(site: &'static Location<'static>, role: &'static str, order: Ordering) {
    let Some(listed) = LISTED.get_or_init(list) else {
        return;
    };
    let place = (site.file(), site.line(), site.column());
    let mut listed = listed.lock().unwrap_or_else(PoisonError::into_inner);
    if listed.seen.insert((place, role, order)) {
        let line = std::format!("{site} {role} {order:?}\n");
        // One call: other processes append to the file, too.
        let written = listed.file.write_all(line.as_bytes());
        written.expect("TAUTLINE_SITES can be written");
    }
}

fn list() -> Option<Mutex<Listed>> {
    let path = env::var_os("TAUTLINE_SITES")?;
    let file = OpenOptions::new().create(true).append(true).open(path);
    Some(Mutex::new(Listed {
        seen: HashSet::new(),
        file: file.expect("TAUTLINE_SITES is a file that can be written"),
    }))
}

/// Returns the ordering of a site in this run; `None` for a fence that is left out.
pub(super) fn weakened(
    site: &'static Location<'static>,
    role: &str,
    order: Ordering,
) -> Option<Ordering> {
    match WEAKER.get_or_init(chosen) {
        Some(weaker)
            if (weaker.line, weaker.column) == (site.line(), site.column())
                && weaker.file == site.file()
                && weaker.rest == std::format!("{role} {order:?}") =>
        {
            weaker.to
        }
        _ => Some(order),
    }
}

fn chosen() -> Option<Weaker> {
    let text = env::var("TAUTLINE_WEAKEN").ok()?;
    let weaker = parse(&text);
    Some(weaker.expect("TAUTLINE_WEAKEN is `FILE:LINE:COLUMN ROLE ORDERING=ORDERING`"))
}

fn parse(text: &str) -> Option<Weaker> {
    let (site, to) = text.split_once('=')?;
    let (place, rest) = site.split_once(' ')?;
    let mut place = place.rsplitn(3, ':');
    let column = place.next()?.parse().ok()?;
    let line = place.next()?.parse().ok()?;
    Some(Weaker {
        file: place.next()?.to_string(),
        line,
        column,
        rest: rest.to_string(),
        to: match to {
            "none" => None,
            name => Some(ordering(name)?),
        },
    })
}

/// An ordering that is weaker than another one.
fn ordering(name: &str) -> Option<Ordering> {
    // ORDERING: names, of no access.
    let all = [
        Ordering::Relaxed,
        Ordering::Acquire,
        Ordering::Release,
        Ordering::AcqRel,
    ];
    all.into_iter()
        .find(|order| std::format!("{order:?}") == name)
}
