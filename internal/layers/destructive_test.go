package layers

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// destructive finds commands that remove, stop or overwrite something, or end a deployment of another process or person.
var destructive = regexp.MustCompile(`\baws [a-z0-9-]+ (delete|deregister|terminate|stop|update|modify|remove|put|` +
	`disable|revoke|detach|reboot)|--take-over|--adopt|--terminate|--tasks 0|--stop\b|sluice (delete|deregister)|` +
	`onOtherTargets: remove|remove the tag`)

// destructiveAdvice lists every advice with a destructive command: the facts that must hold before it may be printed,
// and the test or script that shows the advice where they hold, or its absence where they do not.
var destructiveAdvice = map[string]struct{ facts, proof string }{
	"deregister them: aws elbv2 deregister-targets": {
		"the service of the files exists; two reads show the target; no task of the cluster has its address",
		"TestDeregisteringIsAdvisedOnlyForTargetsOfNoTask"},
	"delete it: aws ecs delete-task-set": {
		"the service exists and lists the task set; its target group is one of the files, and sluice did not create it",
		"TestTaskSetOfOthersInOurGroups"},
	"switch it in place while no deployment runs: aws ecs update-service": {
		"the service exists with another deployment controller than its files", "TestRefusedBeforeAnythingIsWritten"},
	"set `deploymentController: {type: …}` in the service definition. Or switch it in place while no deployment runs": {
		"the service exists with another deployment controller than its files", "TestRefusedBeforeAnythingIsWritten"},
	"switch it in place while no deployment runs. Its running tasks become a task set": {
		"the service exists with controller ECS, and its files request EXTERNAL", "TestAdvisedSwitchOfTheControllerWorks"},
	"correct its ARN. Or create it and set the new ARN: … && aws elbv2 modify-target-group-attributes": {
		"no target group has the name: the command creates it first", "TestAdvisedTargetGroupIsLikeThePrimary"},
	"check the port of the targets: aws elbv2 modify-target-group": {
		"the target group exists, and no container has the port of its health checks", "TestAdvisedHealthCheckPortWorks"},
	"continue on the machine with its journal. If that journal is lost, run sluice deploy --adopt": {
		"the service has leftovers of sluice, and neither a claim nor the journal names their deployment", "adopt.txtar"},
	"wait for it to end, or resume it with its journal. To end it, run sluice deploy --take-over": {
		"the claim on the service is of a deployment that is not in the journal", "adopt.txtar"},
	"…; or give this command --take-over, which rolls it back first": {
		"a deployment of the service in this journal has not ended", "takeover.txtar"},
	"wait for it, check it with sluice status, or take it over with --take-over": {
		"another process runs the deployment", "takeover.txtar"},
	"wait for the other deployment to end (see sluice status), or end it: sluice deploy --take-over": {
		"the claim, read under the write, is of another deployment", "TestClaimOfAThirdIsNotTaken"},
	"run sluice status to see the other deployment; to take over the service again": {
		"five reads show no claim of ours, or one shows the claim of another", "TestLostClaimStopsTheDeployment"},
	"remove the tag if no deployment of the service runs, or run sluice deploy --take-over": {
		"the claim tag has a value that is no claim", "TestStateHasTheClaimAndTheSuspension"},
	"continue on the machine with its journal. If that journal is lost, give this command --adopt": {
		"as for sluice deploy; the command deploys nothing", "adopt.txtar"},
	"wait for it to end, or resume it with its journal. To end it, give this command --take-over": {
		"as for sluice deploy; the command deploys nothing", "adopt.txtar"},
	"remove the tag if no deployment of the service runs, or give this command --take-over": {
		"the claim tag has a value that is no claim", "TestStateHasTheClaimAndTheSuspension"},
	"remove the tag if no deployment of the service runs\n": {
		"the claim tag has a value that is no claim", "TestStateHasTheClaimAndTheSuspension"},
	"name its journal with --state. If that journal is lost, run sluice rollback --adopt": {
		"the claim on the service is of a deployment that is not in the journal", "other-journal.txtar"},
	"roll it back on the machine with its journal. If that is lost": {
		"as for sluice deploy; the command rolls back", "adopt.txtar"},
	"wait for it to end, or run sluice rollback … with its journal": {
		"the service has the claim of a deployment of another journal", "rolling-history.txtar"},
	"name the task with --id: sluice tasks --id … --stop": {
		"a person gave --stop and the ID as an argument, and no folder has its name", "mistakes.txtar"},
	"use … or less; with a raised quota, first run: aws ecs update-service": {
		"the service exists, and a person asked for that many tasks; AWS refuses the command unless the quota is raised",
		"TestTasksBeyondTheQuotaAreRefused"},
	"forward that rule to the group of the primary: aws elbv2 modify-": {
		"a read during a rollback shows that no group of the rule but the canary's has weight",
		"TestARuleOnlyToTheCanaryIsLedToThePrimary"},
	"remove the other groups from the rule: aws elbv2 modify-": {
		"a read of the rule shows a group of the files with weight, and others without any", "TestChoose"},
	"name another rule under listenerRules. Or take from … of its requests: aws elbv2 modify-": {
		"a read of the rule shows a group of the files with weight; the text names what the others lose", "TestChoose"},
	"stop the task, which still runs: sluice tasks --id ID --stop": {
		"the timeout of a deployment without a service passed while its tasks ran", "run.txtar"},
	"run sluice resume … to release it, or give this command --take-over": {
		"the claim is of a deployment of this journal that has ended", "TestClaimThatRanOutIsTaken"},
	"give --terminate, which deletes them too": {
		"a person asked to delete this service, and it has task sets", "adopt.txtar"},
	"run sluice resume … to release it, or sluice deploy --take-over": {
		"the claim is of a deployment of this journal that has ended", "TestClaimThatRanOutIsTaken"},
	"restore the file at … and run sluice resume; if the file is lost, run sluice deploy --adopt": {
		"the open journal was deleted or replaced", "TestDeletedFileIsNoticedAtTheNextSave"},
	"run sluice rollback --adopt in the application's folder": {
		"a person gave --adopt with CLUSTER/SERVICE, which names no canary", "lost-canary.txtar"},
	"run sluice rollback … with its journal. If that is lost, run sluice rollback --adopt": {
		"the canary service exists and has the tag of a deployment of sluice", "lost-canary.txtar"},
	"roll it back on the machine that has its journal": {
		"the service exists, and neither the journal nor ECS has a history of it", "adopt.txtar"},
	"run sluice scale --tasks 0 first, or give --terminate": {
		"a person asked to delete this service, and it has tasks", "tasks.txtar"},
	"run sluice tasks to list the tasks, and sluice tasks --id ID --stop": {
		"a person asked to roll back a deployment of a standalone task", "run.txtar"},
	"name the folder, and the revision by its flag: sluice deregister DIR --revision": {
		"a person asked to deregister this revision; one that is in use is refused", "mistakes.txtar"},
	"leave --deregister-task-definition out, and run sluice deregister later": {
		"a person gave --deregister-task-definition", "codedeploy-until.txtar"},
}

