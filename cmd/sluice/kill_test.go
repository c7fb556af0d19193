package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// killAt names when the command kills itself with SIGKILL, for tests alone:
// "before CreateTaskSet" (not sent), "after CreateTaskSet" (done, reply unread),
// "before #3" (the third write of this process).
const killAt = "SLUICE_SCRIPT_KILL"

// wrapped is the environment of the command in scripts and tests.
func wrapped(env session.Env) session.Env {
	env.SignalDebounce = 0 // scripts interrupt twice as soon as they can
	when, operation, ok := strings.Cut(os.Getenv(killAt), " ")
	if ok {
		env.HTTPClient = &killer{next: awshttp.NewBuildableClient(), when: when, operation: operation}
	}
	return grounded(env)
}

type killer struct {
	next            aws.HTTPClient
	when, operation string
	writes          atomic.Int64 // so far; several deployments write concurrently
}

func (k *killer) Do(r *http.Request) (*http.Response, error) {
	hit := k.is(operationOf(r))
	if hit && k.when == "before" {
		kill()
	}
	resp, err := k.next.Do(r)
	if hit {
		kill()
	}
	return resp, err
}

func (k *killer) is(operation string) bool {
	if operation == "" || !account.IsWrite(operation) {
		return false
	}
	nth := k.writes.Add(1)
	count()
	if n, ok := strings.CutPrefix(k.operation, "#"); ok {
		return n == strconv.FormatInt(nth, 10)
	}
	return operation == k.operation
}

// countedIn names a file that gets a byte for each write, for tests alone.
const countedIn = "SLUICE_SCRIPT_WRITES"

func count() {
	if f, err := os.OpenFile(os.Getenv(countedIn), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.WriteString("w")
		_ = f.Close()
	}
}

// operationOf tells the operation by the header of the JSON services, or by the
// form of the query services; "" if it cannot.
func operationOf(r *http.Request) string {
	if _, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return operation
	}
	if r.Body == nil {
		return ""
	}
	form, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(form))
	if err != nil {
		return ""
	}
	values, _ := url.ParseQuery(string(form))
	return values.Get("Action")
}

// kill ends this process as a machine that fails does.
func kill() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(137)
	}
	select {}
}
