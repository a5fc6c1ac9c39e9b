//! Events that only one product fires, from the tables of all dialects. At a hook point of such an
//! event its product decides whether a hook can refuse. The path of `fire` comes here only for a
//! hook point that is not in the table.

use std::borrow::Cow;

use gambrel_model::complaint::nearest_word;
use gambrel_model::moment::to_snake_case;
use gambrel_model::{EventSpec, Moment};

use super::{UNIFIED, events};
use crate::DIALECTS;

/// The events of other dialects that have no neutral moment.
pub fn product_events() -> impl Iterator<Item = &'static EventSpec> {
    let others = DIALECTS.iter().filter(|dialect| dialect.name != UNIFIED.name);
    let rows = others.flat_map(|dialect| dialect.events());
    rows.filter(|row| !row.name.is_empty() && matches!(row.moment, Moment::Other(_)))
}

/// The product's event of a moment that is not neutral.
pub fn find_product_event(moment: &Moment) -> Option<&'static EventSpec> {
    product_events().find(|row| row.moment == *moment)
}

/// The product's event of a hook point. Its hooks receive events by the same form of the name.
pub fn event_of_point(point: &str) -> Option<&'static EventSpec> {
    let name = to_snake_case(point.strip_prefix("on_")?);
    find_product_event(&Moment::Other(Cow::Owned(name)))
}

/// Whether some product fires a hook point.
pub fn is_point(name: &str) -> bool {
    events::find_row(name).is_some() || event_of_point(name).is_some()
}

/// The hook point that a wrong name probably means.
pub fn suggest_point(name: &str) -> Option<String> {
    let prefixed = format!("on_{name}");
    if let Some(row) = events::find_row(&prefixed) {
        return Some(row.name.to_owned());
    }
    if event_of_point(&prefixed).is_some() {
        return Some(prefixed);
    }
    let own = events::point_names().map(str::to_owned);
    let names: Vec<String> = own.chain(product_events().map(|row| row.moment.yaml_key())).collect();
    nearest_word(name, names.iter().map(String::as_str)).map(str::to_owned)
}
