//! Lifelines.
#![forbid(unsafe_code)]
