//! Converts a flat object of the engine to JSON, field by field. Nearly every handler returns such
//! an object, and this costs far less than writing and parsing text. Other values go through JSON
//! text.

use rquickjs::{Object, Type, Value as Js};
use serde_json::{Map, Number, Value};

/// Every whole number below this is exact.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// The object as `JSON.stringify` would write it; `None` if a field is not a scalar.
pub fn read_flat_object(object: &Object<'_>) -> Option<Value> {
    let mut fields = Map::new();
    for field in object.props::<String, Js<'_>>() {
        let Ok((name, value)) = field else {
            // A getter threw. `JSON.stringify` will raise the exception again.
            object.ctx().catch();
            return None;
        };
        match value.type_of() {
            Type::Undefined => {}
            _ => _ = fields.insert(name, scalar_to_json(&value)?),
        }
    }
    Some(Value::Object(fields))
}

fn scalar_to_json(value: &Js<'_>) -> Option<Value> {
    match value.type_of() {
        Type::Null => Some(Value::Null),
        Type::Bool => value.as_bool().map(Value::from),
        Type::Int => value.as_int().map(Value::from),
        Type::Float => value.as_float().and_then(number_to_json),
        Type::String => value.as_string()?.to_string().ok().map(Value::from),
        _ => None,
    }
}

/// Writes whole numbers without a decimal point. `None` if the number is too large to be exact.
fn number_to_json(float: f64) -> Option<Value> {
    match (float.fract() == 0.0, float.abs() < MAX_EXACT_INTEGER) {
        (true, true) => Some(Value::from(float as i64)),
        (true, false) => None,
        // NaN and infinity have no JSON form: `None` sends the object through JSON text.
        (false, _) => Number::from_f64(float).map(Value::Number),
    }
}
