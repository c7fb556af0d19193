package shape

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// FromFiles returns the world that an application's files describe. Missing values are AWS's
// defaults: two tasks, health checks every 30 s of which five must pass, a drain of 300 s. Values
// under the file's key rehearse take precedence.
func FromFiles(app *appfile.Application) (World, error) {
	w, err := fromFiles(app)
	w.applyOverrides(app.Rehearsal)
	return w, err
}

func fromFiles(app *appfile.Application) (World, error) {
	if app.Service == nil {
		return World{}, &sluice.Error{Op: "rehearse", Resource: app.File,
			Err:  fmt.Errorf("the application is a standalone task and has no service to deploy"),
			Next: "run sluice plan to see which task it runs"}
	}
	in := app.Service.Input
	w := World{Cluster: app.ClusterName(), Controller: "ECS", Tasks: 2, Port: 80, Subnets: SubnetIDs(2)}
	w.Account, w.Region = Place(app)
	w.Service = *in.ServiceName
	w.setMembers(in.DesiredCount, in.DeploymentController, in.HealthCheckGracePeriodSeconds)
	if all := SubnetsOf(app.Service); len(all) > 0 {
		w.Subnets = all[:min(3, len(all))]
	}
	w.setGroups(app)
	w.setDeployer(app)
	if err := w.SetStrategy(app); err != nil {
		return w, err
	}
	w.setListeners(app)
	w.setCloudMap(app)
	w.Capacity = CapacityOf(app.Task, app.Service)
	w.setOtherRules(app.Service.Input.LoadBalancers)
	w.Named.AddApplication(app, w.Account, w.Region)
	return w, nil
}

// setMembers sets what a service definition and a running service both have; nil: the default.
func (w *World) setMembers(count *int32, controller *ecstypes.DeploymentController, grace *int32) {
	if controller != nil && controller.Type != "" {
		w.Controller = string(controller.Type)
	}
	if count != nil {
		w.Tasks = int(*count)
	}
	if grace != nil {
		w.Grace = time.Duration(*grace) * time.Second
	}
}

// SubnetsOf returns the subnets that a service definition names.
func SubnetsOf(service *definition.Service) []string {
	if n := service.Input.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		return n.AwsvpcConfiguration.Subnets
	}
	return nil
}

// setGroups sets the target groups' ARNs from the files.
func (w *World) setGroups(app *appfile.Application) {
	usual := Group{Interval: 30 * time.Second, Timeout: 5 * time.Second, Healthy: 5, Unhealthy: 2,
		Drain: 300 * time.Second}
	set := func(g *Group, arn string, port int32) {
		*g = usual
		g.ARN = arn
		if port > 0 {
			w.Port = port
		}
		if region, account, ok := sluice.ARNPlace(arn); ok {
			w.Region, w.Account = region, account
		}
	}
	if app.Primary != nil {
		set(&w.Primary, app.Primary.ARN, app.Primary.Port)
	}
	if app.Canary != nil {
		set(&w.Canary, app.Canary.ARN, app.Canary.Port)
	}
	if lbs := app.Service.Input.LoadBalancers; app.Primary == nil && len(lbs) > 0 && lbs[0].TargetGroupArn != nil {
		set(&w.Primary, *lbs[0].TargetGroupArn, 0)
		if lbs[0].ContainerPort != nil {
			w.Port = *lbs[0].ContainerPort
		}
	}
}

// setListeners creates the rules that the file names. Without any it creates one listener whose
// default rule sends everything to the primary.
func (w *World) setListeners(app *appfile.Application) {
	if w.Primary.ARN == "" {
		return
	}
	here, _, _ := strings.Cut(w.Primary.ARN, ":targetgroup/")
	w.Balancer = here + ":loadbalancer/app/rehearsal/0123456789abcdef"
	l := Listener{Port: 80}
	network := app.Rehearsal != nil && app.Rehearsal.Balancer == "network"
	for i, arn := range w.productionRules(app) {
		if strings.Contains(arn, networkListener) { // its default action takes the place of a rule
			network, l.ARN, w.Balancer = true, arn, sluice.RuleOfARN(arn).Balancer
			continue
		}
		if strings.Contains(arn, ":listener-rule/") {
			rule := sluice.RuleOfARN(arn)
			l.ARN, w.Balancer = rule.Listener, rule.Balancer
		}
		l.Rules = append(l.Rules, Rule{ARN: arn, Priority: 10 * (i + 1), Path: fmt.Sprintf("/rule%d", i+1),
			Primary: 100})
	}
	if len(l.Rules) == 0 {
		l.Rules = []Rule{{Primary: 100, Path: "/"}}
	}
	w.Listeners = []Listener{l}
	if network { // AWS's default check of its target groups
		w.SetNetworkBalancer(true)
		w.Primary.TCP, w.Canary.TCP = true, true
	}
}

// Place returns the account and the Region of an application whose target groups and names do not
// give them.
func Place(app *appfile.Application) (account, region string) {
	arns := []string{app.Cluster}
	if app.Service != nil {
		if c := app.Service.Input.ServiceConnectConfiguration; c != nil && c.Enabled && c.Namespace != nil {
			arns = append(arns, *c.Namespace)
		}
	}
	for _, arn := range arns {
		if region, account, ok := sluice.ARNPlace(arn); ok {
			return account, region
		}
	}
	return "123456789012", cmp.Or(app.Region, "us-east-1")
}
