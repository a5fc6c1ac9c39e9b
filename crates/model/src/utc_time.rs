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
