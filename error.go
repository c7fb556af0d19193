package sluice

import (
	"errors"
	"strings"
)

// Error answers four questions: doing what, to which resource, why, and what
// to do next. Test its kind with [KindOf], never its text.
type Error struct {
	Op       string // what was being done, as a verb phrase: "shift traffic to 20% canary"
	Resource string // ARN or name; may be empty
	Kind     Kind   // what follows from it; zero is an error of use
	Err      error  // why
	Next     string // what the reader should do; may be empty
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

// KindOf is the kind of the outermost [Error] in err's tree that has one.
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

// NextStep is the advice of the outermost [Error] in err's tree that has one.
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

// Inner is the outermost [Error] in err's tree, or err if there is none. It
// drops what an SDK wraps around the error that says everything already.
func Inner(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return err
}

// ErrUnanswered is in the tree of an error whose call may or may not have taken
// effect: the reply was lost, or AWS answered 5xx. Who made a call without
// identity looks before it is made again.
var ErrUnanswered = errors.New("no answer: the call may have taken effect")
