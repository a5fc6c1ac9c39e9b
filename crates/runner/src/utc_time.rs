//! UTC time as text.

const SECONDS_PER_DAY: u64 = 86_400;

/// `2026-11-18T08:30:00Z`, from milliseconds since the epoch.
pub fn utc_text(ms: u64) -> String {
    let (year, month, day, seconds) = split_time(ms);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// `20261118-083000`, from milliseconds since the epoch.
pub fn utc_name(ms: u64) -> String {
    let text = utc_text(ms).replace(['-', ':', 'Z'], "");
    text.replace('T', "-")
}

/// Year, month, day and second of the day, by the proleptic Gregorian calendar.
fn split_time(ms: u64) -> (u64, u64, u64, u64) {
    let seconds = ms / 1000;
    let days = seconds / SECONDS_PER_DAY + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day, seconds % SECONDS_PER_DAY)
}
