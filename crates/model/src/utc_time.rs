//! UTC time as text. It must not know whose time it is.

/// Formats milliseconds since the epoch as `2026-11-15T20:25:16Z`, or with milliseconds as
/// JavaScript does. Uses civil-from-days over the proleptic Gregorian calendar.
pub fn iso_time(at: u64, milliseconds: bool) -> String {
    let (days, second) = ((at / 86_400_000) as i64, at / 1_000 % 86_400);

    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);

    let fraction = if milliseconds { format!(".{:03}", at % 1_000) } else { String::new() };
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Reads a time as `iso_time` and JavaScript write it. `None` for anything else.
pub fn parse_iso_time(text: &str) -> Option<u64> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [year, month, day] = parse_numbers(date, '-')?;
    let [hour, minute, second] = parse_numbers(clock, ':')?;
    let milliseconds = format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?;
    let is_valid = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (1970..=9_999).contains(&year)
        && hour < 24
        && minute < 60
        && second < 60;
    if !is_valid {
        return None;
    }

    let shifted_year = year - u64::from(month <= 2);
    let (era, year_of_era) = (shifted_year / 400, shifted_year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    Some((days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000 + milliseconds)
}

fn parse_numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.split(separator).filter(is_number);
    let numbers = [parts.next()?, parts.next()?, parts.next()?];
    let [first, second, third] = numbers.map(|part| part.parse::<u64>().ok());
    parts.next().is_none().then_some([first?, second?, third?])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{iso_time, parse_iso_time};

    proptest! {
        #[test]
        fn reads_what_it_writes(at in 0_u64..253_402_300_800_000) {
            prop_assert_eq!(parse_iso_time(&iso_time(at, true)), Some(at));
            prop_assert_eq!(parse_iso_time(&iso_time(at, false)), Some(at / 1_000 * 1_000));
        }

        #[test]
        fn never_panics(text in ".{0,40}") {
            let _time = parse_iso_time(&text);
        }
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in ["", "Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "1-2-3T4:5:6.é00Z"] {
            assert_eq!(parse_iso_time(text), None, "{text}");
        }
    }
}
