package deploy

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// liveDefinitions are flags that replace the definitions of the files by what AWS has.
type liveDefinitions struct {
	skipTask    bool // the task definition that serves
	latestTask  bool // the newest one of the family
	revision    int  // that one of the family; 0: not given
	keepService bool // the service as it is
}

// registerTask adds the flags that select a registered task definition.
func (l *liveDefinitions) registerTask(f *pflag.FlagSet) {
	f.BoolVar(&l.skipTask, "skip-task-definition", false,
		"the task definition of the service, instead of the file's; nothing is registered")
	f.BoolVar(&l.latestTask, "latest-task-definition", false,
		"the newest registered task definition of the family, instead of the file's")
	f.IntVar(&l.revision, "revision", 0, "this `number` of the family's task definitions, instead of the file's")
}

// register adds the flags of a deployment.
func (l *liveDefinitions) register(f *pflag.FlagSet) {
	l.registerTask(f)
	f.Var(invertedFlag{&l.keepService}, "update-service",
		"--update-service=false leaves the attributes of the service as they are")
	f.Lookup("update-service").NoOptDefVal = "true"
	f.Lookup("update-service").DefValue = "true"
	f.BoolVar(&l.keepService, "no-update-service", false, "the same as --update-service=false")
}

// invertedFlag is a flag that sets the opposite.
type invertedFlag struct{ not *bool }

func (f invertedFlag) String() string { return strconv.FormatBool(f.not == nil || !*f.not) }

func (f invertedFlag) Type() string { return "bool" }

func (f invertedFlag) Set(s string) error {
	v, err := strconv.ParseBool(s)
	if err == nil {
		*f.not = !v
	}
	return err
}

// check refuses flags that exclude each other.
func (l liveDefinitions) check() error {
	n := 0
	for _, given := range []bool{l.skipTask, l.latestTask, l.revision != 0} {
		if given {
			n++
		}
	}
	switch {
	case l.revision < 0:
		return &sluice.Error{Op: "select the task definition", Err: errors.New("--revision is below 1"),
			Next: "run sluice revisions to list the revisions"}
	case n > 1:
		return &sluice.Error{Op: "select the task definition",
			Err:  errors.New("--skip-task-definition, --latest-task-definition and --revision exclude each other"),
			Next: "give one of them"}
	}
	return nil
}

func (l liveDefinitions) isGiven() bool {
	return l.skipTask || l.latestTask || l.revision != 0 || l.keepService
}

// replaceIn replaces the definitions of the application as the flags ask. It makes no changes to AWS.
func (l liveDefinitions) replaceIn(ctx context.Context, a *account.Account, app *appfile.Application) error {
	if !l.isGiven() {
		return nil
	}
	var live *ecs.ServiceState
	if app.Service != nil && (l.skipTask || l.keepService) {
		var err error
		if live, err = observeApplication(ctx, a, app); err != nil {
			return err
		}
	}
	if l.keepService {
		if err := keepService(app, live); err != nil {
			return err
		}
	}
	name := *app.Task.Input.Family
	switch {
	case l.skipTask && live != nil:
		name = live.Serving()
	case l.revision != 0:
		name += ":" + strconv.Itoa(l.revision)
	case !l.skipTask && !l.latestTask:
		return nil
	}
	return useRegistered(ctx, a, app, name)
}

// observeApplication reads the service of the application, which has to exist.
func observeApplication(ctx context.Context, a *account.Account, app *appfile.Application) (*ecs.ServiceState, error) {
	hand := ecs.Service{API: a.ECS(), Cluster: session.ClusterName(app), Name: *app.Service.Input.ServiceName}
	live, err := hand.Observe(ctx)
	if err == nil && !live.IsActive() {
		err = &sluice.Error{Op: "read the service", Resource: hand.Resource(), Kind: sluice.NotFound,
			Err: errors.New("the service does not exist"), Next: "run sluice deploy to create it"}
	}
	return live, err
}

// keepService replaces the service definition by the service as it is.
func keepService(app *appfile.Application, live *ecs.ServiceState) error {
	if live == nil {
		return &sluice.Error{Op: "plan", Resource: app.File,
			Err: errors.New("the application is a standalone task, and has no service"), Next: "leave the flag out"}
	}
	service, err := definition.ServiceFromAWS(&live.Raw)
	if err != nil {
		return err
	}
	service.Input.Cluster = app.Service.Input.Cluster
	service.Input.DesiredCount = nil // another actor may change it until it would be written
	delete(service.Given, "desiredCount")
	service.File = app.Service.File
	app.Service = service
	return nil
}

// useRegistered replaces the task definition by a registered one: a family:revision, or a family for its newest.
func useRegistered(ctx context.Context, a *account.Account, app *appfile.Application, name string) error {
	if name == "" {
		return &sluice.Error{Op: "select the task definition", Resource: session.ServiceOrGroup(app),
			Err: errors.New("no task definition serves"), Next: "leave --skip-task-definition out"}
	}
	td, err := ecs.ReadDefinition(ctx, a.ECS(), name)
	if err != nil {
		return err
	}
	if td.Status != ecstypes.TaskDefinitionStatusActive {
		return &sluice.Error{Op: "select the task definition", Resource: sluice.RevisionOf(aws.ToString(td.TaskDefinitionArn)),
			Err:  fmt.Errorf("it is %s: ECS starts no new task of it", td.Status),
			Next: "run sluice revisions to list the revisions"}
	}
	app.Task = definition.TaskOf(td)
	app.Registered = sluice.RevisionOf(aws.ToString(td.TaskDefinitionArn))
	return nil
}
