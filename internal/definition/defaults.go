package definition

import (
	"cmp"
	"slices"
	"strings"
)

// taskDefaults returns the values that AWS uses for members that a task definition omits ("Amazon
// ECS task definition parameters"). A member with its default equals an omitted one.
func taskDefaults() map[string]string {
	return map[string]string{
		"enableFaultInjection":                                                       "false",
		"networkMode":                                                                "bridge",
		"proxyConfiguration.type":                                                    "APPMESH",
		"containerDefinitions.essential":                                             "true",
		"containerDefinitions.cpu":                                                   "0",
		"containerDefinitions.disableNetworking":                                     "false",
		"containerDefinitions.interactive":                                           "false",
		"containerDefinitions.privileged":                                            "false",
		"containerDefinitions.pseudoTerminal":                                        "false",
		"containerDefinitions.readonlyRootFilesystem":                                "false",
		"containerDefinitions.versionConsistency":                                    "enabled",
		"containerDefinitions.linuxParameters.initProcessEnabled":                    "false",
		"containerDefinitions.mountPoints.readOnly":                                  "false",
		"containerDefinitions.volumesFrom.readOnly":                                  "false",
		"containerDefinitions.portMappings.protocol":                                 "tcp",
		"containerDefinitions.restartPolicy.restartAttemptPeriod":                    "300",
		"containerDefinitions.healthCheck.interval":                                  "30",
		"containerDefinitions.healthCheck.timeout":                                   "5",
		"containerDefinitions.healthCheck.retries":                                   "3",
		"containerDefinitions.healthCheck.startPeriod":                               "0",
		"volumes.configuredAtLaunch":                                                 "false",
		"volumes.dockerVolumeConfiguration.scope":                                    "task",
		"volumes.dockerVolumeConfiguration.autoprovision":                            "false",
		"volumes.efsVolumeConfiguration.rootDirectory":                               "/",
		"volumes.efsVolumeConfiguration.transitEncryption":                           "DISABLED",
		"volumes.efsVolumeConfiguration.authorizationConfig.iam":                     "DISABLED",
		"containerDefinitions.firelensConfiguration.options.enable-ecs-log-metadata": "true",
	}
}

// serviceDefaults returns the values that AWS uses for members that a service definition omits
// ("CreateService", Amazon ECS API Reference).
func serviceDefaults() map[string]string {
	const deployment = "deploymentConfiguration."
	return map[string]string{
		"enableECSManagedTags":                                               "false",
		"enableExecuteCommand":                                               "false",
		"deploymentController.type":                                          "ECS",
		"healthCheckGracePeriodSeconds":                                      "0",
		"platformVersion":                                                    "LATEST",
		"propagateTags":                                                      "NONE",
		"schedulingStrategy":                                                 "REPLICA",
		"capacityProviderStrategy.base":                                      "0",
		"capacityProviderStrategy.weight":                                    "0",
		"serviceConnectConfiguration.enabled":                                "false",
		deployment + "maximumPercent":                                        "200",
		deployment + "minimumHealthyPercent":                                 "100",
		deployment + "strategy":                                              "ROLLING",
		deployment + "bakeTimeInMinutes":                                     "0",
		deployment + "alarms.enable":                                         "false",
		deployment + "alarms.rollback":                                       "false",
		deployment + "lifecycleHooks.targetType":                             "AWS_LAMBDA",
		deployment + "lifecycleHooks.timeoutConfiguration.action":            "ROLLBACK",
		deployment + "lifecycleHooks.timeoutConfiguration.timeoutInMinutes":  "1440",
		deployment + "canaryConfiguration.canaryPercent":                     "5",
		deployment + "canaryConfiguration.canaryBakeTimeInMinutes":           "10",
		deployment + "linearConfiguration.stepPercent":                       "10",
		deployment + "linearConfiguration.stepBakeTimeInMinutes":             "6",
		deployment + "deploymentCircuitBreaker.enable":                       "false",
		deployment + "deploymentCircuitBreaker.rollback":                     "false",
		deployment + "deploymentCircuitBreaker.resetOnHealthyTask":           "true",
		deployment + "deploymentCircuitBreaker.thresholdConfiguration.type":  "BOUNDED_PERCENT",
		deployment + "deploymentCircuitBreaker.thresholdConfiguration.value": "50",
		"networkConfiguration.awsvpcConfiguration.assignPublicIp":            "DISABLED",
	}
}

