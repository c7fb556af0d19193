package simtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	everyMutant = flag.Bool("mutants", false, "try every broken rule, not at most one")
	onlyMutants = flag.String("only", "", "with -mutants: the broken rules whose text or file contains this")
)

// mutant is one rule of the engine, broken: text of a source file and what takes
// its place. Nothing of it is in any build: the compiler is given the changed file
// by an overlay.
type mutant struct{ what, file, old, new string }

// mutantsOf are the rules whose loss the simulation must notice, by the kinds of
// services that they are about, as -kinds takes them.
var mutantsOf = []struct {
	kinds string
	rules []mutant
}{
	{"", mutants},
	{"CodeDeploy", shiftedMutants},
	{"by itself", jobMutants},
	{"by name", namedMutants},
	{"ECS itself", nativeMutants},
}

// mutants are rules of more than one kind.
var mutants = []mutant{
	{"weight before health", "internal/stage/capacity/wait.go",
		"\tw := step.NewMemberWatch(m)\n" +
			"\tfor {\n",
		"\tw := step.NewMemberWatch(m)\n" +
			"\tfor n := 0; ; n++ {\n" +
			"\t\tif n == 0 {\n" +
			"\t\t\treturn nil\n" +
			"\t\t}\n"},
	{"one healthy task is enough", "internal/verdict/health/capacity.go",
		"return n.Healthy >= max(n.Desired, c.minimum)", "return n.Healthy >= 1"},
	{"the drain is skipped", "internal/stage/capacity/retire.go",
		"\treturn awaitDrained(ctx, s, members)\n", "\treturn nil\n"},
	{"traffic is not taken before the canary goes", "internal/stage/canaryclean.go",
		"\tif err := capacity.RemoveCanaryTraffic(ctx, s); err != nil {\n" +
			"\t\treturn err\n" +
			"\t}\n",
		""},
	{"what was is not saved before the first write", "internal/stage/begin/begin.go",
		"\t\tif err := s.Memory.Snapshot.Save(ctx, f); err != nil {\n" +
			"\t\t\treturn err\n" +
			"\t\t}\n",
		""},
	{"the canary is forgotten by the clean", "internal/stage/canaryclean.go",
		"\tif canary != nil {\n",
		"\tif canary != nil && s == nil {\n"},
	{"the canary is forgotten by the rollback", "internal/stage/hosting/taskset/taskset.go",
		"\tif err == nil && canary != nil {\n",
		"\tif err == nil && canary != nil && all == nil && canary.ID == \"\" {\n"},
	{"the new primary is forgotten by the rollback", "internal/stage/hosting/taskset/taskset.go",
		"\tif set := live.CreatedByAction(t.step.NewPrimaryID()); set != nil && set.Status != \"PRIMARY\" {\n",
		"\tif set := live.CreatedByAction(t.step.NewPrimaryID()); set != nil && set.Status == \"\" {\n"},
	{"the rollback restores 100 / 0 in the place of what was", "internal/stage/access/balanced/rules.go",
		"\treturn true, writeOver(ctx, b, rule, was)\n",
		"\treturn true, newRouter(b).Driver.SetWeights(ctx, b.step.MakeWrite, route.Route{ID: was.ARN}, sluice.CanaryShare(0))\n"},
	{"the canary service is forgotten by the rollback", "internal/stage/hosting/canaryservice/restore.go",
		"\tif err != nil || canary == nil || sluice.ActionID(canary.ExternalID).Deployment() != s.step.Deployment {\n",
		"\tif err != nil || canary != nil || canary == nil || sluice.ActionID(canary.ExternalID).Deployment() != s.step.Deployment {\n"},
	{"a service that was rolled is not rolled back", "internal/stage/hosting/canaryservice/restore.go",
		"\tif begun {\n",
		"\tif begun && s.step == nil {\n"},
	{"a create is tried again without identity", "internal/ecs/taskset.go",
		"ExternalId: aws.String(string(w.By)), ClientToken: aws.String(w.By.Token()),",
		"ClientToken: aws.String(w.By.Token()),"},
	{"all task sets are deleted after the promotion", "internal/stage/hosting/taskset/taskset.go",
		"\treturn t.retireOldByID(ctx, old)\n",
		"\tothers, err := t.ListOthers(ctx, primary)\n" +
			"\tif err != nil {\n" +
			"\t\treturn err\n" +
			"\t}\n" +
			"\treturn capacity.Retire(ctx, t.step, others...)\n"},
	{"the new primary is not promoted", "internal/stage/hosting/taskset/taskset.go",
		"\treturn m, t.promoteSet(ctx, m)\n",
		"\treturn m, nil\n"},
	{"the old primary goes before the new one is healthy", "internal/stage/hosting/taskset/taskset.go",
		"\tif err := capacity.AwaitNewTasks(ctx, t.step, m, 0); err != nil {\n\t\treturn m, err\n\t}\n\treturn m,", "\treturn m,"},
	{"the claim is not given back", "internal/stage/finish.go",
		"\treleased, err := claim.Release(ctx, s, end.Outcome == sluice.Superseded, drop...)\n",
		"\treleased, _ := true, claim.Release\n\t_ = drop\n"},
	{"a claim of somebody else is passed over", "internal/stage/step/claim.go",
		"\tcase err == nil && k.Deployment == deployment:\n",
		"\tcase err == nil:\n"},
	{"a rule that somebody edited is overwritten", "internal/stage/memory/routes.go",
		"\treturn print == m.Written ||", "\treturn print != \"\" || print == m.Written ||"},
	{"who took the service over does not wait", "internal/stage/claim/takeover.go",
		"\treturn s.PauseFor(ctx, saved.TakenOver.At.Add(step.MaxClaimAge).Sub(s.Clock.Now()))\n",
		"\treturn nil\n"},
	{"stickiness is lost when weights move", "internal/route/alb/rule.go",
		"\t\t\tconfig.TargetGroupStickinessConfig = a.ForwardConfig.TargetGroupStickinessConfig\n", ""},
	{"weights do not sum to the whole", "internal/route/alb/rule.go",
		"Weight: aws.Int32(int32(g.Weight))", "Weight: aws.Int32(int32(min(g.Weight+1, 100)))"},
	{"secrets stand in the journal", "internal/plan/redact.go",
		"\tif kept.Task, lost = withoutSecrets(p.Task, p.Hidden); lost {\n",
		"\tif _, lost = withoutSecrets(p.Task, p.Hidden); lost {\n"},
	{"a step that failed is passed over", "internal/stage/task/await.go",
		"\tif len(failed) == 0 {\n", "\tif v != nil {\n"},
	{"the cause of a failure is not told", "internal/stage/capacity/wait.go",
		"\t\tErr: fmt.Errorf(\"%d of %d tasks stopped: %s (task %s)\", v.Cause.Count, max(v.Counts.Desired, v.Cause.Count),\n" +
			"\t\t\tv.Cause.Text, v.Cause.Task),\n",
		"\t\tErr: fmt.Errorf(\"%d of %d tasks stopped: %s (task %s)\", v.Cause.Count, max(v.Counts.Desired, v.Cause.Count), \"some\", v.Cause.Task),\n"},
	{"a failure is told at every look", "internal/stage/step/notes.go",
		"\tif e.failures[cause] >= f.Count {\n",
		"\tif f.Count == 0 {\n"},
	{"suspension is not given back", "internal/stage/finish.go",
		"\tif err := scaling.Return(ctx, s); err != nil {\n",
		"\t_ = scaling.Return\n\tif err := error(nil); err != nil {\n"},
	{"what was suspended before is saved after the write", "internal/stage/scaling/scaling.go",
		"\t\tbase, err := baseOf(ctx, s, live, now)\n" +
			"\t\tif err != nil {\n" +
			"\t\t\treturn err\n" +
			"\t\t}\n" +
			"\t\th = memory.Override{Base: base, Wanted: firstOverride(s, base, now)}\n" +
			"\t}\n" +
			"\th.Phase = memory.OverrideSetting\n" +
			"\tif err := saveOverride(ctx, s, h); err != nil {\n" +
			"\t\treturn err\n" +
			"\t}\n",
		"\t\th = memory.Override{Base: now, Wanted: firstOverride(s, now, now)}\n" +
			"\t}\n"},
	{"scaling that somebody resumed is overwritten", "internal/autoscaling/settle.go",
		"\tdefault:\n\t\treturn true\n", "\tdefault:\n\t\t*to = goal\n"},
	{"scaling is not suspended before traffic moves", "internal/stage/begin/begin.go",
		"\treturn scaling.Override(ctx, s, live)\n",
		"\treturn nil\n"},
	{"tasks stop while callers have their addresses", "internal/stage/access/discovered/traffic.go",
		"\tif _, ok, err := step.LoadShiftTime(ctx, d.step); err != nil || !ok {\n",
		"\tif _, ok, err := step.LoadShiftTime(ctx, d.step); err != nil || !ok || ok {\n"},
	{"who leaves the name goes before who enters it", "internal/route/cloudmap/driver.go",
		"\tif err := d.registerMembers(ctx, act, c); err != nil {\n\t\treturn err\n\t}\n\treturn " +
			"d.deregisterMembers(ctx, act, c)\n",
		"\tif err := d.deregisterMembers(ctx, act, c); err != nil {\n\t\treturn err\n\t}\n\treturn " +
			"d.registerMembers(ctx, act, c)\n"},
	{"a gate passes without a value", "internal/stage/gates/gate.go",
		"case r != appfile.Pass || j.HasValues:", "case r != appfile.Pass || j.Verdict == analysis.Undecided:"},
	{"the plan forgets a write", "internal/plan/mode/tasksets.go",
		"\taddNewPrimary(p, s)\n\tif !s.KeepOld", "\ts.AddWrite(\"ecs:CreateTaskSet\", p.ServiceResource())\n" +
			"\ts.AddWrite(\"ecs:UpdateTaskSet\", plan.NewPrimarySet)\n\tif !s.KeepOld"},
}

