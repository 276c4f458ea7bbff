//! Communication matrix: traffic from each OS process to each other one, or from host to host.

use super::traffic::{Sum, Traffic};
use crate::Scene;
use crate::geometry::Size;
use crate::shown::ranges;
use crate::text::{shortened, width};
use std::collections::BTreeMap;

/// Maximum number of rows with numbers in the cells.
const NUMBERED: usize = 16;
/// Maximum number of rows.
const MOST_ROWS: usize = 64;
/// Number of hosts from which on rows are hosts, if there are too many OS processes.
const MANY_HOSTS: usize = 8;
/// Number of colours, from little to much traffic.
pub(crate) const STEPS: usize = 6;
/// Size of the letters of rows and columns.
pub(crate) const LETTERS: f64 = 9.0;
/// Maximum width of the name of a row.
const MOST_NAME: f64 = 100.0;

/// Rows, columns and cells.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    /// Sentence above the matrix.
    pub(crate) heading: String,
    /// Names of the rows, which are also the columns.
    pub(crate) rows: Vec<Row>,
    /// Names of hosts, and their first rows. Empty if rows are hosts, or if there is one host.
    pub(crate) hosts: Vec<(String, usize)>,
    /// Sums by row (writer) and column (reader). Pairs without a channel have no cell.
    pub(crate) cells: BTreeMap<(usize, usize), Sum>,
    /// Whether cells of the diagonal are the traffic within an OS process.
    pub(crate) within: bool,
    /// Whether there are numbers in the cells.
    pub(crate) numbered: bool,
    /// Size of a cell.
    pub(crate) cell: Size,
    /// Width of the names of rows, which is the height of the names of columns if `upright`.
    pub(crate) names: f64,
    /// Whether the names of columns are turned.
    pub(crate) upright: bool,
    /// Least positive and largest traffic of cells that are not grey.
    pub(crate) scale: (f64, f64),
}

/// A row of the matrix.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// OS processes or hosts that it stands for, as text.
    pub(crate) title: String,
}

impl Matrix {
    /// Returns the matrix of a scene. Rows are OS processes, grouped by host. From 65 OS processes
    /// on, rows are hosts, or neighbouring OS processes of a host if there are fewer than 8 hosts.
    /// From 65 hosts on, neighbouring hosts share a row.
    ///
    /// # Panics
    /// Panics if an index in the scene is out of range.
    pub(crate) fn of(scene: &Scene, traffic: &Traffic) -> Matrix {
        let count = scene.os_processes.len();
        let mut row_of = vec![0; count];
        let mut hosts = Vec::new();
        let within = count <= MOST_ROWS;
        let (noun, rows): (_, Vec<Row>) = if within || scene.hosts.len() < MANY_HOSTS {
            let each = match within {
                true => 1,
                false => count.div_ceil(MOST_ROWS / 2),
            };
            let mut rows = Vec::new();
            for host in &scene.hosts {
                if scene.hosts.len() > 1 {
                    hosts.push((name(&host.name), rows.len()));
                }
                for os_processes in host.os_processes.chunks(each) {
                    os_processes.iter().for_each(|&o| row_of[o] = rows.len());
                    rows.push(row(os_processes));
                }
            }
            ("OS process", rows)
        } else {
            let each = scene.hosts.len().div_ceil(MOST_ROWS);
            for (h, host) in scene.hosts.iter().enumerate() {
                host.os_processes.iter().for_each(|&o| row_of[o] = h / each);
            }
            let row = |hosts: &[crate::Host]| {
                let names: Vec<String> = hosts.iter().map(|h| name(&h.name)).collect();
                let title = match &names[..] {
                    [one] => one.clone(),
                    [first, .., last] => format!("{first} \u{2026} {last}"),
                    [] => String::new(),
                };
                let name = shortened(&title, LETTERS, MOST_NAME);
                Row { name, title }
            };
            ("host", scene.hosts.chunks(each).map(row).collect())
        };
        let mut cells: BTreeMap<(usize, usize), Sum> = BTreeMap::new();
        for (&(from, to), &sum) in &traffic.between {
            cells
                .entry((row_of[from], row_of[to]))
                .or_default()
                .add(sum);
        }
        let own = traffic.within.iter().enumerate();
        for (o, &sum) in own.filter(|(_, sum)| within && sum.channels > 0) {
            cells.entry((row_of[o], row_of[o])).or_default().add(sum);
        }
        let coloured = cells.iter().filter(|((from, to), _)| !within || from != to);
        let positive = coloured.map(|(_, sum)| sum.traffic).filter(|&t| t > 0.0);
        let scale = positive.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), t| {
            (least.min(t), most.max(t))
        });
        let numbered = rows.len() <= NUMBERED;
        let side = (560.0 / rows.len().max(1) as f64).floor().clamp(12.0, 18.0);
        let names = rows
            .iter()
            .map(|r| width(&r.name, LETTERS))
            .fold(0.0, f64::max);
        Matrix {
            heading: format!("Traffic from {noun} (row) to {noun} (column)"),
            upright: !within,
            hosts,
            cells,
            within,
            numbered,
            cell: match numbered {
                true => Size::new(34.0, 20.0),
                false => Size::new(side, side),
            },
            names: names + 6.0,
            rows,
            scale,
        }
    }

    /// Returns the colour of a cell, from 0 to [`STEPS`] - 1, on a logarithmic scale.
    /// Equal traffic everywhere has a colour in the middle.
    pub(crate) fn step(&self, traffic: f64) -> usize {
        let (least, most) = self.scale;
        if least >= most {
            return STEPS / 2;
        }
        if traffic >= most {
            return STEPS - 1;
        }
        let share = (traffic.ln() - least.ln()) / (most.ln() - least.ln());
        // The conversion saturates: 0 for traffic of 0.
        ((share * STEPS as f64) as usize).min(STEPS - 1)
    }

    /// Returns the height of the names of columns.
    pub(crate) fn top(&self) -> f64 {
        if self.upright {
            self.names
        } else {
            LETTERS + 5.0
        }
    }

    /// Returns the size of the rows and columns with their names.
    pub(crate) fn size(&self) -> Size {
        let count = self.rows.len() as f64;
        let hosts = self.hosts.iter().map(|(name, _)| width(name, LETTERS));
        let hosts = hosts.fold(0.0, f64::max);
        let right = if hosts > 0.0 { hosts + 8.0 } else { 0.0 };
        Size::new(
            self.names + count * self.cell.width + right,
            self.top() + count * self.cell.height,
        )
    }
}

/// Returns the row of some OS processes.
fn row(os_processes: &[usize]) -> Row {
    let numbers: Vec<u32> = os_processes.iter().map(|&o| o as u32).collect();
    let plural = if numbers.len() == 1 { "" } else { "es" };
    let numbers = ranges(&numbers);
    Row {
        title: format!("OS process{plural} {numbers}"),
        name: shortened(&numbers, LETTERS, MOST_NAME),
    }
}

fn name(host: &str) -> String {
    let name = match host {
        "" => "any host",
        name => name,
    };
    shortened(name, LETTERS, MOST_NAME)
}
