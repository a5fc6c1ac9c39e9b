//! `gambrel schema`: prints the dialect's JSON Schemas of hook input and output.

use anyhow::Context;
use gambrel_dialects::claude::schema::{self, Direction};
use serde_json::Value;

use crate::args::{SchemaArgs, SchemaDialect};
use crate::printer;

/// Prints one schema, those of an event, or all, in the format of the files in `schemas/`.
pub fn run(args: &SchemaArgs) -> anyhow::Result<u8> {
    let schema = match args.dialect {
        SchemaDialect::Claude => claude_schema(args).context("no such event")?,
    };
    printer::print(&format!("{schema:#}\n"));
    Ok(0)
}

fn claude_schema(args: &SchemaArgs) -> Option<Value> {
    let Some(event) = &args.event else { return Some(schema::all_schemas()) };
    match (args.input, args.output) {
        (true, _) => schema::event_schema(event, Direction::Input),
        (_, true) => schema::event_schema(event, Direction::Output),
        (false, false) => schema::event_schemas(event),
    }
}