const root = "../../.."

func (m mutant) source() (string, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s: what it changes in %s stands there %d times, not once", m.what, m.file, n)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// Each broken rule still has the text that it breaks.
func TestMutantsApply(t *testing.T) {
	for _, of := range mutantsOf {
		for _, m := range of.rules {
			if _, err := m.source(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The checkers see every broken rule within a thousand seeds: if they saw none,
// the simulation would prove nothing.
func TestMutantsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	n := 0
	for _, of := range mutantsOf {
		for _, m := range of.rules {
			if m.isSelected(n) {
				t.Run(m.what, func(t *testing.T) { m.caught(t, of.kinds) })
			}
			n++
		}
	}
}

// rareness is in how many states of the source a broken rule is tried once: its test binary needs half a minute.
const rareness = 100

// isSelected reports whether broken rule number n is tried: with -mutants those that -only selects, otherwise at
// most one, which SLUICE_SEED_START chooses.
func (m mutant) isSelected(n int) bool {
	if *everyMutant {
		return strings.Contains(m.what, *onlyMutants) || strings.Contains(m.file, *onlyMutants)
	}
	return n == int(firstSeed()/1000%rareness)-1
}

var foundAt = regexp.MustCompile(`(?s)after (\d+) seeds.*?\[(P\d: [^\n]*)`)

func (m mutant) caught(t *testing.T, kinds string) {
	binary := m.build(t)
	cmd := exec.Command(binary, "-test.run", "^TestSimulation$", "-seeds", "1000", "-kinds", kinds, "-written",
		t.TempDir())
	out, err := cmd.CombinedOutput()
	found := foundAt.FindSubmatch(out)
	if err == nil || found == nil {
		t.Fatalf("not caught in 1000 seeds: %v\n%s", err, out)
	}
	t.Logf("caught after %s seeds by %.160s", found[1], found[2])
	if _, small, ok := strings.Cut(string(out), "made small:\n"); ok {
		small, _, _ = strings.Cut(small, "written as")
		t.Logf("its scenario:\n%s", small)
	}
}

// build compiles this package's tests with the broken source.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	source, err := m.source()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed, overlay, binary := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"),
		filepath.Join(dir, "mutant.test")
	original, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{changed: []byte(source), overlay: text} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// nativeMutants are rules of services with ECS's own strategies.
var nativeMutants = []mutant{
	{"a rollback deploys while ECS removes the former tasks", "internal/stage/rolling/rollback.go",
		"if err == nil && !stopped && live.ForVerdict().IsNative() {", "if err == nil && !stopped && false {"},
	{"what ECS lets pass is a lack of progress", "internal/verdict/polling.go",
		"\tif r.isHeld() {\n", "\tif false {\n"},
}
