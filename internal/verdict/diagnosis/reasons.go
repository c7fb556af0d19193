package diagnosis

import (
	"regexp"
	"sync"
)

// reason is a published reason of AWS: an error, an event or a description of a target. It has one remedy.
type reason struct {
	match  func() *regexp.Regexp // compiled when it is first asked: most runs need none
	kind   Kind
	advice string // one sentence: what to do; "": the advice of the kind
}

// says makes a row of a pattern in RE2 syntax without case.
func says(pattern string, kind Kind, advice string) reason {
	compile := func() *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) }
	return reason{sync.OnceValue(compile), kind, advice}
}

// unreachable are the words for a service that a task cannot reach.
const unreachable = `.*(i/o timeout|connection issue|request canceled|requestcanceled|context deadline exceeded|` +
	`context canceled|request send failed|connection refused|connection timed out|no such host|no route to host|` +
	`network is unreachable|dial tcp|signal: killed)`

// refusedAccess are the words for a denied permission.
const refusedAccess = `.*(access ?denied|not authorized|forbidden|is not allowed|unauthorized)`

// reasons has the rows of all published reasons. The first row that matches wins, so a more specific row is above
// (Developer Guide, "Amazon ECS stopped tasks error messages", "Amazon ECS service event messages").
var reasons = [][]reason{runReasons, networkReasons, startReasons, imageReasons, placementReasons, containerReasons,
	balancerReasons, deploymentReasons}

// generalPart is in every error of a task that cannot read what it needs to start, and names none of it.
var generalPart = regexp.MustCompile(`(?i)unable to pull secrets or registry auth: `)

// reasonOf returns the row of a text.
func reasonOf(text string) (reason, bool) {
	return firstReason(text, func(reason) bool { return true })
}

// firstReason returns the first row of a text that fits.
func firstReason(text string, fits func(reason) bool) (reason, bool) {
	text = generalPart.ReplaceAllString(text, "")
	for _, group := range reasons {
		for _, r := range group {
			if fits(r) && r.match().MatchString(text) {
				return r, true
			}
		}
	}
	return reason{}, false
}

// runReasons explain containers that ran, and images that fit no machine.
var runReasons = []reason{
	says(`dependency graph:`, NotReady, ""),
	says(`outofmemoryerror`, OutOfMemory, ""),
	says(`exec format error|does not contain descriptor matching platform|no matching manifest for|image platform`,
		ExecFormat, ""),
	says(`no space left on device|insufficient disk space`, DiskFull, ""),
}

// networkReasons are about the network interface of a task and the services that it must reach to start.
var networkReasons = []reason{
	says(`insufficientfreeaddresses|(free|available) (ip )?addresses`, NoCapacity,
		"add subnets with free addresses to networkConfiguration, or use larger ones: aws ec2 describe-subnets shows "+
			"AvailableIpAddressCount"),
	says(`resource:eni|eni limit|networkinterfacelimitexceeded|attachmentlimitexceeded|(enis?|network interfaces?) available`,
		NoCapacity, "set the account setting awsvpcTrunking to enabled, use larger instances, add instances, or raise the quota of "+
			"network interfaces"),
	says(`invalid(subnetid|subnet)\.?notfound|invalidgroup\.?notfound|invalidsecuritygroup|security group .* does not exist`,
		NetworkRefused, "correct the subnets and security groups of networkConfiguration: all must exist in one VPC"),
	says(`network interface with public ip`, NetworkRefused,
		"set assignPublicIp to DISABLED, or choose subnets that allow public addresses"),
	says(`create(ing)? network interface`, NetworkRefused,
		"check that the service-linked role of ECS may create network interfaces in these subnets"),
	says(`timeout waiting for network interface`, NetworkRefused,
		"check that the subnets have free addresses: aws ec2 describe-subnets. If they have, deploy again"),
	says(`(secret|\basm\b|\bssm\b|systems manager)`+unreachable, NoRoute,
		"give the task a route to Secrets Manager and Systems Manager, on port 443: a NAT gateway, a VPC endpoint, or a "+
			"public address"),
	says(`(logger args|logging driver|log stream|cloudwatch)`+unreachable, NoRoute,
		"give the task a route to CloudWatch Logs: a NAT gateway, the VPC endpoint logs, or a public address"),
	says(`(env(ironment)? files?|\bs3\b)`+unreachable, NoRoute,
		"give the task a route to Amazon S3: a gateway endpoint for S3, a NAT gateway, or a public address"),
	says(`(cannotpull|pull image|registry auth|\becr\b|dkr)`+unreachable, NoRoute,
		"give the task a route to the registry: a NAT gateway, a public address, or the VPC endpoints ecr.api, ecr.dkr and "+
			"S3"),
}

