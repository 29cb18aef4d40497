//! The contexts of tasks on this machine.
#![forbid(unsafe_code)]

use tautline_node::pool::Node;

/// The context of a task on this machine. Its methods are those of
/// [`task::Cx`](tautline_core::task::Cx):
///
/// | method | what it does |
/// |---|---|
/// | [`join`](tautline_core::task::Cx::join), [`join_with`](tautline_core::task::Cx::join_with) | runs two closures, perhaps at the same time, and returns what both return |
/// | [`par`](tautline_core::task::Cx::par) | a loop over the items of a range, slice or vector, with the verbs of rayon |
/// | [`par_for`](tautline_core::task::Cx::par_for), [`loop_over`](tautline_core::task::Cx::loop_over) | calls a function for each index of a range; with a schedule, a name, a report |
/// | [`concurrent`](tautline_core::task::Cx::concurrent) | concurrent loops |
/// | [`scope`](tautline_core::task::Cx::scope), [`scope_with`](tautline_core::task::Cx::scope_with) | returns when all tasks spawned inside have ended |
/// | [`spawn`](tautline_core::task::Cx::spawn), [`spawn_in`](tautline_core::task::Cx::spawn_in) | spawns a task into the scope; on the workers of one domain only |
/// | [`spawn_value`](tautline_core::task::Cx::spawn_value) | spawns a task that returns a value, and returns its handle |
/// | [`spawn_when`](tautline_core::task::Cx::spawn_when), [`spawn_when_any`](tautline_core::task::Cx::spawn_when_any) | spawns a task that runs once its inputs are there |
/// | [`spawn_async`](tautline_core::task::Cx::spawn_async), [`spawn_async_value`](tautline_core::task::Cx::spawn_async_value) | spawns a future; with a handle |
/// | [`block_on`](tautline_core::task::Cx::block_on) | waits for a future, and runs other tasks while it waits |
/// | [`finish`](tautline_core::task::Cx::finish), [`finish_with`](tautline_core::task::Cx::finish_with), [`finish_until`](tautline_core::task::Cx::finish_until) | a scope that can be cancelled; with a token, such as a [`Deadline`](crate::runtime::Deadline) |
/// | [`cancel`](tautline_core::task::Cx::cancel), [`cancelled`](tautline_core::task::Cx::cancelled) | cancels the finish around the task; asks whether it was |
/// | [`hold`](tautline_core::task::Cx::hold) | a share of the scope, which any thread may release |
/// | [`scope_id`](tautline_core::task::Cx::scope_id) | the identity of the enclosing scope |
/// | [`phaser`](tautline_core::task::Cx::phaser), [`accumulator`](tautline_core::task::Cx::accumulator), [`adopt`](tautline_core::task::Cx::adopt) | a phaser of the scope; with a reduction; from a registration |
/// | [`spawn_phased`](tautline_core::task::Cx::spawn_phased), [`spawn_phased_value`](tautline_core::task::Cx::spawn_phased_value) | spawns a task that proceeds in phases; with a handle |
/// | [`balancer`](tautline_core::task::Cx::balancer) | a balanced computation |
/// | [`task`](tautline_core::task::Cx::task) | the context for async code of the same scope |
/// | [`worker`](tautline_core::task::Cx::worker), [`pool`](tautline_core::task::Cx::pool) | the worker that runs the task, and its pool |
///
///
/// `'scope` is how long tasks of its scope may borrow, `'env` what lies outside of the scope. A
/// function whose tasks join the caller's scope takes `&mut Cx<'s, '_>` and borrows for `'s`; for
/// `join`, and for tasks in a scope of its own, `&mut Cx` is enough.
///
/// ```
/// use tautline::prelude::*;
///
/// // Waits for what it forks.
/// fn largest(cx: &mut Cx, numbers: &[u64]) -> Option<u64> {
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = cx.join(|_| left.iter().max(), |_| right.iter().max());
///     left.max(right).copied()
/// }
///
/// // Returns at once; the caller's scope waits for the tasks.
/// fn double<'s>(cx: &mut Cx<'s, '_>, numbers: &'s mut [u64]) {
///     for part in numbers.chunks_mut(2) {
///         cx.spawn(|_| part.iter_mut().for_each(|n| *n *= 2));
///     }
/// }
///
/// let mut numbers = [3, 1, 4, 1, 5];
/// let largest = Runtime::new()?.run(|cx| {
///     cx.scope(|cx| double(cx, &mut numbers));
///     largest(cx, &numbers)
/// });
/// assert_eq!(largest, Some(10));
/// # Ok::<(), tautline::Error>(())
/// ```
pub type Cx<'scope, 'env> = tautline_core::task::Cx<'scope, 'env, Node>;

/// The context of async code on this machine; see [`task::TaskCx`](tautline_core::task::TaskCx). A
/// function takes it by value, as it is `Clone`, and borrows for its `'scope` what its tasks use.
///
/// ```
/// use tautline::prelude::*;
///
/// async fn sum<'s>(task: TaskCx<'s, '_>, numbers: &'s [u64]) -> u64 {
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let left = task.spawn_value(|_| left.iter().sum::<u64>());
///     right.iter().sum::<u64>() + left.await.expect("the task does not panic")
/// }
///
/// let numbers = [3, 1, 4, 1, 5];
/// let sum = Runtime::new()?.block_on(async |task: TaskCx| sum(task, &numbers).await);
/// assert_eq!(sum, 14);
/// # Ok::<(), tautline::Error>(())
/// ```
pub type TaskCx<'scope, 'env> = tautline_core::task::TaskCx<'scope, 'env, Node>;

/// A share of a scope, which any thread may release; see [`task::Hold`](tautline_core::task::Hold).
///
/// ```
/// use std::sync::mpsc;
/// use tautline::prelude::*;
/// use tautline::runtime::Hold;
///
/// // A thread that is no worker: it answers requests, and then releases the scopes that made them.
/// let (requests, received) = mpsc::channel::<(u32, mpsc::Sender<u32>, Hold)>();
/// let server = std::thread::spawn(move || {
///     for (n, answers, hold) in received {
///         answers.send(n * n).unwrap();
///         drop(hold);
///     }
/// });
/// let (answers, answer) = mpsc::channel();
/// Runtime::new()?.run(|cx| {
///     cx.scope(|cx| requests.send((6, answers, cx.hold())).unwrap());
///     assert_eq!(answer.try_recv(), Ok(36)); // sent before the scope has ended
/// });
/// drop(requests);
/// server.join().unwrap();
/// # Ok::<(), tautline::Error>(())
/// ```
pub type Hold = tautline_core::task::Hold<Node>;
