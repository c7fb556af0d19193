package account_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

var start = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// wire answers requests without a network. answer gets the operation and how
// often it has come, this time included.
type wire struct {
	answer func(op string, n int, r *http.Request) (*http.Response, error)

	mu    sync.Mutex
	came  []string
	hosts []string
	keys  []string
	forms []url.Values
	count map[string]int
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	op := w.note(r)
	if w.answer == nil {
		return good(op), nil
	}
	res, err := w.answer(op, w.seen(op), r)
	if res == nil && err == nil {
		res = good(op)
	}
	return res, err
}

func (w *wire) note(r *http.Request) string {
	body := ""
	if r.Body != nil {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
	}
	form, _ := url.ParseQuery(body)
	_, op, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !ok {
		op = form.Get("Action")
	}
	if _, name, ok := strings.Cut(r.URL.Path, "/operation/"); ok { // CBOR
		op = name
	}
	_, key, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ = strings.Cut(key, "/")
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == nil {
		w.count = map[string]int{}
	}
	w.count[op]++
	w.came, w.hosts, w.keys, w.forms = append(w.came, op), append(w.hosts, r.URL.Host), append(w.keys, key),
		append(w.forms, form)
	return op
}

func (w *wire) seen(op string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count[op]
}

func (w *wire) ops() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.came, " ")
}

