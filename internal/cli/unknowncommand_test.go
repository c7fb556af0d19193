package cli

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// runOffline runs the command line without AWS, in an empty folder.
func runOffline(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	env := session.Env{Args: args, In: strings.NewReader(""), Out: &stdout, Err: &stderr,
		Getenv: func(string) string { return "" }, Rand: strings.NewReader(strings.Repeat("x", 1<<10)),
		OpenJournal: journal.Open, StateDir: dir,
		Disk: session.Disk{Getwd: func() (string, error) { return dir, nil },
			FS: func(dir string) fs.FS { return os.DirFS(dir) }},
		Notify:     func(chan<- os.Signal) func() { return func() {} },
		IsTerminal: func(io.Writer) bool { return false }, Size: func(io.Writer) (int, int) { return 0, 0 }}
	code = Main(env)
	return code, stdout.String(), stderr.String()
}

// A command of another program is answered with the command that does the same.
func TestUnknownCommandNamesAnother(t *testing.T) {
	for name, next := range otherCommands {
		code, _, errs := runOffline(t, name)
		if code != 1 || !strings.Contains(errs, `there is no command "`+name+`"`) ||
			!strings.Contains(errs, "next: "+next) {
			t.Errorf("%s: %d\n%s", name, code, errs)
		}
	}
	for args, want := range map[string]string{
		"validate":   "run sluice plan",
		"depoly":     "run sluice deploy, or sluice --help",
		"status all": "run sluice history to list the deployments of all services",
	} {
		code, _, errs := runOffline(t, strings.Fields(args)...)
		if code != 1 || !strings.Contains(errs, want) {
			t.Errorf("sluice %s: %d\n%s", args, code, errs)
		}
	}
}

// A flag of ecspresso is answered with what to use instead.
func TestUnknownFlagNamesAnother(t *testing.T) {
	for words, next := range otherFlags {
		args := strings.Fields(words)
		if len(args) == 1 {
			args = append([]string{"deploy"}, args...)
		}
		code, _, errs := runOffline(t, args...)
		if code != 1 || !strings.Contains(errs, "unknown flag: "+args[1]) || !strings.Contains(errs, "next: "+next) {
			t.Errorf("%s: %d\n%s", words, code, errs)
		}
	}
	for args, want := range map[string]string{
		"register --output":             "next: give --output text or --output json",
		"register --output --dry-run":   "next: give --output text or --output json",
		"deploy --skip-task-defintion":  "next: use --skip-task-definition, or run sluice deploy --help",
		"plan --profil x":               "next: use --profile, or run sluice plan --help",
		"deploy --xyzzy":                "next: run sluice deploy --help",
		"deploy --detailed-exitcode":    "next: leave it out: --detailed-exitcode is a flag of sluice plan; or run",
		"render examples":               `"examples" is not one of the files that it prints`,
		"render":                        "next: give one of config, servicedef, taskdef",
		"render tskdef":                 "next: give one of config, servicedef, taskdef",
		"render taskdef servicedef a b": "it takes 1 argument, but 2 were given",
		"exec prod/web -- ls":           "next: give the command in quotes: --command 'ls -l'",
		"sim shop":                      "it takes no arguments, but shop was given\nnext: name the folder of an application with --from",
		"rehearse --faults crashloop":   `there is no scenario "crashloop"; did you mean "crash-loop"?`,
		"plan prod/web":                 "or write its files: sluice init --cluster prod --service web",
		"status web":                    "next: name the application's folder, or the service as CLUSTER/web",
		"render task-definition config service-definition": "read the application",
		"revisions --output tsv":                           "jq -r prints json as TSV with @tsv",
		"deploy --wait-until ecs:BAKE":                     `"BAKE" is no lifecycle stage of ECS: give one of RECONCILE_SERVICE`,
		"scale --wait-until paused":                        "sluice cannot wait for paused here: give it to sluice deploy or sluice wait",
		"deploy --wait-until codedeploy:":                  `"" is no lifecycle event of ECS: give one of BeforeInstall, Install`,
		"scale --wait-until codedeploy:X":                  "sluice cannot wait for codedeploy:X here: give it to sluice deploy or sluice wait",
		"run --wait-until running":                         "give --no-wait",
		"tasks trace":                                      "next: run sluice status, which says why tasks fail",
		"tasks list":                                       "next: run sluice tasks",
		"exec --port-forward":                              "--port-forward needs the port of the container",
		"exec -L 80:80":                                    "-L is not LOCAL:HOST:PORT",
		"exec --port 80":                                   "next: give --port-forward too",
		"rollback --no-wait --deregister-task-definition":  "--no-wait exits before the revision can be deregistered",
		"init --jsonnet":                                   "next: give --format ecspresso",
		"init --format ecspresso --jsonnet":                "next: give --service or --task-definition",
		"init --task-definition a --service b":             "next: give one of them",
		"init --format ecspresso --service a --task-definition-path b/c": "the name of a definition's file has a folder",
		"scale canary 6":              "sluice scale: the count is given without its flag: 6\nnext: run sluice scale canary --tasks 6\n",
		"scale 6 canary":              "next: run sluice scale canary --tasks 6\n",
		"scale 6":                     "next: run sluice scale --tasks 6\n",
		"scale 6 --tasks 3":           "read the application (6): the file does not exist",
		"scale a b":                   "it takes 1 argument, but 2 were given\nnext: give the folder of one application\n",
		"refresh a b":                 "it takes 1 argument, but 2 were given\nnext: give the folder of one application\n",
		"run job ./manage.py migrate": "next: write -- before the command: sluice run job -- ./manage.py migrate\n",
		"run job ls -l":               "next: write -- before the command: sluice run DIR -- COMMAND; or run sluice run --help\n",
		"run job sh --replicas 2":     "next: write -- before the command: sluice run DIR -- COMMAND",
		"run job --dry-rn":            "next: use --dry-run, or run sluice run --help",
		"run job ./job --dry-run":     "next: write -- before the command: sluice run job -- ./job\n",
		"run job b -- ls":             "next: give the folder of one application\n",
	} {
		code, _, errs := runOffline(t, strings.Fields(args)...)
		if code != 1 || !strings.Contains(errs, want) {
			t.Errorf("sluice %s: %d\n%s", args, code, errs)
		}
	}
}

