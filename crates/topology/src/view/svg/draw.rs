//! From arranged boxes to SVG text.

use std::fmt::{self, Display, Formatter, Write as _};

use super::layout::{Area, PADDING};
use super::scene::{Face, Picture};

/// The height of a line of text.
pub(super) const LINE: u32 = 18;

/// From a line's top to its base line.
const BASE: u32 = 13;

/// What a character takes in the mean, generously: which font the viewer has is not known.
const CHAR: u32 = 7;

/// Everything that is not geometry. The background is drawn, not left to the viewer, so that the
/// dark text stays readable in dark surroundings.
const STYLE: &str = "\
text{font:11px 'DejaVu Sans',Verdana,sans-serif;fill:#222;text-anchor:middle}
.title,.note{text-anchor:start}
.title{font-size:12px}
.note{fill:#555}
rect{stroke:#8a8f98;rx:4px}
.page{fill:#fff;stroke:none;rx:0}
.machine{fill:#fafafa}
.package{fill:#f1ede4}
.die{fill:#e7efe6}
.cluster{fill:#efe8f3}
.group{fill:#fff;fill-opacity:.55;stroke:#b4b9c1}
.core{fill:#e3e5e8}
.memory{fill:#f6d5c5;stroke:#cf9f88}
.l3{fill:#bcd6ef;stroke:#8fb0d0}
.l2{fill:#d2e4f5;stroke:#a5c0da}
.l1{fill:#e6f0fa;stroke:#b5cbe0}
.cpu{fill:#fff;stroke:#666}
.kind0{fill:#c9e8bd}
.kind1{fill:#ffd98a}
.kind2{fill:#b9dcf2}
.kind3{fill:#e9c3e4}
.isolated{stroke:#d2461e;stroke-width:2.5px}
.hatch{fill:url(#hatch);stroke:none;pointer-events:none}
.offline{fill:#eee;stroke:#aaa;stroke-dasharray:3 2}
";

/// Lines across, for CPUs that may not be used.
const HATCH: &str = "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
     patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" stroke=\"#777\" stroke-opacity=\".4\" \
     stroke-width=\"3\"/></pattern></defs>";

/// The room that a text needs.
pub(super) fn text_width(text: &str) -> u32 {
    CHAR * text.chars().count() as u32 + 6
}

pub(super) fn document(f: &mut Formatter<'_>, picture: &Picture) -> fmt::Result {
    let Area { width, height, .. } = picture.area;
    writeln!(
        f,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">"
    )?;
    writeln!(f, "<style>\n{STYLE}</style>\n{HATCH}")?;
    writeln!(f, "{}", Rect("page", picture.area))?;
    boxes(f, picture)?;
    writeln!(f, "</svg>")
}

fn boxes(f: &mut Formatter<'_>, picture: &Picture) -> fmt::Result {
    let (face, area) = (&picture.face, picture.area);
    writeln!(f, "<g>")?;
    if let Some(hint) = &face.hint {
        writeln!(f, "<title>{}</title>", Escaped(hint))?;
    }
    if !face.class.is_empty() {
        writeln!(f, "{}", Rect(&face.class, area))?;
    }
    if face.class.contains("excluded") {
        writeln!(f, "{}", Rect("hatch", area))?;
    }
    // A leaf may be higher than its lines.
    let lines_height = LINE * face.lines.len() as u32;
    let above = if picture.children.is_empty() { (area.height - lines_height) / 2 } else { PADDING };
    lines(f, face, Area { y: area.y + above, ..area })?;
    for child in &picture.children {
        boxes(f, child)?;
    }
    writeln!(f, "</g>")
}

/// The lines of a box, the first at the top of `area`.
fn lines(f: &mut Formatter<'_>, face: &Face, area: Area) -> fmt::Result {
    for (index, line) in (0..).zip(&face.lines) {
        let top = area.y + LINE * index;
        let (x, width) = (area.x + PADDING, area.width - 2 * PADDING);
        let (plain, start) = match line.class {
            "" => (true, false),
            "title" | "note" => (true, true),
            _ => (false, false),
        };
        if !plain {
            writeln!(f, "{}", Rect(line.class, Area { x, y: top, width, height: LINE - 2 }))?;
        }
        let (x, class) = if start { (x, line.class) } else { (x + width / 2, "") };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        writeln!(f, "<text{class} x=\"{x}\" y=\"{}\">{}</text>", top + BASE, Escaped(&line.text))?;
    }
    Ok(())
}

/// A rectangle of a class.
struct Rect<'a>(&'a str, Area);

impl Display for Rect<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(class, Area { x, y, width, height }) = self;
        write!(
            f,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>"
        )
    }
}

/// A text as XML takes it.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                plain => f.write_char(plain)?,
            }
        }
        Ok(())
    }
}
