//! Name spaces over ranks: the driver of [`tautline_core::space::Space`].
#![forbid(unsafe_code)]

mod codec;
#[cfg(test)]
mod fuzz;
mod inlet;
mod memory;
mod message;
mod name;
mod over;
mod roles;

pub use roles::Readers;

use super::collective::{Running, calls};
use super::engine::{ProgressEngine, assert_may_block};
use super::world::World;
use crate::error::Error;
use crate::space::{Cells, Far, Near, Space};
use codec::{Codec, Encoded, Vectors};
use inlet::Inlet;
use name::Name;
use over::Over;
use roles::{DeclaredReaders, Home, Roles};
use rustc_hash::FxBuildHasher;
use std::any::type_name;
use std::fmt::{Debug, Display};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::space::{Get, Misuse, Take};
use tautline_core::wire::{Plain, Portable};

/// The names of values that ranks share.
pub trait Key: Clone + Ord + Hash + Debug + Portable + Sync + 'static {}

impl<K: Clone + Ord + Hash + Debug + Portable + Sync + 'static> Key for K {}

/// The values.
pub(crate) trait Value: Send + Sync + 'static {}

impl<V: Send + Sync + 'static> Value for V {}

/// A space at one rank of several, with the engine that moves its messages.
struct Spanning<K: Key, V: Value> {
    engine: Arc<ProgressEngine>,
    over: Arc<Over<K, V>>,
}

impl<K: Key, V: Value> Spanning<K, V> {
    /// Sends what a call has left, and receives.
    fn look(&self) {
        self.engine.progress.look(&*self.engine);
    }
}

impl<K: Key, V: Value> Far<K, V> for Spanning<K, V> {
    fn get(&self, key: &K) -> Result<Get<V>, Misuse> {
        let read = self.over.get(key)?;
        if !read.is_full() {
            self.look();
        }
        Ok(read)
    }

    fn take(&self, key: &K) -> Result<Take<V>, Misuse> {
        let read = self.over.take(key);
        self.look();
        read
    }

    fn put(&self, key: &K, value: V) -> Result<(), (V, Misuse)> {
        let put = self.over.put(key, value);
        self.look();
        put
    }

    fn is_full(&self, key: &K) -> bool {
        self.over.is_full(key)
    }

    fn sent(&self) -> u64 {
        self.over.sent()
    }

    fn abandon(&self, why: &dyn Display) {
        self.over.abandon(why);
        self.look();
    }

    fn close(self: Box<Self>, site: &'static Location<'static>) -> crate::Result<()> {
        assert_may_block();
        let Self { engine, over } = &*self;
        let never_put = over.close(engine).map_err(Error::Rank)?;
        // A rank that leaves is not counted any more, so none does before all have counted.
        let call = calls::barrier(engine.calls.group());
        Running::begin(engine, &engine.calls, site, call).block()?;
        never_put.map_or(Ok(()), |error| Err(Error::Rank(error)))
    }
}

/// A space that all ranks are about to open: made by [`Space::of`].
#[must_use = "a space is opened by `open` or `open_vectors`"]
pub struct Builder<K, V> {
    engine: Arc<ProgressEngine>,
    home: Option<Home<K>>,
    readers: Option<DeclaredReaders<K>>,
    site: &'static Location<'static>,
    of: PhantomData<fn() -> V>,
}

