//! Laws of merging, for any verdicts.

use gambrel_model::{
    Audience, EventSpec, Message, Moment, Patch, PatchRule, Powers, Reason, Ruling, Slot, Verdict,
};
use proptest::prelude::*;
use serde_json::json;

pub fn ruling() -> impl Strategy<Value = Ruling> {
    prop_oneof![
        Just(Ruling::Silent),
        Just(Ruling::Allow),
        Just(Ruling::Ask),
        Just(Ruling::Defer),
        Just(Ruling::Deny),
        Just(Ruling::Halt),
    ]
}

fn audience() -> impl Strategy<Value = Audience> {
    prop_oneof![Just(Audience::AgentNow), Just(Audience::AgentNextTurn), Just(Audience::User)]
}

fn patch() -> impl Strategy<Value = Patch> {
    let slot = prop_oneof![
        Just(Slot::Input),
        Just(Slot::Output),
        Just(Slot::ChatMessages),
        Just(Slot::Native("omp.compaction".into())),
        Just(Slot::List("claude.watchPaths".into())),
    ];
    let entry = (slot, 0..9_u8).prop_map(|(slot, n)| match slot.is_list() {
        true => (slot, json!([n])),
        false => (slot, json!({"n": n})),
    });
    proptest::collection::vec(entry, 0..3).prop_map(|entries| entries.into_iter().collect())
}

/// A verdict as a hook gives it: a ruling has its reason.
pub fn verdict() -> impl Strategy<Value = Verdict> {
    let says = proptest::collection::vec((audience(), "[a-z]{0,6}"), 0..3);
    (ruling(), "[a-z]{1,6}", patch(), says).prop_map(|(ruling, text, patch, says)| Verdict {
        ruling,
        reasons: match ruling {
            Ruling::Silent => Vec::new(),
            _ => vec![Reason::new(ruling, text, "h")],
        },
        patch,
        messages: says
            .into_iter()
            .map(|(audience, text)| Message::new(audience, text, "h"))
            .collect(),
        ..Verdict::default()
    })
}

pub fn powers() -> impl Strategy<Value = Powers> {
    let one = prop_oneof![
        Just(Powers::ALLOW),
        Just(Powers::ASK),
        Just(Powers::DEFER),
        Just(Powers::DENY),
        Just(Powers::HALT),
        Just(Powers::MESSAGE_AGENT),
        Just(Powers::MESSAGE_NEXT_TURN),
        Just(Powers::MESSAGE_USER),
    ];
    proptest::collection::vec(one, 0..8)
        .prop_map(|all| all.into_iter().fold(Powers::empty(), Powers::union))
}

pub fn event_spec() -> impl Strategy<Value = EventSpec> {
    let moment = prop_oneof![
        Just(Moment::ToolBefore),
        Just(Moment::IterationStart),
        Just(Moment::IterationEnd),
        Just(Moment::TaskCompleted),
        Just(Moment::ToolAfter),
        Just(Moment::SessionStart),
        Just(Moment::SessionEnd),
    ];
    let slots = prop_oneof![Just(&[][..]), Just(&[Slot::Input][..]), Just(&[Slot::Output][..])];
    (moment, powers(), powers(), slots).prop_map(|(moment, may, can, slots)| {
        EventSpec::new("any", moment)
            .with_hook_powers(may)
            .with_caller_powers(can)
            .with_rewrites(PatchRule::Last, slots)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn merging_is_associative(a in verdict(), b in verdict(), c in verdict()) {
        let left = a.clone().then(b.clone()).then(c.clone());
        let right = a.then(b.then(c));
        prop_assert_eq!(left, right);
    }

    #[test]
    fn the_empty_verdict_changes_nothing(a in verdict()) {
        prop_assert_eq!(Verdict::default().then(a.clone()), a.clone());
        prop_assert_eq!(a.clone().then(Verdict::default()), a);
    }

    #[test]
    fn a_merge_never_loosens(a in verdict(), b in verdict()) {
        let merged = a.clone().then(b.clone()).ruling;
        prop_assert!(merged >= a.ruling && merged >= b.ruling);
        prop_assert!(merged == a.ruling || merged == b.ruling);
    }

    #[test]
    fn order_never_changes_the_ruling(all in proptest::collection::vec(verdict(), 0..6).prop_shuffle()) {
        let merge = |all: &[Verdict]| all.iter().cloned().fold(Verdict::default(), Verdict::then);
        let mut reversed = all.clone();
        reversed.reverse();
        let (forth, back) = (merge(&all), merge(&reversed));
        prop_assert_eq!(forth.ruling, back.ruling);
        let texts = |v: &Verdict| {
            let mut texts: Vec<String> = v.reasons.iter().map(|r| r.text.clone()).collect();
            texts.sort();
            texts
        };
        prop_assert_eq!(texts(&forth), texts(&back));
    }

    #[test]
    fn every_entry_of_a_list_survives_a_merge_in_order(all in proptest::collection::vec(verdict(), 0..6)) {
        let list = Slot::List("claude.watchPaths".into());
        let entries = |v: &Verdict| v.patch.get(&list).and_then(|l| l.as_array()).cloned().unwrap_or_default();
        let merged = all.iter().cloned().fold(Verdict::default(), Verdict::then);
        prop_assert_eq!(entries(&merged), all.iter().flat_map(entries).collect::<Vec<_>>());
    }

    #[test]
    fn a_slot_round_trips_through_its_name(patch in patch()) {
        for slot in patch.into_keys() {
            prop_assert_eq!(Slot::from(String::from(slot.clone())), slot);
        }
    }

    #[test]
    fn every_reason_survives_a_merge(a in verdict(), b in verdict()) {
        let merged = a.clone().then(b.clone());
        prop_assert!(a.reasons.iter().chain(&b.reasons).all(|r| merged.reasons.contains(r)));
    }

    #[test]
    fn a_ruling_beyond_hook_powers_is_dropped_and_recorded(a in verdict(), own in event_spec()) {
        let (kept, losses) = a.clone().within_hook_powers(&own);
        prop_assert!(own.hook_powers.contains(kept.ruling.required_power()));
        let has_input = |v: &Verdict| v.patch.contains_key(&Slot::Input);
        let has_dropped_input = has_input(&a) && !has_input(&kept);
        let is_known = kept.ruling == a.ruling || kept.ruling == Ruling::Silent;
        prop_assert!(is_known || has_dropped_input);
        prop_assert!(kept.ruling == a.ruling || !losses.is_empty());
        prop_assert!(kept.patch.len() == a.patch.len() || !losses.is_empty());
    }
}
