package policy

// Sids of the statements. A Sid states the purpose of its statement.
const (
	readAll         = "ReadWhatHasNoResourceInIAM"
	readServices    = "ReadServices"
	readHistory     = "ReadServiceDeployments"
	readTaskSets    = "ReadTaskSets"
	readTasks       = "ReadTasks"
	readLogs        = "ReadLogsOfTasks"
	readRegistry    = "ReadRegistry"
	readNamespaces  = "ReadNamespaces"
	readGroups      = "ReadCodeDeployGroups"
	readApplication = "ReadCodeDeployApplications"
	readConfigs     = "ReadCodeDeployConfigurations"
	readRequests    = "ShowRequestsOfCanary"
	readNames       = "ShowNamesOfServices"
	readChecks      = "CheckBeforeDeployment"
	readRoles       = "CheckRolesOfTasks"
	readGates       = "ReadMetricsOfGates"
	readGateSecrets = "ReadSecretsOfGates"
	queryPrometheus = "QueryPrometheusOfGates"

	claimService        = "ClaimService"
	tagCanary           = "TagCanaryService"
	registerDefinitions = "RegisterTaskDefinitions"
	tagDefinitions      = "TagTaskDefinitions"
	changeService       = "ChangeService"
	changeCanary        = "ChangeCanaryService"
	stopDeployment      = "StopServiceDeployments"
	changeTaskSets      = "ChangeTaskSets"
	runTasks            = "RunTasks"
	tagTasks            = "TagTasks"
	shiftRules          = "ShiftListenerRules"
	shiftListeners      = "ShiftListeners"
	registerNames       = "RegisterInstances"
	keepRecords         = "ChangeRecordsOfInstances"
	keepChecks          = "ChangeHealthChecksOfInstances"
	createChecks        = "CreateHealthChecksOfInstances"
	suspendScaling      = "SuspendAutoScaling"
	createShift         = "CreateCodeDeployDeployments"
	registerAppSpec     = "RegisterAppSpecs"
	steerShift          = "SteerCodeDeployDeployments"
	passToTasks         = "PassRolesToTasks"
	passToECS           = "PassRolesToECS"
	deregisterOld       = "DeregisterOldTaskDefinitions"
)

// sidOrder is the order of the statements: reads, then writes as a deployment makes them.
var sidOrder = []string{
	readAll, readServices, readHistory, readTaskSets, readTasks, readLogs, readRegistry, readNamespaces,
	readApplication, readGroups, readConfigs, readRequests, readNames, readChecks, readRoles, readGates, readGateSecrets,
	queryPrometheus,
	claimService, tagCanary, registerDefinitions, tagDefinitions, changeService, changeCanary, changeTaskSets,
	stopDeployment, runTasks, tagTasks, shiftRules, shiftListeners,
	registerNames, keepRecords, createChecks, keepChecks, suspendScaling, registerAppSpec, createShift, steerShift,
	passToTasks, passToECS, deregisterOld,
}

// conditions restrict statements where the resources alone allow too much.
var conditions = map[string]map[string]map[string]string{
	passToTasks:    {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
	passToECS:      {"StringEquals": {"iam:PassedToService": "ecs.amazonaws.com"}},
	suspendScaling: {"StringEquals": {"application-autoscaling:service-namespace": "ecs"}},
}
