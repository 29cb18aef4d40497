//! Lists of handlers, as ranks compare them.

use super::at::{Entry, Handlers};
use std::fmt::Write;
use std::panic::Location;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The handlers of a finish. Kept for ever: they are as many as calls of a program have lists.
pub(in crate::ranks::team) struct Listed {
    types: &'static str,
    handlers: Vec<Shown>,
    /// Differs between lists that differ.
    pub(super) text: String,
}

/// A handler of a list: where the program makes it, and whether it is short.
type Shown = (&'static Location<'static>, bool);

static LISTS: Mutex<Vec<&'static Listed>> = Mutex::new(Vec::new());

/// Returns handlers whose types have this name as ranks compare them: by their types, their order,
/// the places in the program that make them, and whether they are short. `last` may be any list:
/// mostly it is the same one.
pub(super) fn listed(
    types: &'static str,
    handlers: &dyn Handlers,
    last: Option<&'static Listed>,
) -> &'static Listed {
    let is_same = |list: &&'static Listed| list.is_of(types, handlers);
    if let Some(last) = last.filter(is_same) {
        return last;
    }
    // It is consistent between any two statements that change it.
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = lists.iter().copied().find(is_same) {
        return found;
    }
    let made: &Listed = Box::leak(Box::new(Listed::new(types, handlers)));
    lists.push(made);
    made
}

impl Listed {
    fn new(types: &'static str, handlers: &dyn Handlers) -> Self {
        let handlers = Vec::from_iter(shown(handlers));
        let mut text = String::new();
        for (at, (site, is_short)) in handlers.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            let short = if *is_short { " (short)" } else { "" };
            _ = write!(text, "{comma}{site}{short}");
        }
        _ = write!(text, ", of {types}");
        Self {
            types,
            handlers,
            text,
        }
    }

    fn is_of(&self, types: &'static str, handlers: &dyn Handlers) -> bool {
        let is_same = |(a, b): (&Shown, Shown)| (ptr::eq(a.0, b.0) || a.0 == b.0) && a.1 == b.1;
        let mut pairs = self.handlers.iter().zip(shown(handlers));
        let is_of_types = ptr::eq(self.types, types) || self.types == types;
        is_of_types && handlers.entry(self.handlers.len()).is_none() && pairs.all(is_same)
    }
}

fn shown(handlers: &dyn Handlers) -> impl Iterator<Item = Shown> {
    let entries = (0..).map_while(|at| handlers.entry(at));
    entries.map(|entry: &dyn Entry| (entry.site(), entry.is_short()))
}
