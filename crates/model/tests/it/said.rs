//! Laws of telling a caller less than was meant.

use gambrel_model::{Kind, Moment, Powers, Ruling, Slot, Verdict};
use proptest::prelude::*;

use crate::algebra::{row, verdict};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_caller_is_told_only_what_it_can_hear(a in verdict(), caller in row()) {
        let said = a.said_by(&caller);
        prop_assert!(caller.can.has(said.said.ruling.power()));
    }

    #[test]
    fn a_refusal_is_never_told_as_permission(a in verdict(), caller in row()) {
        let meant = a.ruling;
        let said = a.said_by(&caller);
        if meant > Ruling::Allow {
            prop_assert_ne!(said.said.ruling, Ruling::Allow);
        }
        if meant > Ruling::Allow && caller.can.has(Powers::DENY) {
            prop_assert!(said.said.ruling > Ruling::Allow);
        }
    }

    #[test]
    fn what_is_not_said_as_meant_is_a_loss(a in verdict(), caller in row()) {
        let meant = a.ruling;
        let said = a.said_by(&caller);
        if said.said.ruling != meant {
            prop_assert!(said.lost.iter().any(|loss| loss.what == meant.word()));
        }
    }

    #[test]
    fn no_words_for_the_agent_are_lost(a in verdict(), caller in row()) {
        let told = |v: &Verdict| v.says.len();
        let all = a.says.len();
        let said = a.said_by(&caller);
        prop_assert!(told(&said.said) + told(&said.owed) >= all);
        if caller.moment == Moment::SessionEnd {
            prop_assert_eq!(said.owed.says.len(), 0);
        }
    }

    #[test]
    fn a_halt_that_cannot_be_said_is_owed(a in verdict(), caller in row()) {
        let meant = a.ruling;
        let said = a.said_by(&caller);
        let owed = said.owed.ruling == Ruling::Halt;
        prop_assert_eq!(owed, meant == Ruling::Halt && !caller.can.has(Powers::HALT));
    }

    #[test]
    fn a_dropped_rewrite_of_the_input_takes_its_allow_with_it(a in verdict(), caller in row()) {
        let rewrote = a.patch.contains_key(&Slot::Input);
        let meant = a.ruling;
        let (kept, losses) = a.honoured(&caller);
        let dropped = rewrote && !kept.patch.contains_key(&Slot::Input);
        prop_assert!(kept.ruling >= meant);
        if dropped {
            prop_assert!(losses.iter().any(|loss| loss.what == "rewrite"));
            if caller.kind() == Kind::Gate {
                prop_assert!(kept.ruling >= Ruling::Ask);
            }
        }
    }
}
