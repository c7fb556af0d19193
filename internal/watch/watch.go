package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/view"
)

// Watch is the shared reader of one account and Region. Make one with [New] and use it for all
// waits there. Safe for concurrent use.
type Watch struct {
	account *account.Account
	clock   clock.Clock
	records *ecs.Records
	groups  *batchReader[codedeploy.Index]

	mu       sync.Mutex
	clusters map[string]*clusterReaders
}

// clusterReaders are the batch readers of one cluster.
type clusterReaders struct {
	services batchReader[ecs.ServiceRead]
	records  batchReader[verdict.Record]
}

// New returns a Watch. It reads nothing before the first wait.
func New(a *account.Account, c clock.Clock) *Watch {
	w := &Watch{account: a, clock: c, records: ecs.NewRecords(a.ECS()), clusters: map[string]*clusterReaders{}}
	w.groups = &batchReader[codedeploy.Index]{clock: c, size: 1, read: w.searchGroups}
	return w
}

// Target names the service whose deployment is waited for.
type Target struct {
	Cluster, Service string // names or ARNs
	verdict.Wanted

	// First is a read that the caller has just made: the first poll judges it instead of another one.
	// No write may have been sent since. Without a State, the first poll reads.
	First ecs.ServiceRead
	// Scope selects the rules that callers use; empty: those that the service names.
	Scope view.Scope
	// SkipsTraffic says that the caller itself confirms where requests go.
	SkipsTraffic bool
	// Before is where callers were sent before the deployment, as the caller has read it. Updates tell which of its
	// rules do not send them to the service any more.
	Before view.Traffic
	// BeforeUntil says that Before is of the time before a deployment that ended then, and holds until a newer one
	// begins. The zero value: the wait reads the state before itself, if the deployment has not ended.
	BeforeUntil time.Time
	// Unsuccessful is the newest deployment of sluice, if it ended without success: its rollback removes a canary that it
	// left. Empty: it succeeded, or is not known.
	Unsuccessful string
	// Checks is an earlier read of the target groups, whose health checks are compared with those that targets fail.
	// The zero value: Before, or the first read of the wait.
	Checks view.Traffic
	// Planned is [ecs.LastLogs.Planned]; nil: the caller knows no task definition.
	Planned func(revision string) *definition.Task
	// IsResolved says that Revision is the full name of a registered, ACTIVE task definition.
	IsResolved bool
}

// Name returns "<cluster>/<service>", or the deployment if only that is named.
func (t Target) Name() string {
	if t.Service == "" {
		return "deployment " + t.Deployment
	}
	return t.serviceClient(nil).Resource()
}

// BegunAgain returns the target for a wait that begins again: what was read before it is old, and the deployment is not
// new any more.
func (t Target) BegunAgain() Target {
	t.First, t.Wanted = ecs.ServiceRead{}, t.Wanted.BegunAgain()
	return t
}

// isCodeDeploy reports whether a CodeDeploy deployment is named.
func (t Target) isCodeDeploy() bool { return strings.HasPrefix(t.Deployment, "d-") }

// Update is a poll that changed something, or the last poll.
type Update struct {
	Target  Target
	At      time.Time
	Service *verdict.Service // nil: there is no such service, or it was never read
	Read    ecs.ServiceRead  // the read that Service is taken from
	Record  *verdict.Record  // of the service deployment that is followed; nil: not read
	Verdict verdict.Verdict
	// LostRules says which rules sent requests to the service before a deployment in progress, and do not any more.
	LostRules string

	// Of a CodeDeploy deployment, or of its rollback once there is one; nil: not read.
	Code       *verdict.CodeDeployment
	CodeTarget *verdict.CodeTarget
}

// Prefixes of what a wait can end at, see [Update.HasReached].
const (
	UntilECS    = "ecs:"   // a lifecycle stage of ECS follows
	UntilPaused = "paused" // a hook waits for an answer
)

// NoStages says why a deployment never reaches what [IsOfECS].
const NoStages = "ECS does not shift the traffic of this service: its deployments have no stages"

// IsOfECS reports whether a wait is to end at a lifecycle stage of ECS or at a pause.
func IsOfECS(until string) bool { return until == UntilPaused || strings.HasPrefix(until, UntilECS) }

// HasReached reports whether the deployment has reached what a wait is to end at: "ecs:" and a lifecycle stage,
// "paused", or the name of a lifecycle event of CodeDeploy, which must have succeeded.
func (u Update) HasReached(until string) bool {
	stage, isStage := strings.CutPrefix(until, UntilECS)
	switch {
	case until == "" || u.Verdict.State != verdict.Progressing:
		return false
	case until == UntilPaused:
		return len(u.Record.AwaitedHooks()) > 0
	case isStage:
		return u.Record.HasReached(stage)
	}
	return u.CodeTarget.HasPassed(until)
}

// ReachedText says that the deployment has reached what a wait was to end at.
func (u Update) ReachedText(until string) string {
	stage, isStage := strings.CutPrefix(until, UntilECS)
	deployment := sluice.ARNName(u.Verdict.Deployment)
	switch hooks := u.Record.AwaitedHooks(); {
	case until == UntilPaused && len(hooks) > 0:
		return fmt.Sprintf("deployment %s is paused at %s: sluice continue answers hook %s", deployment, u.Record.Stage,
			hooks[0].ID)
	case isStage && len(hooks) > 0:
		return fmt.Sprintf("deployment %s has reached %s and is paused at %s: sluice continue answers hook %s", deployment,
			stage, u.Record.Stage, hooks[0].ID)
	case isStage && u.Record != nil && u.Record.Stage != stage:
		return fmt.Sprintf("deployment %s has reached %s and is at %s", deployment, stage, u.Record.Stage)
	case isStage:
		return fmt.Sprintf("deployment %s has reached %s and continues", deployment, stage)
	}
	return fmt.Sprintf("lifecycle event %s has succeeded; deployment %s continues", until, u.Verdict.Deployment)
}

