//! Place trees in TOML.
#![forbid(unsafe_code)]

use super::{Entry, Mistake, Platform, entry};
use serde::Deserialize;
use tautline_core::hierarchy::Spec;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(default)]
    info: String,
    #[serde(rename = "version", default)]
    _version: Option<toml::Value>,
    cpus: Option<Spanned<String>>,
    place: Spanned<PlaceForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceForm {
    num: Option<Spanned<i64>>,
    r#type: Spanned<String>,
    #[serde(default)]
    tuning: bool,
    #[serde(default)]
    name: String,
    bytes: Option<Spanned<i64>>,
    workers: Option<Spanned<i64>>,
    #[serde(default)]
    place: Vec<Spanned<Self>>,
}

pub(super) fn read(text: &str) -> Result<Platform, Mistake> {
    let form: Form = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let lines: Vec<&str> = error.message().lines().collect();
        Mistake::at(at, lines.join("; "))
    })?;
    let root = place(form.place, 0)?;
    let cpus = form
        .cpus
        .as_ref()
        .map(|list| (list.span().start, list.get_ref().as_str()));
    root.platform(form.info, cpus)
}

fn place(form: Spanned<PlaceForm>, level: u32) -> Result<Entry, Mistake> {
    let at = form.span().start;
    entry::check_level(at, level)?;
    let form = form.into_inner();
    let number = |value: &Option<Spanned<i64>>, read: fn(&str) -> Result<u32, String>| {
        let Some(value) = value else { return Ok(None) };
        let refuse = |message| Mistake::at(value.span().start, message);
        read(&value.get_ref().to_string()).map(Some).map_err(refuse)
    };
    let kind = entry::kind(form.r#type.get_ref());
    let kind = kind.map_err(|message| Mistake::at(form.r#type.span().start, message))?;
    let bytes = match &form.bytes {
        None => 0,
        Some(bytes) => u64::try_from(*bytes.get_ref()).map_err(|_| {
            let message = format!("bytes {}: a whole number, not negative", bytes.get_ref());
            Mistake::at(bytes.span().start, message)
        })?,
    };
    let spec = Spec::new(kind)
        .copies(number(&form.num, entry::copies)?.unwrap_or(1))
        .workers(number(&form.workers, entry::workers)?.unwrap_or(0))
        .tuning(form.tuning)
        .bytes(bytes)
        .label(form.name);
    let children = form.place.into_iter().map(|child| place(child, level + 1));
    let children = children.collect::<Result<_, _>>()?;
    Ok(Entry { at, spec, children })
}
