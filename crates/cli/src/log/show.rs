//! One firing in full, for people.

use std::collections::BTreeMap;

use gambrel::DIALECTS;
use gambrel_model::JournalRecord;
use gambrel_model::ledger::{FiringRecord, RecordedFiring};
use serde_json::{Value, json};

use super::line::is_own_slot;
use super::local_time;
use super::summary::summarize_event;
use crate::printer::{self, ruling_style};

/// How many lines of a text are shown; `--json` prints all recorded lines.
const MAX_SHOWN_LINES: usize = 20;
/// Maximum length of a shown line, such as a command, a message or a reason.
const MAX_LINE_CHARS: usize = 1_000;
/// How many digits of a hash are shown.
const SHOWN_HASH_CHARS: usize = 12;

/// The text of `gambrel show`.
pub fn format_firing(firing: &FiringRecord) -> String {
    let recorded = RecordedFiring::new(firing);
    let mut page = ShownFiring { text: String::new(), titles: hook_titles(&recorded) };
    page.text = format!("firing {}  {}\n", firing.id, recorded.state_word());
    page.add_event(firing, &recorded);
    page.add_ruling(&recorded);
    for step in recorded.list("trail") {
        page.add_step(step);
    }
    page.add_rewrites(&recorded);
    page.add_messages(&recorded);
    page.add_late(&recorded);
    page.add_troubles(&recorded);
    page.add_row("journal", &format_times(&firing.records));
    page.text
}

/// The titles of hooks by id. Ids say nothing to people.
fn hook_titles(recorded: &RecordedFiring<'_>) -> BTreeMap<String, String> {
    let word = |step: &Value, key: &str| step[key].as_str().unwrap_or_default().to_owned();
    let steps = recorded.list("trail").iter();
    steps.map(|step| (word(step, "hook"), word(step, "title"))).collect()
}

struct ShownFiring {
    text: String,
    titles: BTreeMap<String, String>,
}

impl ShownFiring {
    fn add_row(&mut self, label: &str, text: &str) {
        self.text += &format!("  {label:<8} {}\n", printer::truncate_line(text, MAX_LINE_CHARS));
    }

    /// Adds the lines of a text, below a label.
    fn add_lines(&mut self, label: &str, mark: &str, text: &str) {
        for line in text.lines().take(MAX_SHOWN_LINES) {
            let line = printer::truncate_line(line, MAX_LINE_CHARS);
            self.text += &format!("  {label:<8} {mark}{line}\n");
        }
        let more = text.lines().count().saturating_sub(MAX_SHOWN_LINES);
        let is_long = |line: &str| line.chars().count() > MAX_LINE_CHARS;
        let rest = match more {
            0 if text.lines().any(is_long) => "long lines are cut".to_owned(),
            0 => return,
            1 => "1 more line".to_owned(),
            more => format!("{more} more lines"),
        };
        self.text += &format!("  {label:<8} … {rest}: see `--json`\n");
    }

    fn title_of(&self, hook: &str) -> String {
        self.titles.get(hook).filter(|title| !title.is_empty()).map_or(hook, |t| t).to_owned()
    }

    fn add_event(&mut self, firing: &FiringRecord, recorded: &RecordedFiring<'_>) {
        let word = |key: &str| recorded.field(key).as_str().unwrap_or("-").to_owned();
        self.add_row("time", &local_time::format_full(firing.at));
        self.add_row(
            "event",
            &format!("{} from {} ({})", word("event"), word("from"), word("moment")),
        );
        if !recorded.text("tool").is_empty() {
            self.add_row("tool", recorded.text("tool"));
        }
        if let Some(summary) = summarize_event(recorded) {
            self.add_lines(summary.label, "", &summary.text);
        }
        self.add_row("session", &firing.session);
        self.add_row("folder", &word("cwd"));
        let differences = recorded.event(DIALECTS).map(|event| event.differences);
        for difference in differences.unwrap_or_default() {
            self.add_row("record", &difference);
        }
    }

    fn add_ruling(&mut self, recorded: &RecordedFiring<'_>) {
        let json = recorded.to_json();
        if let Some(ruling) = json["ruling"].as_str() {
            let ruling = printer::single_line(ruling);
            let reply = printer::single_line(json["said"].as_str().unwrap_or("-"));
            let style = ruling_style(&ruling);
            self.text +=
                &format!("  ruling   {style}{ruling}{style:#} (reply to the caller: {reply})\n");
        } else {
            self.add_row("ruling", "none, the firing has not finished");
        }
        if !recorded.text("trusts_all_by").is_empty() {
            let by = recorded.text("trusts_all_by");
            self.add_row("trust", &format!("every hook may run, by {by}"));
        }
        for reason in recorded.list("reasons") {
            let text = reason["text"].as_str().unwrap_or_default();
            if text.trim().is_empty() {
                continue;
            }
            let hook = self.title_of(reason["hook"].as_str().unwrap_or_default());
            // The title of a rule may be its message.
            let by = if hook == text { String::new() } else { format!(" ({hook})") };
            self.add_row("because", &format!("{text}{by}"));
        }
    }

