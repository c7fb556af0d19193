package sluice

import (
	"errors"
	"strings"
)

// Error contains four facts: the operation, its resource, the cause, and what to do next. Test its
// kind with [KindOf], never its text.
type Error struct {
	Op       string // the operation, as a verb phrase: "shift traffic to 20% canary"
	Resource string // ARN or name; may be empty
	Kind     Kind   // class of the error; zero is an error of use
	Err      error  // the cause
	Next     string // what the user should do; may be empty
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Resource != "" {
		b.WriteString(" (")
		b.WriteString(e.Resource)
		b.WriteString(")")
	}
	if e.Err != nil {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost [Error] in err's tree that has one.
func KindOf(err error) Kind {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Kind != "" {
			return e.Kind
		}
		err = e.Err
	}
	return ""
}

// NextStep returns the advice of the outermost [Error] in err's tree that has one.
func NextStep(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Next != "" {
			return e.Next
		}
		err = e.Err
	}
	return ""
}

// Inner returns the outermost [Error] in err's tree, or err if there is none. It removes the SDK's
// wrapping around an error that is complete without it.
func Inner(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return err
}

// ErrUnanswered is in the tree of an error whose call may have taken effect: the response was lost,
// or AWS returned 5xx. If the call has no identity, the caller reads the state before it repeats
// the call.
var ErrUnanswered = errors.New("no response: the call may have taken effect")

// ErrNoPermission is in the tree of an error of kind [Denied] whose caller AWS knows: its policies do not allow the
// call. It is not in the tree where AWS refuses the credentials, as expired ones.
var ErrNoPermission = errors.New("the identity lacks a permission")
