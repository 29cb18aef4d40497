//! Memory use of cells and of their waiters.

use std::mem::size_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tautline_core::flow::{All, Ddf, Inputs, Latch, Node, NodeBox, Ready, Waiter, when_all_scoped};

/// A node is converted to a thin pointer and back, as a queue of tasks does.
#[test]
fn a_ready_node_can_wait_in_a_queue_without_more_memory() {
    static QUEUE: Mutex<Vec<Thin>> = Mutex::new(Vec::new());
    struct Thin(*mut Task);
    // SAFETY: only the queue refers to the tasks in it.
    unsafe impl Send for Thin {}
    #[repr(C)]
    struct Task {
        run: unsafe fn(*mut Task),
        scale: u32,
        done: Arc<AtomicUsize>,
    }
    impl<'v, V: Into<u32> + Copy + 'v> Ready<(&'v V, &'v V)> for Task {
        fn ready(self, (a, b): (&'v V, &'v V)) {
            let sum = self.scale * ((*a).into() + (*b).into());
            self.done.fetch_add(sum as usize, Ordering::Relaxed);
        }

        fn ready_node<'a, I>(mut node: NodeBox<All<I, Self>>)
        where
            I: Inputs<'a, Values = (&'v V, &'v V)>,
        {
            unsafe fn run<'a, 'v, V: Into<u32> + Copy + 'v, I>(task: *mut Task)
            where
                I: Inputs<'a, Values = (&'v V, &'v V)>,
            {
                let waiter = std::ptr::NonNull::new(task).unwrap().cast();
                // SAFETY: from `into_raw` below, of this type; the task is the first field of the
                // waiter.
                let node = unsafe { NodeBox::<All<I, Task>>::from_raw(waiter) };
                let (values, task) = node.open();
                task.ready(values);
            }
            node.waiter.ready.run = run::<V, I>;
            let thin = node.into_raw().cast::<Task>().as_ptr();
            QUEUE.lock().unwrap().push(Thin(thin));
        }
    }
    unsafe fn never(_: *mut Task) {
        unreachable!("set when the task is ready");
    }
    let done = Arc::new(AtomicUsize::new(0));
    let cells = (Ddf::<u16>::new(), Ddf::<u16>::new());
    let task = Task {
        run: never,
        scale: 10,
        done: Arc::clone(&done),
    };
    // SAFETY: the cells are put below, and the queue is emptied.
    unsafe { when_all_scoped((&cells.0, &cells.1), task) };
    cells.0.put(1).unwrap();
    cells.1.put(2).unwrap();
    assert_eq!(done.load(Ordering::Relaxed), 0, "in the queue");
    let Thin(task) = QUEUE.lock().unwrap().pop().unwrap();
    // SAFETY: the task was pushed once.
    unsafe { ((*task).run)(task) };
    assert_eq!(done.load(Ordering::Relaxed), 30);
}

/// 10^6 cells with one waiter each use less than 100 bytes per cell besides the value.
#[test]
fn a_cell_costs_two_words_and_its_waiter_three_more_than_it_holds() {
    const WORD: usize = size_of::<usize>();
    assert_eq!(size_of::<Ddf<u64>>() - size_of::<u64>(), 2 * WORD);
    assert_eq!(size_of::<Ddf<[usize; 9]>>(), 11 * WORD);
    struct Body(#[expect(dead_code, reason = "only its size matters")] [usize; 2]);
    let holds = size_of::<Body>() + size_of::<[&Ddf<u64>; 2]>();
    assert_eq!(
        size_of::<Node<All<[&Ddf<u64>; 2], Body>>>(),
        3 * WORD + holds
    );
    let waiter = size_of::<Node<All<&Ddf<u64>, [usize; 2]>>>();
    assert!(2 * WORD + waiter < 100, "{waiter}");
}

/// The put that takes a node out of a cell may free the cell while the registration of the node has
/// not returned: for Miri and AddressSanitizer.
#[test]
fn a_cell_may_be_freed_as_soon_as_a_node_is_registered() {
    struct Count(Arc<AtomicUsize>);
    impl Waiter for Count {
        fn released(node: NodeBox<Self>) {
            node.waiter.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    struct Shared(NonNull<Ddf<u32>>);
    // SAFETY: a cell is `Sync`; the thread that frees it does so last.
    unsafe impl Send for Shared {}
    impl Shared {
        fn free(self) {
            // SAFETY: from a box, and freed by one of the two threads.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
    for _ in 0..if cfg!(miri) { 20 } else { 2_000 } {
        let cell = NonNull::from(Box::leak(Box::new(Ddf::new())));
        let released = Arc::new(AtomicUsize::new(0));
        let (theirs, seen) = (Shared(cell), Arc::clone(&released));
        let putter = std::thread::spawn(move || {
            let theirs = theirs;
            // SAFETY: the other thread frees a cell that is full before it registers.
            let mut waiters = unsafe { theirs.0.as_ref() }.fill(1).unwrap();
            waiters.release();
            let registered = seen.load(Ordering::Relaxed) == 1;
            if registered {
                theirs.free();
            }
            registered
        });
        // SAFETY: the putter does not free the cell before the node is registered.
        let latch = NonNull::from(unsafe { cell.as_ref() }.latch());
        // SAFETY: likewise.
        let back = unsafe { Latch::register_scoped(latch, NodeBox::new(Count(released))) };
        let registered = putter.join().unwrap();
        assert_eq!(back.is_ok(), registered);
        if !registered {
            Shared(cell).free();
        }
    }
}
