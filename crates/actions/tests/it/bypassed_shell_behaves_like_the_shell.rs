//! Text that runs without a shell does the same as in the shell.

use gambrel_model::{End, Program, Shell};

use crate::hook_fixture::HookFixture;

/// The text, and whether it needs no shell.
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
fn bypassed_shell_behaves_like_the_shell() {
    let mut fixture = HookFixture::new();
    fixture.write_script(
        "show",
        "#!/bin/sh\nfor word; do printf '[%s]' \"$word\"; done\necho \"$0|$PWD\"\n",
    );
    fixture.write_script("show-on-path", "#!/bin/sh\necho \"$@\"\n");
    fixture.write_script("fail", "#!/bin/sh\necho failing\nexit $1\n");
    fixture.write_script("noshebang", "echo \"$@\"\nexit 4\n");
    std::fs::write(fixture.path("plain"), "").unwrap();
    for shell in [Shell::Sh, Shell::BashOrSh] {
        for (text, plain) in TABLE {
            let mut call = fixture.call(Program::Shell { shell, text: (*text).to_owned() });
            let place = fixture.dir.path().display().to_string();
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
            fixture.settings.always_uses_shell = false;
            let direct = fixture.run(&call);
            fixture.settings.always_uses_shell = true;
            let shelled = fixture.run(&call);
            assert!(shelled.command.get(1).is_some_and(|option| option == "-c"), "{shelled:?}");
            // A script without a `#!` line starts directly, fails, and goes to the shell.
            let without = direct.command.get(1).is_none_or(|option| option != "-c");
            assert_eq!(without, *plain && !text.contains("noshebang"), "{text}: {direct:?}");
            assert_eq!(direct.end, shelled.end, "{text}");
            assert!(matches!(direct.end, End::Exited(_)), "{text}: {direct:?}");
            assert_eq!(direct.stdout, shelled.stdout, "{text}");
        }
    }
    fixture.assert_no_processes_left();
}

#[test]
fn uses_the_shell_when_variables_change_it() {
    let fixture = HookFixture::new();
    fixture.write_script("tool", "#!/bin/sh\necho file\n");
    for name in ["BASH_ENV", "BASH_FUNC_tool%%", "SHELLOPTS"] {
        let mut call = fixture.sh_call("./tool");
        call.env.push((name.to_owned(), String::new()));
        assert_eq!(fixture.run(&call).command.first().map(String::as_str), Some("/bin/sh"));
    }
    fixture.assert_no_processes_left();
}
