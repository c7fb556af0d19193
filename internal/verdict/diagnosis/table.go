package diagnosis

// row is all that sluice knows about one kind of cause.
type row struct {
	kind   Kind
	advice string // one sentence: what to do
	// afterStart: its reasons also explain a container that ran. Otherwise it ended by itself.
	afterStart  bool
	codes       []string // error codes of CodeDeploy deployments (CodeDeploy API Reference, ErrorInformation)
	healthCheck bool     // only a passed health check shows that the cause is over
}

// table has a row for each kind.
var table = []row{
	{kind: NotReady, afterStart: true,
		advice: "read the log of the container that the other one waits for, and compare it with the condition in " +
			"dependsOn"},
	{kind: OutOfMemory, afterStart: true,
		advice: "raise the memory of the task or of the container, or make the program use less"},
	{kind: ExecFormat, afterStart: true,
		advice: "build the image for the task's CPU architecture, or set runtimePlatform.cpuArchitecture to " +
			"the image's"},
	{kind: Throttled,
		codes:  []string{"THROTTLED"},
		advice: "wait and try again, or lower the request rate: AWS or the image's registry throttles requests"},
	{kind: RoleRefused,
		advice: "check that the role exists and that its trust policy names ecs-tasks.amazonaws.com"},
	{kind: SecretUnread,
		advice: "check that the secret or parameter exists and that the execution role and the network let the " +
			"task read it"},
	{kind: ImageNotFound,
		advice: "check the image's name and tag, that it was pushed to that registry, and that the execution " +
			"role may pull it"},
	{kind: NoCapacity,
		codes: []string{"OVER_MAX_INSTANCES", "RESOURCE_LIMIT_EXCEEDED"},
		advice: "add capacity to the cluster or its capacity provider, request less CPU and memory, or raise " +
			"the account's quota"},
	{kind: NotStartable, afterStart: true,
		advice: "check the container's command, entry point, user and mounts against the contents of the image"},
	{kind: ExitCode, advice: "read the container's last log lines, or run its image yourself: the program ended by itself"},
	{kind: ContainerHealth, healthCheck: true,
		advice: "run the health check's command inside the container; if the program only needs longer to " +
			"start, raise the check's startPeriod"},
	{kind: BalancerHealth, healthCheck: true,
		advice: "request the target group's health check path from the container; if the program only needs " +
			"longer to start, raise healthCheckGracePeriodSeconds"},
	{kind: WrongPort, healthCheck: true,
		advice: "make the program listen on the service's containerPort on all addresses, or set " +
			"containerPort to the port on which it listens"},
	{kind: CheckPort, healthCheck: true,
		advice: "make the program answer on the health check's port, or set the target group's health check port to " +
			"traffic-port"},
	{kind: CheckChanged, healthCheck: true,
		advice: "restore the former health check of the target group, or make the program pass the one of now"},
	{kind: GroupUnused,
		advice: "add the target group to the forward action of the rule that callers use: its rule or listener was " +
			"deleted, or forwards elsewhere"},
	{kind: Deregistered,
		advice: "find what deregistered the targets, then run sluice deploy or sluice refresh: ECS registers only tasks that it " +
			"starts"},
	{kind: SlowStart,
		advice: "raise the timeout and healthCheckGracePeriodSeconds, or make the program start faster"},
	{kind: Superseding, advice: "wait for the newer deployment instead"},
	{kind: AlarmFired, codes: []string{"ALARM_ACTIVE"},
		advice: "check the metric of the alarm; it fired while the new version took over"},
	{kind: BreakerFired, advice: "read the service's events and tasks: sluice status --events 20"},
	{kind: BlockedByConfig,
		advice: "lower minimumHealthyPercent or raise maximumPercent: with this desired count " +
			"ECS can neither stop nor start a task"},
	{kind: HookFailed, codes: []string{"HOOK_EXECUTION_FAILURE"},
		advice: "read the log of the hook's function; it has to call PutLifecycleEventHookExecutionStatus with " +
			"Succeeded within an hour"},
	{kind: HookMissing, advice: "create the Lambda function, or name an existing one for this lifecycle event"},
	{kind: NotContinued,
		advice: "continue the next deployment in time: sluice approve, or aws deploy continue-deployment if " +
			"another tool deploys"},
	{kind: GroupMissing, codes: []string{"DEPLOYMENT_GROUP_MISSING", "APPLICATION_MISSING", "INVALID_ECS_SERVICE"},
		advice: "check that the service and its CodeDeploy application and deployment group exist, then " +
			"deploy again"},
	{kind: GroupRole, codes: []string{"IAM_ROLE_MISSING", "IAM_ROLE_PERMISSIONS"},
		advice: "grant the deployment group's service role the permissions of AWSCodeDeployRoleForECS, and " +
			"iam:PassRole for the task's roles"},
	{kind: GroupRoutes, codes: []string{"ELASTIC_LOAD_BALANCING_INVALID", "ELB_INVALID_INSTANCE"},
		advice: "check that the production listener forwards to one of the deployment group's two target groups, " +
			"and the test listener too"},
	{kind: ECSRefused, codes: []string{"ECS_UPDATE_ERROR"},
		advice: "change what ECS refuses: the task definition, network, platform version or capacity providers " +
			"of the AppSpec"},
	{kind: Unended, advice: "wait again with sluice wait: ECS ends the deployment by itself"},
	{kind: Draining, advice: "wait again, with a longer --timeout: the deployment ends when the former tasks have drained"},
	{kind: StoppedByOther, advice: "run it again: the program did not end by itself; a container that must not stop the task " +
		"needs essential: false"},
	{kind: NoRoute,
		advice: "give the task a route to the service that it cannot reach: a NAT gateway, a VPC endpoint, or a public address"},
	{kind: NetworkRefused, advice: "check the subnets and security groups of networkConfiguration"},
	{kind: DiskFull, advice: "raise ephemeralStorage of the task definition, or free the disk of the container instance"},
	{kind: LogRefused,
		advice: "check the options of the log configuration, the log group's Region, and the execution role"},
	{kind: FileUnread,
		advice: "check that the environment file exists in its bucket, and allow s3:GetObject and s3:GetBucketLocation to " +
			"the execution role"},
	{kind: VolumeFailed, advice: "check the volumes of the task definition and the network path to them"},
	{kind: PortTaken,
		advice: "set hostPort to 0 for a port that Docker chooses, or add instances: a fixed host port is used once per " +
			"instance"},
	{kind: Inactive, advice: "run sluice deploy: it registers the task definition again"},
	{kind: GroupGone,
		advice: "create the target group again, or name another one in the service definition, then deploy again"},
	{kind: NotRouted, healthCheck: true,
		advice: "forward a listener rule or the default action of a listener to the target group: no rule sends requests " +
			"to it"},
	{kind: OtherCause, advice: "read the service's events and tasks: sluice status --events 20"},
}
