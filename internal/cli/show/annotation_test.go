package show

import (
	"testing"
)

func TestAnnotationsAreOneLine(t *testing.T) {
	if got, want := (Paint{}).Annotation("error", "50% of\r\ntwo", "file=a"),
		"::error file=a::50%25 of%0D%0Atwo"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