// A value that is given and empty is refused by every command: its default would do something else. Words of another
// command may be empty.
func TestEmptyValuesAreRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rollback", "--to", ""}, "sluice rollback: --to is empty\nnext: give a value, or leave --to out"},
		{[]string{"deploy", ".", "--endpoint-url="}, "--endpoint-url is empty"},
		{[]string{"deploy", "--assume-role", " "}, "--assume-role is empty"},
		{[]string{"tasks", "--stop", "--id", ""}, "--id is empty"},
		{[]string{"wait", "--service", ""}, "--service is empty"},
		{[]string{"run", "--tags", ""}, "--tags is empty"},
		{[]string{"deploy", ""}, "sluice deploy: an argument is empty\nnext: give a value"},
		{[]string{"plan", "-c", ""}, "--config is empty"},
		{[]string{"approve", ""}, "an argument is empty"},
		{[]string{"run", ".", "--", ""}, "the folder has no application file"},
	} {
		if code, _, errs := runOffline(t, c.args...); code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%q: %d\n%s", c.args, code, errs)
		}
	}
	if code, _, errs := runOffline(t, "__complete", "plan", ""); code != 0 || strings.Contains(errs, "is empty") {
		t.Errorf("completion: %d\n%s", code, errs)
	}
}

// Values that a flag cannot have are refused before AWS is asked. A value of 0, a flag with its opposite and a second value
// were accepted: one of them had no effect.
func TestValuesThatHaveNoEffectAreRefused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"deploy --revision 0", "it must be the number of a revision, 1 or more"},
		{"run --revision -1", "it must be the number of a revision, 1 or more"},
		{"deploy --wait=true --no-wait", "--wait and --no-wait are both given"},
		{"deploy --no-update-service --update-service=false", "--update-service and --no-update-service are both given"},
		{"verify --get-secrets --no-get-secrets", "--get-secrets and --no-get-secrets are both given"},
		{"wait --service web --service api --service web", "a --service is given twice"},
		{"wait --service web --service=", "--service is empty"},
		{"wait --service web --progress-deadline 0", "--progress-deadline is not above 0"},
		{"wait --service web --progress-deadline -5s", "--progress-deadline is not above 0"},
		{"rollback --cluster prod --service web --to web", "--to is web, which is not family:revision"},
		{"rollback --cluster prod --service web --to web:0", "which is not family:revision"},
		{"rollback --cluster prod --service web --to web:99999999999", "which is not family:revision"},
		{"rollback --cluster prod --service web --to :3", "which is not family:revision"},
	} {
		if code, _, errs := runOffline(t, strings.Fields(c.args)...); code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("sluice %s: %d\n%s", c.args, code, errs)
		}
	}
}

