package account

import (
	"strings"
	"sync"
	"time"
)

// rateShare is the part of AWS's documented rate and burst that one process uses. The rates are per
// account and Region. The console, other tools and other runs of sluice share them; AWS would
// refuse their calls if one process used the full rate.
const rateShare = 0.5

// Limits are the token buckets of a process, by account, Region and AWS category. The front end
// creates one and passes it to every [Config]. The zero value is not usable.
type Limits struct {
	mu         sync.Mutex
	queues     map[string]*queue
	paidWrites map[string]time.Time // writes that took their tokens and were not sent yet
}

// NewLimits returns full buckets.
func NewLimits() *Limits {
	return &Limits{queues: map[string]*queue{}, paidWrites: map[string]time.Time{}}
}

// bucket is one of AWS's buckets, as documented: burst tokens, refilled at rate per second.
type bucket struct {
	name  string
	burst float64
	rate  float64
}

// Amazon ECS API Reference, "Request throttling for the Amazon ECS API".
var (
	serviceModify     = bucket{"ecs service modify", 50, 5}
	serviceRead       = bucket{"ecs service read", 100, 20}
	taskSetModify     = bucket{"ecs task set modify", 100, 20}
	serviceDeployment = bucket{"ecs service deployment", 50, 20}
	serviceRevision   = bucket{"ecs service revision", 50, 20}
	clusterParts      = bucket{"ecs cluster resource modify", 100, 40}
	clusterPartsRead  = bucket{"ecs cluster resource read", 100, 20}
	clusterRead       = bucket{"ecs cluster read", 50, 20}
	definitionModify  = bucket{"ecs task definition modify", 20, 1}
	definitionRead    = bucket{"ecs task definition read", 50, 20}
	tagModify         = bucket{"ecs tag modify", 20, 10}
	tagRead           = bucket{"ecs tag read", 50, 20}
	byNamespace       = bucket{"ecs services by namespace", 10, 1}
	// ecsOther uses the slowest row of the page, for operations that the page does not list.
	ecsOther = bucket{"ecs other", 10, 1}
)

// Elastic Load Balancing API Reference v2, "Request throttling". The account's
// bucket counts every call, so rateShare of it keeps the sum below 10 a second.
var (
	elbAccount  = bucket{"elb account", 40, 10}
	elbRead     = bucket{"elb non-mutating", 200, 50}
	elbModify   = bucket{"elb mutating", 20, 3}
	elbRegister = bucket{"elb registration", 20, 4}
)

// Cloud Map documents only its discovery calls. Instances and their list have the rates that AWS's own controller uses
// (aws-cloud-map-mcs-controller-for-k8s, pull request 251); the account may have less, and then AWS throttles and the gate
// tries again. Other writes use Route 53's 5 requests a second. Application Auto Scaling, CodeDeploy, IAM and STS document
// no rates: these numbers are guesses.
var (
	mapDiscover = bucket{"cloud map discover", 2000, 1000}
	mapInstance = bucket{"cloud map instances", 100, 50}
	mapModify   = bucket{"cloud map modify", 10, 5}
	mapRead     = bucket{"cloud map read", 40, 20}
	scalingRead = bucket{"autoscaling read", 20, 10}
	scalingEdit = bucket{"autoscaling modify", 10, 5}
	deployRead  = bucket{"codedeploy read", 20, 10}
	deployEdit  = bucket{"codedeploy modify", 5, 2}
	stsAll      = bucket{"sts", 50, 20}
	iamRead     = bucket{"iam read", 20, 10}
)

// CloudWatch and CloudWatch Logs, "service quotas", which name rates without
// bursts. FilterLogEvents is ten in some Regions and five in most; other operations
// take from the slowest.
var (
	alarmRead   = bucket{"cloudwatch describe alarms", 9, 9}
	metricData  = bucket{"cloudwatch get metric data", 50, 50}
	metricOther = bucket{"cloudwatch other", 3, 3}
	logsGet     = bucket{"logs get events", 25, 25}
	logsStreams = bucket{"logs describe streams", 25, 25}
	logsFilter  = bucket{"logs filter events", 5, 5}
	logsOther   = bucket{"logs other", 5, 5}
)

// ecsBuckets maps operations to their ECS category. DescribeTaskSets is in no documented category;
// it takes from the services' reads, the strictest guess.
var ecsBuckets = map[string]bucket{
	"CreateService": serviceModify, "UpdateService": serviceModify, "DeleteService": serviceModify,
	"DescribeServices": serviceRead, "ListServices": serviceRead, "DescribeTaskSets": serviceRead,
	"CreateTaskSet": taskSetModify, "UpdateTaskSet": taskSetModify, "DeleteTaskSet": taskSetModify,
	"UpdateServicePrimaryTaskSet": taskSetModify,
	"DescribeServiceDeployments":  serviceDeployment, "ListServiceDeployments": serviceDeployment,
	"DescribeServiceRevisions": serviceRevision,
	"RunTask":                  clusterParts, "StartTask": clusterParts, "StopTask": clusterParts, "ExecuteCommand": clusterParts,
	"DescribeTasks": clusterPartsRead, "ListTasks": clusterPartsRead,
	"DescribeContainerInstances": clusterPartsRead, "ListContainerInstances": clusterPartsRead,
	"DescribeClusters": clusterRead, "ListClusters": clusterRead, "DescribeCapacityProviders": clusterRead,
	"RegisterTaskDefinition": definitionModify, "DeregisterTaskDefinition": definitionModify,
	"DescribeTaskDefinition": definitionRead, "ListTaskDefinitions": definitionRead,
	"ListTaskDefinitionFamilies": definitionRead,
	"TagResource":                tagModify, "UntagResource": tagModify, "ListTagsForResource": tagRead,
	"ListServicesByNamespace": byNamespace,
}

// bucketsOf returns the buckets from which one attempt of an operation takes a token.
func bucketsOf(operation string) []bucket {
	service, name, _ := strings.Cut(operation, ":")
	switch service {
	case "ecs":
		if b, ok := ecsBuckets[name]; ok {
			return []bucket{b}
		}
		return []bucket{ecsOther}
	case "elasticloadbalancing":
		return []bucket{elbBucket(name), elbAccount}
	case "servicediscovery":
		return []bucket{mapBucket(name)}
	case "application-autoscaling":
		return []bucket{readOrWrite(name, scalingRead, scalingEdit)}
	case "codedeploy":
		return []bucket{readOrWrite(name, deployRead, deployEdit)}
	case "cloudwatch", "logs":
		return []bucket{watchBucket(service, name)}
	case "iam":
		return []bucket{iamRead}
	}
	return []bucket{stsAll}
}

func watchBucket(service, name string) bucket {
	switch name {
	case "DescribeAlarms":
		return alarmRead
	case "GetMetricData":
		return metricData
	case "GetLogEvents":
		return logsGet
	case "DescribeLogStreams":
		return logsStreams
	case "FilterLogEvents":
		return logsFilter
	}
	if service == "logs" {
		return logsOther
	}
	return metricOther
}

func elbBucket(name string) bucket {
	if name == "RegisterTargets" || name == "DeregisterTargets" {
		return elbRegister
	}
	return readOrWrite(name, elbRead, elbModify)
}

func mapBucket(name string) bucket {
	switch name {
	case "RegisterInstance", "DeregisterInstance":
		return mapInstance
	}
	if strings.HasPrefix(name, "Discover") {
		return mapDiscover
	}
	return readOrWrite(name, mapRead, mapModify)
}

func readOrWrite(name string, ifRead, ifWrite bucket) bucket {
	if IsWrite(name) {
		return ifWrite
	}
	return ifRead
}
