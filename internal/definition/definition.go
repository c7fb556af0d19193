// Package definition decodes task and service definitions, fills in AWS's defaults, and compares.
// All comparisons of definitions are in this package.
//
// A definition keeps AWS's own shape: the request types of the AWS SDK. The package passes every
// member that the built-in SDK has, and refuses any other key with its place in the file. The
// package is pure: it takes bytes and values and returns values. It does not read files, call AWS,
// or decide what a difference leads to.
//
// Start reading at [DecodeTask] and [CompareTask]. [Parse] reads the files for both, and the
// application files of package appfile.
package definition

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// Task is a task definition from a file.
type Task struct {
	Input *awsecs.RegisterTaskDefinitionInput
	File  string // as given to [DecodeTask]
	Text  FileText
	// IgnoredTags are keys of tags that are neither compared nor written.
	IgnoredTags []string
}

// FileText is the text that a definition was read from. It is empty for a definition that was not
// read from a file.
type FileText struct {
	Source *Source
	Body   *Node // the members of the definition
}

// Service is a service definition from a file. A member that the file omits is omitted from Input
// too: sluice does not write a nil DesiredCount, and does write a DesiredCount of 0.
type Service struct {
	Input *awsecs.CreateServiceInput
	// Given contains the top-level members that the file gives, by the SDK's JSON
	// name ("desiredCount"). clusterArn and roleArn are given as "cluster" and
	// "role". A cluster from the application file counts as given.
	Given map[string]bool
	// CountOfService reports whether the desired count is from-service. It is not given then.
	CountOfService bool

	File string // as given to [DecodeService]
	Text FileText
	// IgnoredTags are keys of tags that are neither compared nor written.
	IgnoredTags []string
}

// TargetGroups returns the ARNs of the target groups that the load balancers of the service name, each once. Alternate
// groups of ECS's own strategies are among them.
func (s *Service) TargetGroups() (all []string) {
	add := func(arn *string) {
		if a := aws.ToString(arn); a != "" && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	for _, lb := range s.Input.LoadBalancers {
		add(lb.TargetGroupArn)
		if c := lb.AdvancedConfiguration; c != nil {
			add(c.AlternateTargetGroupArn)
		}
	}
	return all
}

// SteeredRules returns the ARNs of the rules that ECS's own strategy writes, for callers and for tests.
func (s *Service) SteeredRules() (all []string) {
	for _, lb := range s.Input.LoadBalancers {
		if c := lb.AdvancedConfiguration; c != nil {
			all = append(all, aws.ToString(c.ProductionListenerRule), aws.ToString(c.TestListenerRule))
		}
	}
	return all
}

// Difference is one member that differs after AWS's defaults are filled in. Want and Have are for
// people: short, and without values that may be secret.
type Difference struct {
	Path string // "containerDefinitions[web].image"
	Want string // what the file asks for
	Have string // what AWS has

	Added   bool // AWS has no value, and no default
	Removed bool // the file has no value, and AWS has no default
}
