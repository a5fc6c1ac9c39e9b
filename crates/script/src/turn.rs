//! The event loop of one call: run what is ready, then wait for a timer or a report, until the
//! call has settled or its time is over.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rquickjs::{Ctx, Error, Function, Object, Value};
use serde_json::json;

use crate::clock::{Clock, Tripwire};
use crate::desk::{Desk, Post};
use crate::loader::HIDDEN;

const MAX_CATCH_UP: usize = 64;
/// While a person is asked and no wall stands, one waits in pieces of this length.
const LONG: Duration = Duration::from_secs(3600);

/// Said of a handler that waits where nothing is under way.
pub const STUCK: &str = "nothing that the handler waits for can happen any more";

/// Why a call did not settle.
#[derive(Debug)]
pub enum Halt {
    /// Its time was over.
    Late(String),
    /// Nothing is under way that could ever settle it.
    Stuck,
    /// The engine itself threw (no memory, no stack).
    Broken {
        /// What was thrown.
        message: String,
        /// Where.
        stack: String,
    },
}

impl Halt {
    /// Code that ran past the deadline.
    pub fn interrupted() -> Self {
        Self::Late("the module's code was interrupted at the deadline".into())
    }

    /// What the engine threw.
    pub fn from_error(ctx: &Ctx<'_>, error: &Error) -> Self {
        let thrown: Value<'_> = match error {
            Error::Exception => ctx.catch(),
            other => return Self::Broken { message: other.to_string(), stack: String::new() },
        };
        let field = |name: &str| thrown.as_object().and_then(|o| o.get::<_, String>(name).ok());
        let message = match field("message") {
            Some(message) => message,
            // No exception object could be made: there was no memory left for one.
            None if thrown.is_null() => "out of memory".into(),
            None => thrown.as_string().and_then(|s| s.to_string().ok()).unwrap_or_default(),
        };
        Self::Broken { message, stack: field("stack").unwrap_or_default() }
    }
}

/// Runs the loop until the call has settled; the text that it settled with.
pub fn drive(
    ctx: &Ctx<'_>,
    desk: &Desk,
    posts: &Receiver<Post>,
    clock: &mut Clock,
) -> Result<String, Halt> {
    loop {
        clock.run(|wire| jobs(ctx, wire))?;
        if desk.take_lap() {
            clock.renew();
        }
        if let Some(text) = desk.take_settled() {
            return Ok(text);
        }
        if clock.over(desk.asking()) {
            return Err(Halt::Late("the deadline passed while the module waited".into()));
        }
        if let Some(post) = ready(desk, posts) {
            deliver(ctx, desk, post, clock)?;
        } else if !desk.expects() {
            return Err(Halt::Stuck);
        } else if let Some(post) = wait(desk, posts, clock) {
            deliver(ctx, desk, post, clock)?;
        }
    }
}

/// Runs what a call that has its answer already has left to run, and tells what went wrong in it.
pub fn finish(ctx: &Ctx<'_>, wire: &Tripwire) -> Result<(), Halt> {
    if jobs(ctx, wire)? == 0 {
        return Ok(());
    }
    let hidden: rquickjs::Result<Object<'_>> = ctx.globals().get(HIDDEN);
    let told = hidden.and_then(|hidden| hidden.get::<_, Function<'_>>("tell")?.call(()));
    told.map_err(|error| Halt::from_error(ctx, &error))
}

/// Delivers what became ready since the last call; waits for nothing.
pub fn catch_up(
    ctx: &Ctx<'_>,
    desk: &Desk,
    posts: &Receiver<Post>,
    clock: &mut Clock,
) -> Result<(), Halt> {
    for _ in 0..MAX_CATCH_UP {
        let Some(post) = ready(desk, posts) else { break };
        deliver(ctx, desk, post, clock)?;
        clock.run(|wire| jobs(ctx, wire))?;
    }
    Ok(())
}

/// Runs everything that is ready; how much it was.
fn jobs(ctx: &Ctx<'_>, wire: &Tripwire) -> Result<u32, Halt> {
    let mut ran = 0_u32;
    while ctx.execute_pending_job() {
        ran = ran.wrapping_add(1);
        // Short jobs without end never reach the engine's own poll of the clock.
        if wire.tripped() || (ran.is_multiple_of(64) && wire.reached()) {
            return Err(Halt::interrupted());
        }
    }
    // What waits on the spot for a program polls nothing: whatever it came to, it came too late.
    if wire.reached() { Err(Halt::interrupted()) } else { Ok(ran) }
}

fn ready(desk: &Desk, posts: &Receiver<Post>) -> Option<Post> {
    match desk.due() {
        Some(id) => Some(Post { id, said: json!({ "ok": null }), last: true }),
        None => posts.try_recv().ok(),
    }
}

fn wait(desk: &Desk, posts: &Receiver<Post>, clock: &mut Clock) -> Option<Post> {
    let began = Instant::now();
    let asking = desk.asking();
    let until = [clock.patience(asking), desk.next_due()].into_iter().flatten().min();
    let pause = until.map_or(LONG, |at| at.saturating_duration_since(began));
    let post = desk.settings.pulse.waiting(|| posts.recv_timeout(pause).ok());
    if !asking {
        clock.spend(began.elapsed());
    }
    post
}

fn deliver(ctx: &Ctx<'_>, desk: &Desk, post: Post, clock: &mut Clock) -> Result<(), Halt> {
    if post.last {
        desk.close(post.id);
    }
    let text = post.said.to_string();
    let done = clock.run(|wire| {
        let hidden: Object<'_> = ctx.globals().get(HIDDEN)?;
        let receive: Function<'_> = hidden.get("deliver")?;
        let done = receive.call::<_, ()>((post.id, text, post.last));
        Ok::<_, Error>((done, wire.reached()))
    });
    match done {
        Ok((_, true)) => Err(Halt::interrupted()),
        Ok((Ok(()), _)) => Ok(()),
        Ok((Err(error), _)) | Err(error) => {
            // A timer's callback threw: nobody waits for it, and it must not pass in silence.
            if let Halt::Broken { message, .. } = Halt::from_error(ctx, &error) {
                desk.warn(&format!("a callback failed: {message}"));
            }
            Ok(())
        }
    }
}
