package wire

import (
	"strings"
	"time"
)

// limit is a token bucket: size and refill per second.
type limit struct{ burst, rate float64 }

// limits are the documented buckets, per account and Region. Sources: ECS API Reference "Request
// throttling for the Amazon ECS API"; ELBv2 API Reference "Request throttling for the Elastic Load
// Balancing API"; CloudWatch and CloudWatch Logs "service quotas", which name rates without bursts.
// The account bucket of ELBv2 (40 and 10) applies in addition to the others, as the stricter
// reading.
var limits = map[string]limit{
	"ecs service modify": {50, 5}, "ecs service read": {100, 20}, "ecs task set modify": {100, 20},
	"ecs service deployment": {50, 20}, "ecs service revision": {50, 20},
	"ecs cluster resource modify": {100, 40}, "ecs cluster resource read": {100, 20},
	"ecs cluster modify": {20, 1}, "ecs cluster read": {50, 20},
	"ecs task definition modify": {20, 1}, "ecs task definition read": {50, 20}, "ecs task definition delete": {5, 1},
	"ecs tag modify": {20, 10}, "ecs tag read": {50, 20}, "ecs task protection": {200, 80},
	"ecs capacity provider modify": {10, 1}, "ecs capacity provider read": {50, 20},
	"ecs settings modify": {10, 1}, "ecs namespace": {10, 1},
	"elb read": {200, 50}, "elb modify": {20, 3}, "elb registration": {20, 4}, "elb intensive": {10, 0.2},
	"elb account": {40, 10},
	// AWS documents none of these. The named operations have the defaults of AWS's own controller
	// (aws-cloud-map-mcs-controller-for-k8s, pull request 251), the slower one of two; other writes have
	// Route 53's limit of five a second, other reads the simulator's.
	"map ListNamespaces": {5, 0.5}, "map ListServices": {10, 2}, "map GetOperation": {200, 100},
	"map RegisterInstance": {100, 50}, "map DeregisterInstance": {100, 50}, "map ListInstances": {100, 50},
	"map modify": {5, 5}, "map read": {40, 20},
	"discover": {2000, 1000}, "discover revision": {3000, 3000},
	"cloudwatch alarms": {9, 9}, "cloudwatch data": {50, 50}, "cloudwatch put": {500, 500},
	"cloudwatch statistics":   {400, 400},
	"cloudwatch alarm modify": {3, 3},
	"codedeploy read":         {20, 10}, "codedeploy modify": {10, 2}, // chosen here: AWS documents none
	"autoscaling read": {20, 10}, "autoscaling modify": {10, 5}, // chosen here as well
	"logs groups": {10, 10}, "logs group modify": {10, 10}, "logs stream modify": {50, 50}, "logs streams": {25, 25},
	"logs get": {25, 25}, "logs filter": {5, 5}, "logs put": {5000, 5000}, "logs retention": {5, 5},
}

var ecsBuckets = map[string]string{
	"CreateService": "service modify", "UpdateService": "service modify", "DeleteService": "service modify",
	"DescribeServices": "service read", "ListServices": "service read",
	"CreateTaskSet": "task set modify", "UpdateTaskSet": "task set modify", "DeleteTaskSet": "task set modify",
	"UpdateServicePrimaryTaskSet": "task set modify", "DescribeTaskSets": "service read",
	"DescribeServiceDeployments": "service deployment", "ListServiceDeployments": "service deployment",
	"StopServiceDeployment": "service modify", "ContinueServiceDeployment": "service modify",
	"DescribeServiceRevisions": "service revision",
	"RunTask":                  "cluster resource modify", "StartTask": "cluster resource modify",
	"StopTask":       "cluster resource modify",
	"ExecuteCommand": "cluster resource modify", "PutAttributes": "cluster resource modify",
	"DeleteAttributes":          "cluster resource modify",
	"RegisterContainerInstance": "cluster resource modify", "DeregisterContainerInstance": "cluster resource modify",
	"UpdateContainerInstancesState": "cluster resource modify", "UpdateContainerAgent": "cluster resource modify",
	"DescribeTasks": "cluster resource read", "ListTasks": "cluster resource read",
	"ListAttributes":             "cluster resource read",
	"DescribeContainerInstances": "cluster resource read", "ListContainerInstances": "cluster resource read",
	"CreateCluster": "cluster modify", "UpdateCluster": "cluster modify", "DeleteCluster": "cluster modify",
	"UpdateClusterSettings": "cluster modify", "PutClusterCapacityProviders": "cluster modify",
	"DescribeClusters": "cluster read", "ListClusters": "cluster read",
	"RegisterTaskDefinition": "task definition modify", "DeregisterTaskDefinition": "task definition modify",
	"DescribeTaskDefinition": "task definition read", "ListTaskDefinitions": "task definition read",
	"ListTaskDefinitionFamilies": "task definition read", "DeleteTaskDefinitions": "task definition delete",
	"TagResource": "tag modify", "UntagResource": "tag modify", "ListTagsForResource": "tag read",
	"GetTaskProtection": "task protection", "UpdateTaskProtection": "task protection",
	"CreateCapacityProvider": "capacity provider modify", "UpdateCapacityProvider": "capacity provider modify",
	"DeleteCapacityProvider": "capacity provider modify", "DescribeCapacityProviders": "capacity provider read",
	"PutAccountSetting": "settings modify", "PutAccountSettingDefault": "settings modify",
	"DeleteAccountSetting":    "settings modify",
	"ListServicesByNamespace": "namespace",
}

