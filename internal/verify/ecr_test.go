package verify

import "testing"

// A pull imports an image of a repository below the prefix of a pull through cache rule; with ROOT, of any repository.
func TestWhichRepositoriesAPullImportsInto(t *testing.T) {
	for _, c := range []struct {
		prefix, repository string
		want               bool
	}{
		{"hub", "hub/library/nginx", true}, {"hub/", "hub/nginx", true}, {"hub", "hubs/nginx", false}, {"hub", "hub", false},
		{"ROOT", "web", true},
	} {
		if got := isImported([]string{"other", c.prefix}, c.repository); got != c.want {
			t.Errorf("with the prefix %s, an image of %s is imported: %v, want %v", c.prefix, c.repository, got, c.want)
		}
	}
}

// A tag or repository with other numbers is another one, and no typo.
func TestNamesWithOtherNumbersAreNotNear(t *testing.T) {
	for word, want := range map[string]string{"v1.2.4": "", "V1.2.3": "v1.2.3", "lastest": "latest"} {
		if got := nearestName(word, []string{"v1.2.3", "latest"}); got != want {
			t.Errorf("%s: %q was probably meant, want %q", word, got, want)
		}
	}
}
