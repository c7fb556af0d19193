package appfile

import (
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// specShape returns the shape of spec, or of the top level of sluice.yaml.
func specShape(f Format) shape {
	if f == Ecspresso {
		return shape{kind: object, keys: ecspressoKeys()}
	}
	keys := []key{
		honouredKey("name", shape{kind: text}, "The application's name, for people."),
		{name: "labels", treatment: PipedsOwn, sentence: "Labels for PipeCD's web UI; sluice only keeps them.",
			shape: shape{kind: labels}},
		honouredKey("planner", shape{kind: object, keys: plannerKeys()}, "How a deployment is planned."),
		honouredKey("pipeline", shape{kind: object, keys: []key{
			honouredKey("stages", shape{kind: stages}, "The stages, in order. Default: quick sync."),
		}}, "The pipeline. Default: quick sync."),
		honouredKey("timeout", shape{kind: span}, "The maximum duration of a deployment. Default: 6h."),
		gatesKey("Gates that must not fail while the canary gets requests, in any stage."),
		analysisProvidersKey(),
	}
	if f == Sluice {
		keys = append(keys, stepKeys()...)
	} else {
		keys = append(keys, refusedSteps("In PipeCD's files %s is a key of input.")...)
	}
	keys = append(keys, pipedsKeys()...)
	switch f {
	case PipeCDv0:
		keys = append(keys, ecsKeys(f)...)
		keys = append(keys,
			refusedKey("plugins", "PipeCD v0 has no plugins. Move input and quickSync directly under spec, or set "+
				"kind to Application."),
			refusedKey("region", noRegion))
	case PipeCDv1:
		keys = append(keys,
			neededKey("plugins", shape{kind: plugins}, "The configuration of the plugin: the entry named ecs, or the "+
				"only entry."),
			refusedKey("region", noRegion))
	case Sluice:
		keys = append(keys, ecsKeys(f)...)
		keys = append(keys,
			honouredKey("region", shape{kind: text}, "The AWS Region. --region overrides it."),
			honouredKey("role", shape{kind: text}, "ARN of a role to assume. --assume-role overrides it."),
			honouredKey("root", shape{kind: text, min: 1}, rootSentence),
			honouredKey("ecspresso", shape{kind: text, min: 1}, ecspressoSentence),
			honouredKey("variables", shape{kind: labels},
				"Values of the variables ${NAME} of this file and of its definitions. --set, the environment and --env-file "+
					"override them."),
			honouredKey("desiredCount", shape{kind: integer, max: mostTasks},
				"The desired count, instead of the service definition's. --tasks overrides it."),
			honouredKey("cluster", shape{kind: text},
				"The cluster, by name or ARN, if the service definition has no cluster."),
			honouredKey("progressDeadline", shape{kind: span}, deadlineSentence),
			honouredKey("bake", shape{kind: span}, bakeSentence),
			honouredKey("suspendAutoScaling", shape{kind: flag}, suspendSentence),
			honouredKey("onOutsideChange", outsideShape(), outsideSentence),
			honouredKey("onOtherTargets", otherTargetsShape(), otherTargetsSentence),
			honouredKey("onUnhealthyRoute", unhealthyRouteShape(), unhealthyRouteSentence))
		keys = append(keys, codeDeployKeys()...)
		keys = append(keys, honouredKey("environments", shape{kind: named, of: &shape{kind: object,
			keys: environmentKeys(keys)}}, "Keys of this file by the name of an environment, such as prod. --env selects "+
			"one: its keys replace those of the file, and its variables are added."))
	}
	return shape{kind: object, keys: append(keys, providerKeys(f)...)}
}

const (
	noRegion = "In PipeCD the Region is in piped's configuration of the deploy target: remove the key. The command " +
		"line uses AWS_REGION, or its option for the Region."
	keepSentence = "How many of the newest task definitions of the family stay registered. After a success, sluice " +
		"deregisters older ones that it registered for this service and that no task runs. Default: all."
	keepRemark      = "a rollback needs the previous task definition"
	suspendSentence = "Whether sluice suspends auto scaling during a deployment and restores its previous state when " +
		"the deployment ends. Default: false."
	bakeSentence     = "How long all tasks of the new version must run, watched, before a deployment succeeds. Default: no time."
	deadlineSentence = "A stage fails if it makes no progress for this long. Bake times, traffic steps and hooks of AWS " +
		"do not count. Default: 10m."
	outsideSentence = "The reaction to an external change during a deployment. stop (the default) ends the " +
		"deployment safely, reassert restores its values, adopt accepts the change."

	otherTargetsSentence = "The reaction to task sets and targets that sluice did not create and that get requests " +
		"from the application's target groups. stop (the default) refuses to deploy, allow deploys next to them, " +
		"remove first drains and deletes such task sets."
	unhealthyRouteSentence = "The reaction to a production rule that sends requests to a target group without healthy " +
		"targets, or to none, although another group of the service has some. stop (the default) refuses to deploy and " +
		"prints the command that moves the weight, allow deploys although callers get errors."
)

func otherTargetsShape() shape {
	return shape{kind: choice, words: []string{string(sluice.StopOnTargets), string(sluice.AllowTargets),
		string(sluice.RemoveTargets)}}
}

func unhealthyRouteShape() shape {
	return shape{kind: choice, words: []string{string(sluice.StopOnRoute), string(sluice.AllowRoute)}}
}

func outsideShape() shape {
	return shape{kind: choice, words: []string{string(sluice.StopOnChange), string(sluice.ReassertChange),
		string(sluice.AdoptChange)}}
}

func plannerKeys() []key {
	return []key{
		honouredKey("autoRollback", shape{kind: flag},
			"Whether a failed deployment is rolled back. Default: true. input.autoRollback overrides it."),
		pipedsOwnKey("alwaysUsePipeline",
			"piped chooses between quick sync and pipeline; sluice uses the pipeline if there is one."),
	}
}

// pipedsKeys returns the keys that piped uses for every platform.
func pipedsKeys() []key {
	return []key{
		pipedsOwnKey("description", "A text for PipeCD's web UI."),
		pipedsOwnKey("commitMatcher", "piped chooses between quick sync and pipeline by the commit message."),
		pipedsOwnKey("trigger", "The triggers of piped's deployments."),
		pipedsOwnKey("postSync", "Deployment chains of piped."),
		pipedsOwnKey("encryption", "piped decrypts secrets into the files before each deployment."),
		pipedsOwnKey("attachment", "piped inserts files into other files before each deployment."),
		pipedsOwnKey("notification", "The receivers of piped's notifications."),
		pipedsOwnKey("eventWatcher", "piped rewrites files on events."),
		honouredKey("driftDetection", shape{kind: object, keys: []key{
			honouredKey("ignoreFields", shape{kind: list, of: &shape{kind: text, min: 1}}, "Differences that the live state "+
				"ignores, as KIND#PATH with the words of its reason: service#desiredCount, "+
				"taskDefinition#containerDefinitions[web].environment. A path covers what is below it."),
		}}, "What the live state in PipeCD compares. The command line does not use it."),
	}
}

// providerKeys returns keys of piped's configuration of platform providers (v0) and deploy targets
// (v1), and of applications in its control plane. Users sometimes write them here by mistake.
func providerKeys(f Format) []key {
	const credentials = "Credentials do not belong in an application file: remove the key. piped has it in its " +
		"configuration of the deploy target; the command line uses "
	keys := []key{
		refusedKey("profile", credentials+"AWS_PROFILE."),
		refusedKey("credentialsFile", credentials+"AWS_SHARED_CREDENTIALS_FILE."),
		refusedKey("roleARN", credentials+"its option for the role to assume."),
		refusedKey("tokenFile", credentials+"AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN."),
	}
	if f == PipeCDv1 {
		return append(keys,
			unusedKey("plugin", "Examples of PipeCD's documentation have this key. PipeCD does not read it: the "+
				"entries of plugins name the plugins."),
			unusedKey("deployTarget", "Examples of PipeCD's documentation have this key. PipeCD does not read it: it "+
				"stores the deploy target in its settings of the application."))
	}
	return append(keys,
		refusedKey("plugin", "Only examples of PipeCD v1 have this key: remove it."),
		refusedKey("deployTarget", "Only examples of PipeCD v1 have this key: remove it."))
}

// pluginShape returns the shape of spec.plugins.<name> of PipeCD v1.
func pluginShape() shape {
	return shape{kind: object, keys: ecsKeys(PipeCDv1)}
}

func ecsKeys(f Format) []key {
	return []key{
		honouredKey("input", inputShape(f), "The service or task to deploy."),
		honouredKey("quickSync", shape{kind: object, keys: []key{
			honouredKey("recreate", shape{kind: flag},
				"Stop the old tasks before the new tasks start. Requests in between are lost."),
		}}, "The options of ECS_SYNC."),
		honouredKey("rehearse", rehearsalShape(),
			"The simulated environment of sluice rehearse. Its values override the files and AWS's defaults."),
	}
}

func inputShape(f Format) shape {
	keys := []key{
		honouredKey("taskDefinitionFile", shape{kind: text},
			"The task definition in JSON or YAML, with sluice.yaml also in Jsonnet, relative to this file. "+
				"Default: taskdef.json."),
		honouredKey("serviceDefinitionFile", shape{kind: text},
			"The service definition, relative to this file. With sluice.yaml, a member that it leaves out gets AWS's default; "+
				"with PipeCD's files, the member stays as it is. Without this file, the application is a standalone task."),
		honouredKey("runStandaloneTask", shape{kind: flag},
			"Whether to run a standalone task, or only register its definition. Default: true; in PipeCD v1, false."),
		honouredKey("clusterArn", shape{kind: text}, "The cluster of a standalone task."),
		honouredKey("launchType", shape{kind: choice, words: launchTypes()},
			"The launch type of a standalone task. Default: FARGATE."),
		honouredKey("accessType", accessShape(),
			"How callers reach the service; NONE if it has no callers. Default: ELB."),
		honouredKey("ecsAccessType", accessShape(), "Another name for accessType."),
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
			"ARNs of the only listener rules to write. Default: rules that forward to exactly the two target groups."),
		honouredKey("hosting", shape{kind: choice, words: []string{string(TaskSets), string(Services)}},
			"Where the canary runs: in a task set of the service (controller EXTERNAL), or in a second service with "+
				"the suffix -canary (controller ECS). Default: by the controller."),
	}
	if f == PipeCDv1 {
		keys = append(keys, refusedKey("autoRollback", "In PipeCD v1 use planner.autoRollback."))
	} else {
		keys = append(keys, honouredKey("autoRollback", shape{kind: flag},
			"Whether a failed deployment is rolled back. Default: planner.autoRollback."))
	}
	if f == Sluice {
		keys = append(keys, refusedKey("progressDeadline", "In sluice.yaml progressDeadline is a top-level key."),
			refusedKey("bake", "In sluice.yaml bake is a top-level key."),
			refusedKey("suspendAutoScaling", "In sluice.yaml suspendAutoScaling is a top-level key."),
			refusedKey("codedeploy", "In sluice.yaml codedeploy is a top-level key."),
			refusedKey("appspec", "In sluice.yaml appspec is a top-level key."),
			refusedKey("onOutsideChange", "In sluice.yaml onOutsideChange is a top-level key."),
			refusedKey("onOtherTargets", "In sluice.yaml onOtherTargets is a top-level key."),
			refusedKey("onUnhealthyRoute", "In sluice.yaml onUnhealthyRoute is a top-level key."))
		keys = append(keys, refusedSteps("In sluice.yaml %s is a top-level key.")...)
	} else {
		keys = append(keys, honouredKey("progressDeadline", shape{kind: span}, deadlineSentence),
			honouredKey("bake", shape{kind: span}, bakeSentence),
			honouredKey("suspendAutoScaling", shape{kind: flag}, suspendSentence),
			honouredKey("onOutsideChange", outsideShape(), outsideSentence),
			honouredKey("onOtherTargets", otherTargetsShape(), otherTargetsSentence),
			honouredKey("onUnhealthyRoute", unhealthyRouteShape(), unhealthyRouteSentence))
		keys = append(append(keys, stepKeys()...), codeDeployKeys()...)
	}
	return shape{kind: object, keys: keys, single: []string{"accessType", "ecsAccessType"}}
}

