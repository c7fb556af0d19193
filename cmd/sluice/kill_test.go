package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/sluice-ecs/sluice/internal/cli"
)

// killAt names when the command kills itself with SIGKILL, for scripts alone:
// "before CreateTaskSet" (not sent), "after CreateTaskSet" (done, reply unread).
const killAt = "SLUICE_SCRIPT_KILL"

// wrapped is the environment of the command in scripts.
func wrapped(env cli.Env) cli.Env {
	when, operation, ok := strings.Cut(os.Getenv(killAt), " ")
	if ok {
		env.HTTPClient = killer{awshttp.NewBuildableClient(), when, operation}
	}
	return env
}

type killer struct {
	next            aws.HTTPClient
	when, operation string
}

func (k killer) Do(r *http.Request) (*http.Response, error) {
	hit := k.is(r)
	if hit && k.when == "before" {
		kill()
	}
	resp, err := k.next.Do(r)
	if hit {
		kill()
	}
	return resp, err
}

// is tells the operation by the header of the JSON services, or by the form of
// the query services.
func (k killer) is(r *http.Request) bool {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return strings.HasSuffix(target, "."+k.operation)
	}
	if r.Body == nil {
		return false
	}
	form, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(form))
	return err == nil && bytes.Contains(form, []byte("Action="+k.operation+"&"))
}

// kill ends this process as a machine that fails does.
func kill() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		os.Exit(137)
	}
	select {}
}