    fn add_step(&mut self, step: &Value) {
        let part = |key: &str| step[key].as_str().unwrap_or_default();
        let code = step["code"].as_i64().map(|code| format!(" {code}")).unwrap_or_default();
        let again = if step["recheck"] == true { " (again)" } else { "" };
        let run = match step["ran"] == true {
            true => format!("{}{code} · {} ms · {}", part("outcome"), step["ms"], part("verdict")),
            false => part("outcome").to_owned(),
        };
        self.add_row("hook", &format!("{}{again} · {run}", part("title")));
        self.add_row("", part("source"));
        if !part("why").is_empty() {
            self.add_row("", part("why"));
        }
        let approver = &step["approver"];
        if let (Some(by), Some(action)) = (approver["by"].as_str(), approver["action"].as_str()) {
            let words = approver["message"].as_str().filter(|words| !words.is_empty());
            let words = words.map(|words| format!(": \"{words}\"")).unwrap_or_default();
            self.add_row("answer", &format!("{action} by {by}{words}"));
        }
        self.add_lines("stdout", "", part("stdout"));
        self.add_lines("stderr", "", part("stderr"));
    }

    fn add_rewrites(&mut self, recorded: &RecordedFiring<'_>) {
        let Some(rewrites) = recorded.field("rewrites").as_object() else { return };
        let is_shared = |(slot, _): &(&String, &Value)| !is_own_slot(slot);
        let has_shared = rewrites.iter().any(|entry| is_shared(&entry));
        for (slot, rewrite) in rewrites.iter().filter(|entry| !has_shared || is_shared(entry)) {
            let by = rewriters(recorded, slot);
            match rewrite.get("before") {
                Some(before) => {
                    self.add_row("rewrite", &format!("{slot}{by}"));
                    self.add_changes(before, &rewrite["after"]);
                }
                None => self.add_text_rewrite(&format!("{slot}{by}"), rewrite),
            }
        }
    }

    /// Adds the fields of an input that differ.
    fn add_changes(&mut self, before: &Value, after: &Value) {
        let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
            self.add_lines("", "- ", &value_lines(before));
            self.add_lines("", "+ ", &value_lines(after));
            return;
        };
        let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
        for key in keys.filter(|key| old.get(*key) != new.get(*key)) {
            for (mark, fields) in [("-", old), ("+", new)] {
                if let Some(value) = fields.get(key) {
                    self.add_lines("", &format!("{mark} {key}: "), &value_lines(value));
                }
            }
        }
    }

    fn add_text_rewrite(&mut self, name: &str, rewrite: &Value) {
        let mut text = name.to_owned();
        if let Some(places) = rewrite["places"].as_u64() {
            let plural = if places == 1 { "" } else { "s" };
            text += &format!(", {places} place{plural} changed");
        }
        if let (Some(bytes), Some(hash)) =
            (rewrite["before_bytes"].as_u64(), rewrite["before_sha256"].as_str())
        {
            let hash: String = hash.chars().take(SHOWN_HASH_CHARS).collect();
            text += &format!(" (before: {bytes} bytes, sha256 {hash}…)");
        }
        self.add_row("rewrite", &text);
        self.add_lines("", "+ ", &value_lines(&rewrite["after"]));
    }

    fn add_messages(&mut self, recorded: &RecordedFiring<'_>) {
        for message in recorded.list("says") {
            let to = match message["ear"].as_str() {
                Some("agent") => "to the agent",
                Some("next") => "to the agent at its next turn",
                _ => "to you",
            };
            let hook = self.title_of(message["hook"].as_str().unwrap_or_default());
            let text = message["text"].as_str().unwrap_or_default();
            self.add_row("message", &format!("{to}, from {hook}:"));
            self.add_lines("", "", text);
        }
    }

    fn add_late(&mut self, recorded: &RecordedFiring<'_>) {
        for late in recorded.late_outcomes() {
            let part = |key: &str| late[key].as_str().unwrap_or_default();
            let hook = self.title_of(part("hook"));
            self.add_row("late", &format!("{hook} · {} after {} ms", part("outcome"), late["ms"]));
            for remark in late["remarks"].as_array().into_iter().flatten() {
                self.add_row("", remark.as_str().unwrap_or_default());
            }
            self.add_lines("stdout", "", part("stdout"));
            self.add_lines("stderr", "", part("stderr"));
        }
    }

    fn add_troubles(&mut self, recorded: &RecordedFiring<'_>) {
        for trouble in recorded.troubles() {
            self.add_row("trouble", trouble.as_str().unwrap_or_default());
        }
        for loss in recorded.list("losses") {
            let part = |key: &str| loss[key].as_str().unwrap_or_default();
            self.add_row("lost", &format!("{}: {}", part("what"), part("why")));
        }
    }
}

/// Who rewrote a slot: the titles of the hooks.
fn rewriters(recorded: &RecordedFiring<'_>, slot: &str) -> String {
    let rewrote = |step: &&Value| {
        step["rewrote"].as_array().is_some_and(|slots| slots.iter().any(|one| one == slot))
    };
    let steps = recorded.list("trail").iter().filter(rewrote);
    let titles: Vec<&str> = steps.filter_map(|step| step["title"].as_str()).collect();
    if titles.is_empty() { String::new() } else { format!(" by {}", titles.join(", ")) }
}

fn value_lines(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn format_times(records: &[JournalRecord]) -> String {
    let first = records.first().map_or(0, |record| record.at);
    let step = |record: &JournalRecord| {
        let word = json!(record.step);
        let word = word.as_str().unwrap_or_default().to_owned();
        match record.at.saturating_sub(first) {
            0 => word,
            after => format!("{word} +{after} ms"),
        }
    };
    records.iter().map(step).collect::<Vec<_>>().join(", ")
}