func networkKeys() []key {
	return []key{
		honouredKey("subnets", shape{kind: list, of: &shape{kind: text}}, "Subnet IDs."),
		honouredKey("securityGroups", shape{kind: list, of: &shape{kind: text}}, "Security group IDs."),
		honouredKey("assignPublicIp", shape{kind: choice, words: enumWords(ecstypes.AssignPublicIp("").Values())},
			"Whether tasks get public IP addresses."),
	}
}

func groupShape(f Format) shape {
	keys := []key{
		neededKey("targetGroupArn", shape{kind: text}, "The target group's ARN."),
		neededKey("containerName", shape{kind: text}, "The container to register in the target group."),
		neededKey("containerPort", shape{kind: integer, min: 1, max: 65535}, "The port of that container."),
	}
	const name = "loadBalancerName"
	if f == PipeCDv1 {
		keys = append(keys, refusedKey(name,
			"PipeCD v1 does not have this key. A target group does not need the name of its load balancer."))
	} else {
		keys = append(keys, honouredKey(name, shape{kind: text},
			"The name of a Classic Load Balancer. AWS no longer supports it for new services."))
	}
	return shape{kind: object, keys: keys}
}

func accessShape() shape {
	return shape{
		kind:  choice,
		words: []string{"ELB", "SERVICE_DISCOVERY", "ECS_SERVICE_DISCOVERY", "NONE"},
		refused: []refusedWord{{
			"APP_MESH",
			"AWS ended App Mesh on 2026-09-30; use a load balancer with weighted target groups (ELB), or ECS's own " +
				"deployment strategies",
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