// TestDestructiveAdviceIsListed compares the advice of all errors with destructiveAdvice.
func TestDestructiveAdviceIsListed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "next.golden"))
	if err != nil {
		t.Fatal(err)
	}
	missing := maps.Clone(destructiveAdvice)
	for line := range strings.Lines(string(text)) {
		if !destructive.MatchString(line) {
			continue
		}
		i := slices.IndexFunc(slices.Collect(maps.Keys(destructiveAdvice)), func(begin string) bool {
			if !strings.HasPrefix(line, begin) {
				return false
			}
			delete(missing, begin)
			return true
		})
		if i < 0 {
			t.Errorf("advice with a destructive command, list it with the facts that must hold: %s", line)
		}
	}
	for begin := range missing {
		t.Errorf("destructiveAdvice lists %q, which no error has", begin)
	}
	names := testNames(t)
	for begin, a := range destructiveAdvice {
		if a.facts == "" || !names[a.proof] {
			t.Errorf("%q: its facts are %q, and its proof %q is no test", begin, a.facts, a.proof)
		}
	}
}

// testNames returns the names of all tests and scripts.
func testNames(t *testing.T) map[string]bool {
	root, names := moduleRoot(t), map[string]bool{}
	scripts, err := filepath.Glob(filepath.Join(root, "cmd/sluice/testdata/*/*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		names[filepath.Base(s)] = true
	}
	for _, f := range readSources(t, root) {
		for _, m := range testFunction.FindAllStringSubmatch(f, -1) {
			names[m[1]] = true
		}
	}
	return names
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// readSources returns the texts of the test files.
func readSources(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
