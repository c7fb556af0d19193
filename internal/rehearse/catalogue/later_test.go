package catalogue_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/catalogue"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

const (
	groupARN    = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-%s/0123456789abcdef"
	listenerARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener%s/app/web/0123456789abcdef/" +
		"0123456789abcdef%s"
)

// userFiles are the files of a user's own application whose health checks and drains are quick. The
// other parts of the file and of the service are added as they are.
func userFiles(file, service, container string) fstest.MapFS {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"sluice.yaml": text("name: web\nregion: us-east-1\ncluster: prod\n" +
			"rehearse: {tasks: 2, deregistrationDelay: 5s, start: 5s, servesAfterStop: 2m, ttl: 5s,\n" +
			"  healthCheck: {interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}\n" + file),
		"service.yaml": text("serviceName: web\ncluster: prod\nlaunchType: FARGATE\nnetworkConfiguration: " +
			"{awsvpcConfiguration: {subnets: [subnet-1, subnet-2]}}\n" + service),
		"task.yaml": text("family: web\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: 512\n" +
			"containerDefinitions:\n  - name: web\n    image: registry.example.com/web:2\n" +
			"    portMappings: [{containerPort: 80, name: http}]\n" + container),
	}
}

const definitions = "input:\n  taskDefinitionFile: task.yaml\n  serviceDefinitionFile: service.yaml\n"

// behind returns the load balancers of a service with one target group.
func behind(rest string) string {
	return fmt.Sprintf("loadBalancers:\n  - {containerName: web, containerPort: 80, targetGroupArn: \""+groupARN+"\"%s}\n",
		"a", rest)
}

// shifted returns a service with one of ECS's own strategies.
func shifted(strategy string) string {
	return behind(fmt.Sprintf(", advancedConfiguration: {alternateTargetGroupArn: \""+groupARN+"\", "+
		"productionListenerRule: \""+listenerARN+"\", roleArn: \"arn:aws:iam::123456789012:role/ecs\"}", "b", "-rule",
		"/0123456789abcde0")) + "deploymentConfiguration: {" + strategy + "}\n"
}

func twoGroups() string {
	s := definitions + "  targetGroups:\n"
	for _, g := range []string{"primary", "canary"} {
		s += fmt.Sprintf("    %s: {targetGroupArn: \""+groupARN+"\", containerName: web, containerPort: 80}\n", g, g)
	}
	return s
}

func canaryStages(wait string) string {
	return "pipeline:\n  stages:\n    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}\n" +
		"    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 20}}\n" + wait +
		"    - {name: ECS_PRIMARY_ROLLOUT}\n    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}\n" +
		"    - {name: ECS_CANARY_CLEAN}\n"
}

// wayOfDeploying is a mode with files that do not detect a version which breaks later, and files that do.
type wayOfDeploying struct {
	name            string
	blind, watchful fstest.MapFS
	advice          string // of the blind files
}

