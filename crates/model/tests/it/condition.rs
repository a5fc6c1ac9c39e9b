//! Conditions: those of agent-pipelines, common mistakes, and hostile text.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use gambrel_model::condition::{Condition, Fact, Truth};
use proptest::prelude::*;

fn facts(name: &str) -> Fact {
    match name {
        "ITERATION" => Fact::Is("10".into()),
        "STAGE" => Fact::Is("plan".into()),
        "LAST_DECISION" => Fact::Is("stop".into()),
        "HOSTILE" => Fact::Is("' == '' || true || '".into()),
        "BIG" => Fact::Is("170141183460469231731687303715884105727".into()),
        "HUGE" => Fact::Is("9".repeat(60)),
        "ZERO" => Fact::Is("0".into()),
        "EMPTY" => Fact::Unset,
        _ => Fact::Absent,
    }
}

fn judge(text: &str) -> Truth {
    Condition::parse(text)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .eval(&facts)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn unknown(name: &str) -> Truth {
    Truth::Unknown(name.to_owned())
}

#[test]
fn documented_conditions_hold() {
    for text in [
        "${ITERATION} == 10",
        "${ITERATION} % 10 == 0",
        "${STAGE} == 'plan'",
        "${LAST_DECISION} == 'stop'",
        "${ITERATION} > 5 && ${STAGE} == 'plan'",
        "true",
    ] {
        assert_eq!(judge(text), Truth::Yes, "{text}");
    }
}

#[test]
fn values_compare_as_numbers_when_both_are_numbers() {
    for (text, expected) in [
        ("${ITERATION} == '10.0'", Truth::Yes),
        ("'${ITERATION}' == 10", Truth::Yes),
        ("\"${STAGE}-x\" == 'plan-x'", Truth::Yes),
        ("9 < ${ITERATION}", Truth::Yes),
        ("'9' < '10'", Truth::Yes),
        ("'9a' < '10a'", Truth::No),
        ("'a' < 'b'", Truth::Yes),
        ("${STAGE} < 5", Truth::No),
        ("${STAGE} > 5", Truth::No),
        ("${STAGE} != 5", Truth::Yes),
        ("${EMPTY} == 0", Truth::No),
        ("${EMPTY} != 0", Truth::Yes),
        ("${EMPTY} < 1", Truth::No),
        ("${EMPTY} == ''", Truth::Yes),
        ("0.1 + 0.2 == 0.3", Truth::Yes),
        ("-3 + 1 == -2", Truth::Yes),
        ("-7 % 3 == -1", Truth::Yes),
        ("1 + 2 * 3 == 7", Truth::Yes),
        ("(1 + 2) * 3 == 9", Truth::Yes),
        ("10 / 4 == 2.5", Truth::Yes),
        ("10 - 2 - 3 == 5", Truth::Yes),
        ("${BIG} > 170141183460469231731687303715884105726", Truth::Yes),
        ("${BIG} > 0.00000000000000000000000000000000000001", Truth::Yes),
        ("-0.5 < -0.25", Truth::Yes),
        ("${HUGE} == ${HUGE}", Truth::Yes),
    ] {
        assert_eq!(judge(text), expected, "{text}");
    }
}

#[test]
fn a_bare_value_is_false_when_empty_zero_or_false() {
    for text in ["${EMPTY}", "''", "0", "'0'", "0.0", "false", "'false'", "${ZERO}", "!${STAGE}"] {
        assert_eq!(judge(text), Truth::No, "{text}");
    }
    for text in ["${STAGE}", "'no'", "1", "-1", "!${EMPTY}", "!(${STAGE} == 'work')"] {
        assert_eq!(judge(text), Truth::Yes, "{text}");
    }
}

#[test]
fn an_absent_fact_is_unknown_unless_the_rest_decides() {
    for (text, expected) in [
        ("${NOBODY} == 1", unknown("NOBODY")),
        ("!(${NOBODY} == 1)", unknown("NOBODY")),
        ("false && ${NOBODY}", Truth::No),
        ("${NOBODY} && false", Truth::No),
        ("true && ${NOBODY}", unknown("NOBODY")),
        ("true || ${NOBODY}", Truth::Yes),
        ("${NOBODY} || true", Truth::Yes),
        ("${NOBODY} || false", unknown("NOBODY")),
        ("${NOBODY} % 2 == 0 || ${OTHER}", unknown("NOBODY")),
        ("'x${NOBODY}' == 'x'", unknown("NOBODY")),
    ] {
        assert_eq!(judge(text), expected, "{text}");
    }
    let deep = format!("{}${{NOBODY}} == 1", "- ".repeat(100));
    assert_eq!(judge(&deep), unknown("NOBODY"), "and it does not take for ever");
}

#[test]
fn stops_at_a_decided_condition() {
    assert_eq!(judge("false && ${STAGE} % 2 == 0"), Truth::No);
    assert_eq!(judge("true || 1 % 0 == 0"), Truth::Yes);
}

#[test]
fn a_value_never_becomes_expression() {
    assert_eq!(judge("${HOSTILE} == 'work'"), Truth::No);
    assert_eq!(judge("'${HOSTILE}' == 'work'"), Truth::No);
}

#[test]
fn arithmetic_errors_name_the_variable() {
    for (text, part) in [
        ("${STAGE} % 2 == 0", "${STAGE} is not a number"),
        ("1 + ${EMPTY} == 1", "${EMPTY} is empty"),
        ("-${STAGE} == 1", "${STAGE} is not a number"),
        ("${ITERATION} % 0 == 0", "by zero"),
        ("${ITERATION} % ${ZERO} == 0", "${ZERO} is 0"),
        ("${BIG} + 1 == 0", "too large"),
        ("${BIG} * ${BIG} == 0", "too large"),
    ] {
        let error = Condition::parse(text).unwrap().eval(&facts).unwrap_err();
        assert!(error.message.contains(part), "{text}: {error}");
    }
}

#[test]
fn parse_errors_have_an_offset_and_help() {
    for (text, offset, help) in [
        ("${A} = 1", 5, "use =="),
        ("${A} === 1", 5, "use =="),
        ("$STAGE == 'x'", 0, "write ${STAGE}"),
        ("${STAGE:-x} == 'x'", 0, "write ${STAGE}"),
        ("${A} and ${B}", 5, "use &&"),
        ("${A} & ${B}", 5, "use &&"),
        ("${A} | ${B}", 5, "use ||"),
        ("not ${A}", 0, "use !"),
        ("${STAGE} == plan", 12, "quote it: 'plan'"),
        ("STAGE == 'plan'", 0, "write ${STAGE}"),
        ("${STAGE} -eq 1", 10, "use =="),
        ("${STAGE} == 'plan", 12, "add the missing '"),
        ("${STAGE == 1", 0, "add the missing }"),
        ("(1 == 1", 0, "add the missing )"),
        ("1 == 1)", 6, "remove it"),
        ("1 < 2 < 3", 6, "&&"),
        ("!${A} == 1", 6, "!(… == …)"),
        ("${A} ${B}", 5, "&&"),
        ("{{stage}} == 1", 0, "${NAME}"),
        ("${STAGE} == ‘plan’", 12, "plain quotes"),
        ("True", 0, "write true"),
        ("", 0, "leave it out"),
        ("10a == 1", 0, "'10a'"),
    ] {
        let error = Condition::parse(text).unwrap_err();
        assert_eq!(error.offset, offset, "{text}: {error}");
        let given = error.help.unwrap_or_default();
        assert!(given.contains(help), "{text}: {given}");
    }
    for text in ["1 ==", "== 1", "1 + ", "()", "!", "^", "1 == ;"] {
        assert!(Condition::parse(text).is_err(), "{text}");
    }
}

#[test]
fn depth_and_length_are_bounded_and_long_chains_are_fine() {
    for text in [
        format!("{}1{}", "(".repeat(30_000), ")".repeat(30_000)),
        format!("{}1", "!".repeat(60_000)),
        format!("{}1", "-".repeat(60_000)),
        format!("1{}", "+1".repeat(30_000)),
        "'".to_owned() + &"x".repeat(70_000) + "'",
    ] {
        assert!(Condition::parse(&text).is_err());
    }
    let chain = vec!["${STAGE} == 'x'"; 3000].join(" || ");
    assert_eq!(judge(&chain), Truth::No);
    let nested = format!("{}1{}", "(".repeat(60), ")".repeat(60));
    assert_eq!(judge(&nested), Truth::Yes);
}

#[test]
fn a_condition_keeps_its_text_and_names() {
    let condition = Condition::parse(" ${B} == '${A}' && ${B} ").unwrap();
    assert_eq!(condition.text(), " ${B} == '${A}' && ${B} ");
    assert_eq!(condition.variables().collect::<Vec<_>>(), ["B", "A"]);
}

proptest! {
    #[test]
    fn any_text_is_read_and_judged_without_panic(text in "\\PC*", value in "\\PC*") {
        if let Ok(condition) = Condition::parse(&text) {
            let _ = condition.eval(&|_| Fact::Is(value.clone()));
        }
    }

    #[test]
    fn near_conditions_are_read_and_judged_without_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "${A}", "${B}", "1", "0", "2.50", "'x'", "\"${A}\"", "true", "==", "!=", "<", ">=",
            "&&", "||", "!", "-", "+", "*", "/", "%", "(", ")", "99999999999999999999999999999999",
        ]), 0..24),
        value in "[-0-9.]{0,40}|\\PC*",
    ) {
        if let Ok(condition) = Condition::parse(&words.join(" ")) {
            let _ = condition.eval(&|name| match name {
                "A" => Fact::Is(value.clone()),
                _ => Fact::Absent,
            });
        }
    }

    #[test]
    fn equality_with_a_quoted_word_is_equality_of_text(value in "[^0-9]\\PC*") {
        let condition = Condition::parse("${A} == 'plan'").unwrap();
        let truth = condition.eval(&|_| Fact::Is(value.clone())).unwrap();
        prop_assert_eq!(truth == Truth::Yes, value == "plan");
    }

    #[test]
    fn whole_numbers_behave_as_whole_numbers(a in any::<i64>(), b in any::<i64>()) {
        let ask = |text: &str| Condition::parse(text).unwrap().eval(&|name| {
            Fact::Is(if name == "A" { a.to_string() } else { b.to_string() })
        });
        prop_assert_eq!(ask("${A} < ${B}").unwrap() == Truth::Yes, a < b);
        prop_assert_eq!(ask("${A} == ${B}").unwrap() == Truth::Yes, a == b);
        if b != 0 {
            let rest = i128::from(a) % i128::from(b);
            let text = format!("${{A}} % ${{B}} == {rest}");
            prop_assert_eq!(ask(&text).unwrap(), Truth::Yes);
        }
    }
}
