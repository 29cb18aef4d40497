//! Waits for several cells: facts 13 and 14 of Chatterjee.

use super::{Log, Named};
use std::sync::Mutex;
use std::thread;
use tautline_core::flow::{
    Ddf, DdfList, Fired, NoIndex, wait_any, when_all, when_all_scoped, when_any, when_any_scoped,
};

/// Calls `visit` with all orders of `0..n`.
fn permutations(n: usize, visit: &mut impl FnMut(&[usize])) {
    fn go(order: &mut Vec<usize>, n: usize, visit: &mut impl FnMut(&[usize])) {
        if order.len() == n {
            return visit(order);
        }
        for next in 0..n {
            if !order.contains(&next) {
                order.push(next);
                go(order, n, visit);
                order.pop();
            }
        }
    }
    go(&mut Vec::new(), n, visit);
}

/// For every order of puts, and every position in it at which the wait begins.
#[test]
fn chatterjee_13_all_runs_once_after_the_last_put_in_every_order() {
    let mut runs = 0;
    for n in 0..=5 {
        permutations(n, &mut |order| {
            for begin in 0..=n {
                let cells: Vec<Ddf<usize>> = (0..n).map(|_| Ddf::new()).collect();
                let seen = Mutex::new(Vec::new());
                for (done, put) in order.iter().chain([&n]).enumerate() {
                    if done == begin {
                        let inputs: Vec<&Ddf<usize>> = cells.iter().collect();
                        let ready = |values: Vec<&usize>| {
                            seen.lock()
                                .unwrap()
                                .push(values.into_iter().copied().collect::<Vec<_>>());
                        };
                        // SAFETY: every cell is put before `cells` and `seen` end.
                        unsafe { when_all_scoped(inputs, ready) };
                    }
                    let full = done == n && begin <= n;
                    assert_eq!(
                        seen.lock().unwrap().len(),
                        usize::from(full),
                        "{order:?} {begin} {done}"
                    );
                    if let Some(cell) = cells.get(*put) {
                        cell.put(10 + put).unwrap();
                    }
                }
                assert_eq!(*seen.lock().unwrap(), [(10..10 + n).collect::<Vec<_>>()]);
                runs += 1;
            }
        });
    }
    assert_eq!(runs, 1 + 2 + 2 * 3 + 6 * 4 + 24 * 5 + 120 * 6);
}

#[test]
fn chatterjee_14_any_is_released_once_by_the_first_put_in_every_order() {
    for n in 1..=4 {
        permutations(n, &mut |order| {
            for begin in 0..=n {
                let cells: Vec<Ddf<usize>> = (0..n).map(|_| Ddf::new()).collect();
                let seen = Mutex::new(Vec::new());
                let ready =
                    |(index, value): (usize, &usize)| seen.lock().unwrap().push((index, *value));
                for (done, put) in order.iter().chain([&n]).enumerate() {
                    if done == begin {
                        let list: Vec<_> = cells.iter().collect();
                        // SAFETY: a cell is put before `cells` and `seen` end.
                        unsafe { when_any_scoped(&list, ready) }.unwrap();
                    }
                    if let Some(cell) = cells.get(*put) {
                        cell.put(10 + put).unwrap();
                    }
                }
                let first = order[..begin].iter().min().unwrap_or(&order[0]);
                assert_eq!(
                    *seen.lock().unwrap(),
                    [(*first, 10 + first)],
                    "{order:?} {begin}"
                );
            }
        });
    }
}

#[test]
fn chatterjee_14_any_under_threads_names_a_full_cell() {
    const ROUNDS: usize = if cfg!(miri) { 10 } else { 2_000 };
    for _ in 0..ROUNDS {
        let cells = [Ddf::new(), Ddf::new(), Ddf::new()];
        let seen = Mutex::new(Vec::new());
        let list = cells.each_ref();
        thread::scope(|scope| {
            for (index, cell) in cells.iter().enumerate() {
                scope.spawn(move || cell.put(index * 10).unwrap());
            }
            let ready =
                |(index, value): (usize, &usize)| seen.lock().unwrap().push((index, *value));
            // SAFETY: the puts have returned when the scope ends, before `seen` and the cells are
            // dropped.
            unsafe { when_any_scoped(list, ready) }.unwrap();
        });
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() == 1 && seen[0].1 == seen[0].0 * 10, "{seen:?}");
    }
}

#[test]
fn chatterjee_14_the_index_is_that_of_an_or_list() {
    let cells = [Ddf::new(), Ddf::new(), Ddf::new()];
    let both = DdfList::all(&cells[..2]);
    assert_eq!(both.index(), Err(NoIndex::NotAnyList));
    let mut one = DdfList::any(&cells[..1]);
    one.push(&cells[1]);
    one.push(&cells[2]);
    assert_eq!(
        (one.cells().len(), one.index()),
        (3, Err(NoIndex::NotReady))
    );
    let seen = Mutex::new(Vec::new());
    let ready = |fired: Fired<'_, u32>| {
        let seen = &mut *seen.lock().unwrap();
        match fired {
            Fired::All(values) => seen.push((one.index(), values.into_iter().copied().collect())),
            Fired::Any(index, value) => seen.push((Ok(index), vec![*value])),
        }
    };
    // SAFETY: the cells are put before anything is dropped.
    unsafe {
        (
            both.when_scoped(ready).unwrap(),
            one.when_scoped(ready).unwrap(),
        )
    };
    cells[1].put(11).unwrap();
    assert_eq!(one.index(), Ok(1));
    cells[0].put(10).unwrap();
    assert_eq!(one.index(), Ok(1), "the index of the first put");
    assert_eq!(
        *seen.lock().unwrap(),
        [(Ok(1), vec![11]), (Ok(1), vec![10, 11])]
    );
}

#[test]
fn an_or_list_without_cells_is_refused() {
    let log = Log::default();
    let named = Named("refused", log.clone());
    let refused = when_any([], move |_: (usize, &'static u8)| drop(named));
    assert_eq!(log.taken(), [""; 0], "the waiter is returned");
    drop(refused.unwrap_err());
    assert_eq!(log.taken(), ["drop refused"]);
    assert!(
        DdfList::<u8>::any([])
            .when(|_: Fired<'static, u8>| ())
            .is_err()
    );
    assert!(wait_any::<u8>([]).is_err());
}

#[test]
fn an_and_list_without_cells_is_ready_at_once() {
    let log = Log::default();
    let ours = log.clone();
    when_all(Vec::<&'static Ddf<u8>>::new(), move |values: Vec<&u8>| {
        ours.say(values.len())
    });
    assert_eq!(log.taken(), ["0"]);
}

#[test]
fn a_cell_may_be_in_a_list_twice() {
    let cell = Ddf::new();
    let other = Ddf::new();
    let seen = Mutex::new(Vec::new());
    let all = |(a, b, c): (&u8, &u8, &u8)| seen.lock().unwrap().push(100 * a + 10 * b + c);
    let any = |(index, value): (usize, &u8)| seen.lock().unwrap().push(10 * index as u8 + value);
    // SAFETY: both cells are put before anything is dropped.
    unsafe {
        when_all_scoped((&cell, &other, &cell), all);
        when_any_scoped([&cell, &cell], any).unwrap();
    }
    cell.put(2).unwrap();
    let first = seen.lock().unwrap().pop();
    assert!(matches!(first, Some(2 | 12)), "{first:?}");
    other.put(1).unwrap();
    assert_eq!(*seen.lock().unwrap(), [212]);
}
