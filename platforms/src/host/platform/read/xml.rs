//! XML documents, with the positions of their parts.
#![forbid(unsafe_code)]

use super::{Mistake, shown};
use roxmltree::{Document, Node, ParsingOptions};

/// Elements and texts of a document.
const NODES_MAX: u32 = 1 << 20;
/// The maximum depth of elements: the parser recurses once for each.
const NESTED_MAX: usize = 256;

/// Parses a document. A document type is permitted and ignored.
pub(super) fn parse(text: &str) -> Result<Document<'_>, Mistake> {
    check_nesting(text)?;
    let options = ParsingOptions {
        allow_dtd: true,
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| {
        let (position, message) = (error.pos(), error.to_string());
        let place = format!(" at {position}");
        let message = message.strip_suffix(&place).unwrap_or(&message);
        let lines = text.split_inclusive('\n').take(position.row as usize - 1);
        let line_start: usize = lines.map(str::len).sum();
        let line = &text[line_start..];
        let before = line.chars().take(position.col as usize - 1);
        let at = line_start + before.map(char::len_utf8).sum::<usize>();
        Mistake::at(at, format!("not XML: {}", shown(message)))
    })
}

/// Returns the name of the outermost element.
pub(super) fn root(text: &str) -> Result<String, Mistake> {
    let document = parse(text)?;
    Ok(document.root_element().tag_name().name().to_owned())
}

/// Refuses deeply nested elements. Comments that contain tags only make the count too high.
fn check_nesting(text: &str) -> Result<(), Mistake> {
    let mut open: usize = 0;
    for (at, _) in text.match_indices('<') {
        let tag = &text[at + 1..];
        if tag.starts_with('/') {
            open = open.saturating_sub(1);
        } else if tag.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            let tag = &tag[..tag.find('<').unwrap_or(tag.len())];
            let end = tag.rfind('>').map_or(tag, |end| &tag[..end]);
            open += usize::from(!end.ends_with('/'));
        }
        if open > NESTED_MAX {
            let message = format!("elements within each other: at most {NESTED_MAX}");
            return Err(Mistake::at(at, message));
        }
    }
    Ok(())
}

/// Returns the position at which an element begins.
pub(super) fn at(node: Node<'_, '_>) -> usize {
    node.range().start
}

/// Returns an attribute's value and its position.
pub(super) fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<(usize, &'a str)> {
    let attribute = node.attribute_node(name)?;
    Some((attribute.range().start, attribute.value()))
}

/// Returns an attribute parsed by `read`, whose error is given its position.
pub(super) fn read<T>(
    node: Node<'_, '_>,
    name: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Mistake> {
    let Some((at, value)) = attribute(node, name) else {
        return Ok(None);
    };
    read(value)
        .map(Some)
        .map_err(|message| Mistake::at(at, message))
}

/// Refuses an attribute whose name is not `known`.
pub(super) fn check_attributes(node: Node<'_, '_>, known: &[&str]) -> Result<(), Mistake> {
    let stranger = node.attributes().find(|it| !known.contains(&it.name()));
    stranger.map_or(Ok(()), |stranger| {
        let (name, element) = (shown(stranger.name()), node.tag_name().name());
        let known = known.join(", ");
        let message = format!("{name}: no attribute of {element}, which has {known}");
        Err(Mistake::at(stranger.range().start, message))
    })
}