func waysOfDeploying() []wayOfDeploying {
	const bake = "bake: 10m\n"
	named := "serviceRegistries: [{registryArn: \"arn:aws:servicediscovery:us-east-1:123456789012:service/" +
		"srv-0123456789abcdef\"}]\n"
	byName := "  ecsAccessType: ECS_SERVICE_DISCOVERY\n"
	behindPrimary := strings.Replace(behind(""), "web-a", "web-primary", 1)
	external := "deploymentController: {type: EXTERNAL}\n"
	byCodeDeploy := "deploymentController: {type: CODE_DEPLOY}\n" + behind("")
	wait := "    - {name: WAIT, with: {duration: 10m}}\n"
	return []wayOfDeploying{
		{"rolling", userFiles(definitions, behind(""), ""), userFiles(bake+definitions, behind(""), ""), "use a canary"},
		{"canary with task sets", userFiles(twoGroups()+canaryStages(""), external, ""),
			userFiles(twoGroups()+canaryStages(wait), external, ""), "add a WAIT of some minutes"},
		{"canary as a service", userFiles(twoGroups()+canaryStages(""), behindPrimary, ""),
			userFiles(twoGroups()+canaryStages(wait), behindPrimary, ""), "add a WAIT of some minutes"},
		{"BLUE_GREEN", userFiles(definitions, shifted("strategy: BLUE_GREEN, bakeTimeInMinutes: 0"), ""),
			userFiles(definitions, shifted("strategy: BLUE_GREEN, bakeTimeInMinutes: 10, "+
				"deploymentCircuitBreaker: {enable: true, rollback: true}"), ""), "a longer bake time"},
		{"LINEAR", userFiles(definitions, shifted("strategy: LINEAR, bakeTimeInMinutes: 0, "+
			"linearConfiguration: {stepPercent: 50, stepBakeTimeInMinutes: 0}"), ""),
			userFiles(definitions, shifted("strategy: LINEAR, bakeTimeInMinutes: 0, "+
				"linearConfiguration: {stepPercent: 50, stepBakeTimeInMinutes: 10}"), ""), "a longer bake time"},
		{"CANARY", userFiles(definitions, shifted("strategy: CANARY, bakeTimeInMinutes: 0, "+
			"canaryConfiguration: {canaryPercent: 10, canaryBakeTimeInMinutes: 0}"), ""),
			userFiles(definitions, shifted("strategy: CANARY, bakeTimeInMinutes: 0, "+
				"canaryConfiguration: {canaryPercent: 10, canaryBakeTimeInMinutes: 10}"), ""), "a longer bake time"},
		{"CodeDeploy", userFiles("codedeploy: {deploymentConfigName: CodeDeployDefault.ECSAllAtOnce}\n"+definitions,
			byCodeDeploy, ""), userFiles(bake+"codedeploy: {deploymentConfigName: CodeDeployDefault.ECSAllAtOnce}\n"+
			definitions, byCodeDeploy, ""), "use a deployment configuration"},
		{"worker", userFiles(definitions, "", ""), userFiles(bake+definitions, "", ""), "use a canary"},
		{"Cloud Map", userFiles(definitions+byName, named, ""), userFiles(bake+definitions+byName, named, ""),
			"use a canary"},
	}
}

// caseOf returns the case of a scenario with a user's own files, as sluice rehearse makes it.
func caseOf(t *testing.T, files fstest.MapFS, s *catalogue.Scenario) rehearse.Case {
	t.Helper()
	app, err := appfile.Load(files, "sluice.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	base := rehearse.Case{Seed: 1, Files: files, File: "sluice.yaml"}
	if base.World, err = shape.FromFiles(app); err != nil {
		t.Fatal(err)
	}
	return s.Apply(base, max(1, len(app.Pipeline)))
}

// A version that breaks after it was healthy makes a rehearsal unsafe in every mode, unless the files
// give the deployment the time to see it.
func TestVersionsThatBreakLaterAreUnsafe(t *testing.T) {
	good, crash := scenario("good"), scenario("crash-after-90s")
	for _, w := range waysOfDeploying() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var took time.Duration
			for _, files := range []fstest.MapFS{w.watchful, w.blind} {
				c := caseOf(t, files, good)
				r := rehearse.Run(c)
				if row := good.RowOf(c, r); !row.Safe {
					t.Fatalf("a good version: %s; %v\n%s", row.Outcome, row.Flaws, r.Log)
				}
				took = r.Took
			}
			later := fmt.Sprintf("crash-after=%s&exit=1", took+30*time.Second) // of the blind files
			c := caseOf(t, w.blind, crash)
			c.New = later
			r := rehearse.Run(c)
			row := crash.RowOf(c, r)
			flaws := strings.Join(row.Flaws, "\n")
			if row.Safe || row.Outcome != sluice.Succeeded || !strings.Contains(flaws, "a version that fails later") ||
				!strings.Contains(flaws, w.advice) {
				t.Errorf("nothing watches, %s: safe %v, %s (%s), %q, want %q\n%s", later, row.Safe, row.Outcome, row.Cause,
					row.Flaws, w.advice, r.Log)
			}
			c = caseOf(t, w.watchful, crash)
			c.New = later
			r = rehearse.Run(c)
			if row = crash.RowOf(c, r); !row.Safe || row.Outcome != sluice.RolledBack {
				t.Errorf("the deployment watches, %s: safe %v, %s (%s), %q\n%s", later, row.Safe, row.Outcome, row.Cause,
					row.Flaws, r.Log)
			}
		})
	}
}
