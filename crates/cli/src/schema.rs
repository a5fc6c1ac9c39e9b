//! `gambrel schema`: what an event sends to a hook and what a hook may answer, as JSON Schemas.
//! Only prints: the schemas are the dialect's.

use anyhow::Context;
use gambrel_dialects::claude::schema::{self, Way};
use serde_json::Value;

use crate::args::{Described, SchemaArgs};
use crate::printer;

/// Prints one schema, those of an event, or all, as they stand in the repository.
pub fn run(args: &SchemaArgs) -> anyhow::Result<u8> {
    let schema = match args.dialect {
        Described::Claude => claude(args).context("no such event")?,
    };
    printer::out(&format!("{schema:#}\n"));
    Ok(0)
}

fn claude(args: &SchemaArgs) -> Option<Value> {
    let Some(event) = &args.event else { return Some(schema::all()) };
    match (args.input, args.output) {
        (true, _) => schema::one(event, Way::Input),
        (_, true) => schema::one(event, Way::Output),
        (false, false) => schema::both(event),
    }
}
