//! The report: one row per comparison, as a table and as JSON.

use serde_json::{Value, json};

use crate::meter::Measured;

/// One comparison.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The goal's number.
    pub goal: &'static str,
    /// The two compared things.
    pub what: String,
    /// The unit of `floor` and `ours`.
    pub unit: &'static str,
    /// The least possible cost, measured in the same run.
    pub floor: f64,
    /// The cost of gambrel.
    pub ours: f64,
    /// `ours` divided by `floor`.
    pub ratio: f64,
    /// The largest allowed ratio; `None` if there is no goal.
    pub limit: Option<f64>,
    /// Shortest wall time of floor and ours in µs, if measured.
    pub wall: Option<(f64, f64)>,
    /// A remark for the reader.
    pub note: String,
}

impl Row {
    /// Compares two candidates of one run.
    pub fn compare(goal: &'static str, what: &str, floor: &Measured, ours: &Measured) -> Self {
        Self {
            goal,
            what: what.to_owned(),
            unit: "µs CPU",
            floor: floor.median_cpu(),
            ours: ours.median_cpu(),
            ratio: ours.ratio_to(floor),
            limit: None,
            wall: Some((floor.wall, ours.wall)),
            note: String::new(),
        }
    }

    /// Compares two counts.
    pub fn compare_counts(
        goal: &'static str,
        what: &str,
        unit: &'static str,
        floor: f64,
        ours: f64,
    ) -> Self {
        let ratio = ours / floor;
        Self { goal, what: what.to_owned(), unit, floor, ours, ratio, ..Self::default() }
    }

    /// Sets the largest allowed ratio.
    pub fn with_limit(self, limit: f64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Adds a remark.
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    fn is_met(&self) -> Option<bool> {
        self.limit.map(|limit| self.ratio <= limit)
    }

    fn to_table_line(&self) -> String {
        let limit = self.limit.map_or("–".into(), |limit| format!("≤ {limit:.2}×"));
        let met = self.is_met().map_or("–", |met| if met { "yes" } else { "**no**" });
        let wall = self
            .wall
            .map_or("–".into(), |(a, b)| format!("{} / {}", format_number(a), format_number(b)));

        let (floor, ours, unit) = (format_number(self.floor), format_number(self.ours), self.unit);
        format!(
            "| {} | {} | {floor} {unit} | {ours} {unit} | {:.2}× | {limit} | {met} | {wall} | {} |\n",
            self.goal, self.what, self.ratio, self.note
        )
    }

    fn to_json(&self) -> Value {
        json!({
            "goal": self.goal, "what": self.what, "unit": self.unit, "floor": self.floor,
            "ours": self.ours, "ratio": self.ratio, "goal_ratio": self.limit, "met": self.is_met(),
            "floor_wall_us": self.wall.map(|w| w.0), "ours_wall_us": self.wall.map(|w| w.1),
            "note": self.note,
        })
    }
}

/// Formats rows as a Markdown table.
pub fn format_table(rows: &[Row]) -> String {
    let head = format!("Load average at the end: {}.\n\n{TABLE_HEAD}", read_load_average());
    rows.iter().fold(head, |table, row| table + &row.to_table_line())
}

const TABLE_HEAD: &str = "| goal | what | floor | ours | ratio | goal ratio | met | wall at best, µs (floor / ours) | note |\n\
                |---|---|---|---|---|---|---|---|---|\n";

/// The load of the last 1, 5 and 15 minutes.
fn read_load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Formats rows as JSON.
pub fn format_json(rows: &[Row], quick: bool) -> Value {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    json!({ "quick": quick, "cores": cores, "load_average": read_load_average(), "rows": rows.iter().map(Row::to_json).collect::<Vec<_>>() })
}

fn format_number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
