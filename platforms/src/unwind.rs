//! The handles that a program may use in `catch_unwind`, and after it, without `AssertUnwindSafe`.
//!
//! A panic of a task, a waker or a destructor is caught at the edge of the scope, the request or
//! the handle to which it belongs, and no code of a program runs while the state below one of these
//! handles is changed: each is as usable after a panic as before.

use crate::execution::runtime::{Builder, Detached, Plan, Running, Runtime};
use crate::observe::watch::Observe;
#[cfg(feature = "serde")]
use crate::ranks::comm::{Comm, Request};
#[cfg(feature = "serde")]
use crate::ranks::world::World;
use std::panic::{RefUnwindSafe, UnwindSafe};

impl UnwindSafe for Runtime {}
impl RefUnwindSafe for Runtime {}

// The hooks of these run on threads of the runtime, which is shared by all callers anyway.
impl UnwindSafe for Builder {}
impl RefUnwindSafe for Builder {}
impl UnwindSafe for Plan {}
impl RefUnwindSafe for Plan {}
impl UnwindSafe for Observe {}
impl RefUnwindSafe for Observe {}

impl<R> UnwindSafe for Detached<R> {}
impl<R> RefUnwindSafe for Detached<R> {}

impl<R> UnwindSafe for Running<R> {}
impl<R> RefUnwindSafe for Running<R> {}

#[cfg(feature = "serde")]
impl UnwindSafe for World {}
#[cfg(feature = "serde")]
impl RefUnwindSafe for World {}

#[cfg(feature = "serde")]
impl UnwindSafe for Comm {}
#[cfg(feature = "serde")]
impl RefUnwindSafe for Comm {}

#[cfg(feature = "serde")]
impl<T> UnwindSafe for Request<T> {}
#[cfg(feature = "serde")]
impl<T> RefUnwindSafe for Request<T> {}
