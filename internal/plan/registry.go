package plan

import (
	"slices"
	"time"
)

// Registry is the Cloud Map service in which ECS keeps a service's tasks.
type Registry struct {
	ARN       string   `json:"arn"`
	ID        string   `json:"id"` // srv-…
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"` // its name
	Kind      string   `json:"kind"`      // DNS_PRIVATE, DNS_PUBLIC, HTTP
	Records   []Record `json:"records,omitempty"`
	Weighted  bool     `json:"weighted,omitempty"` // one record per answer; else up to eight
	Custom    bool     `json:"custom,omitempty"`   // instances have a health that is told to Cloud Map
	Route53   bool     `json:"route53,omitempty"`  // instances have a Route 53 health check
	Port      int32    `json:"port,omitempty"`     // that ECS registers, for SRV records; 0: none
}

// Record is one type of DNS record that a registry answers with.
type Record struct {
	Type string        `json:"type"` // A, AAAA, SRV
	TTL  time.Duration `json:"ttl"`  // nanoseconds
}

// FullName is the name that callers look up: "api.shop.local".
func (r Registry) FullName() string { return r.Name + "." + r.Namespace }

// HasDNS reports whether the name has records, or is found by DiscoverInstances
// alone.
func (r Registry) HasDNS() bool { return r.Kind != "HTTP" && len(r.Records) > 0 }

// TTL is how long callers may keep an answer; 0 without DNS.
func (r Registry) TTL() time.Duration {
	var longest time.Duration
	for _, x := range r.Records {
		longest = max(longest, x.TTL)
	}
	return longest
}

// Answers reports whether the registry has records of a type.
func (r Registry) Answers(kind string) bool {
	return slices.ContainsFunc(r.Records, func(x Record) bool { return x.Type == kind })
}

// followCloudMap is how long name servers may answer by what was true before a
// change. Nobody outside the VPC can look; changes reach all of Route 53's
// servers "generally within 60 seconds" (Route 53 API Reference, GetChange).
const followCloudMap = 60 * time.Second

// Forget is how long after a deregistration callers may still go to the task: the
// name servers follow, then the answers that callers keep run out.
func (r Registry) Forget() time.Duration { return followCloudMap + r.TTL() }

// Symbolic names of the writes to instances.
const (
	CanaryInstances  = "instances of canary"
	PrimaryInstances = "instances of primary"
)
