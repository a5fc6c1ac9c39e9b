//! The contract of every ledger: the same tests run against each of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gambrel_ledger::MemoryLedger;
use gambrel_model::ledger::{
    Claim, FiringPhase, FiringQuery, FiringState, InboxMessage, Ledger, LedgerErrorKind, NoteKind,
    ProcessOrigin, RunLog, SessionState, TaskRefusal, TaskStatus, TrustEntry, TrustStore,
    Undelivered, WatchTarget,
};
use gambrel_model::ticket::AnswerResult;
use gambrel_model::verdict::{Audience, Ruling, Verdict};
use gambrel_model::{End, Outcome};
use serde_json::{Value, json};

use crate::fixture::{LedgerFixture, journal_firing, new_record};
use crate::test_tickets::{new_answer, new_ticket};

/// A process id above the limit of Linux.
const DEAD_PID: u32 = 4_194_305;
const THREAD_COUNT: usize = 8;

/// A ledger with its trust store.
trait TestedLedger: Ledger + TrustStore {}

impl<L: Ledger + TrustStore> TestedLedger for L {}

/// Runs every clause against one ledger. `$open` gives the ledger and what must outlive it.
macro_rules! ledger_contract {
    ($ledger:ident, $open:expr, [$($clause:ident),+ $(,)?]) => {
        mod $ledger {
            $(#[test]
            fn $clause() {
                let (ledger, _fixture) = $open;
                super::$clause(&ledger);
            })+
        }
    };
}

macro_rules! test_all_ledgers {
    ($($clause:ident),+ $(,)?) => {
        ledger_contract!(local, crate::ledger_contract::open_local(), [$($clause),+]);
        ledger_contract!(memory, (gambrel_ledger::MemoryLedger::new(), ()), [$($clause),+]);
    };
}

test_all_ledgers!(
    lists_and_finds_firings,
    a_firing_of_a_dead_process_is_interrupted,
    session_updates_are_exclusive,
    a_panic_in_an_update_changes_nothing,
    entries_stored_aside_are_merged,
    claims_of_dead_processes_are_void,
    the_first_answer_wins,
    an_answer_is_used_once,
    the_first_outcome_counts,
    replaced_outcomes_are_all_there_is,
    a_lock_has_one_owner,
    a_log_has_one_writer,
    tasks_have_small_ids_and_revisions,
    a_refused_change_changes_nothing,
    a_task_is_claimed_once,
    notes_have_small_ids,
    messages_are_stored_once,
    trust_is_stored_and_changed,
    waits_end_at_a_change_or_at_the_deadline,
    equal_ledgers_have_equal_ids,
);

fn open_local() -> (gambrel_ledger::LocalLedger, LedgerFixture) {
    let fixture = LedgerFixture::new();
    (fixture.ledger(), fixture)
}

fn lists_and_finds_firings(ledger: &dyn TestedLedger) {
    for id in ["first-1", "first-2", "other-1"] {
        let mut record = new_record(id, FiringPhase::Finished, json!({"id": id}));
        record.session = if id == "other-1" { "other".into() } else { record.session };
        ledger.append_journal(&[record]).unwrap();
    }
    let list = |session: Option<&str>, limit, after| -> Vec<String> {
        let query = FiringQuery { session: session.map(Into::into), limit, after };
        ledger.firings(&query).unwrap().into_iter().map(|firing| firing.id).collect()
    };
    for imported in [false, true] {
        assert_eq!(list(None, 2, None), ["first-2", "other-1"], "{imported}");
        assert_eq!(list(None, 1, Some(1)), ["first-2"]);
        assert_eq!(list(Some("other"), 9, None), ["other-1"]);
        assert_eq!(ledger.firing("othe").unwrap().unwrap().seq, 3);
        assert_eq!(ledger.firing("missing").unwrap(), None);
        for unclear in ["first", "fir"] {
            assert_eq!(ledger.firing(unclear).unwrap_err().kind, LedgerErrorKind::Refused);
        }
        ledger.import_journal().unwrap();
    }
    assert_eq!(ledger.recent_firings(&FiringQuery::default()).unwrap(), None);
    ledger.import_unattended().unwrap();
    assert!(!ledger.take_import_due());
}

