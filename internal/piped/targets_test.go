package piped_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// inRegions is an entry with one deploy target for each Region, named after it.
func (r *rig) inRegions(regions ...string) string {
	r.Helper()
	entry := r.entry(regions...)
	for _, name := range regions {
		region, _, _ := strings.Cut(name, "/")
		entry = strings.Replace(entry, `"region":"us-east-1"},"name":"`+name+`"`, `"region":"`+region+`"},"name":"`+name+`"`, 1)
		entry = strings.Replace(entry, `"name":"`+name+`","config":{"region":"us-east-1"}`,
			`"name":"`+name+`","config":{"region":"`+region+`"}`, 1)
	}
	return entry
}

// onTargets begins a quick sync on several deploy targets.
func (r *rig) onTargets(target source, names ...string) *deployment {
	r.Helper()
	r.plugin.kill()
	r.plugin = r.launch(r.inRegions(names...))
	d := r.begin(source{image: "sim/web:v1"}, target)
	d.DeployTargetsByPlugin["ecs"].DeployTargets = names
	return d
}

// registering is a file without a service: it registers its task definition, in any Region.
func registering() source {
	return source{task: jobFile(), app: `apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: web
  plugins: {ecs: {input: {taskDefinitionFile: taskdef.yaml}}}
`}
}

// Two deploy targets run in order, each with metadata of its own.
func TestSeveralDeployTargets(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.onTargets(registering(), "us-east-1", "eu-west-1")
	d.all()
	log := r.piped.text(d.Stages[0].GetId())
	if one, two := strings.Index(log, "deploy target us-east-1"), strings.Index(log, "deploy target eu-west-1"); one < 0 ||
		two < one || strings.Count(log, "RegisterTaskDefinition job: job:1") != 2 {
		t.Errorf("log:\n%s", log)
	}
	found := 0
	for key := range r.piped.values() {
		if strings.HasSuffix(key, "/ecs/us-east-1/ground") || strings.HasSuffix(key, "/ecs/eu-west-1/ground") {
			found++
		}
	}
	if found != 2 {
		t.Errorf("metadata %v", r.piped.values())
	}
	d.run(d.back())
}

// Every deploy target is planned before the first one writes: files that one of them refuses change none.
func TestTargetsArePlannedBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.onTargets(source{app: appFile("")}, "us-east-1", "eu-west-1")
	if log := d.fails(d.Stages[0]); written(log) || !strings.Contains(log, "deploy target eu-west-1: ") ||
		!strings.Contains(log, "is in Region us-east-1") {
		t.Errorf("log:\n%s", log)
	}
	r.want(serves("v1"))
	d.run(d.back())
	if log := r.piped.text(d.back().GetId()); strings.Count(log, "this deployment changed nothing") != 2 {
		t.Errorf("log of the rollback:\n%s", log)
	}
}

// Two deploy targets with one account and Region would deploy one service twice.
func TestTargetsOfOneRegionAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.onTargets(source{app: appFile("")}, "us-east-1", "us-east-1/again")
	if log := d.fails(d.Stages[0]); written(log) ||
		!strings.Contains(log, "deploy targets us-east-1 and us-east-1/again are both account 123456789012 in us-east-1") {
		t.Errorf("log:\n%s", log)
	}
	r.want(serves("v1"))
	d.run(d.back())
}

// A rollback over several deploy targets goes on after one failed: it restores on the others.
func TestRollbackContinuesWithTheOtherDeployTargets(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.onTargets(registering(), "eu-west-1", "us-east-1")
	d.all()
	r.plugin.kill()
	r.plugin = r.launch(strings.Replace(r.inRegions("eu-west-1", "us-east-1"), `"region":"eu-west-1"`,
		`"region":"eu-west-1","profile":"no-such-profile"`, 1))
	if log := d.fails(d.back()); !strings.Contains(log, "deploy target us-east-1") ||
		!strings.Contains(log, "no-such-profile") {
		t.Errorf("log:\n%s", log)
	}
}

// A deployment that was refused at the claim wrote nothing. Its rollback says so, also if the service belongs to
// another application since.
func TestRefusedAtTheClaimHasNothingToRollBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.usual()
	r.tag("sluice:deployment", "slc-others 2099-01-01T00:00:00Z")
	if log := d.fails(d.forward()[0]); written(log) || !strings.Contains(log, "another deployment owns the claim") {
		t.Errorf("log:\n%s", log)
	}
	r.tag("pipecd-dev-managed-by", "piped-ecs-plugin")
	r.tag("pipecd-dev-application", "app-of-others")
	d.run(d.back())
	if log := r.piped.text(d.back().GetId()); written(log) || !strings.Contains(log, "this deployment changed nothing") {
		t.Errorf("log of the rollback:\n%s", log)
	}
	if claim := r.tags()["sluice:deployment"]; !strings.HasPrefix(claim, "slc-others") {
		t.Errorf("the claim is %q", claim)
	}
	r.want(serves("v1"))
}

// With a wrong key in its entry the plugin serves, and every page of PipeCD has the reason.
func TestWrongEntryIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	good := r.entry("dt")
	for name, c := range map[string]struct{ old, new, tells string }{
		"own configuration":  {`"name":"ecs"`, `"name":"ecs","config":{"a":1}`, `config: json: unknown field "a"`},
		"no region":          {`"region":"us-east-1"`, `"profile":"p"`, "deploy target dt: config has no region"},
		"unknown key":        {`"region":`, `"roleArnn":"x","region":`, `unknown field "roleArnn"`},
		"wrong type":         {`"region":"us-east-1"`, `"region":1`, "region"},
		"token without role": {`"region":`, `"tokenFile":"/t","region":`, "no roleARN"},
	} {
		r.plugin.kill()
		r.plugin = r.launch(strings.Replace(good, c.old, c.new, 1))
		v1 := source{image: "sim/web:v1"}.write(t)
		out := got(r.plugin.DetermineStrategy(context.Background(),
			&contract.DetermineStrategyRequest{Input: r.input(v1, source{}.write(t))}))(t)
		live := got(r.plugin.live.GetLivestate(context.Background(),
			&contract.GetLivestateRequest{DeploySource: v1, DeployTargets: []string{"dt"}}))(t).GetSyncState()
		d := r.begin(source{image: "sim/web:v1"}, source{}, stagesOf()...)
		for where, text := range map[string]string{"strategy": out.GetSummary(), "live state": live.GetReason(),
			"log": d.fails(d.forward()[0])} {
			if !strings.Contains(text, c.tells) {
				t.Errorf("%s: %s: %q", name, where, text)
			}
		}
		d.run(d.back())
	}
	r.want(serves("v1"))
}