// startReasons are about what a task reads before it starts.
var startReasons = []reason{
	says(`toomanyrequests|rate exceeded|pull rate limit|throttlingexception|being throttled`, Throttled, ""),
	says(`service.linked role`, RoleRefused,
		"create the service-linked role: aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com"),
	says(`unable to assume (the )?role|assumerole`, RoleRefused, ""),
	says(`kms`+refusedAccess+`|`+`not authorized to perform: kms|access to kms`, SecretUnread,
		"allow kms:Decrypt on the key to the execution role, in its policy and in the key's"),
	says(`did not contain json key`, SecretUnread,
		"correct the JSON key in valueFrom, or add the key to the secret"),
	says(`(\basm\b|secret).*(resourcenotfound|can't find)|invalid ssm parameters|invalid parameters`, SecretUnread,
		"create the secret or parameter in the task's Region, or correct valueFrom"),
	says(`(\basm\b|secret|\bssm\b)`+refusedAccess, SecretUnread,
		"allow secretsmanager:GetSecretValue and ssm:GetParameters on it to the execution role"),
	says(`retrieve secret|secret from|secretsmanager|\bssm\b`, SecretUnread, ""),
	says(`log group does not exist|resourcenotfoundexception: the specified log`, LogRefused,
		"create the log group of the log configuration, or set awslogs-create-group"),
	says(`(logger args|logging driver|log stream)`+refusedAccess, LogRefused,
		"allow logs:CreateLogStream and logs:PutLogEvents on the log group to the execution role"),
	says(`logging driver|logger args`, LogRefused, ""),
	says(`env(ironment)? files?`, FileUnread, ""),
	says(`efs.*(access denied|not authorized|accesspointnotfound|no such file)|mount\.nfs4?:.*(access denied|no such file)`,
		VolumeFailed, "check the path and the access point of the EFS volume, and allow elasticfilesystem:ClientMount to the "+
			"task role"),
	says(`\befs\b|mount\.nfs|elasticfilesystem`, VolumeFailed,
		"check that EFS has a mount target in each zone of the task's subnets, and that its security group allows port 2049 "+
			"from the task"),
	says(`fsx`, VolumeFailed, "check the FSx file system, its credentials, and that the task's security group reaches it"),
	says(`\bebs\b`, VolumeFailed,
		"check the volume configuration of the service, its infrastructure role, and the quota of EBS volumes"),
}

// imageReasons are about pulling the image.
var imageReasons = []reason{
	says(`invalid reference format|container\.image contains invalid`, ImageNotFound,
		"correct the image: a name, and a tag or a digest, without spaces or placeholders"),
	says(`pull access denied|may require .docker login`, ImageNotFound,
		"check the image's name. If the registry is private, set repositoryCredentials, or allow the pull to the execution role"),
	says(`(cannotpull|pull|registry auth|\becr\b).*(no basic auth|authorization failed|authentication required|denied|`+
		`forbidden|not authorized|unauthorized)`, ImageNotFound,
		"allow the pull to the execution role, as AmazonECSTaskExecutionRolePolicy does, and in the repository's policy"),
	says(`cannotpull|pull image|registry auth|image not found|imagenotfoundexception|execution resource retrieval`, ImageNotFound, ""),
}
