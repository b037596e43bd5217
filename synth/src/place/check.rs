//! Checks a placement without trusting the placer.

use super::{Item, Problem};

/// Faults of a placement, at most twenty; `fixed_only` looks at macros alone.
pub fn faults(problem: &Problem, fixed_only: bool) -> Vec<String> {
    let mut list = Vec::new();
    let (width, height) = problem.core;
    let mut inside: Vec<(usize, &Item)> = problem.items.iter().enumerate().filter(|(_, i)| !i.port && (i.fixed || !fixed_only)).collect();
    for (n, i) in &inside {
        if i.x < 0 || i.y < 0 || i.x + i.w > width || i.y + i.h > height {
            list.push(format!("item {n} at ({}, {}) is outside the core", i.x, i.y));
        }
        if !i.fixed && i.y % problem.row != 0 {
            list.push(format!("item {n} at ({}, {}) is not on a row", i.x, i.y));
        }
    }
    // A sweep from left to right; per row, the items that are still open.
    inside.sort_by_key(|(_, i)| i.x);
    let rows = usize::try_from(height / problem.row + 1).unwrap_or(0);
    let mut open: Vec<Vec<(usize, &Item)>> = vec![Vec::new(); rows];
    for (n, i) in inside {
        let first = usize::try_from(i.y.max(0) / problem.row).unwrap_or(0);
        let last = usize::try_from(((i.y + i.h - 1).max(0)) / problem.row).unwrap_or(0);
        for bucket in open.iter_mut().take(last + 1).skip(first) {
            bucket.retain(|(_, o)| o.x + o.w > i.x);
            if let Some((m, _)) = bucket.iter().find(|(_, o)| o.y < i.y + i.h && i.y < o.y + o.h) {
                list.push(format!("items {m} and {n} overlap at ({}, {})", i.x, i.y));
            }
            bucket.push((n, i));
        }
        if list.len() >= 20 {
            break;
        }
    }
    list
}

/// Area of the rows: the core without macros, in square sites.
pub fn row_area(problem: &Problem) -> i64 {
    let macros: i64 = problem.items.iter().filter(|i| i.fixed && !i.port).map(|i| i.w * i.h).sum();
    let rows = problem.core.1 / problem.row;
    problem.core.0 * rows * problem.row - macros
}

/// Half-perimeter wire length over the centres of the items, in sites.
pub fn wire(problem: &Problem) -> f64 {
    let net = |items: &Vec<u32>| {
        let centre = |i: &u32| {
            let i = &problem.items[*i as usize];
            (i.x as f64 + i.w as f64 / 2.0, i.y as f64 + i.h as f64 / 2.0)
        };
        let mut b = (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY);
        for (x, y) in items.iter().map(centre) {
            b = (b.0.min(x), b.1.max(x), b.2.min(y), b.3.max(y));
        }
        b.1 - b.0 + b.3 - b.2
    };
    problem.nets.iter().filter(|n| n.len() > 1).map(net).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(x: i64, y: i64) -> Item {
        Item { w: 3, h: 5, x, y, fixed: false, port: false }
    }

    #[test]
    fn overlaps_and_strays_are_found() {
        let problem = |items: Vec<Item>| Problem { core: (20, 15), row: 5, items, nets: vec![vec![0, 1]] };
        let good = problem(vec![cell(0, 0), cell(3, 0), cell(2, 5)]);
        assert!(faults(&good, false).is_empty());
        assert!((wire(&good) - 3.0).abs() < 1e-9);
        for (x, y, why) in
            [(2, 0, "overlap"), (17, 10, ""), (18, 10, "outside"), (6, 6, "not on a row"), (0, 15, "outside"), (-1, 5, "outside")]
        {
            let list = faults(&problem(vec![cell(0, 0), cell(x, y)]), false);
            assert_eq!(list.is_empty(), why.is_empty(), "{x} {y}: {list:?}");
            assert!(list.first().is_none_or(|f| f.contains(why)), "{list:?}");
        }
        // A tall macro over two rows.
        let tall = Item { w: 4, h: 10, x: 5, y: 0, fixed: true, port: false };
        assert_eq!(faults(&problem(vec![tall.clone(), cell(7, 5)]), false).len(), 1);
        assert_eq!(row_area(&problem(vec![tall, cell(0, 0)])), 20 * 15 - 40);
    }
}
