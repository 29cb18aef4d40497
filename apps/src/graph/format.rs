//! The formats, their names and those of files.

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// An edge a line; CSV is one.
    List,
    /// Matrix Market.
    Market,
    /// METIS and Chaco.
    Metis,
    /// DIMACS.
    Dimacs,
    /// GML.
    Gml,
    /// GraphML and GEXF.
    Xml,
    /// Pajek.
    Pajek,
    /// A vertex and its neighbours a line.
    Adjacency,
    /// graph6, sparse6 and digraph6.
    Six,
    /// JSON.
    Json,
}

/// A format by its marks.
struct Known {
    format: Format,
    /// As an option is spelled.
    name: &'static str,
    /// Ends of names of files, in lower case.
    endings: &'static [&'static str],
    /// Begins of lines that are comments.
    comments: &'static [&'static str],
}

const KNOWN: &[Known] = &[
    Known {
        format: Format::List,
        name: "list",
        endings: &[
            "csv", "tsv", "tab", "edges", "edge", "edgelist", "edg", "el", "wel", "ncol", "list",
        ],
        comments: &["#", "%"],
    },
    Known {
        format: Format::Market,
        name: "market",
        endings: &["mtx", "mm"],
        comments: &["%"],
    },
    Known {
        format: Format::Metis,
        name: "metis",
        endings: &["graph", "metis", "chaco"],
        comments: &["%"],
    },
    Known {
        format: Format::Dimacs,
        name: "dimacs",
        endings: &["gr", "col", "max", "min", "clq", "dimacs"],
        comments: &["c"],
    },
    Known {
        format: Format::Gml,
        name: "gml",
        endings: &["gml"],
        comments: &["#"],
    },
    Known {
        format: Format::Xml,
        name: "xml",
        endings: &["graphml", "gexf", "xml"],
        comments: &[],
    },
    Known {
        format: Format::Pajek,
        name: "pajek",
        endings: &["net", "paj", "pajek"],
        comments: &["%", "/*"],
    },
    Known {
        format: Format::Adjacency,
        name: "adjacency",
        endings: &["adjlist", "adj"],
        comments: &["#", "%"],
    },
    Known {
        format: Format::Six,
        name: "graph6",
        endings: &["g6", "s6", "d6", "graph6", "sparse6", "digraph6"],
        comments: &[],
    },
    Known {
        format: Format::Json,
        name: "json",
        endings: &["json", "jgf", "cyjs"],
        comments: &[],
    },
];

/// Returns what every refusal of a format ends with.
pub(super) fn allowed() -> String {
    let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
    format!(
        "formats, by --format or the file's name: {}",
        names.join(", ")
    )
}

impl Format {
    /// All formats.
    pub fn all() -> impl Iterator<Item = Self> {
        KNOWN.iter().map(|known| known.format)
    }

    fn known(self) -> &'static Known {
        let found = KNOWN.iter().find(|known| known.format == self);
        found.unwrap_or(&KNOWN[0])
    }

    /// Returns the name, as an option is spelled.
    pub fn name(self) -> &'static str {
        self.known().name
    }

    pub(super) fn is_comment(self, line: &str) -> bool {
        let line = line.trim_start();
        let mut begins = self.known().comments.iter();
        begins.any(|begin| line.starts_with(begin))
    }

    /// Returns the format of files with this end of the name, in lower case.
    pub(super) fn of_ending(ending: &str) -> Option<Self> {
        let known = KNOWN.iter().find(|known| known.endings.contains(&ending));
        known.map(|known| known.format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_row() {
        for format in Format::all() {
            assert_eq!(format.known().format, format);
            for ending in format.known().endings {
                assert_eq!(Format::of_ending(ending), Some(format));
            }
        }
        assert_eq!(Format::Six.name(), "graph6");
        assert!(Format::Market.is_comment(" %a") && !Format::Market.is_comment("#a"));
    }
}