fn a_firing_of_a_dead_process_is_interrupted(ledger: &dyn TestedLedger) {
    journal_firing(ledger, "done-1");
    let mut running = new_record("running-1", FiringPhase::Accepted, json!({}));
    let mut dead = new_record("dead-1", FiringPhase::Started, json!({}));
    dead.origin.pid = DEAD_PID;
    let mut reused = new_record("reused-1", FiringPhase::Started, json!({}));
    running.origin.start_time = own_claim(ledger).start;
    reused.origin.start_time = running.origin.start_time + 1;
    ledger.append_journal(&[running.clone(), dead, reused]).unwrap();
    let state = |id: &str| ledger.firing(id).unwrap().unwrap().state;
    assert_eq!(state("done-1"), FiringState::Finished);
    assert_eq!(state("running-1"), FiringState::Running);
    assert_eq!(state("dead-1"), FiringState::Interrupted);
    assert_eq!(state("reused-1"), FiringState::Interrupted);
    assert_eq!(ledger.firing("running-1").unwrap().unwrap().records, [running]);
}

fn session_updates_are_exclusive(ledger: &dyn TestedLedger) {
    std::thread::scope(|scope| {
        for _ in 0..THREAD_COUNT {
            scope.spawn(|| (0..20).for_each(|_| count_up(ledger)));
        }
    });
    assert_eq!(ledger.session_state("s").unwrap().counts["n"], 20 * THREAD_COUNT as u64);
    assert_eq!(ledger.session_state("unknown").unwrap(), SessionState::default());
    ledger.update_session("s", &mut |state| *state = SessionState::default()).unwrap();
    assert_eq!(ledger.session_state("s").unwrap(), SessionState::default());
}

fn a_panic_in_an_update_changes_nothing(ledger: &dyn TestedLedger) {
    count_up(ledger);
    let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        ledger.update_session("s", &mut |state| {
            state.counts.clear();
            panic!("in the middle of a change");
        })
    }));
    assert!(broken.is_err());
    count_up(ledger);
    assert_eq!(ledger.session_state("s").unwrap().counts["n"], 2);
}

fn entries_stored_aside_are_merged(ledger: &dyn TestedLedger) {
    let halt = Undelivered::new("halt", "a hook", Verdict::with_ruling(Ruling::Halt, "enough"));
    let words = Verdict::with_only_message(Audience::AgentNow, "hello");
    let message = Undelivered::new("message", "a hook", words);
    for entry in [&halt, &message, &message] {
        ledger.store_aside("s", entry).unwrap();
    }
    let (halts, errors) = ledger.read_halts("s");
    assert_eq!((halts, errors.len()), (vec![halt.clone()], 0));
    assert_eq!(ledger.session_state("s").unwrap().undelivered, [halt.clone(), message.clone()]);
    count_up(ledger);
    assert_eq!(ledger.session_state("s").unwrap().undelivered, [halt, message]);
}

fn claims_of_dead_processes_are_void(ledger: &dyn TestedLedger) {
    let own = own_claim(ledger);
    assert!(ledger.is_held(&own));
    assert_eq!(own.firing, "firing");
    assert!(!ledger.is_held(&Claim { pid: DEAD_PID, ..own.clone() }));
    assert!(!ledger.is_held(&Claim { start: own.start + 1, ..own.clone() }), "a reused pid");
    ledger
        .update_session("s", &mut |state| {
            state.claims.insert("once".to_owned(), own.clone());
        })
        .unwrap();
    assert_eq!(ledger.session_state("s").unwrap().claims["once"], own);
}

fn the_first_answer_wins(ledger: &dyn TestedLedger) {
    let opened = ledger.open_ticket(&new_ticket("race")).unwrap();
    let id = &opened.ticket.id;
    assert_eq!(ledger.ticket_by_token(&opened.token).unwrap().unwrap().id, *id);
    assert_eq!(ledger.ticket_by_token("wrong").unwrap(), None);
    let recorded = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREAD_COUNT {
            let recorded = &recorded;
            scope.spawn(move || {
                let answer = new_answer(&format!("answer {thread}"));
                let result = ledger.answer_ticket(id, &answer).unwrap();
                let won = matches!(result, AnswerResult::Recorded(_));
                recorded.fetch_add(u64::from(won), Ordering::SeqCst);
            });
        }
    });
    assert_eq!(recorded.load(Ordering::SeqCst), 1);
    let answer = ledger.find_ticket(id).unwrap().unwrap().answer;
    ledger.update_ticket(id, &mut |ticket| (ticket.sent, ticket.answer) = (true, None)).unwrap();
    let kept = ledger.find_ticket(id).unwrap().unwrap();
    assert_eq!((kept.sent, kept.answer), (true, answer));
    let late = ledger.answer_ticket("abcdef", &new_answer("approve")).unwrap();
    assert_eq!(late, AnswerResult::Unknown);
    assert_eq!(ledger.list_tickets().unwrap().len(), 1);
}

