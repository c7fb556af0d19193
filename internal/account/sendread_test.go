package account_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
)

func newRead(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "AmazonSSM.GetParameter")
	return r
}

func TestReadsAreSignedAndRetried(t *testing.T) {
	var asked []*http.Request
	w := &wire{answer: func(op string, n int, r *http.Request) (*http.Response, error) {
		asked = append(asked, r)
		if n == 1 {
			return throttle(op), nil
		}
		return reply(200, `{"a": 1}`), nil
	}}
	inside(t, w, nil, func(ctx context.Context, w *world) {
		got, err := w.SendRead(ctx, "ssm", "GetParameter", "/a", newRead(t, "POST", "/", "{}"))
		if err != nil || string(got) != `{"a": 1}` {
			t.Fatal(string(got), err)
		}
		equal(t, "host", w.hosts[1], "ssm.us-east-1.amazonaws.com")
		if n := len(w.calls); n != 2 || w.calls[1].Operation != "GetParameter" || w.calls[1].Resource != "/a" {
			t.Error(w.calls)
		}
		for _, r := range asked {
			if !strings.Contains(r.Header.Get("Authorization"), "/us-east-1/ssm/aws4_request") {
				t.Error(r.Header)
			}
		}
	})
}

func TestEndpointsOfReads(t *testing.T) {
	w := &wire{answer: func(string, int, *http.Request) (*http.Response, error) { return reply(200, "{}"), nil }}
	inside(t, w, func(c *account.Config) { c.EndpointURL = "http://127.0.0.1:4566" },
		func(ctx context.Context, w *world) {
			if _, err := w.SendRead(ctx, "s3", "GetObject", "b/k", newRead(t, "GET", "/b/a%20k", "")); err != nil {
				t.Fatal(err)
			}
			equal(t, "host", w.hosts[0], "127.0.0.1:4566")
		})
}

// A write through SendRead is never sent.
func TestSendReadSendsNoWrites(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		_, err := w.SendRead(ctx, "ssm", "PutParameter", "/a", newRead(t, "POST", "/", "{}"))
		if !errors.Is(err, account.ErrNotPlanned) || w.ops() != "" {
			t.Error(err, w.ops())
		}
	})
}

func TestErrorsOfReads(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer *http.Response
		kind   sluice.Kind
		text   string
	}{
		{"JSON", reply(400, `{"__type":"com.amazonaws#ParameterNotFound"}`), sluice.NotFound, "ParameterNotFound"},
		{"a header", reply(404, `{"Message":"Function not found: f"}`, "X-Amzn-Errortype", "ResourceNotFoundException:x"),
			sluice.NotFound, "ResourceNotFoundException: Function not found: f"},
		{"XML", reply(403, `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>no</Message></Error>`),
			sluice.Denied, "AccessDenied: no"},
		{"EC2's XML", reply(400, `<Response><Errors><Error><Code>InvalidFilter</Code><Message>m</Message></Error></Errors></Response>`),
			"", "InvalidFilter: m"},
		{"no body", reply(404, ""), sluice.NotFound, "NotFound"},
		{"another Region", reply(301, "<Error/>", "X-Amz-Bucket-Region", "eu-west-1"), "", "the bucket is in eu-west-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &wire{answer: func(string, int, *http.Request) (*http.Response, error) { return c.answer, nil }}
			inside(t, w, nil, func(ctx context.Context, w *world) {
				_, err := w.SendRead(ctx, "ssm", "GetParameter", "/a", newRead(t, "POST", "/", "{}"))
				e := told(t, err)
				if e.Kind != c.kind || !strings.Contains(e.Error(), c.text) || e.Op != "ssm:GetParameter" || e.Resource != "/a" {
					t.Errorf("%+v: %v", e, err)
				}
			})
		})
	}
}