impl<K: Key, V> Space<K, V> {
    /// Begins a space of all ranks. Every rank makes this call, in the same order as other calls
    /// over the world, with the same functions. Feature `serde`.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::space::Space;
    /// use tautline::world::{self, Rank};
    ///
    /// // Each rank adds its number to the sum of those before it, which it waits for by name.
    /// let sums = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let sums: Space<u32, u32> = Space::of(world)
    ///         .home(|rank| Rank(*rank))
    ///         .readers(|rank, by| by.task_at(Rank(*rank)))
    ///         .open();
    ///     let (here, ranks) = (world.rank().0, world.ranks());
    ///     let mut sum = 0;
    ///     rt.run(|cx| {
    ///         if here == 0 {
    ///             sums.put(0, 0).unwrap();
    ///         }
    ///         cx.scope(|cx| cx.spawn_when(sums.take(here), |before, _| sum = before + here));
    ///         if here + 1 < ranks {
    ///             sums.put(here + 1, sum).unwrap();
    ///         }
    ///     });
    ///     assert_eq!(sums.sent(), u64::from(here + 1 < ranks));
    ///     sums.close()?;
    ///     Ok::<_, tautline::Error>(sum)
    /// });
    /// assert_eq!(sums.into_iter().collect::<tautline::Result<Vec<_>>>()?, [0, 1, 3]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn of(world: &World) -> Builder<K, V> {
        let engine = Arc::clone(world.engine());
        let (home, readers, of) = (None, None, PhantomData);
        let site = Location::caller();
        Builder {
            engine,
            home,
            readers,
            site,
            of,
        }
    }
}

impl<K: Key, V> Builder<K, V> {
    /// Selects the home of each key: the rank that answers for it. Without this, a hash of the
    /// key does. A value travels least if its home is the rank that puts it.
    pub fn home(mut self, home: impl Fn(&K) -> Rank + Send + Sync + 'static) -> Self {
        self.home = Some(Box::new(home));
        self
    }

    /// Declares the tasks that read each key, by their ranks. Values are then sent to them without
    /// a request, and dropped after their last read; further reads are errors.
    pub fn readers(
        mut self,
        readers: impl Fn(&K, &mut Readers<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.readers = Some(Box::new(readers));
        self
    }

    /// Opens the space.
    ///
    /// # Teamed
    /// A call of all ranks.
    pub fn open(self) -> Space<K, V>
    where
        V: Portable + Sync + 'static,
    {
        self.open_with(Encoded)
    }

    fn open_with(self, codec: impl Codec<V> + 'static) -> Space<K, V>
    where
        V: Value,
    {
        let Self { engine, site, .. } = self;
        engine.assert_rank();
        let exchange = &engine.exchange;
        let (here, ranks, longest) = (exchange.here(), exchange.ranks(), exchange.limits().body);
        let hashed = move |key: &K| Rank((FxBuildHasher.hash_one(key) % u64::from(ranks)) as u32);
        let roles = Roles {
            here,
            home: self.home.unwrap_or_else(|| Box::new(hashed)),
            readers: self.readers,
        };
        if ranks == 1 {
            let readers = roles.are_declared().then(|| roles.counted());
            return Space::with(Cells::Near(Near::new(readers)), site);
        }
        let name = Name {
            site,
            types: [type_name::<K>(), type_name::<V>()],
        };
        let over = Over::new(name, ranks, roles, Box::new(codec), engine.body, longest);
        engine.add_objects(Arc::downgrade(&over) as _);
        let inlet = Inlet(Arc::clone(&over));
        over.open(exchange.open_at(site, "space", 1, inlet));
        Space::with(Cells::Far(Box::new(Spanning { engine, over })), site)
    }
}

impl<K: Key, T: Plain + Send + Sync + 'static> Builder<K, Vec<T>> {
    /// As [`open`](Self::open), for vectors of plain data, which are encoded by one copy.
    ///
    /// ```
    /// use tautline::space::{Space, home};
    /// use tautline::world;
    ///
    /// world::loopback(2, |world| {
    ///     let at = home::cyclic(world.ranks());
    ///     let rows = Space::<u64, Vec<f64>>::of(world).home(move |row| at(*row)).open_vectors();
    ///     rows.put(u64::from(world.rank().0), vec![0.5; 1000]).unwrap();
    ///     rows.close()
    /// });
    /// ```
    ///
    /// # Teamed
    /// A call of all ranks.
    pub fn open_vectors(self) -> Space<K, Vec<T>> {
        self.open_with(Vectors(PhantomData))
    }
}
