package simtest

import (
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

const (
	arnBase = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
	hexID   = "0123456789abcdef"
)

// PlainWorld returns a small default world, from which others are generated.
func PlainWorld() shape.World {
	group := func(name string) shape.Group {
		return shape.Group{ARN: arnBase + "targetgroup/" + name + "/" + hexID, Interval: 5 * time.Second,
			Timeout: 2 * time.Second,
			Healthy: 2, Unhealthy: 2, Drain: 20 * time.Second}
	}
	return shape.World{
		Account:    "123456789012",
		Region:     "us-east-1",
		Cluster:    "prod",
		Service:    "web",
		Controller: "EXTERNAL",
		Tasks:      4,
		Port:       8080,
		Subnets:    shape.SubnetIDs(3),
		Balancer:   arnBase + "loadbalancer/app/web/" + hexID,
		Primary:    group("web-primary"),
		Canary:     group("web-canary"),
		Listeners: []shape.Listener{{ARN: arnBase + "listener/app/web/" + hexID + "/" + hexID, Port: 80,
			Rules: []shape.Rule{{Primary: 100, Path: "/"}}}},
	}
}
