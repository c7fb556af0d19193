package account_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// noFields takes everything that the SDK's chain could find away, then sets vars.
func noFields(t *testing.T, config string, vars ...string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	t.Setenv("AWS_CONFIG_FILE", path)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, kv := range vars {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
}

const key = "AWS_ACCESS_KEY_ID=AKIDENV"

func withUnanswered(w *wire, change func(*account.Config)) (*world, error) {
	at := &world{wire: w}
	c := account.Config{HTTPClient: w, Clock: clock.Real(),
		OnCall: func(c account.Call) { at.calls = append(at.calls, c) }}
	if change != nil {
		change(&c)
	}
	a, err := account.Open(context.Background(), c)
	at.Account = a
	return at, err
}

const ssoConfig = "[profile dev]\nregion = us-east-1\nsso_session = corp\nsso_account_id = 123456789012\n" +
	"sso_role_name = x\n[sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://corp.example/start\n"

func TestOpenReportsWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name       string
		config     string
		vars       []string
		change     func(*account.Config)
		kind       sluice.Kind
		text, next string
	}{
		{"no Region", "", []string{key, "AWS_SECRET_ACCESS_KEY=s"}, nil, sluice.Denied,
			"open AWS account: no Region given", "--region"},
		{"odd Region", "", []string{key, "AWS_SECRET_ACCESS_KEY=s"}, func(c *account.Config) { c.Region = "us east 1" },
			"", `"us east 1" is not a Region`, "correct the Region's name: us-east-1 exists"},
		{"misspelt Region", "", []string{key, "AWS_SECRET_ACCESS_KEY=s"}, func(c *account.Config) { c.Region = "us-east1" },
			"", `"us-east1" is not a Region name`, "correct the Region's name: us-east-1 exists"},
		{"no Region at all", "", []string{key, "AWS_SECRET_ACCESS_KEY=s"}, func(c *account.Config) { c.Region = "frankfurt" },
			"", `"frankfurt" is not a Region name`, "give --region"},
		{"no credentials", "", []string{"AWS_REGION=us-east-1"}, nil, sluice.Denied, "find AWS credentials: ",
			"log in (aws"},
		{"expired SSO login", ssoConfig, nil, func(c *account.Config) { c.Profile = "dev" }, sluice.Denied,
			"find AWS credentials: ", "log in: aws sso login --profile dev"},
		{"expired SSO login of AWS_PROFILE", ssoConfig, []string{"AWS_PROFILE=dev"}, nil, sluice.Denied,
			"find AWS credentials: ", "log in: aws sso login --profile dev"},
		{"no such profile", "", []string{"AWS_REGION=us-east-1"}, func(c *account.Config) { c.Profile = "prd" }, "",
			"read AWS configuration (prd): ", "list-profiles"},
		{"misspelt profile", ssoConfig, []string{"AWS_REGION=us-east-1"}, func(c *account.Config) { c.Profile = "dve" }, "",
			"read AWS configuration (dve): there is no such profile; there are dev", "set --profile to dev"},
		{"no such profile of AWS_PROFILE", ssoConfig, []string{"AWS_REGION=us-east-1", "AWS_PROFILE=nobody"}, nil, "",
			"(nobody): there is no such profile, which AWS_PROFILE names; there are dev", "set AWS_PROFILE to a profile"},
		{"endpoint without scheme", "", nil, func(c *account.Config) { c.EndpointURL = "127.0.0.1:4566" }, "",
			"use endpoint URL (127.0.0.1:4566): it begins with neither", "http://127.0.0.1:4566, also in AWS_ENDPOINT_URL"},
		{"endpoint with another scheme", "", nil, func(c *account.Config) { c.EndpointURL = "ftp://h" }, "",
			`use endpoint URL (ftp://h): scheme "ftp"`, "http://127.0.0.1:4566"},
		{"endpoint without host", "", nil, func(c *account.Config) { c.EndpointURL = "http://" }, "", "it has no host",
			"http://127.0.0.1:4566"},
		{"endpoint variable", "", []string{"AWS_REGION=us-east-1", key, "AWS_SECRET_ACCESS_KEY=s",
			"AWS_ENDPOINT_URL=localhost"}, nil, "", "use endpoint URL (localhost): ", "http://127.0.0.1:4566"},
		{"no clock", "", nil, func(c *account.Config) { c.Clock = nil }, "", "no clock given", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			noFields(t, c.config, c.vars...)
			_, err := withUnanswered(&wire{}, c.change)
			if err == nil {
				t.Fatal("opened")
			}
			equal(t, "kind", orNone(sluice.KindOf(err)), orNone(c.kind))
			if got := told(t, err); got != err || !strings.Contains(got.Error(), c.text) ||
				!strings.Contains(got.Next, c.next) {
				t.Errorf("got %v; next: %s", err, got.Next)
			}
		})
	}
}