// otherBuckets are the buckets of operations that have their own quota.
var otherBuckets = map[string]string{
	"cloudwatch DescribeAlarms": "cloudwatch alarms", "cloudwatch GetMetricData": "cloudwatch data",
	"cloudwatch GetMetricStatistics": "cloudwatch statistics", "cloudwatch PutMetricData": "cloudwatch put",
	"cloudwatch PutMetricAlarm": "cloudwatch alarm modify", "cloudwatch DeleteAlarms": "cloudwatch alarm modify",
	"logs DescribeLogGroups": "logs groups", "logs DescribeLogStreams": "logs streams",
	"logs CreateLogGroup": "logs group modify", "logs DeleteLogGroup": "logs group modify",
	"logs CreateLogStream": "logs stream modify", "logs DeleteLogStream": "logs stream modify",
	"logs GetLogEvents": "logs get", "logs FilterLogEvents": "logs filter", "logs PutLogEvents": "logs put",
	"logs PutRetentionPolicy": "logs retention", "logs DeleteRetentionPolicy": "logs retention",
}

// bucketsOf returns the buckets from which a call takes one token each.
func bucketsOf(service, operation string) []string {
	switch service {
	case "ecs":
		if b, ok := ecsBuckets[operation]; ok {
			return []string{"ecs " + b}
		}
	case "elasticloadbalancing":
		return []string{elbBucket(operation), "elb account"}
	case "servicediscovery":
		switch operation {
		case "DiscoverInstances":
			return []string{"discover"}
		case "DiscoverInstancesRevision":
			return []string{"discover revision"}
		}
		if _, own := limits["map "+operation]; own {
			return []string{"map " + operation}
		}
		return []string{"map " + readOrModify(operation)}
	}
	switch service {
	case "codedeploy":
		return []string{"codedeploy " + readOrModify(operation)}
	case "application-autoscaling":
		return []string{"autoscaling " + readOrModify(operation)}
	}
	if b, ok := otherBuckets[service+" "+operation]; ok {
		return []string{b}
	}
	return nil
}

func readOrModify(operation string) string {
	for _, word := range []string{"Describe", "Get", "List", "BatchGet"} {
		if strings.HasPrefix(operation, word) {
			return "read"
		}
	}
	return "modify"
}

func elbBucket(operation string) string {
	switch {
	case strings.HasPrefix(operation, "Describe"), strings.HasPrefix(operation, "Get"):
		return "elb read"
	case operation == "RegisterTargets", operation == "DeregisterTargets":
		return "elb registration"
	case operation == "CreateLoadBalancer", operation == "SetSubnets":
		return "elb intensive"
	}
	return "elb modify"
}

// bucket is the state of one token bucket.
type bucket struct {
	tokens float64
	at     time.Time
}

// takeTokens takes one token from every bucket, or none if one of them is empty.
func (s *regionState) takeTokens(names []string, now time.Time) bool {
	for _, n := range names {
		if s.refilledBucket(n, now).tokens < 1 {
			return false
		}
	}
	for _, n := range names {
		s.buckets[n].tokens--
	}
	return true
}

func (s *regionState) refilledBucket(name string, now time.Time) *bucket {
	l := limits[name]
	b := s.buckets[name]
	if b == nil {
		if s.buckets == nil {
			s.buckets = map[string]*bucket{}
		}
		b = &bucket{tokens: l.burst, at: now}
		s.buckets[name] = b
	}
	if d := now.Sub(b.at).Seconds(); d > 0 {
		b.tokens, b.at = min(l.burst, b.tokens+d*l.rate), now
	}
	return b
}
