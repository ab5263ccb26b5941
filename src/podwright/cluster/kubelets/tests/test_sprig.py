"""Sprig's functions in templates; expected values are those of Sprig's documentation and v3.3.0."""

import pytest

from podwright.cluster.kubelets.templates.go_templates import Template
from podwright.cluster.kubelets.templates.template_parser import TemplateError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{{ list "web" .n | join "-" }}', "web-3"),
        ('{{ "a,b" | splitList "," | last }}{{ (split "." "x.y")._1 }}', "by"),
        ('{{ trim "  a " }}{{ trimSuffix "-" "b-" }}{{ "abcdef" | trunc 3 }}', "ababc"),
        ('{{ "abc" | trunc -2 }}{{ "a b" | replace " " "_" }}{{ nospace "a b" }}', "bca_bab"),
        ('{{ title "hello world" }}{{ repeat 2 "x" }}{{ substr 1 3 "abcd" }}', "Hello Worldxxbc"),
        ('{{ cat "a" .n }}|{{ indent 2 "a" }}|{{ nindent 1 "b" }}', "a 3|  a|\n b"),
        ('{{ regexReplaceAll "a(x*)b" "-axxb-" "${1}W" }}', "-xxW-"),
        ('{{ regexMatch "^n[0-9]+$" "n12" }} {{ regexFind "[0-9]" "a7" }}', "true 7"),
        ('{{ coalesce 0 "" .n }}{{ empty "" }}{{ ternary "y" "n" true }}', "3truey"),
        ("{{ mul 2 .n }} {{ div -7 2 }} {{ mod 7 4 }} {{ max 1 5 2 }} {{ min 4 3 }}", "6 -3 3 5 3"),
        ('{{ sub 5 "2" }} {{ sub "5" 2 }}', "3 3"),
        ("{{ round 123.5555 3 }} {{ ceil 1.2 }} {{ floor 1.8 }}", "123.556 2 1"),
        ('{{ abbrev 5 "abcde" }} {{ abbrev 5 "abcdef" }}', "abcde ab..."),
        ("{{ range until 3 }}{{ . }}{{ end }}{{ untilStep 3 6 2 }}", "012[3 5]"),
        ("{{ has 4 (list 1 4) }} {{ without (list 1 2) 2 }} {{ uniq (list 1 1) }}", "true [1] [1]"),
        (
            '{{ sortAlpha (list "b" "a") }} {{ first (list 7 8) }} {{ rest (list 7 8) }}',
            "[a b] 7 [8]",
        ),
        ('{{ keys .map }} {{ get .map "x" }} {{ hasKey .map "z" }}', "[x y] 1 false"),
        (
            '{{ pick .map "x" }} {{ omit .map "x" }} {{ dig "a" "b" "no" .map }}',
            "map[x:1] map[y:2] no",
        ),
        ('{{ merge (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}', '{"a":1,"b":3}'),
        ('{{ (fromJson "{\\"a\\": 5}").a }} {{ kindOf .map }} {{ toJson "<" }}', '5 map "\\u003c"'),
        ('{{ b64enc "a" }} {{ b64dec "YQ==" }} {{ sha256sum "" | trunc 8 }}', "YQ== a e3b0c442"),
        ('{{ atoi "12" }} {{ int64 "x" }} {{ float64 "1.5" }}', "12 0 1.5"),
        (
            "{{ reverse (list 1 2 3) }} {{ initial (list 1 2 3) }} {{ last (list 1 2 3) }}",
            "[3 2 1] [1 2] 3",
        ),
        (
            "{{ rest (list 1 2 3) }} {{ append (list 1) 2 }} {{ prepend (list 1) 2 }}",
            "[2 3] [1 2] [2 1]",
        ),
        (
            '{{ concat (list 1 2) (list 3) (list 4) }} {{ compact (list 1 0 "a" "") }}',
            "[1 2 3 4] [1 a]",
        ),
        (
            "{{ slice (list 1 2 3 4) 1 3 }} {{ slice (list 1 2 3 4) 2 }} {{ slice (list 1 2) }}",
            "[2 3] [3 4] [1 2]",
        ),
        (
            "{{ uniq (list 1 2 1 3 2) }} {{ without (list 1 2 3 1) 1 3 }} {{ has 5 (list 1 4) }}",
            "[1 2 3] [2] false",
        ),
        (
            '{{ dict 1 "a" true "b" | toJson }} {{ (dict 1 "a" 2).b }}',
            '{"1":"a","true":"b"} <no value>',
        ),
        ('{{ mod "7" "4" }} {{ mod -7 4 }} {{ div 7 "2" }} {{ div 9 3 }}', "3 -3 3 3"),
        ("{{ div -1 1 }} {{ div 1 -1 }} {{ div -1 -1 }} {{ div 7 -2 }}", "-1 -1 1 -3"),
        ("{{ mod -1 2 }} {{ mod 1 -2 }} {{ mod -1 -2 }} {{ mod 7 -2 }}", "-1 1 -1 1"),
        ("{{ max 2 9 4 }} {{ min 5 2 9 }} {{ maxf 1.5 3 2 }} {{ minf 1.5 3 0.5 }}", "9 2 3 0.5"),
        ("{{ addf 1.5 2 }} {{ subf 7.5 2 3 }} {{ mulf 1.5 2 2 }} {{ divf 10 4 }}", "3.5 2.5 6 2.5"),
        ("{{ until 0 }}{{ until -3 }} {{ untilStep 0 -6 -2 }}", "[][0 -1 -2] [0 -2 -4]"),
        ('{{ coalesce 0 "" }}|{{ empty 0 }} {{ empty "a" }}', "<no value>|true false"),
        ('{{ ternary "y" "n" false }} {{ get .map "z" }}|{{ hasKey .map "x" }}', "n |true"),
        (
            '{{ keys (dict "b" 1 "a" 2) (dict "c" 3) }} {{ values (dict "b" 1 "a" 2) }}',
            "[a b c] [2 1]",
        ),
        ('{{ pluck "a" (dict "a" 1) (dict "b" 2) (dict "a" 3) }}', "[1 3]"),
        (
            '{{ kindIs "string" "a" }} {{ kindIs "int" "a" }} {{ kindOf (list 1) }}',
            "true false slice",
        ),
        (
            '{{ sha1sum "" | trunc 8 }} {{ first (list) }} {{ last (list) }}',
            "da39a3ee <no value> <no value>",
        ),
        ('{{ uniq (list 1 true "1" 1.0 1) }} {{ uniq (list (list 1) (list 1) (list 2)) }}',
         "[1 true 1 1] [[1] [2]]"),
        ('{{ has 1 (list true 1.0 "1") }} {{ has .n (list 3 "3") }} {{ has 1 nil }}',
         "false false false"),
        ("{{ without (list 1 true) 1 }} {{ without (list .n) .n }}", "[true] []"),
        ('{{ deepEqual 1 true }} {{ deepEqual .n "3" }} {{ deepEqual (list 1) (list true) }}',
         "false false false"),
        ('{{ deepEqual .map (dict "x" 1) }} {{ deepEqual (list 1 2) (list 1) }}', "false false"),
        ('{{ deepEqual (dict "a" 1) (dict "b" 1) }} {{ deepEqual (dict "a" 1) (dict "a" true) }}',
         "false false"),
        ('{{ deepEqual (dict "a" (list 1)) (dict "a" (list 1)) }} {{ deepEqual "a" "a" }}',
         "true true"),
        ('{{ untitle "Hello-World  Foo" }} {{ title "a-b o\'c d_e" }}',
         "hello-World  foo A-B O'C D_e"),
        ("{{ seq 3 }}|{{ seq 0 }}|{{ seq 5 1 }}|{{ seq 0 2 6 }}|{{ seq 5 -2 1 }}",
         "1 2 3|1 0|5 4 3 2 1|0 2 4 6|5 3 1"),
        ("{{ seq }}|{{ seq 3 -1 3 }}|{{ seq 5 2 1 }}|{{ seq 0 0 5 }}|{{ seq 1 2 3 4 }}", "||||"),
        ('{{ splitn "," 0 "a,b" }} {{ splitn "," 2 "a,b,c" }} {{ splitn "," -1 "a,b" }}',
         "map[] map[_0:a _1:b,c] map[_0:a _1:b]"),
        ('{{ splitn "" 2 "abc" }} {{ splitn "" 3 "ab" }} {{ split "" "ab" }}',
         "map[_0:a _1:bc] map[_0:a _1:b] map[_0:a _1:b]"),
        ('{{ splitn "" 3 "abcd" }} {{ splitn "" 1 "ab" }} {{ splitn "" 1 "" }}',
         "map[_0:a _1:b _2:cd] map[_0:ab] map[]"),
        ('{{ regexSplit "," "a,b" 0 }} {{ regexSplit "z" "pizza" -1 }} {{ regexSplit "z" "a" 1 }}',
         "[] [pi  a] [a]"),
        ('{{ regexSplit "" "abc" -1 }} {{ regexSplit "x*" "axbxc" 2 }} {{ regexSplit "" "" 1 }}',
         "[a b c] [a bxc] []"),
        ('{{ len (regexSplit "," "a," -1) }} {{ len (regexSplit "," "" -1) }}', "2 1"),
        ('{{ regexReplaceAll "x*" "abxd" "-" }} {{ regexReplaceAllLiteral "x*" "abxd" "$0" }}',
         "-a-b-d- $0a$0b$0d$0"),
        ('{{ len (regexFindAll "x*" "abxd" -1) }} {{ regexFindAll "a" "aaa" 2 }}', "4 [a a]"),
        ('{{ regexMatch "a$" "a\\n" }} {{ regexMatch `^\\w$` "é" }} {{ regexMatch `\\pL` "é" }}',
         "false false true"),
        ('{{ regexMatch "(" "a" }} {{ regexFind "b*" "abb" }}| {{ regexFind "c" "a" }}|',
         "false | |"),
        ('{{ fromJson "[1000000, 0]" }} {{ kindOf (mustFromJson "5") }}', "[1e+06 0] float64"),
        ('{{ fromJson "NaN" }} {{ toJson (fromJson "[5, 1e21]") }}', "<no value> [5,1e+21]"),
        ('{{ substr -1 2 "abcd" }} {{ substr 1 -1 "abcd" }} {{ substr 1 9 "abcd" }}', "ab bcd bcd"),
        ('{{ substr 0 0 "abcd" }}|{{ substr 4 4 "abcd" }}|{{ repeat 0 "a" }}|', "|||"),
        ("{{ slice (list) 5 }} {{ slice (list 1 2) 2 }} {{ slice (list 1 2) 0 2 }}",
         "<no value> [] [1 2]"),
        ('{{ merge (dict "b" 1) (dict "a" nil) }} {{ merge (dict "a" nil) (dict "a" 1) }}',
         "map[b:1] map[a:1]"),
        ('{{ mergeOverwrite (dict "a" 1 "b" 1) (dict "a" nil "b" 0) }}', "map[a:<nil> b:0]"),
        ('{{ dig "x" "no" .map }} {{ dig "q" "x" "no" .map }}', "1 no"),
        ('{{ toRawJson "\\u2028<\\u2029" }} {{ b64dec "YQ=\\n=\\r\\n" }}',
         '"\\u2028<\\u2029" a'),
        ('{{ printf "% d|% .1f|% d|%+d|% s" 5 1.25 -5 5 "a" }}', " 5| 1.2|-5|+5|a"),
        ('{{ printf "%.f %.0f %.s|%.2s %.3f" 2.5 2.5 "a" "abc" 1.5 }}', "2 2 |ab 1.500"),
        ('{{ plural "one" "many" 1 }} {{ plural "one" "many" 2 }} {{ plural "one" "many" 0 }}',
         "one many many"),
    ],
)  # fmt: skip
def test_functions_return_what_sprig_returns(text, expected):
    document = {"n": 3, "map": {"x": 1, "y": 2}}
    assert Template(text).render(document) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{{ fail "no replicas" }}', "no replicas"),
        ("{{ div 1 0 }}", "divide by zero"),
        ("{{ eq 1 }}", "two values are needed"),
        ("{{ now }}", 'function "now" not defined'),
        ("{{ randAlpha 5 }}", 'function "randAlpha" not defined'),
        ('{{ mustFromJson "x" }}', "mustFromJson: Expecting value"),
        (
            '{{ mustRegexMatch "(" "" }}',
            "mustRegexMatch: error parsing regexp: missing closing \\)",
        ),
        ('{{ regexFind "(" "" }}', "regexFind: error parsing regexp: missing closing \\)"),
        ('{{ mustFromJson "NaN" }}', "mustFromJson: NaN"),
        ('{{ substr 3 1 "abcd" }}', "substr: 3 to 1 is not in a text of 4"),
        ('{{ substr 5 -1 "abcd" }}', "substr: 5 to -1 is not in a text of 4"),
        ('{{ substr -1 5 "abcd" }}', "substr: -1 to 5 is not in a text of 4"),
        ('{{ substr -1 -1 "abcd" }}', "substr: -1 to -1 is not in a text of 4"),
        ('{{ repeat -1 "a" }}', "repeat: the count -1 is negative"),
        ("{{ slice (list 1 2 3) -1 }}", "slice: -1 to 3 is not in a list of 3"),
        ("{{ slice (list 1 2 3) 1 9 }}", "slice: 1 to 9 is not in a list of 3"),
        ("{{ slice (list 1 2 3) 2 1 }}", "slice: 2 to 1 is not in a list of 3"),
        ('{{ dig "x" "y" "no" (dict "x" 1) }}', 'dig: no key "y" in 1'),
        ('{{ b64dec "***" }}', "b64dec: "),
    ],
)
def test_errors_and_functions_that_are_not_repeatable(text, error):
    with pytest.raises(TemplateError, match=error):
        Template(text).render({})
