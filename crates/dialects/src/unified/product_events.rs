//! Events that only one product fires, from the tables of all dialects. At a hook point of such an
//! event its product decides whether a hook can refuse. The path of `fire` does not come here.

use gambrel_model::{EventSpec, Moment};

use super::UNIFIED;
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
