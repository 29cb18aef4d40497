//! Checks whether the loops of a scope may run concurrently, and derives which positions wait for
//! which.
//!
//! # Algorithm
//! For each loop and array a table has, by column, the position that writes it, and the position
//! that reads it, or that several do. A loop is compared with itself, and with each earlier loop:
//! column by column if neither comes after the other, position by position if it is split.
//! Positions are numbered so that those that wait for nothing come first, which is what a
//! compiler's split into an independent and a dependent part achieves (Lucco 1995, 003:781-821;
//! spec 2.14).
//!
//! A position that accesses many columns is not compared one by one: it waits for the end of the
//! earlier loop.

use super::conflict::{LoopConflict, Touch};
use super::declared::{Declared, Outline};
use super::dispatcher::Dispatcher;
use crate::loops::raw::Array;
use alloc::vec::Vec;
use core::ops::Range;

/// The most columns of an array for which a position waits one by one.
const FEW: usize = 64;

/// The positions that access a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    None,
    One(usize),
    Several,
}

/// The accesses of a loop to an array, by column.
#[derive(Clone, Debug)]
struct Uses {
    writers: Vec<Users>,
    readers: Vec<Users>,
}

impl Uses {
    fn new(columns: usize) -> Self {
        Self {
            writers: alloc::vec![Users::None; columns],
            readers: alloc::vec![Users::None; columns],
        }
    }
}

/// The condition for which a position waits.
#[derive(Clone, Copy, Debug)]
enum Wait {
    For(usize, usize),
    ForEnd(usize),
}

/// Adds the loops to `dispatcher`, with the order that their declarations require. `declared` has
/// the accesses of each.
///
/// # Errors
/// If positions may run concurrently that access a column, one to write it, or a column does not
/// exist.
pub(crate) fn check(
    loops: &mut [Outline],
    declared: &[&[Declared]],
    arrays: &[Array],
    workers: usize,
    dispatcher: &mut Dispatcher,
) -> Result<(), LoopConflict> {
    let mut uses: Vec<Vec<Option<Uses>>> = Vec::new();
    let mut before: Vec<Vec<bool>> = Vec::new();
    for at in 0..loops.len() {
        let declared = declared[at];
        let earlier = closure(&loops[at], &before);
        inside(&loops[at], declared, arrays)?;
        let waits = match loops[at].is_split {
            true => waits(&mut loops[at], declared, &earlier, &uses),
            false => Vec::new(),
        };
        let own = of_loop(&loops[at], declared, arrays)?;
        for (other, others) in uses.iter().enumerate() {
            if !earlier[other] {
                apart((&loops[other], others), (&loops[at], &own), arrays)?;
            }
        }
        let policy = loops[at].schedule.policy(loops[at].len(), workers);
        let number = dispatcher.add(loops[at].len(), policy);
        if !loops[at].is_split {
            let all = earlier.iter().enumerate().filter(|(_, is)| **is);
            all.for_each(|(other, _)| dispatcher.order(number, other));
        }
        for (position, wait) in waits {
            match wait {
                Wait::For(other, on) => dispatcher.depend((number, position), (other, on)),
                Wait::ForEnd(other) => dispatcher.depend_on_end((number, position), other),
            }
        }
        uses.push(own);
        before.push(earlier);
    }
    Ok(())
}

/// Returns which earlier loops `this` comes after, directly or through others.
fn closure(this: &Outline, before: &[Vec<bool>]) -> Vec<bool> {
    let mut earlier = alloc::vec![false; before.len()];
    for after in &this.after {
        earlier[*after] = true;
        let further = before[*after].iter().enumerate().filter(|(_, is)| **is);
        further.for_each(|(at, _)| earlier[at] = true);
    }
    earlier
}

/// Checks that the columns exist.
fn inside(this: &Outline, declared: &[Declared], arrays: &[Array]) -> Result<(), LoopConflict> {
    for access in declared {
        for position in 0..this.len() {
            let touch = touch(this, access, position);
            let columns = &touch.columns;
            if columns.start > columns.end || columns.end > arrays[access.array].count {
                return Err(LoopConflict::outside(touch, arrays[access.array]));
            }
        }
    }
    Ok(())
}

/// Returns how the positions of a loop access each array; `None` for those that it does not access.
fn of_loop(
    this: &Outline,
    declared: &[Declared],
    arrays: &[Array],
) -> Result<Vec<Option<Uses>>, LoopConflict> {
    let mut all: Vec<Option<Uses>> = alloc::vec![None; arrays.len()];
    for access in declared.iter().filter(|access| access.is_write) {
        let array = arrays[access.array];
        let uses = all[access.array].get_or_insert_with(|| Uses::new(array.count));
        for position in 0..this.len() {
            let touch = touch(this, access, position);
            for column in touch.columns.clone() {
                if let Users::One(other) = uses.writers[column] {
                    let other = Touch {
                        iteration: this.index(this.at(other)),
                        columns: column..column + 1,
                        ..touch
                    };
                    return Err(LoopConflict::within(touch, other, array));
                }
                uses.writers[column] = Users::One(position);
            }
        }
    }
    for access in declared.iter().filter(|access| !access.is_write) {
        let array = arrays[access.array];
        let uses = all[access.array].get_or_insert_with(|| Uses::new(array.count));
        add_reads(this, access, array, uses)?;
    }
    Ok(all)
}

