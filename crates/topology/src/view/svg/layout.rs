//! Where boxes inside boxes go: sizes from the inside out, then positions from the outside in.
//! All lengths are pixels.

/// The space between a box's edge and what is inside.
pub(super) const PADDING: u32 = 6;

/// The space between neighbours.
const GAP: u32 = 6;

/// The width over the height that a box should come near to.
const ASPECT: f64 = 1.5;

/// What emptiness costs, compared with a wrong shape.
const EMPTY: f64 = 6.0;

/// The most widths tried in search of that shape.
const TRIES_MAX: usize = 64;

/// How children follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Below each other.
    Column,
    /// Side by side.
    Row,
    /// In rows as long as gives a pleasing shape; the children grow to fill it.
    Wrapped,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// A box to be placed: a head of fixed size, and children below it.
#[derive(Debug)]
pub(super) struct Block<T> {
    /// What it looks like; of no concern here.
    pub(super) face: T,
    pub(super) head_width: u32,
    pub(super) head_height: u32,
    pub(super) flow: Flow,
    pub(super) children: Vec<Block<T>>,
    /// Where it is, once arranged.
    pub(super) area: Area,
    /// How many children each row has, once arranged.
    rows: Vec<usize>,
}

impl<T> Block<T> {
    pub(super) fn new(face: T, (head_width, head_height): (u32, u32), children: Vec<Self>) -> Self {
        let (flow, area, rows) = (Flow::Wrapped, Area::default(), Vec::new());
        Self { face, head_width, head_height, flow, children, area, rows }
    }

    /// Places the box at the origin, and all inside it.
    pub(super) fn arrange(&mut self) {
        self.measure();
        self.place(0, 0);
    }

    fn measure(&mut self) {
        self.children.iter_mut().for_each(Self::measure);
        let count = self.children.len();
        self.rows = match self.flow {
            Flow::Column => vec![1; count],
            Flow::Row => vec![count; count.min(1)],
            Flow::Wrapped => self.pleasing_rows(),
        };
        (self.area.width, self.area.height) = self.size(&self.rows);
    }

    /// Breaks rows at the width of the first child, of the first two, and so on, and takes the
    /// best of that.
    fn pleasing_rows(&self) -> Vec<usize> {
        let tries = (1..=self.children.len().min(TRIES_MAX)).map(|first| {
            let rows = self.rows_within(row_width(&self.children[..first]));
            (self.cost(&rows), rows)
        });
        let best = tries.min_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, rows)| rows).unwrap_or_default()
    }

    fn rows_within(&self, limit: u32) -> Vec<usize> {
        let mut rows = Vec::new();
        let mut start = 0;
        for end in 1..=self.children.len() {
            let full = self.children.get(start..=end).is_none_or(|row| row_width(row) > limit);
            if full {
                rows.push(end - start);
                start = end;
            }
        }
        rows
    }

    /// How far from the wanted shape, and how much room stays empty.
    fn cost(&self, rows: &[usize]) -> f64 {
        let (width, height) = self.size(rows);
        let shape = (f64::from(width) / f64::from(height) / ASPECT).ln().abs();
        let (width, height) = self.content(rows);
        let area = |width: u32, height: u32| f64::from(width) * f64::from(height);
        let filled: f64 = self.children.iter().map(|child| area(child.area.width, child.area.height)).sum();
        shape + EMPTY * (1.0 - filled / area(width, height).max(1.0))
    }

    fn size(&self, rows: &[usize]) -> (u32, u32) {
        let (width, height) = self.content(rows);
        (self.head_width.max(width) + 2 * PADDING, self.head_room() + height + PADDING)
    }

    /// The height above the children.
    fn head_room(&self) -> u32 {
        let gap = if self.head_height > 0 && !self.children.is_empty() { GAP } else { 0 };
        PADDING + self.head_height + gap
    }

    /// The width and height of the children alone.
    fn content(&self, rows: &[usize]) -> (u32, u32) {
        let (mut width, mut height) = (0, GAP * rows.len().saturating_sub(1) as u32);
        let mut rest = self.children.as_slice();
        for &count in rows {
            let (row, below) = rest.split_at(count);
            width = width.max(row_width(row));
            height += row_height(row);
            rest = below;
        }
        (width, height)
    }

    /// Moves the box, shares out what room it has to spare among its children, and places them.
    fn place(&mut self, x: u32, y: u32) {
        (self.area.x, self.area.y) = (x, y);
        let inner_width = self.area.width - 2 * PADDING;
        let (_, needed_height) = self.content(&self.rows);
        let spare_height = self.area.height - self.head_room() - PADDING - needed_height;
        let stretch_y = spare_height / self.rows.len().max(1) as u32;
        let mut row_y = y + self.head_room();
        let mut above: Option<(usize, u32)> = None;
        let mut rest = self.children.as_mut_slice();
        for &count in &self.rows {
            let (row, below) = rest.split_at_mut(count);
            let own_stretch = (inner_width - row_width(row)) / count as u32;
            // A last row of fewer children stays in line with the rows above.
            let stretch_x = match above {
                _ if self.flow == Flow::Row => 0,
                Some((longer, stretch)) if longer > count && below.is_empty() => stretch.min(own_stretch),
                _ => own_stretch,
            };
            above = Some((count, stretch_x));
            let height = row_height(row) + stretch_y;
            let mut child_x = x + PADDING;
            for child in row {
                child.area.width += stretch_x;
                child.area.height = height;
                child.place(child_x, row_y);
                child_x += child.area.width + GAP;
            }
            row_y += height + GAP;
            rest = below;
        }
    }
}