// A value that a flag cannot have is told with the values that are possible, and the next step has the one that was meant.
func TestWrongValuesNameTheRightOnes(t *testing.T) {
	const duration = "but must be a duration in h, m and s, such as 90s, 10m or 1h30m"
	for args, want := range map[string]string{
		"gate test --since 3d":           `sluice gate test: --since is "3d", ` + duration + "\nnext: give --since 72h\n",
		"gate test --since 1d12h":        "next: give --since 36h\n",
		"gate test --since 1w":           "next: give --since 168h\n",
		"deploy --timeout 15":            `--timeout is "15", ` + duration + "\nnext: give --timeout 15s or --timeout 15m\n",
		"deploy --bake 2d":               `--bake is "2d", ` + duration + "\nnext: give --bake 48h\n",
		"wait --timeout 1h30":            "next: give --timeout 1h30m\n",
		"wait --bake 5min":               "next: give --bake 5m\n",
		"wait --bake 30sec":              "next: give --bake 30s\n",
		"wait --bake 2months":            "next: give a duration such as 90s, 10m or 1h30m\n",
		"wait --bake 99999999999999999d": "next: give a duration such as 90s, 10m or 1h30m\n",
		"continue --timeout soon":        "next: give a duration such as 90s, 10m or 1h30m\n",
		"deploy --bake -5m":              `--bake is "-5m", but must be a duration`,
		"deploy --output jsn":            `sluice deploy: --output is "jsn", but must be text or json` + "\nnext: give --output json\n",
		"plan --output markdwn":          `--output is "markdwn", but must be text, json or markdown` + "\nnext: give --output markdown\n",
		"plan --output x":                "next: give --output text, --output json or --output markdown\n",
		"revisions --output tsv":         "jq -r prints json as TSV with @tsv\nnext: give --output text or --output json\n",
		"rehearse --output jsno":         `--output is "jsno", but must be text, json or markdown` + "\nnext: give --output json\n",
		"init --format piped":            `--format is "piped", but must be sluice, pipecd or ecspresso` + "\nnext: give --format pipecd\n",
		"init --pipeline canry --service web": `--pipeline is "canry", but must be canary, blue-green or rolling` +
			"\nnext: give --pipeline canary\n",
		"deploy --wait-until stabel": `--wait-until is "stabel", but must be deployed, stable, paused, codedeploy:EVENT or ecs:STAGE` +
			"\nnext: give --wait-until stable\n",
	} {
		if code, _, errs := runOffline(t, strings.Fields(args)...); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("sluice %s: exit code %d, and it printed\n%sbut want\n%s", args, code, errs, want)
		}
	}
}

// The help of a flag is shown in full, also if its name could be that of a secret.
func TestHelpIsNotMasked(t *testing.T) {
	for _, command := range []string{"verify", "render"} {
		if _, out, errs := runOffline(t, command, "--help"); strings.Contains(out+errs, "***") {
			t.Errorf("%s%s", out, errs)
		}
	}
}

// Flags of ecspresso that change nothing here, or have another name, are known.
func TestFlagsOfEcspressoAreKnown(t *testing.T) {
	for _, args := range []string{"deploy --wait --wait-until stable", "deploy --wait=false", "scale --no-wait --wait-until deployed",
		"refresh --wait", "rollback --no-deregister-task-definition --rollback-events DEPLOYMENT_FAILURE",
		"wait --until stable --config x", "deregister --force --keeps 3", "run --wait-until stopped --propagate-tags NONE",
		"appspec --no-update-service", "appspec --update-service", "diff --without-service", "tasks --find", "delete --terminate --force",
		"deploy --skip-task-definition --revision 3 --no-update-service", "--log-format json status", "revisions --output table",
		"exec --id a --command sh --container web", "verify --no-get-secrets --no-put-logs", "init --force-overwrite --jsonnet"} {
		code, out, errs := runOffline(t, append(strings.Fields(args), "--help")...)
		if code != 0 || out+errs == "" || strings.Contains(errs, "unknown") {
			t.Errorf("sluice %s: %d\n%s", args, code, errs)
		}
	}
}

// Every command that takes an application has a line in the script of the formats, for each of them.
func TestEveryFormat(t *testing.T) {
	script, err := os.ReadFile("../../cmd/sluice/testdata/script/formats.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range reference().Commands() {
		if c.Flags().Lookup("config") == nil {
			continue
		}
		for _, dir := range []string{"own", "piped", "presso"} {
			line := regexp.MustCompile(`(?m)^(exec|exits \d) sluice ` + c.Name() + `( .*)? ` + dir + `$`)
			if !line.Match(script) {
				t.Errorf("formats.txtar does not run sluice %s %s", c.Name(), dir)
			}
		}
	}
}

// The table has no command that sluice has.
func TestOtherCommandsDoNotExist(t *testing.T) {
	s, err := session.New(session.Env{Rand: strings.NewReader(strings.Repeat("x", 1<<10)), Out: io.Discard,
		Err: io.Discard, Getenv: func(string) string { return "" }, IsTerminal: func(io.Writer) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range (&program{s}).newRootCommand().Commands() {
		if otherCommands[c.Name()] != "" {
			t.Errorf("sluice %s exists, so otherCommands must not answer it", c.Name())
		}
	}
}

// --json is --output json, for every command.
func TestJSONFlag(t *testing.T) {
	for args, want := range map[string]string{
		"version --json":                       `{"version":`,
		"--json version":                       `{"version":`,
		"version --json=false":                 "sluice ",
		"rehearse --json nowhere":              "",
		"completion bash":                      "bash completion",
		"__complete rehearse --faults kil":     "killed\t",
		"__complete rehearse --faults killed,": "killed,good\t",
	} {
		_, out, errs := runOffline(t, strings.Fields(args)...)
		if !strings.Contains(out, want) {
			t.Errorf("sluice %s: %s\n%s", args, out, errs)
		}
	}
}
