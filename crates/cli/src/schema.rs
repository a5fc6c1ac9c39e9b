//! `gambrel schema`: prints JSON Schemas of hook input and output, and of the files that authors
//! write.

use anyhow::Context;
use gambrel_dialects::claude::schema::{self, Direction};
use gambrel_dialects::unified::schema::{file_schema, hook_definitions};
use gambrel_runner::{pipeline_schema, stage_schema};
use serde_json::Value;

use crate::args::{SchemaArgs, SchemaDialect, UsageError};
use crate::printer;

/// Prints one schema, those of an event, or all, in the format of the files in `schemas/`.
pub fn run(args: &SchemaArgs) -> anyhow::Result<u8> {
    if args.event.is_some() && args.dialect != SchemaDialect::Claude {
        let message = "only `claude` has schemas of single events; leave EVENT out";
        return Err(UsageError(message.to_owned()).into());
    }
    let schema = match args.dialect {
        SchemaDialect::Claude => claude_schema(args).context("no such event")?,
        SchemaDialect::Unified => file_schema(),
        SchemaDialect::Pipeline => pipeline_schema(hook_definitions()),
        SchemaDialect::Stage => stage_schema(hook_definitions()),
    };
    printer::print(&schema_text(&schema));
    Ok(0)
}

/// The text of a schema, as in the files in `schemas/`.
pub fn schema_text(schema: &Value) -> String {
    format!("{schema:#}\n")
}

fn claude_schema(args: &SchemaArgs) -> Option<Value> {
    let Some(event) = &args.event else { return Some(schema::all_schemas()) };
    match (args.input, args.output) {
        (true, _) => schema::event_schema(event, Direction::Input),
        (_, true) => schema::event_schema(event, Direction::Output),
        (false, false) => schema::event_schemas(event),
    }
}
