package secret

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A rule that is passed over would have masked nothing.
func TestRulesThatArePassedOverMaskNothing(t *testing.T) {
	parts := rapid.SampledFrom([]string{"--", "-", "=", ": ", `":"`, `"`, "\\", " ", "\n", "://", "@", "u:p4ss",
		"Password", "pwd", "API_KEY", "secret", "Tokens",
		"accessKey", "credentials", "BasicAuth.users", "Authorization", "Signature", "Bearer", "basic",
		"abcdefghijkl1234", "AKIA", "A3TX", "ASIA", "0123456789ABCDEF",
		"eyJabcdefgh.abcdefgh.x", "ghp_", "github_pat_", "glpat-", "xoxb-", "sk_live_", "rk_test_",
		"abcdefghij0123456789", "-----BEGIN ", "PRIVATE KEY-----",
		"wJalrXUtnFEMI/K7MDENG", "/bPxRfiCYEXAMPLEKEY", "K", "\u212a", "\u017fecret"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(parts, 1, 12).Draw(t, "parts"), "")
		every := text
		for _, r := range rules {
			every = r.mask(every)
		}
		every = wordPattern.ReplaceAllStringFunc(every, func(word string) string {
			if isAWSKey(word) {
				return Stars
			}
			return word
		})
		if got := Mask(text); len(text) >= 8 && got != every {
			t.Fatalf("%q is %q, and %q if no rule is passed over", text, got, every)
		}
	})
}
