package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// remote has a few values, and counts how often it is asked.
type remote struct{ asked map[string]int }

func (r remote) find(name string, values map[string]string) (string, error) {
	r.asked[name]++
	if v, ok := values[name]; ok {
		return v, nil
	}
	if name == "/denied" {
		return "", &sluice.Error{Op: "ssm:GetParameter", Resource: name, Kind: sluice.Denied,
			Err: errors.New("AccessDeniedException: no"), Next: "allow ssm:GetParameter"}
	}
	return "", &sluice.Error{Op: "read", Kind: sluice.NotFound, Err: errors.New("NotFound")}
}

func (r remote) Parameter(name string) (value, kind string, err error) {
	kind = map[string]string{"/list": "StringList", "/key": "SecureString"}[name]
	value, err = r.find(name, map[string]string{"/level": "info", "/list": "a,b", "/key": "hush-hush"})
	return value, kind, err
}

func (r remote) SecretARN(name string) (string, error) {
	return r.find(name, map[string]string{"db": "arn:db-AbCdEf"})
}

func (r remote) StackOutput(stack, key string) (string, error) {
	return r.find(stack+" "+key, map[string]string{"network VpcId": "vpc-1"})
}

func (r remote) Export(name string) (string, error) {
	return r.find(name, map[string]string{"vpc-id": "vpc-2"})
}

func (r remote) State(string) ([]byte, error) { return nil, errors.New("no state") }

func withRemote(region string) (*render.Environment, remote) {
	r := remote{map[string]int{}}
	e := &render.Environment{Open: func(string) (render.Remote, error) { return r, nil }}
	e.StartPlugins(region)
	e.AddPlugin("cloudformation", "")
	e.AddPlugin("ssm", "other_")
	return e, r
}

func TestLookupsInAWS(t *testing.T) {
	for text, want := range map[string]string{
		"{{ ssm `/level` }} {{ ssm `/level` }}":       "info info",
		"{{ ssm `/list` 1 }}":                         "b",
		"{{ other_ssm `/level` }}":                    "info",
		"{{ secretsmanager_arn `db` }}":               "arn:db-AbCdEf",
		"{{ cfn_output `network` `VpcId` }}":          "vpc-1",
		"{{ cfn_export `vpc-id` }}":                   "vpc-2",
		"std.native('ssm')('/level')":                 "\"info\"\n",
		"std.native('ssm_list')('/list', 0)":          "\"a\"\n",
		"std.native('cfn_output')('network','VpcId')": "\"vpc-1\"\n",
		"std.native('secretsmanager_arn')('db')":      "\"arn:db-AbCdEf\"\n",
	} {
		e, r := withRemote("us-east-1")
		file := "a.json"
		if strings.HasPrefix(text, "std") {
			file = "a.jsonnet"
		}
		_, got, err := e.Evaluate(nil, file, []byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
		for name, n := range r.asked {
			if n != 1 {
				t.Errorf("%s: %s was read %d times", text, name, n)
			}
		}
	}
}

func TestLookupsWithoutAValue(t *testing.T) {
	for _, c := range []struct{ text, message, next string }{
		{"{{ ssm `/none` }}", "ssm: the parameter /none does not exist in us-east-1",
			"check its name: aws ssm get-parameter --name /none"},
		{"{{ ssm `/denied` }}", "ssm: the parameter /denied: ssm:GetParameter (/denied): AccessDeniedException: no",
			"allow ssm:GetParameter"},
		{"{{ ssm `/list` }}", "it is a list: give the index", "check its value"},
		{"{{ ssm `/list` 2 }}", "it has no element 2; it has 2", ""},
		{"{{ ssm `/level` 0 }}", "it is no list", ""},
		{"{{ ssm }}", "ssm takes 1 argument, and got 0", ""},
		{"{{ cfn_output `network` `No` }}", "cfn_output: the output No of the stack network does not exist in us-east-1",
			"describe-stacks --stack-name network"},
		{"{{ cfn_export `no` }}", "cfn_export: the export no does not exist", "list-exports"},
		{"{{ secretsmanager_arn `no` }}", "secretsmanager_arn: the secret no does not exist", "describe-secret"},
		{"{{ tfstate `a.b` }}", "the template function tfstate is not known", "add the plugin tfstate"},
	} {
		e, _ := withRemote("us-east-1")
		_, _, err := e.Evaluate(nil, "a.json", []byte("\n"+c.text))
		var p *definition.Problem
		if !errors.As(err, &p) || p.Line != 2 || !strings.Contains(p.Message, c.message) || !strings.Contains(p.Next, c.next) {
			t.Errorf("%s: %+v, %v", c.text, p, err)
		}
	}
}

// Only decrypted values are secret, and AWS is opened at the first lookup.
func TestSecureStringsAreSecret(t *testing.T) {
	e, _ := withRemote("")
	if _, _, err := e.Evaluate(nil, "a.json", []byte("{{ ssm `/key` }} {{ ssm `/level` }}")); err != nil {
		t.Fatal(err)
	}
	if got := e.Secrets(); len(got) != 1 || got[0] != "hush-hush" {
		t.Error(got)
	}
	closed := &render.Environment{Open: func(string) (render.Remote, error) { return nil, errors.New("no credentials") }}
	closed.StartPlugins("")
	if _, _, err := closed.Evaluate(nil, "a.json", []byte("{{ env `A` `b` }}")); err != nil {
		t.Error(err)
	}
	if _, _, err := closed.Evaluate(nil, "a.json", []byte("{{ ssm `/key` }}")); err == nil ||
		!strings.Contains(err.Error(), "no credentials") {
		t.Error(err)
	}
}
