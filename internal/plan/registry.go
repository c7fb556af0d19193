package plan

import (
	"fmt"
	"slices"
	"time"
)

// Registry is the Cloud Map service in which ECS registers the tasks of a service.
type Registry struct {
	ARN       string   `json:"arn"`
	ID        string   `json:"id"` // srv-…
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"` // its name
	Kind      string   `json:"kind"`      // DNS_PRIVATE, DNS_PUBLIC, HTTP
	Records   []Record `json:"records,omitempty"`
	Weighted  bool     `json:"weighted,omitempty"` // one record per DNS answer; otherwise up to eight
	Custom    bool     `json:"custom,omitempty"`   // instances have a custom health status, set by API calls
	Route53   bool     `json:"route53,omitempty"`  // instances have a Route 53 health check
	Port      int32    `json:"port,omitempty"`     // that ECS registers, for SRV records; 0: none
}

// Record is one type of DNS record of a registry.
type Record struct {
	Type string        `json:"type"` // A, AAAA, SRV
	TTL  time.Duration `json:"ttl"`  // nanoseconds
}

// FindRegistry returns the registry with an ARN as the plan knows it. A registry whose shares sluice manages takes
// precedence.
func (p *Plan) FindRegistry(arn string) (r Registry, ok bool) {
	if p.Registry != nil {
		return *p.Registry, true
	}
	i := slices.IndexFunc(p.Names, func(r Registry) bool { return r.ARN == arn })
	if i < 0 {
		return Registry{}, false
	}
	return p.Names[i], true
}

// FullName returns the name that callers resolve: "api.shop.local".
func (r Registry) FullName() string { return r.Name + "." + r.Namespace }

// HasDNS reports whether the name has DNS records. Without them callers use DiscoverInstances.
func (r Registry) HasDNS() bool { return r.Kind != "HTTP" && len(r.Records) > 0 }

// TTL returns how long callers may cache a DNS answer; 0 without DNS.
func (r Registry) TTL() time.Duration {
	var longest time.Duration
	for _, x := range r.Records {
		longest = max(longest, x.TTL)
	}
	return longest
}

// HasRecordType reports whether the registry has records of a type.
func (r Registry) HasRecordType(kind string) bool {
	return slices.ContainsFunc(r.Records, func(x Record) bool { return x.Type == kind })
}

// dnsPropagation is how long name servers may return the state before a change. The change is
// visible only inside the VPC. Changes reach all Route 53 servers "generally within 60 seconds"
// (Route 53 API Reference, GetChange).
const dnsPropagation = 60 * time.Second

// CacheExpiry returns how long after a deregistration callers may still use the task. The name
// servers apply the change first, then the cached answers expire.
func (r Registry) CacheExpiry() time.Duration { return dnsPropagation + r.TTL() }

// Names that plans use for the instances in writes.
const (
	CanaryInstances  = "instances of canary"
	PrimaryInstances = "instances of primary"
)

// CanaryServesAtOnce reports whether ECS_CANARY_ROLLOUT registers the canary in addition to every task
// of the primary, once the canary is healthy. This is so for a pipeline with a Cloud Map name and
// without ECS_TRAFFIC_ROUTING: no other stage would let a caller reach the canary.
func (p *Plan) CanaryServesAtOnce() bool {
	return p.CountsShares() && slices.ContainsFunc(p.Stages, func(s Stage) bool {
		return s.StartsCanary() && s.Weights != nil
	})
}

// AloneText says that callers of the name got only the canary; empty: another version was registered too.
func (p *Plan) AloneText() string {
	if p.AloneFrom == 0 || p.Registry == nil {
		return ""
	}
	return fmt.Sprintf("callers of %s got only the canary from stage %d on: no other version was registered",
		p.Registry.FullName(), p.AloneFrom)
}

// CacheTimeText returns how long a task must keep serving for callers that still get or cache its
// address: until the name servers follow a deregistration, and the TTL after that.
func (r Registry) CacheTimeText() string {
	if !r.HasDNS() {
		return "as long as callers cache the result,"
	}
	return FormatDuration(r.CacheExpiry())
}
