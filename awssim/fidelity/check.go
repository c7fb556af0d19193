package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	smithy "github.com/aws/smithy-go"
)

// rowRun is the comparison of one row in progress.
type rowRun struct {
	ctx         context.Context
	site        *site
	differences []string
	err         error // why the comparison could not be made
}

// stopRun is the panic value that ends a run.
type stopRun struct{}

func (c *rowRun) runCheck(f func(*rowRun)) {
	defer func() {
		if x := recover(); x != nil {
			if _, ok := x.(stopRun); !ok {
				panic(x)
			}
		}
	}()
	f(c)
}

// requireCall ends the run if a call that it depends on failed.
func (c *rowRun) requireCall(doing string, err error) {
	if err != nil {
		c.err = fmt.Errorf("%s: %w", doing, err)
		panic(stopRun{})
	}
}

// expectSame records a difference unless AWS returns the value of the local AWS.
func (c *rowRun) expectSame(what string, got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		c.differences = append(c.differences, fmt.Sprintf("%s: AWS has %v, the local AWS %v", what, got, want))
	}
}

// expectTrue records a difference unless the condition is true.
func (c *rowRun) expectTrue(what string, is bool, got any) {
	if !is {
		c.differences = append(c.differences, fmt.Sprintf("%s: AWS behaves differently: %v", what, got))
	}
}

// expectRefusal records a difference unless a call was refused with one of the codes.
func (c *rowRun) expectRefusal(what string, err error, codes ...string) {
	var api smithy.APIError
	switch {
	case err == nil:
		c.differences = append(c.differences, fmt.Sprintf("%s: AWS accepts it, the local AWS refuses it with %s", what,
			strings.Join(codes, " or ")))
	case !errors.As(err, &api):
		c.requireCall(what, err)
	case !slices.Contains(codes, api.ErrorCode()):
		c.differences = append(c.differences, fmt.Sprintf("%s: AWS refuses it with %s (%s), the local AWS with %s",
			what, api.ErrorCode(), api.ErrorMessage(), strings.Join(codes, " or ")))
	}
}

// waitUntil waits until the condition is true, at most until the limit. It reports whether the
// condition was true.
func (c *rowRun) waitUntil(limit time.Duration, is func() bool) bool {
	for end := c.site.wait.Now().Add(limit); ; {
		if is() {
			return true
		}
		if !c.site.wait.Now().Before(end) {
			return false
		}
		c.requireCall("wait", c.site.wait.Sleep(c.ctx, 2*time.Second))
	}
}