// NeverReaches reports whether a wait is to end at a lifecycle stage or a pause, and deployments of the service have
// none: ECS does not shift its traffic.
func (u Update) NeverReaches(until string) bool {
	return IsOfECS(until) && u.Service != nil &&
		(u.Service.Controller != "ECS" || !u.Service.IsNative())
}

// readGrace is how long after its hard limit a wait may still read, in network time.
const readGrace = 2 * time.Second

// Wait follows the wanted deployment to its end and returns the last update, whose Verdict contains
// the outcome. tell, if not nil, is called for each poll that changed something of interest to
// users, including the last one.
//
// An error means that no verdict is possible. Causes are a wrong cluster or task definition name, a
// denial by AWS, an endpoint that cannot be reached at the first poll, an unsupported controller,
// or the end of ctx. Other failed reads are repeated until the limit.
func (w *Watch) Wait(ctx context.Context, t Target, tell func(Update)) (Update, error) {
	f, err := w.newWaiter(ctx, t, tell)
	if err != nil {
		return Update{Target: t}, err
	}
	reading := ctx
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		reading, cancel = w.clock.WithTimeout(ctx, t.Timeout+w.clock.NetworkTime(readGrace))
		defer cancel()
	}
	if t.isCodeDeploy() {
		return f.runCodeDeploy(ctx, reading)
	}
	return f.runService(ctx, reading)
}

// newWaiter prepares a wait: it converts names to the form of AWS's responses.
func (w *Watch) newWaiter(ctx context.Context, t Target, tell func(Update)) (*waiter, error) {
	given := t.givenARNs()
	t.fillFromDeployment()
	if err := t.checkPlaces(w.account.Region()); err != nil {
		return nil, err
	}
	t.Service = sluice.ARNName(t.Service)
	if t.Service == "" && !t.isCodeDeploy() {
		return nil, &sluice.Error{Op: "wait for a deployment", Err: errors.New("no service given")}
	}
	f := &waiter{watch: w, target: t, given: given, first: t.First, readers: w.readersOf(t.Cluster), report: tell,
		before: trafficBefore{traffic: t.Before}}
	if err := f.resolveRevision(ctx); err != nil {
		return nil, err
	}
	f.judge = verdict.FollowService(w.clock.Now(), f.target.Wanted)
	return f, nil
}

// readersOf returns the batch readers of a cluster.
func (w *Watch) readersOf(cluster string) *clusterReaders {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, ok := w.clusters[cluster]
	if ok {
		return b
	}
	hand := ecs.Cluster{API: w.account.ECS(), Name: cluster}
	b = &clusterReaders{
		services: batchReader[ecs.ServiceRead]{clock: w.clock, size: ecs.ServiceBatch,
			read: func(ctx context.Context, names []string) (map[string]ecs.ServiceRead, error) {
				return w.readServices(ctx, hand, names)
			}},
		records: batchReader[verdict.Record]{clock: w.clock, size: ecs.RecordBatch, read: w.readRecords},
	}
	w.clusters[cluster] = b
	return b
}

// readServices reads services of a cluster, all with one call.
func (w *Watch) readServices(ctx context.Context, of ecs.Cluster, names []string) (map[string]ecs.ServiceRead, error) {
	sent := w.clock.Now()
	all, err := of.ReadServices(ctx, names)
	found := make(map[string]ecs.ServiceRead, len(names))
	for _, name := range names {
		found[name] = ecs.ServiceRead{State: all[name], SentAt: sent}
	}
	return found, err
}

func (w *Watch) readRecords(ctx context.Context, arns []string) (map[string]verdict.Record, error) {
	all, err := w.records.Read(ctx, arns)
	found := make(map[string]verdict.Record, len(all))
	for _, r := range all {
		found[r.ARN] = r
	}
	return found, err
}

// resolveRevision sets the target's Revision to family:revision of the wanted task definition.
func (f *waiter) resolveRevision(ctx context.Context) error {
	asked := f.target.Revision
	if asked == "" {
		return nil
	}
	f.target.Revision = sluice.RevisionOf(asked)
	if f.target.isCodeDeploy() || f.target.IsResolved {
		return nil // the deployment contains its revision, or the caller has read it
	}
	td, err := ecs.ReadDefinition(ctx, f.watch.account.ECS(), asked)
	switch {
	case err == nil:
		f.target.Revision = fmt.Sprintf("%s:%d", *td.Family, td.Revision)
		f.target.Inactive = definition.IsDeregistered(td)
		return nil
	case account.Unsent(err):
		return err
	case sluice.KindOf(err) == sluice.Denied && strings.Contains(f.target.Revision, ":"): // the next read says why
		f.unread = append(f.unread, err.Error())
		return nil
	case sluice.KindOf(err) == "" || sluice.KindOf(err) == sluice.NotFound:
		return &sluice.Error{Op: "wait for task definition", Resource: asked, Kind: sluice.KindOf(err), Err: err,
			Next: "give family:revision or the ARN of a registered task definition"}
	}
	return err
}

func (t Target) serviceClient(w *Watch) ecs.Service {
	s := ecs.Service{Cluster: t.Cluster, Name: sluice.ARNName(t.Service)}
	if s.Cluster == "" {
		s.Cluster = "default"
	}
	if w != nil {
		s.API = w.account.ECS()
	}
	return s
}
