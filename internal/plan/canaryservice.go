package plan

import (
	"github.com/aws/aws-sdk-go-v2/aws"
)

// The canary service, with hosting services.
const (
	canarySuffix = "-canary"
	// CanaryTag is the tag on a canary service: the ID of the action that created it or took it
	// over.
	CanaryTag = "sluice:canary"
	// MaxServiceName is the maximum length of a service name (ECS API Reference, CreateService).
	MaxServiceName = 255
)

// CanaryServiceName returns the name of the canary service of a service.
func CanaryServiceName(service string) string { return service + canarySuffix }

// CanaryResource returns the resource name of the canary service in plans.
func (p *Plan) CanaryResource() string { return p.Cluster + "/" + CanaryServiceName(p.Service) }

// FindCanaryService returns the value of [CanaryTag] on the canary service. stands is false if
// there is no ACTIVE canary service.
func (l AWSState) FindCanaryService() (made string, stands bool) {
	if l.Beside == nil || aws.ToString(l.Beside.Status) != "ACTIVE" {
		return "", false
	}
	for _, t := range l.Beside.Tags {
		if aws.ToString(t.Key) == CanaryTag {
			return aws.ToString(t.Value), true
		}
	}
	return "", true
}

// BridgesRollback reports whether a rollback first registers the previous revision in the canary
// service. It does so for blue/green pipelines with Cloud Map, which have all traffic on the canary
// before ECS_PRIMARY_ROLLOUT. They promise that no request is lost, and ECS stops tasks while
// callers cache their addresses.
func (p *Plan) BridgesRollback() bool {
	for i, s := range p.Stages {
		if p.StateBefore(i).CanaryShare() == 100 && s.ReplacesPrimary() && !s.ReplacesAll() {
			return p.CountsShares() && p.Mode().HasCanaryService()
		}
	}
	return false
}
