package definition

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// findTemplate finds piped's template roots in a line: the column, from 1, and the root.
func findTemplate(line string) (int, string) {
	for rest, at := line, 0; ; {
		i := strings.Index(rest, "{{")
		if i < 0 {
			return 0, ""
		}
		inner := strings.TrimLeft(rest[i+2:], "- \t")
		for _, root := range []string{"encryptedSecrets", "attachment"} {
			if strings.HasPrefix(inner, "."+root) {
				return utf8.RuneCountInString(line[:at+i]) + 1, root
			}
		}
		rest, at = rest[i+2:], at+i+2
	}
}

// templateFunctions are functions of templates that other tools render before they deploy: ecspresso
// has them. Docker's templates, such as {{.Name}} in an option of a log driver, have no functions.
var templateFunctions = [...]string{"must_env", "env", "ssm", "ssm_list", "tfstate", "tfstatef", "secretsmanager_arn",
	"cfn_output", "cfn_export", "caller_identity", "json_escape"}

// findFunction finds a call of a template function in a line outside of comments: the column, from 1,
// and the function.
func findFunction(line string) (int, string) {
	code := line
	if i := strings.Index(" "+line, " #"); i >= 0 {
		code = line[:i]
	}
	for at := 0; ; {
		i := strings.Index(code[at:], "{{")
		if i < 0 {
			return 0, ""
		}
		at += i
		inner := strings.TrimLeft(code[at+2:], "- \t(")
		name := inner[:len(inner)-len(strings.TrimLeft(inner, "abcdefghijklmnopqrstuvwxyz_"))]
		rest := inner[len(name):]
		if slices.Contains(templateFunctions[:], name) && rest != "" && strings.ContainsAny(rest[:1], " `\"'\\\t") {
			return utf8.RuneCountInString(line[:at]) + 1, name
		}
		at += 2
	}
}
