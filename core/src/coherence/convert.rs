//! Messages with values of other types: encoded for a link, and decoded.

use super::{Answer, Grant, Message, Request};

impl<V, O, R> Message<V, O, R> {
    /// Converts the value, operation and output of the message, to be encoded or decoded.
    ///
    /// # Errors
    /// That of the conversion.
    pub fn try_map<V2, O2, R2, E>(
        self,
        value: impl FnOnce(V) -> Result<V2, E>,
        operation: impl FnOnce(O) -> Result<O2, E>,
        output: impl FnOnce(R) -> Result<R2, E>,
    ) -> Result<Message<V2, O2, R2>, E> {
        Ok(match self {
            Self::Request(request) => Message::Request(request.try_map(operation)?),
            Self::Grant(mode, grant) => Message::Grant(mode, grant.try_map(value, output)?),
            Self::Recall(recall) => Message::Recall(recall),
            Self::Answer(answer) => Message::Answer(answer.try_map(value)?),
            Self::Passed(passed) => Message::Passed(value(passed)?),
        })
    }
}

impl<O> Request<O> {
    fn try_map<O2, E>(self, operation: impl FnOnce(O) -> Result<O2, E>) -> Result<Request<O2>, E> {
        Ok(match self {
            Self::Read => Request::Read,
            Self::Write => Request::Write,
            Self::Upgrade => Request::Upgrade,
            Self::ReadExclusive => Request::ReadExclusive,
            Self::Get => Request::Get,
            Self::Borrow => Request::Borrow,
            Self::Operate {
                access,
                operation: it,
            } => Request::Operate {
                access,
                operation: operation(it)?,
            },
        })
    }
}

impl<V, R> Grant<V, R> {
    fn try_map<V2, R2, E>(
        self,
        value: impl FnOnce(V) -> Result<V2, E>,
        output: impl FnOnce(R) -> Result<R2, E>,
    ) -> Result<Grant<V2, R2>, E> {
        Ok(match self {
            Self::Shared(it) => Grant::Shared(value(it)?),
            Self::Exclusive(it) => Grant::Exclusive(value(it)?),
            Self::Upgraded => Grant::Upgraded,
            Self::Owned { former } => Grant::Owned { former },
            Self::Value(it) => Grant::Value(value(it)?),
            Self::Done { access, output: it } => Grant::Done {
                access,
                output: output(it)?,
            },
            Self::Lent(it) => Grant::Lent(value(it)?),
            Self::Refused => Grant::Refused,
            Self::Lost { owner, access } => Grant::Lost { owner, access },
        })
    }
}

impl<V> Answer<V> {
    fn try_map<V2, E>(self, value: impl FnOnce(V) -> Result<V2, E>) -> Result<Answer<V2>, E> {
        Ok(match self {
            Self::Invalidated => Answer::Invalidated,
            Self::Missing(former) => Answer::Missing(former),
            Self::Value(it) => Answer::Value(value(it)?),
            Self::Passed => Answer::Passed,
            Self::Returned(it) => Answer::Returned(value(it)?),
            Self::Evicted(it) => Answer::Evicted(value(it)?),
        })
    }
}
