package deploy

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
)

// severalFlags are the flags of sluice deploy for several applications.
type severalFlags struct {
	oneByOne  bool
	keepGoing bool
	most      int // 0: no limit
}

func (f *severalFlags) register(c *cobra.Command) {
	c.Flags().IntVar(&f.most, "most", 0, "deploy at most `N` applications at once (default: all)")
	c.Flags().BoolVar(&f.oneByOne, "one-by-one", false,
		"deploy one application after the other; a failure stops the start of the others")
	c.Flags().BoolVar(&f.keepGoing, "keep-going", false, "with --one-by-one: deploy the others after a failure too")
}

func (f *severalFlags) check(c *cobra.Command) error {
	wrong := func(why, next string) error {
		return &sluice.Error{Op: "sluice deploy", Err: errors.New(why), Next: next}
	}
	switch {
	case c.Flags().Changed("most") && f.most < 1:
		return wrong("--most is below 1", "give 1 or more")
	case f.oneByOne && f.most > 1:
		return wrong("--one-by-one and --most exclude each other", "give one of them")
	case f.keepGoing && !f.oneByOne:
		return wrong("--keep-going without --one-by-one", "leave --keep-going out: without --one-by-one, "+
			"a failure does not stop the others")
	}
	return nil
}

// atOnce returns how many of n applications run at once.
func (f *severalFlags) atOnce(n int) int {
	switch {
	case f.oneByOne:
		return 1
	case f.most > 0:
		return min(f.most, n)
	}
	return n
}
