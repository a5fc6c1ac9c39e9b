//! Formats times for users: the date, the hour and the distance from now.

use maud::{Markup, html};

const SECOND_MS: u64 = 1000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A time with its distance from now; the page counts down `live` ones.
pub(super) fn time_element(at: u64, now: u64, live: bool) -> Markup {
    let (date, clock, second) = format_utc(at);
    html! {
        time datetime={ (date) "T" (clock) ":" (second) "Z" } data-at=(at) data-live[live] aria-live="off" {
            span.distance { (format_distance(at, now)) }
            span.quiet { " · " span.clock { (date) " " (clock) " UTC" } }
        }
    }
}

fn format_distance(at: u64, now: u64) -> String {
    let apart = at.abs_diff(now);
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

/// Date, hour and minute, second.
fn format_utc(at: u64) -> (String, String, String) {
    let (days, rest) = (at / DAY_MS, at % DAY_MS);
    let (year, month, day) = civil_date(days);
    let clock = format!("{:02}:{:02}", rest / HOUR_MS, rest % HOUR_MS / MINUTE_MS);
    (
        format!("{year:04}-{month:02}-{day:02}"),
        clock,
        format!("{:02}", rest % MINUTE_MS / SECOND_MS),
    )
}

/// Year, month and day of a day since 1970. Years begin in March here, so that the leap day is the
/// last.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
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
    fn formats_distances() {
        assert_eq!(format_distance(61_000, 0), "in 1 minute");
        assert_eq!(format_distance(0, 59_999), "59 seconds ago");
        assert_eq!(format_distance(7_200_000, 0), "in 2 hours");
        assert_eq!(format_distance(0, 3 * DAY_MS), "3 days ago");
    }
}
