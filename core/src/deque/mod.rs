//! Work-stealing deques.