/// Adds the columns that a loop reads to `uses`, which has all those of the array that it writes.
fn add_reads(
    this: &Outline,
    access: &Declared,
    array: Array,
    uses: &mut Uses,
) -> Result<(), LoopConflict> {
    // The number of the first columns that are written.
    let is_written = |users: &Users| usize::from(*users != Users::None);
    let mut written = alloc::vec![0; array.count + 1];
    for column in 0..array.count {
        written[column + 1] = written[column] + is_written(&uses.writers[column]);
    }
    // At its first column, the number of wide reads that begin; after its last one, the number that
    // end.
    let mut wide = alloc::vec![0isize; array.count + 1];
    for position in 0..this.len() {
        let touch = touch(this, access, position);
        let Range { start, end } = touch.columns;
        if written[start] < written[end] {
            return Err(reads_what_it_writes(this, touch, uses, array));
        }
        if end - start > FEW {
            wide[start] += 1;
            wide[end] -= 1;
            continue;
        }
        for readers in &mut uses.readers[start..end] {
            *readers = match *readers {
                Users::None => Users::One(position),
                _ => Users::Several,
            };
        }
    }
    let mut open = 0;
    for (readers, change) in uses.readers.iter_mut().zip(wide) {
        open += change;
        if open > 0 {
            *readers = Users::Several;
        }
    }
    Ok(())
}

fn reads_what_it_writes(this: &Outline, touch: Touch, uses: &Uses, array: Array) -> LoopConflict {
    let mut columns = touch.columns.clone();
    let found = columns.find_map(|column| match uses.writers[column] {
        Users::One(position) => Some((column, position)),
        _ => None,
    });
    let (column, position) = found.expect("a column that is written");
    let other = Touch {
        iteration: this.index(this.at(position)),
        is_write: true,
        columns: column..column + 1,
        ..touch
    };
    LoopConflict::within(touch, other, array)
}

/// Checks that two loops without an order do not access a column, one to write it.
fn apart(
    (first, of_first): (&Outline, &[Option<Uses>]),
    (second, of_second): (&Outline, &[Option<Uses>]),
    arrays: &[Array],
) -> Result<(), LoopConflict> {
    for (array, pair) in arrays.iter().zip(of_first.iter().zip(of_second)) {
        let (Some(a), Some(b)) = pair else {
            continue;
        };
        let is = |users: &Users| *users != Users::None;
        let conflicts = |column: usize| {
            let (written, by_second) = (is(&a.writers[column]), is(&b.writers[column]));
            (written && (by_second || is(&b.readers[column])))
                || (by_second && is(&a.readers[column]))
        };
        let Some(start) = (0..array.count).find(|column| conflicts(*column)) else {
            continue;
        };
        let end = (start..array.count).find(|column| !conflicts(*column));
        let columns = start..end.unwrap_or(array.count);
        let writes = |uses: &Uses| is(&uses.writers[start]);
        return Err(LoopConflict::between(
            (*first.name(), writes(a)),
            (*second.name(), writes(b)),
            columns,
            *array,
        ));
    }
    Ok(())
}

/// Returns the conditions for which the positions of a split loop wait, and numbers them so that
/// those that wait for nothing come first.
fn waits(
    this: &mut Outline,
    declared: &[Declared],
    earlier: &[bool],
    uses: &[Vec<Option<Uses>>],
) -> Vec<(usize, Wait)> {
    let (mut by_position, mut waiting) = (Vec::with_capacity(this.len()), Vec::new());
    for position in 0..this.len() {
        let mut waits = Vec::new();
        for (other, uses) in uses.iter().enumerate().filter(|(other, _)| earlier[*other]) {
            for access in declared {
                let columns = access.columns(this.at(position));
                if let Some(uses) = &uses[access.array] {
                    wait_for(other, uses, columns, access.is_write, &mut waits);
                }
            }
        }
        let part = match waits.is_empty() {
            true => &mut by_position,
            false => &mut waiting,
        };
        part.push((this.at(position), waits));
    }
    by_position.append(&mut waiting);
    let order = by_position.iter().map(|(at, _)| *at);
    this.active = Some(order.collect());
    let numbered = by_position.into_iter().enumerate();
    numbered
        .flat_map(|(position, (_, waits))| waits.into_iter().map(move |wait| (position, wait)))
        .collect()
}

/// Adds the positions of the loop `other` for which an access of `columns` waits.
fn wait_for(
    other: usize,
    uses: &Uses,
    columns: Range<usize>,
    is_write: bool,
    waits: &mut Vec<Wait>,
) {
    let is_wide = columns.len() > FEW;
    for column in columns {
        let readers = if is_write {
            uses.readers[column]
        } else {
            Users::None
        };
        for users in [uses.writers[column], readers] {
            match users {
                Users::None => {}
                Users::One(position) if !is_wide => waits.push(Wait::For(other, position)),
                _ => {
                    waits.push(Wait::ForEnd(other));
                    return;
                }
            }
        }
    }
}

/// Returns the accesses of a position.
fn touch(this: &Outline, access: &Declared, position: usize) -> Touch {
    let at = this.at(position);
    Touch {
        name: *this.name(),
        iteration: this.index(at),
        is_write: access.is_write,
        columns: access.columns(at),
    }
}