fn an_answer_is_used_once(ledger: &dyn TestedLedger) {
    let open = || ledger.open_ticket(&new_ticket("again")).unwrap().ticket;
    let first = open().id;
    ledger.answer_ticket(&first, &new_answer("approve")).unwrap();
    let mut dead = own_claim(ledger);
    dead.pid = DEAD_PID;
    ledger.update_ticket(&first, &mut |ticket| ticket.taken = Some(dead.clone())).unwrap();
    assert_eq!(open().id, first, "its process died before it used the answer");
    ledger.take_answer(&first).unwrap();
    assert_ne!(open().id, first, "a running process uses the answer");
    ledger.spend_answers().unwrap();
    assert!(ledger.find_ticket(&first).unwrap().unwrap().spent);
}

fn the_first_outcome_counts(ledger: &dyn TestedLedger) {
    let of = |code| Outcome::from_end(End::Exited(code));
    assert!(ledger.recorded_outcomes("key").unwrap().is_empty());
    ledger.record_outcome("key", "hook", &of(0)).unwrap();
    ledger.record_outcome("key", "hook", &of(1)).unwrap();
    ledger.record_outcome("key 2", "hook", &of(2)).unwrap();
    let recorded = ledger.recorded_outcomes("key").unwrap();
    assert_eq!((recorded.len(), &recorded["hook"].end), (1, &End::Exited(0)));
}

fn replaced_outcomes_are_all_there_is(ledger: &dyn TestedLedger) {
    let of = |code| Outcome::from_end(End::Exited(code));
    let recorded = |key: &str| -> Vec<(String, End)> {
        let outcomes = ledger.recorded_outcomes(key).unwrap();
        outcomes.into_iter().map(|(hook, outcome)| (hook, outcome.end)).collect()
    };
    ledger.record_outcome("key", "a", &of(0)).unwrap();
    ledger.record_outcome("key", "b", &of(0)).unwrap();
    ledger.record_outcome("key 2", "a", &of(2)).unwrap();
    ledger.replace_outcomes("key", &[("b".to_owned(), of(1))].into()).unwrap();
    assert_eq!(recorded("key"), [("b".to_owned(), End::Exited(1))]);
    assert_eq!(recorded("key 2"), [("a".to_owned(), End::Exited(2))]);
}

