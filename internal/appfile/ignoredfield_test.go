package appfile

import "testing"

// A field covers itself and what is below it, and nothing that only begins with its name.
func TestIgnoredFieldCovers(t *testing.T) {
	for _, c := range []struct {
		field      IgnoredField
		kind, path string
		want       bool
	}{
		{IgnoredField{"service", "desiredCount"}, "service", "desiredCount", true},
		{IgnoredField{"service", "desired"}, "service", "desiredCount", false},
		{IgnoredField{"service", "desiredCount"}, "task set", "desiredCount", false},
		{IgnoredField{"taskDefinition", "containerDefinitions[web]"}, "task definition", "containerDefinitions[web].image", true},
		{IgnoredField{"taskDefinition", "containerDefinitions"}, "task definition", "containerDefinitions[web].image", true},
		{IgnoredField{"taskDefinition", "containerDefinitions[web].image"}, "task definition", "containerDefinitions[web]", false},
	} {
		if got := c.field.Covers(c.kind, c.path); got != c.want {
			t.Errorf("%s#%s covers %s %s: %t, want %t", c.field.Kind, c.field.Path, c.kind, c.path, got, c.want)
		}
	}
}