func reply(status int, body string, header ...string) *http.Response {
	h := http.Header{"X-Amzn-Requestid": {"req-1"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// whole is what AWS always sends, of operations whose answer has members.
var whole = map[string]string{
	"DescribeServices": `{"services": [{}], "failures": []}`, "DescribeTasks": `{"tasks": [{}], "failures": []}`,
	"CreateService": `{"service": {"serviceArn": "a"}}`, "UpdateService": `{"service": {"serviceArn": "a"}}`,
	"DeleteService": `{"service": {}}`,
	"CreateTaskSet": `{"taskSet": {"id": "ecs-svc/1"}}`, "UpdateTaskSet": `{"taskSet": {}}`,
	"DeleteTaskSet":               `{"taskSet": {}}`,
	"UpdateServicePrimaryTaskSet": `{"taskSet": {}}`,
	"RegisterTaskDefinition":      `{"taskDefinition": {"taskDefinitionArn": "a"}}`,
	"DeregisterTaskDefinition":    `{"taskDefinition": {}}`, "DeleteTaskDefinitions": `{"taskDefinitions": [{}]}`, "RunTask": `{"tasks": [{}], "failures": []}`,
	"ExecuteCommand":            `{"session": {}}`,
	"StopTask":                  `{"task": {}}`,
	"StopServiceDeployment":     `{"serviceDeploymentArn": "a"}`,
	"ContinueServiceDeployment": `{"serviceDeploymentArn": "a"}`,
	"RegisterInstance":          `{"OperationId": "o"}`, "DeregisterInstance": `{"OperationId": "o"}`,
	"CreateDeployment": `{"deploymentId": "d-1"}`, "StopDeployment": `{"status": "Pending"}`,
	"DescribeRules": "<Rules><member/></Rules>", "ModifyRule": "<Rules><member/></Rules>",
	"CreateRule":                  "<Rules><member/></Rules>",
	"ModifyListener":              "<Listeners><member/></Listeners>",
	"ModifyTargetGroupAttributes": "<Attributes><member/></Attributes>",
}

// good is a success in the protocol of the operation.
func good(op string) *http.Response {
	switch op {
	case "GetCallerIdentity":
		return xml(op, "<Account>123456789012</Account>")
	case "AssumeRole":
		return session(op, "ASIAROLE", start.Add(time.Hour))
	case "AssumeRoleWithWebIdentity":
		return session(op, "ASIAWEB", time.Now().Add(time.Hour))
	}
	if query(op) {
		return xml(op, whole[op])
	}
	if strings.Contains(op, "Alarm") {
		return reply(200, "\xa0")
	}
	return reply(200, cmp.Or(whole[op], "{}"))
}

func session(op, key string, until time.Time) *http.Response {
	return xml(op, "<Credentials><AccessKeyId>"+key+
		"</AccessKeyId><SecretAccessKey>s3cr3t</SecretAccessKey><SessionToken>t0k3n</SessionToken><Expiration>"+
		until.UTC().Format(time.RFC3339)+"</Expiration></Credentials>")
}

func xml(op, inner string) *http.Response {
	return reply(200, fmt.Sprintf("<%sResponse><%sResult>%s</%sResult></%sResponse>", op, op, inner, op, op))
}

func query(op string) bool {
	for _, word := range []string{"Rule", "Listener", "Target", "LoadBalancer", "AssumeRole", "GetCallerIdentity",
		"AddTags", "RemoveTags"} {
		if strings.Contains(op, word) && !strings.Contains(op, "ScalableTarget") {
			return true
		}
	}
	return false
}

// bad is AWS's refusal in the protocol of the operation.
func bad(op string, status int, code, message string, header ...string) *http.Response {
	if query(op) {
		return reply(status, "<ErrorResponse><Error><Type>Sender</Type><Code>"+code+"</Code><Message>"+message+
			"</Message></Error><RequestId>req-1</RequestId></ErrorResponse>", header...)
	}
	return reply(status, fmt.Sprintf(`{"__type":%q,"message":%q}`, code, message), header...)
}

// alwaysRepeat gives every request the same answer.
func alwaysRepeat(res func(op string) *http.Response) func(string, int, *http.Request) (*http.Response, error) {
	return func(op string, _ int, _ *http.Request) (*http.Response, error) { return res(op), nil }
}

// first gives the first n requests of an operation res.
func first(n int, res func(op string) *http.Response) func(string, int, *http.Request) (*http.Response, error) {
	return func(op string, seen int, _ *http.Request) (*http.Response, error) {
		if seen <= n {
			return res(op), nil
		}
		return nil, nil
	}
}

func throttle(op string) *http.Response {
	return bad(op, 400, "ThrottlingException", "Rate exceeded")
}
func classBroken(op string) *http.Response { return bad(op, 500, "ServerException", "oh") }

var errDial = &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4566},
	Err: errors.New("connect: connection refused")}

// world is an account on a virtual clock before a wire.
type world struct {
	*wire
	*account.Account
	clock *clock.Virtual
	calls []account.Call
}

// inside runs f as an actor of a virtual clock, with an account before w.
func inside(t testing.TB, w *wire, change func(*account.Config), f func(ctx context.Context, w *world)) {
	t.Helper()
	v := clock.NewVirtual(start)
	at := &world{wire: w, clock: v}
	c := at.config()
	if change != nil {
		change(&c)
	}
	v.Run(func() {
		a, err := account.Open(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		at.Account = a
		f(context.Background(), at)
	})
}

func (w *world) config() account.Config {
	return account.Config{
		Region:      "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("AKIDSOURCE", "s3cr3t", ""),
		HTTPClient:  w.wire,
		Clock:       w.clock,
		OnCall:      func(c account.Call) { w.calls = append(w.calls, c) },
	}
}

// may permits writes given as "operation resource".
func may(ctx context.Context, writes ...string) context.Context {
	a := account.Action{ID: "d/1-canary/create"}
	for _, w := range writes {
		op, resource, _ := strings.Cut(w, " ")
		a.Writes = append(a.Writes, sluice.Write{Operation: op, Resource: resource})
	}
	return account.Permit(ctx, a)
}

// told is the sluice.Error in err.
func told(t testing.TB, err error) *sluice.Error {
	t.Helper()
	var e *sluice.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no sluice.Error", err, err)
	}
	return e
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func ptr(s string) *string { return aws.String(s) }

func orNone(k sluice.Kind) sluice.Kind { return cmp.Or(k, "none") }
