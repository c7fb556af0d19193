package diagnosis

// placementReasons are about instances and quotas.
var placementReasons = []reason{
	says(`resource:ports|using a port required|port is already allocated|address already in use`, PortTaken, ""),
	says(`capacity is unavailable|insufficientinstancecapacity|unfulfillablecapacity`, NoCapacity,
		"deploy again later, add subnets in other Availability Zones, or add FARGATE beside FARGATE_SPOT to the capacity "+
			"provider strategy"),
	says(`reached the limit on the number of|configuration is above your limit`, NoCapacity,
		"raise the account's quota for Fargate in Service Quotas, or run fewer or smaller tasks"),
	says(`unable to place a task\. reason: internal error`, NoCapacity,
		"choose subnets in Availability Zones that Fargate supports"),
	says(`error .agent|agent.*(disconnected|not connected)`, NoCapacity,
		"start the ECS agent of the container instance again, or replace the instance: its agent is disconnected"),
	says(`resource:gpu|insufficient gpu`, NoCapacity, "add instances with free GPUs, or request fewer"),
	says(`no container instances? (was|were) found|no container instances are`, NoCapacity,
		"add container instances to the cluster, or use launch type FARGATE"),
	says(`missing an attribute|required attribute|memberof constraint|distinctinstance|placement constraint|attribute required`,
		NoCapacity, "add instances that satisfy the placement constraints and required attributes of the task, or relax them"),
	says(`insufficient (memory|cpu)|resource:(cpu|memory)`, NoCapacity,
		"add instances or larger ones, or request less CPU and memory in the task definition"),
	says(`resource:[a-z]|insufficient (capacity|resources)|no container instance|unable to place a task`, NoCapacity, ""),
}

// containerReasons are about the start of a container.
var containerReasons = []reason{
	says(`executable file not found|exec: .*no such file or directory|starting container process.*no such file`, NotStartable,
		"correct command and entryPoint: the image has no such program"),
	says(`permission denied`, NotStartable,
		"make the entry point executable in the image (chmod +x), or correct user and mounts"),
	says(`unable to find (user|group)|no matching entries in passwd`, NotStartable,
		"correct user in the container definition: the image has no such user"),
	says(`invalid mount config|error mounting|not a directory`, NotStartable,
		"correct mountPoints and volumes of the task definition"),
	says(`dockertimeouterror|could not transition to`, NotStartable,
		"check the CPU, disk and network of the container instance: Docker did not start the container in time"),
	says(`cannotstartcontainer|cannotcreatecontainer`, NotStartable, ""),
	says(`taskdefinition is inactive|task definition is inactive`, Inactive, ""),
}

// balancerReasons are about target groups and health checks.
var balancerReasons = []reason{
	says(`target.group is not found|targetgroupnotfound|target group .* does not exist`, GroupGone, ""),
	says(`not configured to receive traffic|target\.notinuse`, NotRouted, ""),
	says(`availability zone that is not enabled`, NotRouted,
		"enable the Availability Zone of the task for the load balancer, or run the tasks in other subnets"),
	says(`failed to register targets`, GroupGone,
		"check that the target group exists, and that ECS's service-linked role may register targets in it"),
	says(`health checks failed with these codes|response code mismatch`, BalancerHealth,
		"make the health check path return a code of the target group's matcher; if the program only needs longer, raise "+
			"healthCheckGracePeriodSeconds"),
	says(`request timed out|target\.timeout`, BalancerHealth,
		"allow the load balancer's security group to reach the task's port, and make the health check path respond within "+
			"its timeout"),
}

// deploymentReasons are about a deployment as a whole.
var deploymentReasons = []reason{
	says(`because of the service deployment configuration`, BlockedByConfig, ""),
	says(`lifecycle hook .* got no answer in time`, HookFailed,
		"answer the pause in time: sluice continue; or raise the timeout of the hook"),
	says(`lifecycle hook .* was answered rollback`, HookFailed, "ask the person who answered the hook with ROLLBACK"),
	says(`lifecycle hook`, HookFailed,
		"read the log of the hook's function: it has to return hookStatus SUCCEEDED, and ECS's hook role must be allowed to "+
			"invoke it"),
	says(`not authorized to perform|accessdenied`, RoleRefused,
		"allow the action that AWS names to the role that it names"),
}
