//! Checks a value against a JSON Schema (draft-07), by the keywords that gambrel's schemas use. An
//! unknown keyword is a panic, so that no rule of a schema is passed over.

use serde_json::Value;

/// Keywords that only describe.
const DESCRIPTIONS: [&str; 5] = ["$schema", "title", "description", "default", "definitions"];

/// Errors of a value, each with its place.
pub fn schema_errors(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    SchemaChecker { root: schema }.check(schema, value, at)
}

struct SchemaChecker<'s> {
    root: &'s Value,
}

impl SchemaChecker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        if schema == &Value::Bool(true) || schema.is_null() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (keyword, rule) in schema.as_object().expect("a schema is an object") {
            found.extend(self.check_keyword(schema, keyword, rule, value, at));
        }
        found
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        self.check(schema, value, "").is_empty()
    }

    fn count_fitting(&self, schemas: &Value, value: &Value) -> usize {
        schemas.as_array().unwrap().iter().filter(|schema| self.fits(schema, value)).count()
    }

    fn check_keyword(
        &self,
        schema: &Value,
        keyword: &str,
        rule: &Value,
        value: &Value,
        at: &str,
    ) -> Vec<String> {
        let when = |wrong: bool, text: String| if wrong { vec![text] } else { Vec::new() };
        match keyword {
            "type" => when(!has_type(rule, value), format!("{at}: {value} is not {rule}")),
            "enum" => {
                let is_known = rule.as_array().unwrap().contains(value);
                when(!is_known, format!("{at}: {value} is none of {rule}"))
            }
            "const" => when(rule != value, format!("{at}: {value} is not {rule}")),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                let outside = value.as_f64().is_some_and(|number| !in_limit(keyword, rule, number));
                when(outside, format!("{at}: {value} is outside {keyword} {rule}"))
            }
            "pattern" => {
                let pattern = regex_lite::Regex::new(rule.as_str().unwrap()).unwrap();
                let differs = value.as_str().is_some_and(|text| !pattern.is_match(text));
                when(differs, format!("{at}: {value} does not match {rule}"))
            }
            "minItems" => {
                let few = value
                    .as_array()
                    .is_some_and(|list| (list.len() as u64) < rule.as_u64().unwrap());
                when(few, format!("{at}: fewer than {rule} items"))
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items.flat_map(|(i, item)| self.check(rule, item, &format!("{at}[{i}]"))).collect()
            }
            "properties" | "additionalProperties" | "required" | "dependencies" => {
                self.check_fields(schema, keyword, rule, value, at)
            }
            "allOf" => {
                let all = rule.as_array().unwrap().iter();
                all.flat_map(|part| self.check(part, value, at)).collect()
            }
            "anyOf" => when(
                self.count_fitting(rule, value) == 0,
                format!("{at}: {value} fits none of {rule}"),
            ),
            "oneOf" => when(
                self.count_fitting(rule, value) != 1,
                format!("{at}: {value} does not fit exactly one of {rule}"),
            ),
            "if" if self.fits(rule, value) => self.check(&schema["then"], value, at),
            "if" | "then" => Vec::new(),
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                self.check(self.root.pointer(pointer).expect("a definition"), value, at)
            }
            known if DESCRIPTIONS.contains(&known) => Vec::new(),
            other => panic!("the schemas use the keyword {other}, which is not checked here"),
        }
    }

    fn check_fields(
        &self,
        schema: &Value,
        keyword: &str,
        rule: &Value,
        value: &Value,
        at: &str,
    ) -> Vec<String> {
        let Some(fields) = value.as_object() else { return Vec::new() };
        match keyword {
            "required" => {
                let names = rule.as_array().unwrap().iter();
                let missing = names.filter(|name| !fields.contains_key(name.as_str().unwrap()));
                missing.map(|name| format!("{at}: {name} is missing")).collect()
            }
            "properties" => {
                let known = fields.iter().filter(|(name, _)| !rule[name.as_str()].is_null());
                let check = |(name, field): (&String, &Value)| {
                    self.check(&rule[name.as_str()], field, &format!("{at}.{name}"))
                };
                known.flat_map(check).collect()
            }
            "dependencies" => {
                let present = rule.as_object().unwrap().iter();
                let present = present.filter(|(name, _)| fields.contains_key(*name));
                present.flat_map(|(_, rule)| self.check(rule, value, at)).collect()
            }
            _ => {
                let known = |name: &str| !schema["properties"][name].is_null();
                let others = fields.iter().filter(|(name, _)| !known(name));
                let check = |(name, field): (&String, &Value)| match rule {
                    Value::Bool(false) => vec![format!("{at}: unknown key {name}")],
                    rule => self.check(rule, field, &format!("{at}.{name}")),
                };
                others.flat_map(check).collect()
            }
        }
    }
}

fn in_limit(keyword: &str, rule: &Value, number: f64) -> bool {
    let limit = rule.as_f64().unwrap();
    match keyword {
        "minimum" => number >= limit,
        "maximum" => number <= limit,
        "exclusiveMinimum" => number > limit,
        _ => number < limit,
    }
}

fn has_type(rule: &Value, value: &Value) -> bool {
    let is_one = |name: &Value| match name.as_str().unwrap() {
        "string" => value.is_string(),
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        other => panic!("the schemas use the type {other}, which is not checked here"),
    };
    match rule {
        Value::Array(names) => names.iter().any(is_one),
        name => is_one(name),
    }
}
