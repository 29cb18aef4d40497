//! The page of the context, an alias whose methods rustdoc shows on the page of another crate only.

use std::collections::BTreeSet;

/// Methods whose links begin so, in a text in which a space or a bracket follows them.
fn linked<'t>(text: &'t str, start: &str) -> BTreeSet<&'t str> {
    let after = text.split(start).skip(1);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    after
        .map(|rest| rest.split(|c| !is_name(c)).next().unwrap_or_default())
        .collect()
}

#[test]
fn the_page_of_the_context_has_all_of_its_methods() {
    let listed = include_str!("../../core/API.txt");
    let methods = linked(listed, "tautline_core::task::Cx::");
    assert!(methods.len() > 30, "{methods:?}");
    let source = include_str!("../src/execution/runtime/context.rs");
    let (before, _) = source.split_once("pub type Cx<").expect("the alias");
    let page = before.rsplit("\n\n").next().expect("its documentation");
    assert_eq!(linked(page, "(tautline_core::task::Cx::"), methods);
}