fn row_width<T>(row: &[Block<T>]) -> u32 {
    row.iter().map(|child| child.area.width).sum::<u32>() + GAP * row.len().saturating_sub(1) as u32
}

fn row_height<T>(row: &[Block<T>]) -> u32 {
    row.iter().map(|child| child.area.height).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inside(inner: Area, outer: Area) -> bool {
        inner.x >= outer.x
            && inner.y >= outer.y
            && inner.x + inner.width <= outer.x + outer.width
            && inner.y + inner.height <= outer.y + outer.height
    }

    fn apart(a: Area, b: Area) -> bool {
        a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
    }

    fn stands(block: &Block<()>) {
        let below = block.area.y + PADDING + block.head_height;
        for (index, child) in block.children.iter().enumerate() {
            assert!(inside(child.area, block.area), "{:?} leaves {:?}", child.area, block.area);
            assert!(child.area.y >= below, "{:?} covers the head of {:?}", child.area, block.area);
            for other in &block.children[..index] {
                assert!(apart(child.area, other.area), "{:?} overlaps {:?}", child.area, other.area);
            }
            stands(child);
        }
    }

    fn blocks() -> impl Strategy<Value = Block<()>> {
        let head = (0..200_u32, 0..60_u32);
        let leaf = head.clone().prop_map(|head| Block::new((), head, vec![]));
        leaf.prop_recursive(5, 80, 9, move |inner| {
            let children = proptest::collection::vec(inner, 0..9);
            let flow = prop_oneof![Just(Flow::Column), Just(Flow::Row), Just(Flow::Wrapped)];
            (head.clone(), children, flow).prop_map(|(head, children, flow)| {
                let mut block = Block::new((), head, children);
                block.flow = flow;
                block
            })
        })
    }

    proptest! {
        #[test]
        fn no_box_overlaps_a_sibling_or_leaves_its_parent(mut block in blocks()) {
            block.arrange();
            stands(&block);
        }
    }

    #[test]
    fn equal_boxes_fill_a_pleasing_grid() {
        for (count, columns) in [(1, 1), (2, 2), (4, 2), (6, 3), (12, 4), (15, 5)] {
            let children = (0..count).map(|_| Block::new((), (60, 60), vec![])).collect();
            let mut block = Block::new((), (0, 0), children);
            block.arrange();
            assert_eq!(block.rows, vec![columns; count / columns], "of {count}");
        }
    }
}
