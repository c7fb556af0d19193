package catalogue_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/catalogue"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

const (
	registryARN = "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef"
	connected   = "serviceConnectConfiguration: {enabled: true, namespace: shop.internal, services: [{portName: http, " +
		"clientAliases: [{port: 80}]}]}\n"
	unnamed  = "serviceRegistries: [{registryArn: \"" + registryARN + "\"}]\n"
	oneShift = "strategy: BLUE_GREEN, bakeTimeInMinutes: 0"
)

// pairOf returns a load balancer with a pair of target groups; test is the last digit of its test rule, or "".
func pairOf(first, second, rule, test string) string {
	testRule := ""
	if test != "" {
		testRule = fmt.Sprintf("testListenerRule: \""+listenerARN+"\", ", "-rule", "/0123456789abcde"+test)
	}
	return fmt.Sprintf("  - {containerName: web, containerPort: 80, targetGroupArn: \""+groupARN+"\", "+
		"advancedConfiguration: {alternateTargetGroupArn: \""+groupARN+"\", productionListenerRule: \""+listenerARN+
		"\", %sroleArn: \"arn:aws:iam::123456789012:role/ecs\"}}\n", first, second, "-rule", "/0123456789abcde"+rule, testRule)
}

func plainBalancers(groups ...string) string {
	s := "loadBalancers:\n"
	for _, g := range groups {
		s += fmt.Sprintf("  - {containerName: web, containerPort: 80, targetGroupArn: \""+groupARN+"\"}\n", g)
	}
	return s
}

func withStrategy(strategy string, pairs ...string) string {
	return "loadBalancers:\n" + strings.Join(pairs, "") + "deploymentConfiguration: {" + strategy + "}\n"
}

func shaped(service string) fstest.MapFS {
	files := userFiles(definitions, service, "")
	if strings.Contains(service, "listener/net/") { // see plan.NetworkDrain
		files["sluice.yaml"].Data = []byte(strings.Replace(string(files["sluice.yaml"].Data), "deregistrationDelay: 5s",
			"deregistrationDelay: 2m", 1))
	}
	files["task.yaml"].Data = []byte(strings.Replace(string(files["task.yaml"].Data), "name: http}",
		"name: http, appProtocol: http}", 1))
	return files
}

// ownServices are services as people write them, by what is special about them.
func ownServices() map[string]string {
	return map[string]string{
		"a Cloud Map service":               unnamed,
		"a load balancer and Cloud Map":     plainBalancers("a") + unnamed,
		"two target groups":                 plainBalancers("a", "b"),
		"BLUE_GREEN":                        withStrategy(oneShift, pairOf("a", "b", "0", "1")),
		"BLUE_GREEN, two load balancers":    withStrategy(oneShift, pairOf("a", "b", "0", "1"), pairOf("c", "d", "2", "")),
		"BLUE_GREEN with Service Connect":   withStrategy(oneShift, pairOf("a", "b", "0", "1")) + connected,
		"BLUE_GREEN, Service Connect alone": "deploymentConfiguration: {" + oneShift + "}\n" + connected,
		"BLUE_GREEN, a Network Load Balancer": withStrategy(oneShift,
			strings.NewReplacer("listener-rule/app/", "listener/net/", "0123456789abcdef/0123456789abcdef/",
				"0123456789abcdef/").Replace(pairOf("a", "b", "0", "1"))),
		"ROLLING, with a pair": withStrategy("strategy: ROLLING", pairOf("a", "b", "0", "1")),
	}
}

// A good version is safe and a version that crashes is rolled back, with the files as they are.
func TestOwnServicesAreRehearsed(t *testing.T) {
	for name, service := range ownServices() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for scene, outcome := range map[string]sluice.Outcome{"good": sluice.Succeeded, "crash-loop": sluice.RolledBack} {
				s := scenario(scene)
				c := caseOf(t, shaped(service), s)
				r := rehearse.Run(c)
				if row := s.RowOf(c, r); !row.Safe || row.Outcome != outcome {
					t.Errorf("%s: safe %v, %s, %v\n%s", scene, row.Safe, row.Outcome, row.Flaws, r.Log)
				}
			}
		})
	}
}

