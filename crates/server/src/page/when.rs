//! Formats times for users: the date, the hour and the distance from now.

use gambrel_model::iso_time;
use maud::{Markup, html};

const SECOND_MS: u64 = 1000;
/// What is younger has no count, which would change while it is read.
const RECENT_MS: u64 = 5 * SECOND_MS;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A time with its distance from now; the page counts down `live` ones. A report shows only the exact
/// time, by its style.
pub(super) fn time_element(at: u64, now: u64, live: bool) -> Markup {
    let (date, clock, second) = format_utc(at);
    html! {
        time datetime={ (date) "T" (clock) ":" (second) "Z" } data-at=(at) data-live[live] aria-live="off" {
            span.distance { (format_distance(at, now)) }
            span.quiet.exact { span.dot { " · " } span.clock { (date) " " (clock) " UTC" } }
        }
    }
}

fn format_distance(at: u64, now: u64) -> String {
    let apart = at.abs_diff(now);
    if at <= now && apart < RECENT_MS {
        return "just now".to_owned();
    }
    let (count, unit) = match apart {
        _ if apart < MINUTE_MS => (apart / SECOND_MS, "second"),
        _ if apart < 2 * HOUR_MS => (apart / MINUTE_MS, "minute"),
        _ if apart < 2 * DAY_MS => (apart / HOUR_MS, "hour"),
        _ => (apart / DAY_MS, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    if at > now {
        format!("in {count} {unit}{plural}")
    } else {
        format!("{count} {unit}{plural} ago")
    }
}

/// A time that passed: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`.
pub(super) fn format_duration(ms: u64) -> String {
    let seconds = ms / SECOND_MS;
    match ms {
        _ if ms < 10 * SECOND_MS => format!("{:.1} s", ms as f64 / SECOND_MS as f64),
        _ if ms < MINUTE_MS => format!("{seconds} s"),
        _ if ms < HOUR_MS => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Date, hour and minute, second.
fn format_utc(at: u64) -> (String, String, String) {
    let text = iso_time(at, false);
    let (date, time) = text.trim_end_matches('Z').split_once('T').unwrap_or_default();
    let (clock, second) = time.rsplit_once(':').unwrap_or_default();
    (date.to_owned(), clock.to_owned(), second.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_known_dates() {
        let text = |at| {
            let (date, clock, second) = format_utc(at);
            format!("{date} {clock}:{second}")
        };
        assert_eq!(text(0), "1970-01-01 00:00:00");
        assert_eq!(text(951_827_696_000), "2000-02-29 12:34:56");
        assert_eq!(text(1_709_251_199_999), "2024-02-29 23:59:59");
        assert_eq!(text(4_107_542_400_000), "2100-03-01 00:00:00");
        // The largest time must not overflow.
        text(u64::MAX);
    }

    #[test]
    fn formats_durations() {
        for (ms, text) in [
            (0, "0.0 s"),
            (3_260, "3.3 s"),
            (9_960, "10.0 s"),
            (59_999, "59 s"),
            (185_000, "3 min 5 s"),
            (7_800_000, "2 h 10 min"),
        ] {
            assert_eq!(format_duration(ms), text);
        }
    }

    #[test]
    fn formats_distances() {
        assert_eq!(format_distance(61_000, 0), "in 1 minute");
        assert_eq!(format_distance(0, 59_999), "59 seconds ago");
        assert_eq!(format_distance(0, 4_999), "just now");
        assert_eq!(format_distance(4_999, 0), "in 4 seconds");
        assert_eq!(format_distance(7_200_000, 0), "in 2 hours");
        assert_eq!(format_distance(0, 3 * DAY_MS), "3 days ago");
    }
}
