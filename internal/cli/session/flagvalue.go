package session

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice/internal/codedeploy"
)

// flagValue is the value of a flag whose texts a function takes.
type flagValue struct {
	kind, byDefault string
	set             func(string) error
}

// FlagOf returns the value of a flag without a default whose texts set takes. kind is what the help calls its values.
func FlagOf(kind string, set func(string) error) pflag.Value { return flagValue{kind: kind, set: set} }

func (f flagValue) String() string { return f.byDefault }

func (f flagValue) Type() string { return f.kind }

func (f flagValue) Set(s string) error { return f.set(s) }

// boolFlag returns the value of a flag that is true or false.
func boolFlag(byDefault string, set func(bool)) pflag.Value {
	return flagValue{kind: "bool", byDefault: byDefault, set: func(s string) error {
		v, err := strconv.ParseBool(s)
		if err == nil {
			set(v)
		}
		return err
	}}
}

// RegisterNoWait adds --no-wait, and --wait for its opposite, as ecspresso has it.
func RegisterNoWait(f *pflag.FlagSet, noWait *bool, help string) {
	f.BoolVar(noWait, "no-wait", false, help)
	RegisterOpposite(f, noWait, "wait", "--wait=false is the same as --no-wait")
}

// RegisterOpposite adds a flag that sets the opposite of a value.
func RegisterOpposite(f *pflag.FlagSet, not *bool, name, help string) {
	f.Var(boolFlag(strconv.FormatBool(!*not), func(v bool) { *not = !v }), name, help)
	f.Lookup(name).NoOptDefVal = "true"
}

// RegisterOptional adds a flag without a default. If it is given, it sets the value to yes or, if it is given as false,
// to the opposite.
func RegisterOptional(f *pflag.FlagSet, to **bool, yes bool, name, help string) {
	f.Var(boolFlag("", func(v bool) {
		v = v == yes
		*to = &v
	}), name, help)
	f.Lookup(name).NoOptDefVal = "true"
}

// EventsFlag returns the value of a flag with a list of CodeDeploy rollback events.
func EventsFlag(to *[]string) pflag.Value {
	return FlagOf("events", func(s string) error {
		var all []string
		for _, e := range strings.Split(s, ",") {
			all = append(all, strings.TrimSpace(e))
		}
		err := codedeploy.CheckEvents(all)
		if err == nil {
			*to = all
		}
		return err
	})
}

// onceFlag is a text that is given once: with two values, only the last one would count.
type onceFlag struct{ to *string }

// OnceFlag returns the value of a flag whose text is given once; a second one is an error.
func OnceFlag(to *string) pflag.Value { return onceFlag{to} }

func (f onceFlag) String() string { return *f.to }

// Type is that of a text, see hasEmptyValue.
func (f onceFlag) Type() string { return "string" }

func (f onceFlag) Set(s string) error {
	if *f.to != "" && *f.to != s {
		return errors.New("it is given twice, with two values")
	}
	*f.to = s
	return nil
}
