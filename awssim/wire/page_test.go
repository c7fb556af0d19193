package wire_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice/awssim/wire"
)

func self(s string) string { return s }

func TestPagesAddUpToTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfDistinct(rapid.String(), self).Draw(t, "items")
		max := rapid.IntRange(-1, 7).Draw(t, "max")
		id := rapid.SampledFrom([]func(string) string{nil, self}).Draw(t, "id")
		var got []string
		var token *string
		for {
			page, next, err := wire.Page(items, token, max, 3, 5, id)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) > 5 {
				t.Fatalf("page of %d", len(page))
			}
			got = append(got, page...)
			if token = next; token == nil {
				break
			}
		}
		if !slices.Equal(got, items) {
			t.Fatalf("pages are %q, list is %q", got, items)
		}
	})
}

func TestTokensSurviveInsertionAndDeletion(t *testing.T) {
	items := []string{"a", "b", "c", "d"}
	_, next, _ := wire.Page(items, nil, 2, 2, 2, self)
	for _, changed := range [][]string{{"x", "a", "b", "c", "d"}, {"b", "c", "d"}, {"a", "x", "c", "d"}} {
		page, _, err := wire.Page(changed, next, 2, 2, 2, self)
		if err != nil || !slices.Equal(page, []string{"c", "d"}) {
			t.Errorf("%q goes on with %q, %v", changed, page, err)
		}
	}
}

func TestForeignTokensAreRefused(t *testing.T) {
	for _, token := range []string{"x", "cDEgLTEg", "cDIgMSBh", "!"} {
		if _, _, err := wire.Page([]string{"a"}, &token, 1, 1, 1, self); !errors.Is(err, wire.ErrToken) {
			t.Errorf("%q: %v", token, err)
		}
	}
}
