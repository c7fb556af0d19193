package appfile

import (
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// specShape returns the shape of spec, or of the top level of sluice.yaml.
func specShape(f Format) shape {
	keys := []key{
		honouredKey("name", shape{kind: text}, "The application's name, for people."),
		{name: "labels", treatment: PipedsOwn, sentence: "Labels for PipeCD's pages; sluice only keeps them.",
			shape: shape{kind: labels}},
		honouredKey("planner", shape{kind: object, keys: plannerKeys()}, "How a deployment is planned."),
		honouredKey("pipeline", shape{kind: object, keys: []key{
			honouredKey("stages", shape{kind: stages}, "The stages, in order. None: quick sync."),
		}}, "The pipeline. None: quick sync."),
		honouredKey("timeout", shape{kind: span}, "The hard limit of a deployment; 6h if not given."),
	}
	keys = append(keys, stepKeys(f)...)
	keys = append(keys, pipedsKeys()...)
	switch f {
	case PipeCDv0:
		keys = append(keys, ecsKeys(f)...)
		keys = append(keys,
			refusedKey("plugins", "PipeCD v0 has no plugins: input and quickSync stand directly under spec, or the "+
				"kind is Application."),
			refusedKey("region", noRegion))
	case PipeCDv1:
		keys = append(keys,
			neededKey("plugins", shape{kind: plugins}, "The plugin's part: the entry named ecs, or the only one."),
			refusedKey("region", noRegion))
	case Sluice:
		keys = append(keys, ecsKeys(f)...)
		keys = append(keys,
			honouredKey("region", shape{kind: text}, "The AWS Region; --region goes before it."),
			honouredKey("cluster", shape{kind: text},
				"The cluster, by name or ARN, where the service definition names none."),
			honouredKey("progressDeadline", shape{kind: span}, deadlineSentence),
			honouredKey("suspendAutoScaling", shape{kind: flag}, suspendSentence),
			honouredKey("onOutsideChange", outsideShape(), outsideSentence),
			honouredKey("onOtherTargets", otherTargetsShape(), otherTargetsSentence))
		keys = append(keys, codeDeployKeys()...)
	}
	return shape{kind: object, keys: append(keys, providerKeys()...)}
}

const (
	noRegion     = "The Region belongs to piped's own configuration in PipeCD; give sluice --region or AWS_REGION."
	keepSentence = "How many of the newest task definitions of the family stay registered. Older ones are " +
		"deregistered after a success, if sluice registered them for this service and no task runs them. All if not " +
		"given."
	keepRemark      = "what served before is kept for a rollback"
	suspendSentence = "Whether auto scaling is suspended while a deployment runs, and given back as it was in the " +
		"end; false if not given."
	deadlineSentence = "How long nothing may move before a stage fails; every progress pushes it back; 10m if not " +
		"given."
	outsideSentence = "What follows if somebody else changes what a deployment steers while it runs: stop (the " +
		"default) ends it on the safe side, reassert writes ours again, adopt takes theirs over."

	otherTargetsSentence = "What a deployment does about task sets and targets that sluice did not make and that " +
		"get requests from the application's target groups: stop (the default) refuses to deploy, allow deploys " +
		"beside them, remove first drains and deletes such task sets."
)

func otherTargetsShape() shape {
	return shape{kind: choice, words: []string{string(sluice.StopOnTargets), string(sluice.AllowTargets),
		string(sluice.RemoveTargets)}}
}

func outsideShape() shape {
	return shape{kind: choice, words: []string{string(sluice.StopOnChange), string(sluice.ReassertChange),
		string(sluice.AdoptChange)}}
}

func plannerKeys() []key {
	return []key{
		honouredKey("autoRollback", shape{kind: flag},
			"Whether a deployment that fails is rolled back; true if not given. input.autoRollback goes before it."),
		pipedsOwnKey("alwaysUsePipeline",
			"piped chooses between quick sync and pipeline; sluice takes the pipeline if there is one."),
	}
}

// pipedsKeys returns the keys that piped uses for every platform.
func pipedsKeys() []key {
	return []key{
		pipedsOwnKey("description", "A text for PipeCD's pages."),
		pipedsOwnKey("commitMatcher", "piped chooses between quick sync and pipeline by the commit's message."),
		pipedsOwnKey("trigger", "What makes piped deploy."),
		pipedsOwnKey("postSync", "Deployment chains of piped."),
		pipedsOwnKey("encryption", "piped decrypts secrets into the files before anybody deploys."),
		pipedsOwnKey("attachment", "piped fills files into files before anybody deploys."),
		pipedsOwnKey("notification", "Whom piped tells."),
		pipedsOwnKey("eventWatcher", "piped rewrites files on events."),
		pipedsOwnKey("driftDetection", "What piped leaves out of its drift detection."),
	}
}

// providerKeys returns keys of piped's configuration of platform providers (v0) and deploy targets
// (v1). Users sometimes write them here by mistake.
func providerKeys() []key {
	return []key{
		refusedKey("profile", "Credentials do not belong in an application file: give --profile or AWS_PROFILE."),
		refusedKey("credentialsFile", "Credentials do not belong in an application file: set "+
			"AWS_SHARED_CREDENTIALS_FILE."),
		refusedKey("roleARN", "Credentials do not belong in an application file: give --assume-role."),
		refusedKey("tokenFile", "Credentials do not belong in an application file: set AWS_WEB_IDENTITY_TOKEN_FILE "+
			"and AWS_ROLE_ARN."),
		refusedKey("plugin", "PipeCD's pages name this key, its configuration does not have it: leave it out."),
		refusedKey("deployTarget", "PipeCD keeps deploy targets in its control plane: leave it out, and give "+
			"--region."),
	}
}

// pluginShape returns the shape of spec.plugins.<name> of PipeCD v1.
func pluginShape() shape {
	return shape{kind: object, keys: ecsKeys(PipeCDv1)}
}

func ecsKeys(f Format) []key {
	return []key{
		honouredKey("input", inputShape(f), "What is deployed."),
		honouredKey("quickSync", shape{kind: object, keys: []key{
			honouredKey("recreate", shape{kind: flag},
				"Stop the old tasks before the new ones start: requests are lost meanwhile."),
		}}, "How ECS_SYNC works."),
		honouredKey("rehearse", rehearsalShape(),
			"The world that sluice rehearse deploys in, where it is not as the files and AWS's defaults say."),
	}
}

func inputShape(f Format) shape {
	keys := []key{
		honouredKey("taskDefinitionFile", shape{kind: text},
			"The task definition, relative to this file; taskdef.json if not given."),
		honouredKey("serviceDefinitionFile", shape{kind: text},
			"The service definition, relative to this file. None: a standalone task."),
		honouredKey("runStandaloneTask", shape{kind: flag},
			"Whether a standalone task is run, or only its definition registered. If not given: true, in PipeCD v1 "+
				"false."),
		honouredKey("clusterArn", shape{kind: text}, "The cluster of a standalone task."),
		honouredKey("launchType", shape{kind: choice, words: launchTypes()},
			"The launch type of a standalone task; FARGATE if not given."),
		honouredKey("accessType", accessShape(),
			"How callers reach the service, or NONE: nobody calls it; ELB if not given."),
		honouredKey("ecsAccessType", accessShape(), "Another name of accessType."),
		honouredKey("awsvpcConfiguration", shape{kind: object, keys: networkKeys()},
			"The network of a standalone task."),
		honouredKey("runTask", shape{kind: request}, runTaskSentence),
		honouredKey("watchContainer", shape{kind: text}, watchSentence),
		honouredKey("targetGroups", shape{kind: object, keys: []key{
			honouredKey("primary", groupShape(f), "The target group of the primary."),
			honouredKey("canary", groupShape(f), "The target group of the canary."),
		}}, "The two target groups of the service."),
		honouredKey("keepTaskDefinitions", shape{kind: integer, min: 2, max: 1000, remark: keepRemark}, keepSentence),
		honouredKey("listenerRules", shape{kind: list, of: &shape{kind: text}},
			"ARNs of the listener rules to write, and no others. None: rules that forward to exactly the two target "+
				"groups."),
		honouredKey("hosting", shape{kind: choice, words: []string{string(TaskSets), string(Services)}},
			"Where the canary lives: a task set of the service (controller EXTERNAL), or a second service of its "+
				"name with -canary (controller ECS). If not given: by the controller."),
	}
	if f == PipeCDv1 {
		keys = append(keys, refusedKey("autoRollback", "PipeCD v1 has planner.autoRollback for it."))
	} else {
		keys = append(keys, honouredKey("autoRollback", shape{kind: flag},
			"Whether a deployment that fails is rolled back; planner.autoRollback if not given."))
	}
	if f == Sluice {
		keys = append(keys, refusedKey("progressDeadline", "In sluice.yaml progressDeadline stands at the top."),
			refusedKey("suspendAutoScaling", "In sluice.yaml suspendAutoScaling stands at the top."),
			refusedKey("codedeploy", "In sluice.yaml codedeploy stands at the top."),
			refusedKey("appspec", "In sluice.yaml appspec stands at the top."),
			refusedKey("onOutsideChange", "In sluice.yaml onOutsideChange stands at the top."),
			refusedKey("onOtherTargets", "In sluice.yaml onOtherTargets is a key at the top."))
	} else {
		keys = append(keys, honouredKey("progressDeadline", shape{kind: span}, deadlineSentence),
			honouredKey("suspendAutoScaling", shape{kind: flag}, suspendSentence),
			honouredKey("onOutsideChange", outsideShape(), outsideSentence),
			honouredKey("onOtherTargets", otherTargetsShape(), otherTargetsSentence))
		keys = append(keys, codeDeployKeys()...)
	}
	return shape{kind: object, keys: keys, single: []string{"accessType", "ecsAccessType"}}
}

func networkKeys() []key {
	return []key{
		honouredKey("subnets", shape{kind: list, of: &shape{kind: text}}, "Subnet IDs."),
		honouredKey("securityGroups", shape{kind: list, of: &shape{kind: text}}, "Security group IDs."),
		honouredKey("assignPublicIp", shape{kind: choice, words: enumWords(ecstypes.AssignPublicIp("").Values())},
			"Whether tasks have public addresses."),
	}
}

func groupShape(f Format) shape {
	keys := []key{
		neededKey("targetGroupArn", shape{kind: text}, "The target group's ARN."),
		neededKey("containerName", shape{kind: text}, "The container that is registered in it."),
		neededKey("containerPort", shape{kind: integer, min: 1, max: 65535}, "That container's port."),
	}
	const name = "loadBalancerName"
	if f == PipeCDv1 {
		keys = append(keys, refusedKey(name,
			"PipeCD v1 does not have it, and a target group's load balancer needs no name."))
	} else {
		keys = append(keys, honouredKey(name, shape{kind: text},
			"The name of a Classic Load Balancer; AWS has it no more for new services."))
	}
	return shape{kind: object, keys: keys}
}

func accessShape() shape {
	return shape{
		kind:  choice,
		words: []string{"ELB", "SERVICE_DISCOVERY", "ECS_SERVICE_DISCOVERY", "NONE"},
		refused: []refusedWord{{
			"APP_MESH",
			"AWS ended App Mesh on 2026-09-30; a load balancer with weighted target groups (ELB), or ECS's own " +
				"deployment strategies, replace it",
		}},
	}
}

func launchTypes() []string { return enumWords(ecstypes.LaunchType("").Values()) }

func enumWords[E ~string](values []E) []string {
	var words []string
	for _, v := range values {
		words = append(words, string(v))
	}
	return words
}