// liveShape builds a local AWS with the service of some files, reads it as sluice rehearse --from-live
// does with other files, and returns the case of the good version.
func liveShape(t *testing.T, running, files fstest.MapFS, change func(*shape.World)) rehearse.Case {
	t.Helper()
	c := caseOf(t, running, scenario("good"))
	change(&c.World)
	s, err := awssim.New(awssim.Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load("world.yaml", c.World.File("sim/web:v1")); err != nil {
		t.Fatalf("%v\n%s", err, c.World.File("sim/web:v1"))
	}
	a, err := account.Open(t.Context(), account.Config{Region: s.Region(), Credentials: s.Config().Credentials,
		EndpointURL: awssim.Endpoint, HTTPClient: s.HTTPClient(), Clock: clock.Real()})
	if err != nil {
		t.Fatal(err)
	}
	app, err := appfile.Load(files, "sluice.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Files = files
	if c.World, err = shape.FromLive(t.Context(), a, clock.Real(), app); err != nil {
		t.Fatal(err)
	}
	return c
}

// serveFromSecond is what an odd number of deployments leaves: the second group of each pair serves.
func serveFromSecond(w *shape.World) {
	w.Listeners[0].Rules[0].Primary, w.Listeners[0].Rules[0].Canary = 0, 100
	for _, r := range w.OtherRules {
		r.Groups[0], r.Groups[1] = r.Groups[1], r.Groups[0]
	}
}

// A running service is rehearsed as it is: with the target group that serves, and with its strategy
// also if the files have another one.
func TestRunningServicesAreRehearsed(t *testing.T) {
	all := ownServices()
	unchanged := func(*shape.World) {}
	first, second := [2]int{100, 0}, [2]int{0, 100}
	for name, c := range map[string]struct {
		running, files string
		change         func(*shape.World)
		weights        [2]int
		others         []string // that serve by the other rules
	}{
		"BLUE_GREEN": {all["BLUE_GREEN"], all["BLUE_GREEN"], unchanged, first, []string{"web-a"}},
		"BLUE_GREEN, the second group serves": {all["BLUE_GREEN"], all["BLUE_GREEN"], serveFromSecond, second,
			[]string{"web-b"}},
		"BLUE_GREEN with Service Connect, the second group serves": {all["BLUE_GREEN with Service Connect"],
			all["BLUE_GREEN with Service Connect"], serveFromSecond, second, []string{"web-b"}},
		"two load balancers, the second groups serve": {all["BLUE_GREEN, two load balancers"],
			all["BLUE_GREEN, two load balancers"], serveFromSecond, second, []string{"web-b", "web-d"}},
		"a Network Load Balancer, the second group serves": {all["BLUE_GREEN, a Network Load Balancer"],
			all["BLUE_GREEN, a Network Load Balancer"], serveFromSecond, second, []string{"web-b"}},
		"back to ROLLING": {all["BLUE_GREEN"], all["ROLLING, with a pair"], unchanged, first, []string{"web-a"}},
		"back to ROLLING, the second group serves": {all["BLUE_GREEN"], all["ROLLING, with a pair"], serveFromSecond,
			second, []string{"web-b"}},
		"back to ROLLING without the pair": {all["BLUE_GREEN"], plainBalancers("a") +
			"deploymentConfiguration: {strategy: ROLLING}\n", unchanged, first, []string{"web-a"}},
		"from ROLLING to BLUE_GREEN": {all["ROLLING, with a pair"], all["BLUE_GREEN"], unchanged, first,
			[]string{"web-a"}},
		"two target groups": {all["two target groups"], all["two target groups"], unchanged, [2]int{1, 0},
			[]string{"web-b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := liveShape(t, shaped(c.running), shaped(c.files), c.change)
			w := base.World
			if len(w.Listeners) != 1 || len(w.Listeners[0].Rules) != 1 {
				t.Fatalf("callers are modelled for %+v", w.Listeners)
			}
			if r := w.Listeners[0].Rules[0]; r.Primary != c.weights[0] || r.Canary != c.weights[1] {
				t.Errorf("weights %d and %d, want %d", r.Primary, r.Canary, c.weights)
			}
			var serve []string
			for _, r := range w.OtherRules {
				serve = append(serve, r.Groups[0].Name())
			}
			if fmt.Sprint(serve) != fmt.Sprint(c.others) {
				t.Errorf("other rules: %s serve, want %s", serve, c.others)
			}
			s := scenario("good")
			r := rehearse.Run(base)
			if row := s.RowOf(base, r); !row.Safe {
				t.Errorf("%s, %v\n%s", row.Outcome, row.Flaws, r.Log)
			}
		})
	}
}

// Files that leave the target group which serves are refused, and the rehearsal says so.
func TestWayBackWithoutTheGroupThatServesIsRefused(t *testing.T) {
	base := liveShape(t, shaped(ownServices()["BLUE_GREEN"]), shaped(plainBalancers("a")+
		"deploymentConfiguration: {strategy: ROLLING}\n"), serveFromSecond)
	s := scenario("good")
	row := s.RowOf(base, rehearse.Run(base))
	if flaws := strings.Join(row.Flaws, "\n"); row.Safe ||
		!strings.Contains(flaws, "sends the requests to target group web-b, and the files start the tasks in web-a only") {
		t.Errorf("safe %v: %s", row.Safe, flaws)
	}
}

// The shorter drain that the advice names is long enough for a Network Load Balancer.
func TestDrainAdviceBehindANetworkLoadBalancer(t *testing.T) {
	c := caseOf(t, shaped(ownServices()["BLUE_GREEN, a Network Load Balancer"]), scenario("good"))
	if told := catalogue.MeasureDrain(c); told != nil {
		t.Errorf("a drain of 2m: %s", told)
	}
	c.World.Primary.Drain, c.World.Canary.Drain = 5*time.Minute, 5*time.Minute
	if told := strings.Join(catalogue.MeasureDrain(c), ""); !strings.Contains(told, "; with 2m they take") {
		t.Errorf("a drain of 5m: %q", told)
	}
}
