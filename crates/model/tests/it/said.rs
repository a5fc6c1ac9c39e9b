//! Laws of telling a caller less than was meant.

use gambrel_model::{Moment, MomentKind, Powers, Ruling, Slot, Verdict};
use proptest::prelude::*;

use crate::algebra::{row, verdict};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_caller_is_told_only_what_it_can_hear(a in verdict(), caller in row()) {
        let said = a.degrade_for(&caller);
        prop_assert!(caller.caller_powers.contains(said.now.ruling.power()));
    }

    #[test]
    fn a_refusal_is_never_told_as_permission(a in verdict(), caller in row()) {
        let meant = a.ruling;
        let said = a.degrade_for(&caller);
        if meant > Ruling::Allow {
            prop_assert_ne!(said.now.ruling, Ruling::Allow);
        }
        if meant > Ruling::Allow && caller.caller_powers.contains(Powers::DENY) {
            prop_assert!(said.now.ruling > Ruling::Allow);
        }
    }

    #[test]
    fn what_is_not_said_as_meant_is_a_loss(a in verdict(), caller in row()) {
        let meant = a.ruling;
        let said = a.degrade_for(&caller);
        if said.now.ruling != meant {
            prop_assert!(said.losses.iter().any(|loss| loss.what == meant.word()));
        }
    }

    #[test]
    fn no_words_for_the_agent_are_lost(a in verdict(), caller in row()) {
        let told = |v: &Verdict| v.messages.len();
        let all = a.messages.len();
        let said = a.degrade_for(&caller);
        prop_assert!(told(&said.now) + told(&said.later) >= all);
        if caller.moment == Moment::SessionEnd {
            prop_assert_eq!(said.later.messages.len(), 0);
        }
    }

    #[test]
    fn a_halt_that_cannot_be_said_is_owed(a in verdict(), caller in row()) {
        let meant = a.ruling;
        let said = a.degrade_for(&caller);
        let owed = said.later.ruling == Ruling::Halt;
        prop_assert_eq!(owed, meant == Ruling::Halt && !caller.caller_powers.contains(Powers::HALT));
    }

    #[test]
    fn a_dropped_rewrite_of_the_input_takes_its_allow_with_it(a in verdict(), caller in row()) {
        let rewrote = a.patch.contains_key(&Slot::Input);
        let meant = a.ruling;
        let (kept, losses) = a.keep_supported_rewrites(&caller);
        let dropped = rewrote && !kept.patch.contains_key(&Slot::Input);
        prop_assert!(kept.ruling >= meant);
        if dropped {
            prop_assert!(losses.iter().any(|loss| loss.what == "rewrite"));
            if caller.kind() == MomentKind::Gate {
                prop_assert!(kept.ruling >= Ruling::Ask);
            }
        }
    }
}
