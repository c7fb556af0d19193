package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
)

// refuseEmptyValues returns an error for a flag or an argument that is given and empty, such as "$TAG" of a variable that
// CI has not set. A command that took its default instead would change something else than was meant.
//
// Words after "--" are those of another command, and may be empty.
func refuseEmptyValues(c *cobra.Command, args []string) error {
	if c.DisableFlagParsing {
		return nil // the completion of an empty word
	}
	if n := c.ArgsLenAtDash(); n >= 0 {
		args = args[:n]
	}
	var empty []string
	c.Flags().Visit(func(f *pflag.Flag) {
		if hasEmptyValue(f.Value) {
			empty = append(empty, f.Name)
		}
	})
	switch {
	case len(empty) > 0:
		return &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("--%s is empty", empty[0]),
			Next: "give a value, or leave --" + empty[0] + " out"}
	case slices.ContainsFunc(args, isBlank):
		return &sluice.Error{Op: c.CommandPath(), Err: errors.New("an argument is empty"),
			Next: "give a value, or leave the argument out"}
	}
	return nil
}

// refuseOpposites returns an error for a flag that is given together with its opposite, --no-NAME: only the later one
// would count.
func refuseOpposites(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		name, isOpposite := strings.CutPrefix(f.Name, "no-")
		if other := c.Flags().Lookup(name); isOpposite && other != nil && other.Changed {
			err = &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("--%s and --%s are both given", name, f.Name),
				Next: "give one of them"}
		}
	})
	return err
}

// hasEmptyValue reports whether a flag takes text and has none.
func hasEmptyValue(v pflag.Value) bool {
	if list, isList := v.(pflag.SliceValue); isList {
		return len(list.GetSlice()) == 0 || slices.ContainsFunc(list.GetSlice(), isBlank)
	}
	return v.Type() == "string" && isBlank(v.String())
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