fn a_lock_has_one_owner(ledger: &dyn TestedLedger) {
    let own = ProcessOrigin::of_this_process();
    let owner = || ledger.lock_owner("run:/tmp/a run").unwrap();
    assert_eq!(owner(), None);
    let first = ledger.acquire_lock("run:/tmp/a run", &own).unwrap();
    assert_eq!(owner(), Some(own.clone()));
    let error = ledger.acquire_lock("run:/tmp/a run", &own).unwrap_err();
    assert_eq!(error.kind, LedgerErrorKind::Locked(own.clone()));
    let other = ledger.acquire_lock("run:/tmp/another", &own).unwrap();
    assert_eq!((first.fence, other.fence), (1, 1));
    drop(first);
    assert_eq!(owner(), None);
    let second = ledger.acquire_lock("run:/tmp/a run", &own).unwrap();
    assert_eq!(second.fence, 2, "looking does not count as an owner");
    drop(second);

    let (inside, most) = (AtomicU64::new(0), AtomicU64::new(2));
    std::thread::scope(|scope| {
        for _ in 0..THREAD_COUNT {
            scope.spawn(|| {
                let Ok(held) = ledger.acquire_lock("run:/tmp/a run", &own) else { return };
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                assert!(held.fence > most.swap(held.fence, Ordering::SeqCst));
                inside.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
}

fn a_log_has_one_writer(ledger: &dyn TestedLedger) {
    let folder = tempfile::tempdir().unwrap();
    let log = RunLog { name: "a run".to_owned(), folder: folder.path().join("new folder") };
    assert_eq!(ledger.read(&log).unwrap().lines, Vec::<Value>::new());
    assert_eq!(ledger.append(&log, 0, &[json!({"n": 1}), json!("two\nlines")]).unwrap(), 2);
    assert_eq!(ledger.append(&log, 1, &[json!(3)]).unwrap_err().kind, LedgerErrorKind::Conflict);
    assert_eq!(ledger.append(&log, 3, &[json!(3)]).unwrap_err().kind, LedgerErrorKind::Conflict);
    assert_eq!(ledger.append(&log, 2, &[json!(null)]).unwrap(), 3);
    let read = ledger.read(&log).unwrap();
    assert_eq!(read.lines, [json!({"n": 1}), json!("two\nlines"), json!(null)]);
    assert_eq!(read.torn, None);

    let written = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREAD_COUNT {
            let (log, written) = (&log, &written);
            scope.spawn(move || {
                let done = ledger.append(log, 3, &[json!(thread)]).is_ok();
                written.fetch_add(u64::from(done), Ordering::SeqCst);
            });
        }
    });
    assert_eq!(written.load(Ordering::SeqCst), 1);
    assert_eq!(ledger.read(&log).unwrap().lines.len(), 4);
}

fn tasks_have_small_ids_and_revisions(ledger: &dyn TestedLedger) {
    assert_eq!(ledger.tasks("project").unwrap(), []);
    for number in 1..=12 {
        let added = ledger
            .update_task("project", None, &mut |tasks, task| {
                assert_eq!(tasks.len(), number - 1);
                task.subject = format!("task {}", tasks.len() + 1);
                Ok(())
            })
            .unwrap();
        assert_eq!((added.id, added.revision), (number.to_string(), 1));
    }
    let changed = ledger
        .update_task("project", Some("10"), &mut |_, task| {
            task.id = "99".to_owned();
            task.revision = 7;
            task.status = TaskStatus::InProgress;
            task.metadata.insert("team".to_owned(), json!({"a": 1}));
            task.blocked_by.push("2".to_owned());
            Ok(())
        })
        .unwrap();
    assert_eq!((changed.id.as_str(), changed.revision), ("10", 2));
    assert!(changed.created > 0 && changed.updated >= changed.created);
    let tasks = ledger.tasks("project").unwrap();
    let ids: Vec<u64> = tasks.iter().map(|task| task.id.parse().unwrap()).collect();
    assert_eq!(ids, (1..=12).collect::<Vec<u64>>());
    assert_eq!(tasks[9], changed);
    assert_eq!(ledger.tasks("other project").unwrap(), []);
    let json = serde_json::to_value(&changed).unwrap();
    let keys: Vec<&String> = json.as_object().unwrap().keys().take(11).collect();
    let shown = "id subject description owner status priority blocks blockedBy metadata createdAt \
                 updatedAt";
    assert_eq!(keys, shown.split(' ').collect::<Vec<_>>());
    assert_eq!(json["status"], "in_progress");
}

fn a_refused_change_changes_nothing(ledger: &dyn TestedLedger) {
    let refuse = |id| {
        ledger.update_task("project", id, &mut |_, task| {
            task.subject = "changed".to_owned();
            Err(TaskRefusal { why: "it is not yours".to_owned() })
        })
    };
    let error = refuse(None).unwrap_err();
    assert_eq!((error.kind, error.detail.as_str()), (LedgerErrorKind::Refused, "it is not yours"));
    assert_eq!(ledger.tasks("project").unwrap(), []);
    let task = ledger.update_task("project", None, &mut |_, _| Ok(())).unwrap();
    assert_eq!(task.id, "1", "a refused task uses up no id");
    refuse(Some("1")).unwrap_err();
    assert_eq!(ledger.tasks("project").unwrap(), [task]);
    let unknown = ledger.update_task("project", Some("2"), &mut |_, _| Ok(())).unwrap_err();
    assert_eq!(unknown.kind, LedgerErrorKind::Refused);
}

fn a_task_is_claimed_once(ledger: &dyn TestedLedger) {
    ledger.update_task("project", None, &mut |_, _| Ok(())).unwrap();
    let claimed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREAD_COUNT {
            let claimed = &claimed;
            scope.spawn(move || {
                let done = claim_task(ledger, "1", &format!("member {thread}"));
                claimed.fetch_add(u64::from(done), Ordering::SeqCst);
            });
        }
    });
    assert_eq!(claimed.load(Ordering::SeqCst), 1);
    assert_eq!(ledger.tasks("project").unwrap()[0].revision, 2);
}

fn notes_have_small_ids(ledger: &dyn TestedLedger) {
    ledger.update_task("project", None, &mut |_, _| Ok(())).unwrap();
    for number in 1..=11 {
        let added = ledger
            .add_note("project", &mut |tasks, notes, note| {
                assert_eq!((tasks.len(), notes.len()), (1, number - 1));
                note.id = "99".to_owned();
                note.kind = NoteKind::Tip;
                note.text = format!("note {number}");
                Ok(())
            })
            .unwrap();
        assert_eq!(added.id, number.to_string());
        assert!(added.created > 0);
    }
    let refused = ledger
        .add_note("project", &mut |_, _, _| Err(TaskRefusal { why: "one is enough".to_owned() }));
    assert_eq!(refused.unwrap_err().detail, "one is enough");
    let notes = ledger.notes("project").unwrap();
    assert_eq!((notes.len(), notes[10].text.as_str()), (11, "note 11"));
    assert_eq!(ledger.notes("other project").unwrap(), []);
}

fn messages_are_stored_once(ledger: &dyn TestedLedger) {
    let message = |id: &str, to: &str| InboxMessage {
        id: id.to_owned(),
        from: "lead".to_owned(),
        to: to.to_owned(),
        text: format!("message {id}"),
        at: 1,
    };
    assert_eq!(ledger.inbox("team", "ada").unwrap(), []);
    for (id, to) in [("a", "ada"), ("b", "bob"), ("c", "ada"), ("a", "ada")] {
        ledger.send("team", &message(id, to)).unwrap();
    }
    assert_eq!(ledger.inbox("team", "ada").unwrap(), [message("a", "ada"), message("c", "ada")]);
    assert_eq!(ledger.inbox("other team", "ada").unwrap(), []);
}

fn trust_is_stored_and_changed(ledger: &dyn TestedLedger) {
    let (hash, shown) = ("h".to_owned(), "make".to_owned());
    let entry = TrustEntry { hash, denied: true, shown, at: 1, ..TrustEntry::default() };
    ledger
        .update_trust(&mut |entries| {
            assert!(entries.insert("key".to_owned(), entry.clone()).is_none());
        })
        .unwrap();
    assert_eq!(ledger.trust_entries().unwrap()["key"], entry);
    let digest = "ab".repeat(32);
    let in_use = [digest.as_str()].into();
    ledger.keep_trusted_texts(&[(&digest, b"make test")], &in_use).unwrap();
    assert_eq!(ledger.trusted_text(&digest).as_deref(), Some("make test"));
    ledger.keep_trusted_texts(&[], &std::collections::BTreeSet::new()).unwrap();
    assert_eq!(ledger.trusted_text(&digest), None);
}

fn waits_end_at_a_change_or_at_the_deadline(ledger: &dyn TestedLedger) {
    let folder = tempfile::tempdir().unwrap();
    let log = RunLog { name: "a run".to_owned(), folder: folder.path().to_owned() };
    let id = ledger.open_ticket(&new_ticket("wait")).unwrap().ticket.id;
    let targets = [
        WatchTarget::Journal,
        WatchTarget::Session("s"),
        WatchTarget::Log(&log),
        WatchTarget::Lock("run:x"),
        WatchTarget::Board("project"),
        WatchTarget::Ticket(&id),
    ];
    for target in targets {
        let begun = Instant::now();
        ledger.wait_for_change(target, begun + Duration::from_millis(20));
        assert!(begun.elapsed() < Duration::from_secs(5), "{target:?}");
    }
    std::thread::scope(|scope| {
        scope.spawn(|| ledger.answer_ticket(&id, &new_answer("approve")).unwrap());
        let deadline = Instant::now() + Duration::from_secs(30);
        while ledger.find_ticket(&id).unwrap().unwrap().answer.is_none() {
            assert!(Instant::now() < deadline, "the answer was not seen");
            ledger.wait_for_change(WatchTarget::Ticket(&id), deadline);
        }
    });
}

fn equal_ledgers_have_equal_ids(ledger: &dyn TestedLedger) {
    assert_eq!(ledger.ledger_id(), ledger.ledger_id());
    assert_ne!(ledger.ledger_id(), MemoryLedger::new().ledger_id());
    assert_ne!(ledger.ledger_id(), open_local().0.ledger_id());
}

/// Claims a task that nobody has.
pub(crate) fn claim_task(ledger: &dyn Ledger, id: &str, member: &str) -> bool {
    let claimed = ledger.update_task("project", Some(id), &mut |_, task| {
        if let Some(owner) = &task.owner {
            return Err(TaskRefusal { why: format!("{owner} has it") });
        }
        (task.owner, task.status) = (Some(member.to_owned()), TaskStatus::InProgress);
        Ok(())
    });
    match claimed {
        Ok(_) => true,
        Err(error) if error.kind == LedgerErrorKind::Refused => false,
        Err(error) => panic!("{error}"),
    }
}

fn own_claim(ledger: &dyn TestedLedger) -> Claim {
    ledger.new_claim("firing")
}

fn count_up(ledger: &dyn TestedLedger) {
    ledger
        .update_session("s", &mut |state| *state.counts.entry("n".to_owned()).or_default() += 1)
        .unwrap();
}
