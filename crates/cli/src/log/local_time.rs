//! Points in time as the user reads and writes them: in the local time zone, or as an age.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use crate::args::UsageError;

/// Units of an age, in seconds.
const AGE_UNITS: [(char, i64); 5] =
    [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400), ('w', 7 * 86_400)];
/// How many hours of the last day are shown without a date.
const RECENT_HOURS: i64 = 12;

fn to_zoned(at: u64) -> Zoned {
    let timestamp = Timestamp::from_millisecond(i64::try_from(at).unwrap_or(i64::MAX));
    timestamp.unwrap_or(Timestamp::MAX).to_zoned(TimeZone::system())
}

/// The time of day; with the date if it was not just now.
pub fn format_short(at: u64, now: u64) -> String {
    let (then, now) = (to_zoned(at), to_zoned(now));
    let is_recent = now.duration_since(&then).abs() < SignedDuration::from_hours(RECENT_HOURS);
    let format = match then.date() == now.date() || is_recent {
        true => "%H:%M:%S",
        false if then.year() == now.year() => "%m-%d %H:%M",
        false => "%Y-%m-%d",
    };
    then.strftime(format).to_string()
}

/// Date, time and offset.
pub fn format_full(at: u64) -> String {
    to_zoned(at).strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// Reads a point in time, in milliseconds since the epoch: an age (`10m`, `2h`, `3d`), a time of
/// today, a date, or both.
pub fn parse_since(text: &str) -> Result<u64, UsageError> {
    parse_at(text.trim(), &Zoned::now()).ok_or_else(|| {
        UsageError(
            "write an age like 10m, 2h or 3d, a time like 14:30, or a date like 2026-11-18".into(),
        )
    })
}

fn parse_at(text: &str, now: &Zoned) -> Option<u64> {
    let then = parse_age(text)
        .and_then(|age| now.checked_sub(age.seconds()).ok())
        .or_else(|| text.parse::<Timestamp>().ok().map(|at| at.to_zoned(TimeZone::system())))
        // Before the time of day, whose parser leaves out a date.
        .or_else(|| text.parse::<DateTime>().ok()?.to_zoned(now.time_zone().clone()).ok())
        .or_else(|| {
            now.date()
                .to_datetime(text.parse::<Time>().ok()?)
                .to_zoned(now.time_zone().clone())
                .ok()
        })?;
    u64::try_from(then.timestamp().as_millisecond()).ok()
}

fn parse_age(text: &str) -> Option<i64> {
    let unit = text.chars().last()?;
    let (_, seconds) = AGE_UNITS.into_iter().find(|(name, _)| *name == unit)?;
    text.strip_suffix(unit)?
        .trim()
        .parse::<u32>()
        .ok()
        .map(|n| i64::from(n).saturating_mul(seconds))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use jiff::tz::TimeZone;

    use super::{format_short, parse_at};

    #[test]
    fn reads_ages_times_and_dates() {
        let now = date(2026, 11, 18).at(20, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap();
        let at = now.timestamp().as_millisecond() as u64;
        let ago = |text: &str| parse_at(text, &now).map(|then| (at - then) / 1_000);
        assert_eq!(ago("90s"), Some(90));
        assert_eq!(ago("10m"), Some(600));
        assert_eq!(ago("2h"), Some(7_200));
        assert_eq!(ago("1w"), Some(604_800));
        assert_eq!(ago("19:30"), Some(1_800));
        assert_eq!(ago("2026-11-18"), Some(72_000));
        assert_eq!(ago("2026-11-17 20:00"), Some(86_400));
        assert_eq!(ago("2026-11-18T19:00:00Z"), Some(3_600));
        for wrong in ["", "h", "x2h", "25:00", "yesterday", "-1h"] {
            assert_eq!(parse_at(wrong, &now), None, "{wrong}");
        }
    }

    #[test]
    fn shows_a_date_only_when_it_was_long_ago() {
        let now = 1_795_032_785_000;
        assert_eq!(format_short(now, now).len(), "20:37:52".len());
        assert_eq!(format_short(now - 3 * 86_400_000, now).len(), "11-15 20:37".len());
        assert_eq!(format_short(now - 900 * 86_400_000, now).len(), "2024-05-01".len());
    }
}