// order is how a list is compared: by the members that name its entries, or as a set of text.
type order struct {
	by  []string // the members that name an entry
	set bool     // text in any order
}

// listOrders returns the lists whose order does not matter to AWS. Other lists are compared in
// their order: command, dnsServers, environmentFiles (the first wins), placementStrategy.
func listOrders() map[string]order {
	const c = "containerDefinitions"
	set := order{set: true}
	return map[string]order{
		"tags":                                   {by: []string{"key"}},
		"requiresCompatibilities":                set,
		"placementConstraints":                   {by: []string{"type", "expression"}},
		"volumes":                                {by: []string{"name"}},
		"inferenceAccelerators":                  {by: []string{"deviceName"}},
		"proxyConfiguration.properties":          {by: []string{"name"}},
		c:                                        {by: []string{"name"}},
		c + ".environment":                       {by: []string{"name"}},
		c + ".secrets":                           {by: []string{"name"}},
		c + ".portMappings":                      {by: []string{"containerPort", "containerPortRange", "protocol"}},
		c + ".mountPoints":                       {by: []string{"containerPath"}},
		c + ".volumesFrom":                       {by: []string{"sourceContainer"}},
		c + ".ulimits":                           {by: []string{"name"}},
		c + ".dependsOn":                         {by: []string{"containerName"}},
		c + ".systemControls":                    {by: []string{"namespace"}},
		c + ".extraHosts":                        {by: []string{"hostname", "ipAddress"}},
		c + ".resourceRequirements":              {by: []string{"type", "value"}},
		c + ".links":                             set,
		c + ".logConfiguration.secretOptions":    {by: []string{"name"}},
		c + ".linuxParameters.capabilities.add":  set,
		c + ".linuxParameters.capabilities.drop": set,
		c + ".linuxParameters.devices":           {by: []string{"hostPath", "containerPath"}},
		c + ".linuxParameters.tmpfs":             {by: []string{"containerPath"}},
		"capacityProviderStrategy":               {by: []string{"capacityProvider"}},
		"loadBalancers": {by: []string{"targetGroupArn", "loadBalancerName",
			"containerName"}},
		"serviceRegistries":                                       {by: []string{"registryArn"}},
		"deploymentConfiguration.alarms.alarmNames":               set,
		"networkConfiguration.awsvpcConfiguration.subnets":        set,
		"networkConfiguration.awsvpcConfiguration.securityGroups": set,
		"serviceConnectConfiguration.services":                    {by: []string{"portName"}},
		"volumeConfigurations":                                    {by: []string{"name"}},
		"vpcLatticeConfigurations":                                {by: []string{"targetGroupArn", "portName"}},
	}
}

// rules are the defaults and orders of one kind of definition.
type rules struct {
	defaults map[string]string
	orders   map[string]order
}

// normalizeValue returns a tree in the one form that equal definitions share. It removes members
// that have their default and sorts lists without order. path has no indices.
func (r rules) normalizeValue(v any, path string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			v[k] = r.normalizeValue(member, joinPath(path, k))
		}
		return pruneMap(v)
	case []any:
		return r.normalizeList(v, path)
	case string:
		if d, ok := r.defaults[path]; ok && d == v {
			return nil
		}
	}
	return v
}

func (r rules) normalizeList(list []any, path string) any {
	how, known := r.orders[path]
	if known {
		slices.SortStableFunc(list, func(a, b any) int {
			return cmp.Compare(how.entryName(a, r.defaults, path), how.entryName(b, r.defaults, path))
		})
	}
	if how.set {
		list = slices.CompactFunc(list, func(a, b any) bool { return a == b })
	}
	for i := range list {
		if m := r.normalizeValue(list[i], path); m != nil {
			list[i] = m
		} else {
			list[i] = map[string]any{}
		}
	}
	return list
}

// entryName returns the name of a list entry.
func (o order) entryName(item any, defaults map[string]string, path string) string {
	m, ok := item.(map[string]any)
	if !ok {
		s, _ := item.(string)
		return s
	}
	var parts []string
	for _, key := range o.by {
		s, ok := m[key].(string)
		if !ok {
			s = defaults[joinPath(path, key)]
		}
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "/")
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
