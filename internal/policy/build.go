package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// wildcard is the resource of actions without resource-level permissions.
const wildcard = "*"

// builder collects the statements of one plan.
type builder struct {
	plan       *plan.Plan
	state      plan.AWSState
	partition  string
	statements map[string]*Statement // by Sid
}

// ForPlan returns the least policy that allows the plan and its rollback.
func ForPlan(p *plan.Plan, live plan.AWSState) (Document, error) {
	b := &builder{plan: p, state: live, partition: partitionOf(p.Region), statements: map[string]*Statement{}}
	definitions, err := b.planDefinitions()
	if err != nil {
		return Document{}, err
	}
	b.allowReads(definitions)
	if err := b.allowChecks(); err != nil {
		return Document{}, err
	}
	for _, w := range Writes(p) {
		if err := b.allowWrite(w); err != nil {
			return Document{}, err
		}
	}
	if err := b.allowIndirect(definitions); err != nil {
		return Document{}, err
	}
	return b.buildDocument(), nil
}

// Writes returns all writes that the plan lists, in its order, each once.
func Writes(p *plan.Plan) (all []sluice.Write) {
	add := func(writes []sluice.Write) {
		for _, w := range writes {
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	for _, s := range p.Stages {
		add(s.Writes)
	}
	add(p.Rollback.Writes)
	add(p.Finish)
	return all
}

// allowActions adds actions on resources to the statement of that name. All actions of a statement
// are for the same types of resources.
func (b *builder) allowActions(sid string, resources []string, actions ...string) {
	s := b.statements[sid]
	if s == nil {
		s = &Statement{Sid: sid, Effect: "Allow", Condition: conditions[sid]}
		b.statements[sid] = s
	}
	s.Action, s.Resource = mergeSorted(s.Action, actions), mergeSorted(s.Resource, resources)
}

// mergeSorted returns the sorted union.
func mergeSorted(have, more []string) []string {
	all := append(slices.Clone(have), more...)
	slices.Sort(all)
	return slices.Compact(all)
}

// buildDocument sorts the statements in the order of sidOrder. It omits a statement without a
// resource, which allows nothing.
func (b *builder) buildDocument() Document {
	d := Document{Version: Version}
	for _, s := range b.statements {
		if len(s.Resource) > 0 {
			d.Statement = append(d.Statement, *s)
		}
	}
	slices.SortFunc(d.Statement, func(x, y Statement) int {
		return cmp.Or(slices.Index(sidOrder, x.Sid)-slices.Index(sidOrder, y.Sid), cmp.Compare(x.Sid, y.Sid))
	})
	return d
}

// resourceARN returns the ARN of a resource in the plan's Region and account.
func (b *builder) resourceARN(service, resource string) string {
	return b.arnInRegion(service, b.plan.Region, resource)
}

func (b *builder) arnInRegion(service, region, resource string) string {
	return strings.Join([]string{"arn", b.partition, service, region, b.plan.Account, resource}, ":")
}

// serviceARN returns the ARN of the service "<cluster>/<service>". For the plan's own service it
// returns the ARN that AWS reports.
func (b *builder) serviceARN(name string) string {
	if s := b.state.Service; s != nil && s.ServiceArn != nil && name == b.plan.Cluster+"/"+b.plan.Service {
		return *s.ServiceArn
	}
	return b.resourceARN("ecs", "service/"+name)
}

// serviceNames returns the names of the service and of its canary service, as
// "<cluster>/<service>".
func (b *builder) serviceNames() []string {
	p := b.plan
	if !p.Mode().HasService() {
		return nil
	}
	names := []string{p.Cluster + "/" + p.Service}
	if p.Mode().HasCanaryService() {
		names = append(names, b.canaryName())
	}
	return names
}

// canaryName returns the name of the canary service, as "<cluster>/<service>".
func (b *builder) canaryName() string {
	return b.plan.Cluster + "/" + plan.CanaryServiceName(b.plan.Service)
}

// serviceARNs returns the ARNs of the services and of their resources of the given types.
func (b *builder) serviceARNs(types ...string) (all []string) {
	for _, name := range b.serviceNames() {
		all = append(all, b.serviceARN(name))
		for _, t := range types {
			all = append(all, b.resourceARN("ecs", t+"/"+name+"/*"))
		}
	}
	return all
}

func (b *builder) taskSetARNs() []string {
	return []string{b.resourceARN("ecs", "task-set/"+b.plan.Cluster+"/"+b.plan.Service+"/*")}
}

func (b *builder) taskARNs() []string {
	return []string{b.resourceARN("ecs", "task/"+b.plan.Cluster+"/*")}
}

// familyARNs returns a pattern for every revision of a task definition, given by family or
// family:revision.
func (b *builder) familyARNs(name string) []string {
	name, _, _ = strings.Cut(name, ":")
	return []string{b.resourceARN("ecs", "task-definition/"+name+":*")}
}

// partitions are the partitions other than aws, by the prefix of the Region (AWS General Reference,
// "Amazon Resource Names").
var partitions = []struct{ region, partition string }{
	{"cn-", "aws-cn"}, {"us-gov-", "aws-us-gov"}, {"us-iso-", "aws-iso"}, {"us-isob-", "aws-iso-b"},
	{"us-isof-", "aws-iso-f"}, {"eu-isoe-", "aws-iso-e"},
	{"eusc-", "aws-eusc"},
}

func partitionOf(region string) string {
	for _, p := range partitions {
		if strings.HasPrefix(region, p.region) {
			return p.partition
		}
	}
	return "aws"
}
