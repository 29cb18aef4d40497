//! The cells of a space: of this process, or of all ranks.

use super::error::{Abandoned, Site, Waiting};
use crate::Result;
use crate::error::Error;
use std::fmt;
use std::hash::Hash;
use std::panic::Location;
use std::sync::OnceLock;
use std::thread::available_parallelism;
use tautline_core::space::{Get, Local, Misuse, Table, Take};
use tautline_node::SpinThenYield;

type Policy<K> = Local<K, SpinThenYield>;

/// The number of declared reads of a key.
pub(crate) type Reads<K> = Box<dyn Fn(&K) -> u32 + Send + Sync>;

/// The number of parts of a table, for each processor.
const SHARDS: usize = 8;

pub(crate) enum Cells<K: 'static, V> {
    Near(Near<K, V>),
    #[cfg(feature = "serde")]
    Far(Box<dyn Far<K, V>>),
}

/// The cells of a space of one process.
pub(crate) struct Near<K: 'static, V> {
    table: Table<K, V, Policy<K>>,
    /// The reason for which the space has ended.
    abandoned: OnceLock<Box<str>>,
}

impl<K: 'static, V> Near<K, V> {
    /// Creates cells whose reads are counted by `readers`, if they are declared.
    pub(crate) fn new(readers: Option<Reads<K>>) -> Self {
        let policy = Local::new(SpinThenYield::default());
        let policy = match readers {
            Some(readers) => policy.readers(readers),
            None => policy,
        };
        let processors = available_parallelism().map_or(1, usize::from);
        Self {
            table: Table::new(SHARDS * processors, policy),
            abandoned: OnceLock::new(),
        }
    }
}

impl<K, V> Near<K, V>
where
    K: Clone + fmt::Debug + Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
{
    /// Ends a read that has begun after the end of the space.
    fn checked<R>(&self, read: R) -> R {
        if self.abandoned.get().is_some() {
            drop(self.table.fail());
        }
        read
    }

    fn abandon(&self, reason: &dyn fmt::Display) {
        self.abandoned.get_or_init(|| reason.to_string().into());
        drop(self.table.fail());
    }

    fn close(self, space: Site) -> Result<()> {
        let invalid = |error| Err(Error::Invalid(error));
        if let Some(reason) = self.abandoned.into_inner() {
            return invalid(Box::new(Abandoned { space, reason }));
        }
        let keys = self.table.close();
        if keys.is_empty() {
            return Ok(());
        }
        let keys = keys.iter().map(|(key, reads)| (format!("{key:?}"), *reads));
        let keys = keys.collect();
        invalid(Box::new(Waiting { space, keys }))
    }
}

/// The cells of a space of several ranks, at one of them.
#[cfg(feature = "serde")]
pub(crate) trait Far<K, V>: Send + Sync {
    fn get(&self, key: &K) -> std::result::Result<Get<V>, Misuse>;

    fn take(&self, key: &K) -> std::result::Result<Take<V>, Misuse>;

    fn put(&self, key: &K, value: V) -> std::result::Result<(), (V, Misuse)>;

    fn is_full(&self, key: &K) -> bool;

    /// Returns the number of messages that this rank has sent.
    fn sent(&self) -> u64;

    fn abandon(&self, reason: &dyn fmt::Display);

    fn close(self: Box<Self>, site: &'static Location<'static>) -> Result<()>;
}

impl<K, V> Cells<K, V>
where
    K: Clone + fmt::Debug + Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
{
    pub(super) fn get(&self, key: &K) -> std::result::Result<Get<V>, Misuse> {
        match self {
            Self::Near(cells) => cells.table.get(key).map(|read| cells.checked(read)),
            #[cfg(feature = "serde")]
            Self::Far(cells) => cells.get(key),
        }
    }

    pub(super) fn take(&self, key: &K) -> std::result::Result<Take<V>, Misuse> {
        match self {
            Self::Near(cells) => cells.table.take(key).map(|read| cells.checked(read)),
            #[cfg(feature = "serde")]
            Self::Far(cells) => cells.take(key),
        }
    }

    pub(super) fn put(&self, key: &K, value: V) -> std::result::Result<(), (V, Misuse)> {
        match self {
            Self::Near(cells) => cells.table.put(key, value),
            #[cfg(feature = "serde")]
            Self::Far(cells) => cells.put(key, value),
        }
    }

    pub(super) fn is_full(&self, key: &K) -> bool {
        match self {
            Self::Near(cells) => cells.table.is_full(key),
            #[cfg(feature = "serde")]
            Self::Far(cells) => cells.is_full(key),
        }
    }

    #[cfg(feature = "serde")]
    pub(super) fn sent(&self) -> u64 {
        match self {
            Self::Near(_) => 0,
            Self::Far(cells) => cells.sent(),
        }
    }

    pub(super) fn abandon(&self, reason: &dyn fmt::Display) {
        match self {
            Self::Near(cells) => cells.abandon(reason),
            #[cfg(feature = "serde")]
            Self::Far(cells) => cells.abandon(reason),
        }
    }

    pub(super) fn close(self, space: Site, _site: &'static Location<'static>) -> Result<()> {
        match self {
            Self::Near(cells) => cells.close(space),
            #[cfg(feature = "serde")]
            Self::Far(cells) => cells.close(_site),
        }
    }
}
