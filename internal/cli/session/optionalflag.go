package session

import "strconv"

// OptionalFlag is a flag without a default. If it is given, it sets the value to Yes or, if it is given as false, to the
// opposite.
type OptionalFlag struct {
	To  **bool
	Yes bool
}

func (f OptionalFlag) String() string { return "" }

// Type returns the type of the value for the help of the command.
func (f OptionalFlag) Type() string { return "bool" }

// Set sets the value.
func (f OptionalFlag) Set(s string) error {
	v, err := strconv.ParseBool(s)
	if err == nil {
		v = v == f.Yes
		*f.To = &v
	}
	return err
}