func TestNoPasswordOfAnEndpointIsShown(t *testing.T) {
	for _, url := range []string{"http://me:hunter2@127.0.0.1", "ftp://me:hunter2@h", "http://me:hunter2@h:port",
		"http://me:hunter2@[::1"} {
		_, err := withUnanswered(&wire{}, func(c *account.Config) { c.EndpointURL = url })
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestOpenTakesTheSDKsEnvironment(t *testing.T) {
	noFields(t, "[profile staging]\nregion = eu-west-1\naws_access_key_id = AKIDFILE\naws_secret_access_key = s\n",
		"AWS_ENDPOINT_URL=http://127.0.0.1:4566")
	w, err := withUnanswered(&wire{}, func(c *account.Config) { c.Profile = "staging" })
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.ID(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "id", id, "123456789012")
	equal(t, "region", w.Region(), "eu-west-1")
	equal(t, "endpoint", w.Endpoint(), "http://127.0.0.1:4566")
	equal(t, "host", w.hosts[0], "127.0.0.1:4566")
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	noFields(t, "", key, "AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=eu-west-1", "AWS_ENDPOINT_URL=http://127.0.0.1:1",
		"AWS_ENDPOINT_URL_ECS=http://127.0.0.1:2")
	w, err := withUnanswered(&wire{}, func(c *account.Config) {
		c.Region, c.EndpointURL = "us-east-1",
			"http://127.0.0.1:3"
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := describe(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	equal(t, "host", w.hosts[0], "127.0.0.1:3")
	equal(t, "region", w.Region(), "us-east-1")
	equal(t, "endpoints", strings.Join(w.Endpoints(), " "), "http://127.0.0.1:3")
}

func TestServiceEndpointOfTheEnvironmentIsSeen(t *testing.T) {
	noFields(t, "", key, "AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=eu-west-1", "AWS_ENDPOINT_URL=http://127.0.0.1:1",
		"AWS_ENDPOINT_URL_ECS=https://ecs.example.com")
	w, err := withUnanswered(&wire{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "endpoints", strings.Join(w.Endpoints(), " "), "http://127.0.0.1:1 https://ecs.example.com")
	if err := w.SpeedAllowed(); err == nil || !strings.Contains(err.Error(), "https://ecs.example.com") {
		t.Errorf("time could be scaled although one service is elsewhere: %v", err)
	}
}

// With Region and credentials given, the machine has no say.
func TestGivenRegionAndCredentialsReadNothingElse(t *testing.T) {
	noFields(t, "[default]\nregion=[broken", "AWS_PROFILE=nosuch", "AWS_ENDPOINT_URL=http://127.0.0.1:1",
		"AWS_ENDPOINT_URL_ECS=http://127.0.0.1:2", "AWS_MAX_ATTEMPTS=7")
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		if err := describe(ctx, w); err != nil {
			t.Fatal(err)
		}
		equal(t, "host", w.hosts[0], "ecs.us-east-1.amazonaws.com")
	})
}

func TestRoleOfAProfilePassesTheGate(t *testing.T) {
	noFields(t, "[profile prod]\nrole_arn = "+roleARN+"\ncredential_source = Environment\nregion = us-east-1\n", key,
		"AWS_SECRET_ACCESS_KEY=s")
	w, err := withUnanswered(&wire{answer: recent}, func(c *account.Config) { c.Profile = "prod" })
	if err != nil {
		t.Fatal(err)
	}
	if err := describe(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	equal(t, "sent", w.ops(), "AssumeRole DescribeServices")
	equal(t, "seen by the gate", len(w.calls), 2)
	equal(t, "session", w.forms[0].Get("RoleSessionName"), "sluice-deploy")
	equal(t, "signed by", w.keys[1], "ASIANOW")
}

func TestWebIdentityPassesTheGate(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("jwt"), 0o600); err != nil {
		t.Fatal(err)
	}
	noFields(t, "", "AWS_REGION=us-east-1", "AWS_WEB_IDENTITY_TOKEN_FILE="+token, "AWS_ROLE_ARN="+roleARN)
	w, err := withUnanswered(&wire{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := describe(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	equal(t, "sent", w.ops(), "AssumeRoleWithWebIdentity DescribeServices")
	equal(t, "seen by the gate", len(w.calls), 2)
	equal(t, "session", w.forms[0].Get("RoleSessionName"), "sluice-deploy")
}

// Token, role and credentials file given instead of taken from the environment, as
// each deploy target of a plugin has its own.
func TestGivenTokenAndCredentialsFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"token": "jwt",
		"credentials": "[ci]\naws_access_key_id = AKIDGIVEN\naws_secret_access_key = s\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	noFields(t, "")
	w, err := withUnanswered(&wire{}, func(c *account.Config) {
		c.Region, c.AssumeRole, c.TokenFile = "us-east-1", roleARN, filepath.Join(dir, "token")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := describe(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	equal(t, "sent", w.ops(), "AssumeRoleWithWebIdentity DescribeServices")
	equal(t, "seen by the gate", len(w.calls), 2)
	equal(t, "session", w.forms[0].Get("RoleSessionName"), "sluice-deploy")

	w, err = withUnanswered(&wire{}, func(c *account.Config) {
		c.Region, c.Profile, c.CredentialsFile = "us-east-1", "ci", filepath.Join(dir, "credentials")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := describe(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	equal(t, "signed by", w.keys[0], "AKIDGIVEN")
}

func TestRefusedProfileRoleIsTriedOnce(t *testing.T) {
	noFields(t, "[profile prod]\nrole_arn = "+roleARN+"\ncredential_source = Environment\nregion = us-east-1\n", key,
		"AWS_SECRET_ACCESS_KEY=s")
	w := &wire{answer: alwaysRepeat(func(op string) *http.Response { return bad(op, 403, "AccessDenied", "no") })}
	_, err := withUnanswered(w, func(c *account.Config) { c.Profile = "prod" })
	equal(t, "kind", sluice.KindOf(err), sluice.Denied)
	equal(t, "sent", w.ops(), "AssumeRole")
}

func TestIDIsAskedOnce(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		for range 3 {
			id, err := w.ID(ctx)
			if err != nil || id != "123456789012" {
				t.Errorf("%q, %v", id, err)
			}
		}
		equal(t, "sent", w.ops(), "GetCallerIdentity")
	})
}

func TestSessionName(t *testing.T) {
	for _, c := range []struct{ role, given, want string }{
		{roleARN, "", "sluice-deploy"},
		{roleARN, "ci run #7", "ci-run--7"},
		{"arn:aws:iam::000000000000:role/" + strings.Repeat("r", 64), "", "sluice-" + strings.Repeat("r", 57)},
	} {
		inside(t, &wire{}, func(o *account.Config) { o.AssumeRole, o.SessionName = c.role, c.given },
			func(ctx context.Context, w *world) {
				repeat(t, 1, func() error { return describe(ctx, w) })
				equal(t, "session", w.forms[0].Get("RoleSessionName"), c.want)
			})
	}
}

func TestLoopback(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"http://127.0.0.1:4566": true, "http://127.9.9.9": true, "https://localhost:1": true, "http://[::1]:4566": true,
		"http://sim.localhost": true,
		"http://LOCALHOST.":    true, "http://[::ffff:127.0.0.1]": true,
		"": false, "http://10.0.0.1": false, "https://ecs.us-east-1.amazonaws.com": false,
		"http://localhost.example.com": false,
		"http://127.0.0.1.example.com": false, "127.0.0.1:4566": false, "localhost": false, "http://0.0.0.0": false,
		"http://user@127.0.0.1@example.com": false,
	} {
		equal(t, endpoint, account.IsLoopback(endpoint), want)
		equal(t, "speed at "+endpoint, account.SpeedAllowed(endpoint) == nil, want)
	}
}

func TestErrorsShowNoSecret(t *testing.T) {
	for _, f := range failures {
		inside(t, &wire{answer: func(op string, n int, r *http.Request) (*http.Response, error) {
			if op == "AssumeRole" {
				return nil, nil
			}
			return f.answer(op, n, r)
		}}, asRole, func(ctx context.Context, w *world) {
			err := createTaskSet(may(ctx, "ecs:CreateTaskSet prod/web"), w, "t")
			for _, secret := range []string{"s3cr3t", "t0k3n", "AKIDSOURCE", "ASIAROLE"} {
				if err == nil || strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v", f.name, err)
				}
			}
		})
	}
}

// recent gives sessions that the SDK's own cache, on the machine's time, takes.
func recent(op string, _ int, _ *http.Request) (*http.Response, error) {
	if op == "AssumeRole" {
		return session(op, "ASIANOW", clock.Real().Now().Add(3600e9)), nil
	}
	return nil, nil
}

var _ aws.HTTPClient = (*wire)(nil)
