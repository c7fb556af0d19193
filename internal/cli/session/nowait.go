package session

import (
	"strconv"

	"github.com/spf13/pflag"
)

// RegisterNoWait adds --no-wait, and --wait for its opposite, as ecspresso has it.
func RegisterNoWait(f *pflag.FlagSet, noWait *bool, help string) {
	f.BoolVar(noWait, "no-wait", false, help)
	RegisterOpposite(f, noWait, "wait", "--wait=false is the same as --no-wait")
}

// RegisterOpposite adds a flag that sets the opposite of a value.
func RegisterOpposite(f *pflag.FlagSet, not *bool, name, help string) {
	f.Var(oppositeFlag{not}, name, help)
	f.Lookup(name).NoOptDefVal = "true"
}

// oppositeFlag is a flag that sets the opposite.
type oppositeFlag struct{ not *bool }

func (f oppositeFlag) String() string { return strconv.FormatBool(f.not == nil || !*f.not) }

func (f oppositeFlag) Type() string { return "bool" }

func (f oppositeFlag) Set(s string) error {
	v, err := strconv.ParseBool(s)
	if err == nil {
		*f.not = !v
	}
	return err
}
