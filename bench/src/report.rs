//! What is told: one row per comparison, as a table and as JSON. It judges a ratio by its goal
//! and nothing else.

use serde_json::{Value, json};

use crate::meter::Measured;

/// One comparison.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The goal's number.
    pub goal: &'static str,
    /// What was compared with what.
    pub what: String,
    /// Of `floor` and `ours`.
    pub unit: &'static str,
    /// What the same run measured as the least possible.
    pub floor: f64,
    /// What it takes here.
    pub ours: f64,
    /// How many times the floor.
    pub ratio: f64,
    /// The most it may be; `None` is only told.
    pub limit: Option<f64>,
    /// Least wall time of floor and ours in µs, where it was taken.
    pub wall: Option<(f64, f64)>,
    /// What a reader should know.
    pub note: String,
}

impl Row {
    /// Two candidates of one run.
    pub fn of(goal: &'static str, what: &str, floor: &Measured, ours: &Measured) -> Self {
        Self {
            goal,
            what: what.to_owned(),
            unit: "µs CPU",
            floor: floor.typical(),
            ours: ours.typical(),
            ratio: ours.times(floor),
            limit: None,
            wall: Some((floor.wall, ours.wall)),
            note: String::new(),
        }
    }

    /// Two counts.
    pub fn counted(
        goal: &'static str,
        what: &str,
        unit: &'static str,
        floor: f64,
        ours: f64,
    ) -> Self {
        let ratio = ours / floor;
        Self { goal, what: what.to_owned(), unit, floor, ours, ratio, ..Self::default() }
    }

    /// With the most it may be.
    pub fn at_most(self, limit: f64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// With a remark.
    pub fn noting(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    fn met(&self) -> Option<bool> {
        self.limit.map(|limit| self.ratio <= limit)
    }

    fn line(&self) -> String {
        let limit = self.limit.map_or("–".into(), |limit| format!("≤ {limit:.2}×"));
        let met = self.met().map_or("–", |met| if met { "yes" } else { "**no**" });
        let wall =
            self.wall.map_or("–".into(), |(a, b)| format!("{} / {}", number(a), number(b)));
        let (floor, ours, unit) = (number(self.floor), number(self.ours), self.unit);
        format!(
            "| {} | {} | {floor} {unit} | {ours} {unit} | {:.2}× | {limit} | {met} | {wall} | {} |\n",
            self.goal, self.what, self.ratio, self.note
        )
    }

    fn json(&self) -> Value {
        json!({
            "goal": self.goal, "what": self.what, "unit": self.unit, "floor": self.floor,
            "ours": self.ours, "ratio": self.ratio, "goal_ratio": self.limit, "met": self.met(),
            "floor_wall_us": self.wall.map(|w| w.0), "ours_wall_us": self.wall.map(|w| w.1),
            "note": self.note,
        })
    }
}

/// As Markdown.
pub fn table(rows: &[Row]) -> String {
    let head = "| goal | what | floor | ours | ratio | goal ratio | met | wall at best, µs (floor / ours) | note |\n\
                |---|---|---|---|---|---|---|---|---|\n";
    rows.iter().fold(head.to_owned(), |table, row| table + &row.line())
}

/// As JSON.
pub fn json(rows: &[Row], quick: bool) -> Value {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    json!({ "quick": quick, "cores": cores, "rows": rows.iter().map(Row::json).collect::<Vec<_>>() })
}

fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
