//! The channel of the shared objects of a rank, as objects send on it, and the operations that
//! messages name.

use super::message::{Body, Envelope};
use super::operation::{AnyOperation, Declared, Operation, is_operator};
use super::record::Cache;
use crate::ranks::engine::Outgoing;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tautline_core::Rank;
use tautline_core::coherence::{Message, Request};
use tautline_core::wire::{Channel, Encoding};

pub(super) struct Outlet {
    pub(super) here: Rank,
    pub(super) ranks: u32,
    /// Bytes of a value, at most, and of a message.
    pub(super) limit: usize,
    pub(super) longest: usize,
    pub(super) cache: Cache,
    outgoing: Outgoing<Envelope>,
    operations: Mutex<Vec<Arc<dyn AnyOperation>>>,
}

impl Outlet {
    pub(super) fn new(here: Rank, ranks: u32, limit: usize, longest: usize) -> Self {
        Self {
            here,
            ranks,
            limit,
            longest,
            cache: Cache::new(),
            outgoing: Outgoing::new(here),
            operations: Mutex::default(),
        }
    }

    pub(super) fn open(&self, channel: Channel<Envelope>) {
        self.outgoing.open(channel);
    }

    pub(super) fn close(&self) {
        self.outgoing.close();
    }

    /// Sends a message without a value.
    pub(super) fn send(&self, to: Rank, envelope: Envelope) {
        let mut encoding = Encoding::default();
        let encoded = encoding.push(&envelope, self.longest);
        // A text in it is as long as names and panics are.
        if encoded.is_ok() {
            self.outgoing.send(to, encoding);
        }
    }

    /// Sends a message that is encoded.
    pub(super) fn send_encoded(&self, to: Rank, message: Encoding) {
        self.outgoing.send(to, message);
    }

    fn operations(&self) -> MutexGuard<'_, Vec<Arc<dyn AnyOperation>>> {
        let operations = self.operations.lock();
        operations.unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares the next operation.
    pub(super) fn declare<T, A, R>(
        &self,
        site: &'static Location<'static>,
        run: impl Fn(&mut T, A) -> R + Send + Sync + 'static,
    ) -> Operation<T, A, R>
    where
        Declared<T, A, R>: AnyOperation + 'static,
    {
        let mut operations = self.operations();
        let declared = Arc::new(Declared {
            position: operations.len() as u32,
            site,
            run: Box::new(run),
        });
        operations.push(Arc::clone(&declared) as _);
        Operation { declared }
    }

    /// Whether a message calls an operation that this rank may still declare.
    pub(super) fn is_undeclared(&self, body: &Body) -> bool {
        let Body::Message(Message::Request(Request::Operate { operation, .. })) = body else {
            return false;
        };
        !is_operator(*operation) && self.declared(*operation).is_none()
    }

    /// Returns the operation at a position, if it was declared.
    pub(super) fn declared(&self, position: u32) -> Option<Arc<dyn AnyOperation>> {
        self.operations().get(position as usize).cloned()
    }
}
