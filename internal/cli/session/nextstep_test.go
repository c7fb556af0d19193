package session

import (
	"os"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice/internal/journal"
)

// TestNextStepIsAboutTheSame: a next step that is typed as printed reads the folder, the journal, the environment and the AWS
// of the command that printed it.
func TestNextStepIsAboutTheSame(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("web", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags             Flags
		place, text, want string
	}{
		{Flags{}, "", "run sluice resume slc-1 to continue", "run sluice resume slc-1 to continue"},
		{Flags{state: "j.sqlite", files: fileFlags{environment: "prod"}}, "web",
			"run sluice approve slc-1, then sluice resume slc-1",
			"run sluice approve --state j.sqlite --env prod slc-1, then sluice resume --state j.sqlite --env prod slc-1"},
		{Flags{files: fileFlags{environment: "prod", envFiles: []string{"a.env", "b c.env"},
			set: []string{"TAG=v 2", "API_TOKEN=plainword"}}}, "web", "run sluice plan, or sluice sim",
			"run sluice plan web --env prod --env-file a.env --env-file 'b c.env' --set 'TAG=v 2' --set API_TOKEN=VALUE, or sluice sim"},
		{Flags{files: fileFlags{environment: "prod", set: []string{"TAG=v2"}}}, "", "run sluice plan --env-file FILE",
			"run sluice plan --env prod --set TAG=v2 --env-file FILE"},
		{Flags{state: "a b's"}, "", "run sluice rollback", `run sluice rollback --state 'a b'\''s'`},
		{Flags{state: "j", Region: "eu-west-1", profile: "p", role: "arn:aws:iam::123456789012:role/r", endpoint: "http://a:1"}, "",
			"run sluice wait --region us-east-1 --cluster prod",
			"run sluice wait --state j --profile p --assume-role arn:aws:iam::123456789012:role/r --endpoint-url http://a:1 " +
				"--region us-east-1 --cluster prod"},
		{Flags{state: "j"}, "", "leave --state out: sluice resume slc-1", "leave --state out: sluice resume slc-1"},
		{Flags{state: "j"}, "web", "run sluice rollback slc-2 with its journal, or sluice status",
			"run sluice rollback slc-2 with its journal, or sluice status web --state j"},
		{Flags{state: "j"}, "web", "run sluice sim --from DIR", "run sluice sim --from DIR"},
		{Flags{}, "web", "run sluice scale --tasks 0 first, or give --terminate",
			"run sluice scale web --tasks 0 first, or give --terminate"},
		{Flags{}, "web", "run sluice plan --iam --check", "run sluice plan web --iam --check"},
		{Flags{}, "web", "run sluice deploy to create it; or sluice deploy --take-over to end it",
			"run sluice deploy web to create it; or sluice deploy web --take-over to end it"},
		{Flags{}, "web", "run sluice plan web", "run sluice plan web"},
		{Flags{}, "web", "answer it: sluice continue. To follow it: sluice resume slc-1",
			"answer it: sluice continue web. To follow it: sluice resume slc-1"},
		{Flags{}, "web", "run sluice tasks --id ID --stop", "run sluice tasks web --id ID --stop"},
		{Flags{}, "web", "run sluice history ID for its events", "run sluice history ID for its events"},
		{Flags{}, "web", "run sluice rollback --cluster prod --service web", "run sluice rollback --cluster prod --service web"},
		{Flags{}, "web", "run sluice resume in the application's folder", "run sluice resume in the application's folder"},
		{Flags{}, "web", "run sluice status prod/web", "run sluice status prod/web"},
		{Flags{}, "prod/web", "run sluice status, or sluice deploy", "run sluice status prod/web, or sluice deploy"},
		{Flags{}, "nothing-here", "run sluice status", "run sluice status"},
		{Flags{}, "slc-1", "run sluice status", "run sluice status"},
	} {
		s := &Session{Flags: c.flags, Env: Env{Disk: Disk{os.Getwd, os.DirFS}}}
		s.line.setPlace([]string{c.place}, pflag.NewFlagSet("", pflag.ContinueOnError))
		if got := s.NextStep(c.text); got != c.want || s.NextStep(got) != got {
			t.Errorf("%s\nwant %s\nagain %s", got, c.want, s.NextStep(got))
		}
	}
}

// TestNextStepHasTheFileOfTheCommand: the application may be named by the flag -c.
func TestNextStepHasTheFileOfTheCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("app.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, set := &Session{Env: Env{Disk: Disk{os.Getwd, os.DirFS}}}, pflag.NewFlagSet("", pflag.ContinueOnError)
	set.StringP("config", "c", "", "")
	for _, args := range [][]string{nil, {"-c", "app.yaml"}} {
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		s.line.setPlace(nil, set)
	}
	const want = "run sluice deploy -c app.yaml --tasks 1, or sluice status -c app.yaml"
	if got := s.NextStep("run sluice deploy --tasks 1, or sluice status"); got != want || s.NextStep(got) != got {
		t.Errorf("%s\nagain %s", got, s.NextStep(got))
	}
}

// TestNextStepHasTheServiceOfTheCommand: the service may be named by flags, or by the ID of its deployment.
func TestNextStepHasTheServiceOfTheCommand(t *testing.T) {
	for _, c := range []struct {
		args       []string
		deployment journal.Deployment
		want       string
	}{
		{[]string{"--cluster", "prod", "--service", "web"}, journal.Deployment{}, "run sluice wait prod/web again"},
		{[]string{"--service", "web"}, journal.Deployment{}, "run sluice wait default/web again"},
		{[]string{"--service", "web", "--service", "api"}, journal.Deployment{}, "run sluice wait again"},
		{[]string{"slc-1"}, journal.Deployment{Cluster: "prod", Service: "web"}, "run sluice wait prod/web again"},
	} {
		s, set := &Session{Env: Env{Disk: Disk{os.Getwd, os.DirFS}}}, pflag.NewFlagSet("", pflag.ContinueOnError)
		set.String("cluster", "", "")
		set.StringArray("service", nil, "")
		if err := set.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		s.line.setPlace(set.Args(), set)
		s.line.setPlaceOf(c.deployment)
		if got := s.NextStep("run sluice wait again"); got != c.want {
			t.Errorf("the next step after %q is %q, want %q", c.args, got, c.want)
		}
	}
}
