//! The steps of a worker: their outcomes, and which one is next.

/// The two reserves of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pile {
    /// For the workers of the place itself.
    Intra,
    /// For other places.
    Inter,
}

/// The outcome of one step of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Started, having been claimed.
    Started,
    /// Started another worker, with a part of its work if that could be divided.
    Grew,
    /// Divided its work, to put a part into a reserve.
    Divided,
    /// Put that part in.
    Fed(Pile),
    /// Gave work to recorded thieves.
    Answered,
    /// Sent a better bound to other places.
    Whispered,
    /// Served a message.
    Served,
    /// Completed its poll of the place.
    Looked,
    /// Did this many tasks.
    Worked(usize),
    /// Took work from a reserve, if there was any.
    Took(Pile),
    /// Left its crew, without work.
    Left,
    /// Has nothing to do until it is woken.
    Parked,
    /// The computation is over.
    Ended,
}

/// The next step of a worker.
pub(super) enum Next<B> {
    Aside,
    Turn,
    FeedIntra,
    FeedInter,
    Put(Pile, B),
    Answer,
    Whisper,
    Serve,
    StepBack,
    Work,
    Take(Pile),
    Leave,
}
