//! Points in time for people: the date and hour, and how far away that is.

use maud::{Markup, html};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A point in time with its distance; `live` ones are counted down by the page.
pub(super) fn when(at: u64, now: u64, live: bool) -> Markup {
    let (date, clock, second) = utc(at);
    html! {
        time datetime={ (date) "T" (clock) ":" (second) "Z" } data-at=(at) data-live[live] aria-live="off" {
            span.distance { (distance(at, now)) }
            span.quiet { " · " span.clock { (date) " " (clock) " UTC" } }
        }
    }
}

fn distance(at: u64, now: u64) -> String {
    let apart = at.abs_diff(now);
    let (count, unit) = match apart {
        _ if apart < MINUTE => (apart / SECOND, "second"),
        _ if apart < 2 * HOUR => (apart / MINUTE, "minute"),
        _ if apart < 2 * DAY => (apart / HOUR, "hour"),
        _ => (apart / DAY, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    if at > now {
        format!("in {count} {unit}{plural}")
    } else {
        format!("{count} {unit}{plural} ago")
    }
}

/// Date, hour and minute, second.
fn utc(at: u64) -> (String, String, String) {
    let (days, rest) = (at / DAY, at % DAY);
    let (year, month, day) = civil(days);
    let clock = format!("{:02}:{:02}", rest / HOUR, rest % HOUR / MINUTE);
    (format!("{year:04}-{month:02}-{day:02}"), clock, format!("{:02}", rest % MINUTE / SECOND))
}

/// Year, month and day of a day since 1970, counted in years that begin in March, so that the leap
/// day is the last.
fn civil(days: u64) -> (u64, u64, u64) {
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
    fn known_days() {
        let text = |at| {
            let (date, clock, second) = utc(at);
            format!("{date} {clock}:{second}")
        };
        assert_eq!(text(0), "1970-01-01 00:00:00");
        assert_eq!(text(951_827_696_000), "2000-02-29 12:34:56");
        assert_eq!(text(1_709_251_199_999), "2024-02-29 23:59:59");
        assert_eq!(text(4_107_542_400_000), "2100-03-01 00:00:00");
        // Nobody's clock says this, and nothing falls over it.
        text(u64::MAX);
    }

    #[test]
    fn distances() {
        assert_eq!(distance(61_000, 0), "in 1 minute");
        assert_eq!(distance(0, 59_999), "59 seconds ago");
        assert_eq!(distance(7_200_000, 0), "in 2 hours");
        assert_eq!(distance(0, 3 * DAY), "3 days ago");
    }
}
