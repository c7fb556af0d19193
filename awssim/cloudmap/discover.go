package cloudmap

// Filters of DiscoverInstances by health.
const (
	OnlyHealthy   = "HEALTHY"
	OnlyUnhealthy = "UNHEALTHY"
	AnyHealth     = "ALL"
	HealthyOrAny  = "HEALTHY_OR_ELSE_ALL"
)

// Query holds the filters of DiscoverInstances.
type Query struct {
	// Health is ignored for services without health checks. "" means [AnyHealth]: AWS does not
	// document the default, and a caller without a filter must expect unhealthy instances.
	Health string
	// Parameters are attributes that an instance must have, all of them.
	Parameters map[string]string
	// Optional are preferred attributes. If some matching instances have them all, only those are
	// returned. Otherwise they have no effect.
	Optional   map[string]string
	MaxResults int // 100 if 0
}

// FindInstances returns the instances that match a query, in order of registration. Each is as
// likely as any other to come first in an answer.
func (e *Entry) FindInstances(q Query) []*View {
	var all []*View
	for _, v := range e.registered {
		if v.hasAttributes(q.Parameters) {
			all = append(all, v)
		}
	}
	all = e.filterByHealth(all, q.Health)
	if len(q.Optional) == 0 {
		return all
	}
	var wanted []*View
	for _, v := range all {
		if v.hasAttributes(q.Optional) {
			wanted = append(wanted, v)
		}
	}
	if len(wanted) > 0 {
		return wanted
	}
	return all
}

// DiscoverInstances returns one answer to a query, in random order. It calls draw for a number in
// [0,1) per position.
func (e *Entry) DiscoverInstances(q Query, draw func(n int) float64) []*View {
	all := shuffledViews(e.FindInstances(q), draw)
	most := q.MaxResults
	if most == 0 {
		most = 100
	}
	return all[:min(len(all), most)]
}

func (e *Entry) filterByHealth(all []*View, filter string) []*View {
	if !e.HasCustomHealth || filter == "" || filter == AnyHealth {
		return all
	}
	var kept []*View
	for _, v := range all {
		if v.Healthy != (filter == OnlyUnhealthy) {
			kept = append(kept, v)
		}
	}
	if len(kept) == 0 && filter == HealthyOrAny {
		return all
	}
	return kept
}

func (v *View) hasAttributes(attributes map[string]string) bool {
	for k, want := range attributes {
		if got, ok := v.Attributes[k]; !ok || got != want {
			return false
		}
	}
	return true
}
