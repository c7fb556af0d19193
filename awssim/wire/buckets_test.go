package wire

import (
	"math"
	"testing"
	"time"
)

// documented are the token buckets as AWS documents them, by an operation of each: ECS
// API Reference and ELB API Reference, "Request throttling"; CloudWatch and CloudWatch
// Logs, "service quotas"; Cloud Map Developer Guide, "Quotas", Route 53's five
// requests a second, and the defaults of AWS's own controller. What AWS does not document is not here.
var documented = []struct {
	service, operation string
	burst, rate        float64
}{
	{"ecs", "UpdateService", 50, 5}, {"ecs", "DescribeServices", 100, 20}, {"ecs", "CreateTaskSet", 100, 20},
	{"ecs", "DescribeServiceDeployments", 50, 20}, {"ecs", "DescribeServiceRevisions", 50, 20},
	{"ecs", "RunTask", 100, 40}, {"ecs", "DescribeTasks", 100, 20}, {"ecs", "CreateCluster", 20, 1},
	{"ecs", "DescribeClusters", 50, 20},
	{"ecs", "RegisterTaskDefinition", 20, 1}, {"ecs", "DescribeTaskDefinition", 50, 20},
	{"ecs", "DeleteTaskDefinitions", 5, 1},
	{"ecs", "TagResource", 20, 10}, {"ecs", "ListTagsForResource", 50, 20}, {"ecs", "UpdateTaskProtection", 200, 80},
	{"ecs", "CreateCapacityProvider", 10, 1}, {"ecs", "DescribeCapacityProviders", 50, 20},
	{"ecs", "PutAccountSetting", 10, 1}, {"ecs", "ListServicesByNamespace", 10, 1},
	{"elasticloadbalancing", "DescribeRules", 40, 10}, {"elasticloadbalancing", "ModifyRule", 20, 3},
	{"elasticloadbalancing", "ModifyListener", 20, 3},
	{"elasticloadbalancing", "RegisterTargets", 20, 4}, {"elasticloadbalancing", "CreateLoadBalancer", 10, 0.2},
	{"servicediscovery", "DiscoverInstances", 2000, 1000}, {"servicediscovery", "DiscoverInstancesRevision", 3000,
		3000},
	{"servicediscovery", "RegisterInstance", 100, 50}, {"servicediscovery", "DeregisterInstance", 100, 50},
	{"servicediscovery", "ListServices", 10, 2}, {"servicediscovery", "CreateService", 5, 5},
	{"cloudwatch", "DescribeAlarms", 9, 9}, {"cloudwatch", "GetMetricData", 50, 50},
	{"cloudwatch", "PutMetricData", 500, 500},
	{"logs", "GetLogEvents", 25, 25}, {"logs", "FilterLogEvents", 5, 5}, {"logs", "DescribeLogStreams", 25, 25},
	{"logs", "DescribeLogGroups", 10, 10},
}

// Of each operation as many calls pass at once as AWS documents, and in the time
// in which a quarter of them comes back, that quarter.
func TestBucketsAreAsDocumented(t *testing.T) {
	for _, d := range documented {
		var s regionState
		now := time.Unix(1_800_000_000, 0)
		pass := func() (n float64) {
			for n < 10_000 && s.takeTokens(bucketsOf(d.service, d.operation), now) {
				n++
			}
			return n
		}
		if n := pass(); n != d.burst {
			t.Errorf("%s:%s: %v calls pass at once, AWS documents %v", d.service, d.operation, n, d.burst)
		}
		seconds := d.burst / d.rate / 4
		now = now.Add(time.Duration(seconds*float64(time.Second)) + time.Microsecond)
		if n, want := pass(), math.Floor(d.rate*seconds+1e-6); n != want {
			t.Errorf("%s:%s: %v calls pass in the next %v s, want %v: AWS documents %v a second", d.service,
				d.operation, n, seconds, want, d.rate)
		}
	}
}
