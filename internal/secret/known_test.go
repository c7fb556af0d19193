package secret

import "testing"

func TestKnownValuesAreMasked(t *testing.T) {
	k := NewKnown("hush-hush", "one\ntwo-lines", "q\"uote", "abc")
	for text, want := range map[string]string{
		"a hush-hush b":            "a *** b",
		`{"v":"q\"uote"}`:          `{"v":"***"}`,
		`{"v":"one\ntwo-lines"}`:   `{"v":"***"}`,
		"two-lines alone":          "*** alone",
		"abc is too short to mask": "abc is too short to mask",
		"hush":                     "hush",
		"a hush-hu … b":            "a *** … b",
	} {
		if got := k.Mask(text); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
	k.Show()
	if got := k.Mask("hush-hush"); got != "hush-hush" {
		t.Error(got)
	}
	var none *Known
	if got := none.Mask("a"); got != "a" {
		t.Error(got)
	}
}
