//! The steps of a worker.

/// The two reserves of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pile {
    /// For the workers of the place itself.
    Intra,
    /// For other places.
    Inter,
}

/// The action of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The worker was started.
    Started,
    /// Started another worker, with a part of its work if it could be divided.
    Grew,
    /// Divided its work, to add a part to a reserve.
    Divided,
    /// Added that part.
    Fed(Pile),
    /// Gave to recorded thieves.
    Answered,
    /// Sent a better bound to other places.
    Announced,
    /// Served a message.
    Served,
    /// Ended the polling phase.
    Looked,
    /// Processed this number of tasks.
    Worked(usize),
    /// Checked a reserve, and took work if there was any.
    Took(Pile),
    /// Left, since it was dry.
    Left,
    /// Found nothing to do until it is woken.
    Parked,
    /// The computation has ended.
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
    Announce,
    Serve,
    StepBack,
    Work,
    Take(Pile),
    Leave,
}
