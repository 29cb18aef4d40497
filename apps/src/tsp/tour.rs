//! Tours in files: in the format of TSPLIB 95 (Reinelt 1991), and as a picture.

use super::instance::Instance;
use std::io::{self, Write};

/// Writes a tour, cities counted from 1, in the format that TSPLIB 95 calls `TOUR`.
///
/// # Errors
/// Those of `out`.
pub fn write_tour(out: &mut impl Write, instance: &Instance, tour: &[u16]) -> io::Result<()> {
    let (name, cities) = (instance.name(), tour.len());
    let name = name.strip_suffix(".tsp").unwrap_or(name);
    writeln!(out, "NAME : {name}.tour")?;
    writeln!(out, "COMMENT : length {}", instance.length(tour))?;
    writeln!(out, "TYPE : TOUR")?;
    writeln!(out, "DIMENSION : {cities}")?;
    writeln!(out, "TOUR_SECTION")?;
    for city in tour {
        writeln!(out, "{}", city + 1)?;
    }
    writeln!(out, "-1\nEOF")
}

/// Draws a tour on the map of its cities, as an SVG that fits light and dark pages.
///
/// # Errors
/// Those of `out`, or [`io::ErrorKind::InvalidInput`] if the places of the cities are not known.
pub fn draw_tour(out: &mut impl Write, instance: &Instance, tour: &[u16]) -> io::Result<()> {
    const SIDE: f64 = 800.0;
    const MARGIN: f64 = 20.0;
    let Some(places) = instance.places() else {
        let kind = io::ErrorKind::InvalidInput;
        return Err(io::Error::new(kind, "distances without coordinates"));
    };
    let [left, bottom] = [0, 1].map(|axis| {
        let least = places
            .iter()
            .map(|place| place[axis])
            .min_by(f64::total_cmp);
        least.unwrap_or(0.0)
    });
    let reach = |axis: usize, from: f64| {
        let ends = places.iter().map(|place| place[axis] - from);
        ends.max_by(f64::total_cmp).unwrap_or(0.0)
    };
    let (width, height) = (reach(0, left), reach(1, bottom));
    // Cities on one spot have no extent.
    let scale = Some(SIDE / width.max(height)).filter(|scale| scale.is_finite());
    let scale = scale.unwrap_or(1.0);
    let (wide, high) = (width * scale + 2.0 * MARGIN, height * scale + 2.0 * MARGIN);
    let on_page = |city: &u16| {
        let [x, y] = places[usize::from(*city)];
        [
            (x - left) * scale + MARGIN,
            high - MARGIN - (y - bottom) * scale,
        ]
    };
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0} {high:.0}" width="{wide:.0}" height="{high:.0}">
<title>{} cities, length {}</title>
<g fill="none" stroke="#888" stroke-width="2" stroke-linejoin="round">"##,
        tour.len(),
        instance.length(tour)
    )?;
    write!(out, "<polygon points=\"")?;
    for city in tour {
        let [x, y] = on_page(city);
        write!(out, "{x:.1},{y:.1} ")?;
    }
    writeln!(out, "\"/>\n</g>\n<g fill=\"#c2410c\">")?;
    for city in tour {
        let [x, y] = on_page(city);
        let number = city + 1;
        writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{number}</title></circle>"
        )?;
    }
    writeln!(out, "</g>\n</svg>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Input;
    use crate::tsp::tsplib;

    fn read(text: &str) -> Instance {
        tsplib::read(Input::new("t.tsp", text.as_bytes()).unwrap())
            .unwrap()
            .instance
    }

    const FILE: &str = "NAME: rect\nTYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n\
                        1 0 0\n2 40 0\n3 40 20\n4 0 20\nEOF\n";

    #[test]
    fn a_tour_is_written_as_the_library_does() {
        let mut out = Vec::new();
        write_tour(&mut out, &read(FILE), &[0, 1, 2, 3]).unwrap();
        let expected = "NAME : rect.tour\nCOMMENT : length 120\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n1\n2\n3\n4\n-1\nEOF\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_tour_is_drawn_with_north_above() {
        let mut out = Vec::new();
        draw_tour(&mut out, &read(FILE), &[0, 1, 2, 3]).unwrap();
        let svg = String::from_utf8(out).unwrap();
        let points = "points=\"20.0,420.0 820.0,420.0 820.0,20.0 20.0,20.0 \"";
        assert!(
            svg.contains(points) && svg.contains("viewBox=\"0 0 840 440\""),
            "{svg}"
        );
        assert_eq!(svg.matches("<circle").count(), 4);
        let matrix = "TYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n5\nEOF\n";
        let drawn = draw_tour(&mut Vec::new(), &read(matrix), &[0, 1]);
        assert_eq!(
            drawn.unwrap_err().to_string(),
            "distances without coordinates"
        );
    }

    #[test]
    fn cities_on_one_spot_are_drawn() {
        let spot = "TYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 3 3\n2 3 3\nEOF\n";
        for (file, tour) in [
            (spot, &[0, 1][..]),
            (
                "TYPE: TSP\nDIMENSION: 0\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\nEOF\n",
                &[],
            ),
        ] {
            let mut out = Vec::new();
            draw_tour(&mut out, &read(file), tour).unwrap();
            assert!(!String::from_utf8(out).unwrap().contains("NaN"));
        }
    }
}
