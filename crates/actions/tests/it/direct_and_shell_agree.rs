//! Text that is executed without a shell does what the shell would have done.

use gambrel_model::{End, Program, Shell};

use crate::stand::Stand;

/// The text, and whether it is plain enough to need no shell.
const TABLE: &[(&str, bool)] = &[
    ("./show a b c", true),
    ("  ./show\ta   b \n", true),
    ("./show 'a b' \"c d\" e'f'\"g\"", true),
    ("./show '' \"\" x", true),
    ("./show '$HOME `x` \\n' \"it's\"", true),
    ("./show a=b --flag=value,1 x:y@z%+", true),
    ("\"$PLACE\"/show \"$PLACE\" x", true),
    ("\"${PLACE}/show\" \"a ${SPACED} b\" \"$EMPTY\"", true),
    ("./show $SIMPLE ${SIMPLE}x", true),
    ("show-on-path 1 2", true),
    ("./fail 7", true),
    ("./show \"a\nb\" 'c\nd'", true),
    ("./show \"äöü €\" 'ß'", true),
    ("./noshebang a 'b c'", true),
    ("./show $SPACED", false),
    ("./show $EMPTY x", false),
    ("./show $GLOB", false),
    ("./show $UNKNOWN x", false),
    ("./show \"$UNKNOWN\" x", false),
    ("./show \"${SIMPLE:-x}\" \"$1\" \"$#x\"", false),
    ("./show *", false),
    ("./show ~ ~root", false),
    ("./show a\\ b \"c\\\"d\"", false),
    ("./show a; ./show b", false),
    ("./show a && ./fail 3", false),
    ("./fail 3 || ./show b", false),
    ("./show a | cat", false),
    ("./show a > out; cat out", false),
    ("X=1 ./show a", false),
    ("./show `./show b` $(./show c)", false),
    ("./show {a,b}", false),
    ("./show a # comment", false),
    ("./show a\n./show b", false),
    ("./show 'open", false),
    ("exit 2", false),
    ("echo -n a", false),
    ("test a = b", false),
    ("true", false),
    ("'exit' 3", false),
    (". ./show a", false),
    ("cd /; pwd", false),
    ("! ./fail 1", false),
    ("[ a = b ]", false),
    ("no-such-program-anywhere", false),
    ("./absent", false),
    ("./plain", false),
    ("./show \"$PWD\"", false),
    ("./show $PLACE", false),
    ("", false),
    ("   ", false),
    ("-x", false),
];

#[test]
fn direct_and_shell_agree() {
    let mut stand = Stand::new();
    stand.script(
        "show",
        "#!/bin/sh\nfor word; do printf '[%s]' \"$word\"; done\necho \"$0|$PWD\"\n",
    );
    stand.script("show-on-path", "#!/bin/sh\necho \"$@\"\n");
    stand.script("fail", "#!/bin/sh\necho failing\nexit $1\n");
    stand.script("noshebang", "echo \"$@\"\nexit 4\n");
    std::fs::write(stand.path("plain"), "").unwrap();
    for shell in [Shell::Sh, Shell::BashOrSh] {
        for (text, plain) in TABLE {
            let mut call = stand.call(Program::Shell { shell, text: (*text).to_owned() });
            let place = stand.dir.path().display().to_string();
            let path = format!("{}:{place}", std::env::var("PATH").unwrap());
            for (name, value) in [
                ("PLACE", place.as_str()),
                ("PATH", &path),
                ("SPACED", "two words"),
                ("SIMPLE", "simple.txt"),
                ("EMPTY", ""),
                ("GLOB", "*"),
            ] {
                call.env.push((name.to_owned(), value.to_owned()));
            }
            stand.settings.direct = true;
            let direct = stand.run(&call);
            stand.settings.direct = false;
            let shelled = stand.run(&call);
            assert!(shelled.command.get(1).is_some_and(|option| option == "-c"), "{shelled:?}");
            // A script without its first line starts directly, fails, and goes to the shell.
            let without = direct.command.get(1).is_none_or(|option| option != "-c");
            assert_eq!(without, *plain && !text.contains("noshebang"), "{text}: {direct:?}");
            assert_eq!(direct.end, shelled.end, "{text}");
            assert!(matches!(direct.end, End::Exited(_)), "{text}: {direct:?}");
            assert_eq!(direct.stdout, shelled.stdout, "{text}");
        }
    }
    stand.nobody_is_left();
}

#[test]
fn a_function_or_start_file_for_bash_is_not_passed_by() {
    let stand = Stand::new();
    stand.script("tool", "#!/bin/sh\necho file\n");
    for name in ["BASH_ENV", "BASH_FUNC_tool%%", "SHELLOPTS"] {
        let mut call = stand.sh("./tool");
        call.env.push((name.to_owned(), String::new()));
        assert_eq!(stand.run(&call).command.first().map(String::as_str), Some("/bin/sh"));
    }
    stand.nobody_is_left();
}
