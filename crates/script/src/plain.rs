//! A flat object of the engine as JSON, read field by field: what nearly every handler returns, at
//! a fraction of what writing and reading a text would take. Whatever else it is, is left to JSON.

use rquickjs::{Object, Type, Value as Js};
use serde_json::{Map, Number, Value};

/// Below it every whole number is exact.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// The object as `JSON.stringify` would tell it; `None` where a field is no plain value.
pub fn read(object: &Object<'_>) -> Option<Value> {
    let mut fields = Map::new();
    for field in object.props::<String, Js<'_>>() {
        let Ok((name, value)) = field else {
            // A getter threw, and will throw again for whoever asks in another way.
            object.ctx().catch();
            return None;
        };
        match value.type_of() {
            Type::Undefined => {}
            _ => _ = fields.insert(name, scalar(&value)?),
        }
    }
    Some(Value::Object(fields))
}

fn scalar(value: &Js<'_>) -> Option<Value> {
    match value.type_of() {
        Type::Null => Some(Value::Null),
        Type::Bool => value.as_bool().map(Value::from),
        Type::Int => value.as_int().map(Value::from),
        Type::Float => value.as_float().and_then(number),
        Type::String => value.as_string()?.to_string().ok().map(Value::from),
        _ => None,
    }
}

/// Whole numbers have no point; those too large to be exact are left to JSON, which rounds them.
fn number(float: f64) -> Option<Value> {
    match (float.fract() == 0.0, float.abs() < WHOLE) {
        (true, true) => Some(Value::from(float as i64)),
        (true, false) => None,
        // What is no number in JSON may be true all the same.
        (false, _) => Number::from_f64(float).map(Value::Number),
    }
}
