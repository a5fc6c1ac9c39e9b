//! `gambrel run` with real agents of the Agent Client Protocol. They run with a scripted model, a
//! fresh home and no network; the tests check the requests to the model.

mod model_server;
mod setup;

mod gemini;
mod opencode;
