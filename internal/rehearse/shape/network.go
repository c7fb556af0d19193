package shape

import "strings"

// Parts of the ARNs of a Network Load Balancer and of its listeners.
const (
	networkARN      = ":loadbalancer/net/"
	networkListener = ":listener/net/"
)

// UsesNetworkBalancer reports whether callers reach the service through a Network Load Balancer.
func (w World) UsesNetworkBalancer() bool {
	return strings.Contains(w.Balancer, networkARN) && !w.UsesCloudMap()
}

// SetNetworkBalancer puts the service behind a Network Load Balancer, or behind an Application Load
// Balancer again. A Network Load Balancer has no rules and no cookies, so each listener keeps only
// its default action.
func (w *World) SetNetworkBalancer(network bool) {
	from, to := "/net/", "/app/"
	if network {
		from, to = to, from
	}
	w.Balancer = strings.Replace(w.Balancer, ":loadbalancer"+from, ":loadbalancer"+to, 1)
	for i := range w.Listeners {
		l := &w.Listeners[i]
		l.ARN = strings.Replace(l.ARN, ":listener"+from, ":listener"+to, 1)
		if network {
			l.Rules = l.Rules[:1:1]
			l.Rules[0].Priority, l.Rules[0].Path, l.Rules[0].ARN, l.Rules[0].Sticky = 0, "/", "", 0
		}
	}
	if network {
		w.CanaryOnlyRule = false
	}
}

// propagationSetting is the setting of a world file for the time until changed weights reach every
// node.
func (w World) propagationSetting() string {
	if w.UsesNetworkBalancer() {
		return "networkWeightPropagation"
	}
	return "weightPropagation"
}

// groupProtocol is the protocol of the target groups in a world file.
func (w World) groupProtocol() string {
	if w.UsesNetworkBalancer() {
		return "TCP"
	}
	return ""
}
