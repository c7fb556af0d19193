package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachCommand calls f with each command that help names, and with the root.
func eachCommand(f func(*cobra.Command)) {
	root := reference()
	f(root)
	for _, c := range root.Commands() {
		f(c)
		for _, sub := range c.Commands() {
			f(sub)
		}
	}
}

// Help of each command fits two screens of 80 columns, and names each flag there or with --help-all.
func TestHelpFitsTwoScreens(t *testing.T) {
	eachCommand(func(c *cobra.Command) {
		if c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			return // the texts are those of cobra
		}
		short, all := helpText(c, false), helpText(c, true)
		if n := strings.Count(short, "\n"); n > helpLines {
			t.Errorf("%s --help has %d lines", c.CommandPath(), n)
		}
		for line := range strings.Lines(short + all) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%s --help has a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		words := strings.Fields(all)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !slices.Contains(words, "--"+f.Name) {
				t.Errorf("%s --help-all lacks --%s", c.CommandPath(), f.Name)
			}
		})
		if missing := len(strings.Fields(strings.Join(strings.Split(c.Long, "\n"), " "))); missing > 0 &&
			!strings.HasPrefix(squeezed(all), squeezed(c.Long)) {
			t.Errorf("%s --help-all lacks a part of its text", c.CommandPath())
		}
		if left := strings.Count(all, "  --") != strings.Count(short, "  --"); left != strings.Contains(short, "--help-all\n") {
			t.Errorf("%s --help leaves flags out: %t, and says so: %t", c.CommandPath(), left, !left)
		}
	})
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// Each flag of a group exists, and is in one group.
func TestFlagGroups(t *testing.T) {
	exists := map[string]bool{}
	eachCommand(func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) { exists[f.Name] = true })
	})
	seen := map[string]bool{}
	for _, g := range flagGroups {
		for _, name := range g.names {
			if !exists[name] || seen[name] {
				t.Errorf("--%s of the group %q: exists %t, is in another group %t", name, g.title, exists[name], seen[name])
			}
			seen[name] = true
		}
	}
}

// A new flag of a command with many flags has to be put into a group.
func TestEachFlagHasAGroup(t *testing.T) {
	eachCommand(func(c *cobra.Command) {
		own := c.LocalNonPersistentFlags()
		few := countFlags(own) < manyFlags
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || few && own.Lookup(f.Name) != nil {
				return
			}
			if !slices.ContainsFunc(flagGroups, func(g flagGroup) bool { return slices.Contains(g.names, f.Name) }) {
				t.Errorf("--%s of %s is in none of the groups of flagGroups: put it into one", f.Name, c.CommandPath())
			}
		})
	})
}
