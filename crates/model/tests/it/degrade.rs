//! Laws of degrading a verdict for a caller.

use gambrel_model::{Audience, EventSpec, Moment, MomentKind, Powers, Ruling, Slot, Verdict};
use proptest::prelude::*;
use serde_json::json;

use crate::algebra::{event_spec, verdict};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_caller_receives_only_what_it_supports(a in verdict(), caller in event_spec()) {
        let degraded = a.degrade_for(&caller);
        prop_assert!(caller.caller_powers.contains(degraded.now.ruling.required_power()));
    }

    #[test]
    fn a_refusal_never_becomes_permission(a in verdict(), caller in event_spec()) {
        let ruling = a.ruling;
        let degraded = a.degrade_for(&caller);
        if ruling > Ruling::Allow {
            prop_assert_ne!(degraded.now.ruling, Ruling::Allow);
        }
        if ruling > Ruling::Allow && caller.caller_powers.contains(Powers::DENY) {
            prop_assert!(degraded.now.ruling > Ruling::Allow);
        }
    }

    #[test]
    fn every_changed_ruling_is_a_loss(a in verdict(), caller in event_spec()) {
        let ruling = a.ruling;
        let degraded = a.degrade_for(&caller);
        if degraded.now.ruling != ruling {
            prop_assert!(degraded.losses.iter().any(|loss| loss.what == ruling.as_str()));
        }
    }

    #[test]
    fn no_message_is_lost(a in verdict(), caller in event_spec()) {
        let count = |v: &Verdict| v.messages.len();
        let all = a.messages.len();
        let degraded = a.degrade_for(&caller);
        prop_assert!(count(&degraded.now) + count(&degraded.later) >= all);
        if caller.moment == Moment::SessionEnd {
            prop_assert_eq!(degraded.later.messages.len(), 0);
        }
    }

    #[test]
    fn an_unsupported_halt_is_kept_for_later(a in verdict(), caller in event_spec()) {
        let ruling = a.ruling;
        let degraded = a.degrade_for(&caller);
        let kept_for_later = degraded.later.ruling == Ruling::Halt;
        prop_assert_eq!(kept_for_later, ruling == Ruling::Halt && !caller.caller_powers.contains(Powers::HALT));
    }

    #[test]
    fn a_dropped_input_rewrite_drops_its_allow(a in verdict(), caller in event_spec()) {
        let rewrote = a.patch.contains_key(&Slot::Input);
        let ruling = a.ruling;
        let (kept, losses) = a.keep_supported_rewrites(&caller);
        let dropped = rewrote && !kept.patch.contains_key(&Slot::Input);
        prop_assert!(kept.ruling >= ruling);
        if dropped {
            prop_assert!(losses.iter().any(|loss| loss.what == "rewrite"));
            if caller.kind() == MomentKind::Gate {
                prop_assert!(kept.ruling >= Ruling::Ask);
            }
        }
    }

    #[test]
    fn an_input_rewrite_beyond_hook_powers_drops_its_allow(a in verdict(), own in event_spec()) {
        let rewrote = a.patch.contains_key(&Slot::Input);
        let (kept, losses) = a.within_hook_powers(&own);
        let dropped = rewrote && !kept.patch.contains_key(&Slot::Input);
        if dropped {
            prop_assert!(losses.iter().any(|loss| loss.what == "rewrite"));
        }
        if dropped && own.kind() == MomentKind::Gate {
            let can_refuse = own.hook_powers.intersects(Powers::ASK.union(Powers::DENY));
            prop_assert_ne!(kept.ruling, Ruling::Allow);
            prop_assert!(kept.ruling >= Ruling::Ask || !can_refuse);
            prop_assert!(own.hook_powers.contains(kept.ruling.required_power()));
        }
    }
}

#[test]
fn a_dropped_input_rewrite_asks_or_denies_as_the_hook_may() {
    let allow = Verdict::with_ruling(Ruling::Allow, "fine")
        .with_rewrite(Slot::Input, json!({"command": "ls"}));
    let kept_with = |powers: Powers| {
        let own = EventSpec::new("before", Moment::ToolBefore).with_hook_powers(powers);
        allow.clone().within_hook_powers(&own).0
    };
    let all = Powers::ALLOW.union(Powers::ASK).union(Powers::DENY);
    let wanted = "a hook wants other input, which before cannot take: {\"command\":\"ls\"}";
    for (powers, ruling) in [(all, Ruling::Ask), (all.difference(Powers::ASK), Ruling::Deny)] {
        let kept = kept_with(powers);
        assert_eq!((kept.ruling, kept.ruling_reasons()), (ruling, vec![wanted]));
    }
    let kept = kept_with(Powers::ALLOW);
    let notice = "a hook's rewrite of the input was not applied: the agent sees it as it was";
    assert_eq!(kept.ruling, Ruling::Silent);
    assert_eq!(kept.messages_for(Audience::User).collect::<Vec<_>>(), [notice]);
}
