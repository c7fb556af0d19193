package account

import (
	"errors"
	"net"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// adviceFor returns what the user should do. A refusal by AWS always has advice: a deployment ends with it.
func (g gate) adviceFor(r request, f fault) string {
	code := strings.TrimSuffix(f.errorCode(), "Exception")
	switch {
	case f.class == classThrottled:
		return "wait, or find the other callers that use up this account's request rate in this Region"
	case f.class == classUnsent, f.class == classBroken && f.errorCode() == "":
		return g.reachAdvice(f.err)
	case f.class != classRefused:
		return ""
	case isExpired(code):
		return "log in again, or renew the session token"
	}
	if denied := deniedIn(f.err); denied != nil {
		return denied.advice(r)
	}
	switch {
	case code == "ServiceNotActive":
		return deletedServiceAdvice(r)
	case detachedGroup.MatchString(f.err.Error()):
		return attachAdvice(detachedGroup.FindStringSubmatch(f.err.Error())[1])
	case strings.Contains(f.err.Error(), "new ARN and resource ID format must be enabled"):
		return "enable serviceLongArnFormat in the account settings of ECS, without which AWS tags no service"
	case code != "" && strings.Contains(strings.ToLower(f.err.Error()), " quota of "):
		return "ask for less, or raise the quota that AWS names in Service Quotas"
	}
	switch f.errorKind() {
	case sluice.NotFound:
		return "check the resource's name, and that it is in this account and Region"
	case sluice.Conflict:
		return "wait until the other change of the resource has ended, then try again"
	case sluice.Denied:
		if f.lacksPermission() {
			return "allow " + r.operation + " in the IAM policy of the identity in use"
		}
		return "check the credentials in use: aws sts get-caller-identity"
	}
	if r.tags != "" && code != "" {
		return refusedTagsAdvice(r)
	}
	return refusedAdvice(code)
}

var detachedGroup = regexp.MustCompile(`(\S+) does not have an associated load balancer`)

// attachAdvice returns the advice for a target group to which no rule of a load balancer forwards. ECS accepts no tasks
// for it. The error does not say which listener its callers use.
func attachAdvice(group string) string {
	return "forward a listener, or a rule of one, to target group " + sluice.TargetGroupName(group) + ": aws elbv2 create-rule " +
		"--listener-arn LISTENER --priority PRIORITY --conditions CONDITIONS --actions Type=forward,TargetGroupArn=" + group
}

// deletedServiceAdvice returns the advice for a service that ECS calls not ACTIVE: it was deleted, or is being deleted.
// Waiting does not bring it back.
func deletedServiceAdvice(r request) string {
	cluster, _, _ := strings.Cut(r.resource, "/")
	return "create the service again, as it was deleted: sluice deploy; list those that exist: aws ecs list-services --cluster " +
		cluster
}

// refusedAdvice returns the advice for a request that AWS refuses for its content; empty if AWS refused none.
func refusedAdvice(code string) string {
	switch {
	case code == "":
		return ""
	case strings.Contains(code, "LimitExceeded"), strings.HasPrefix(code, "TooMany"), strings.Contains(code, "Quota"):
		return "raise the quota that AWS names in Service Quotas, or delete what is no longer used"
	case code == "DeploymentGroupDoesNotExist": // no call returns the values of a group that was deleted
		return "create the deployment group of CodeDeploy again, with the service, its two target groups, its listeners and " +
			"its role: aws deploy create-deployment-group"
	case code == "ApplicationDoesNotExist": // with the application its groups are deleted
		return "create CodeDeploy's application again, then its deployment group: aws deploy create-application " +
			"--compute-platform ECS"
	case strings.HasPrefix(code, "Platform"):
		return "correct platformVersion, launch type and task size in the application's files"
	}
	return "correct what AWS refuses in the application's files, and check them: sluice verify"
}

// denial is what AWS's text says about a denied action. It may be another action than that of the call.
type denial struct {
	identity, action, resource string // ARNs as AWS names them; identity and resource may be empty
	explicit                   bool   // a policy denies the action: an allow does not help
	ofResource                 bool   // the policy of the resource, such as that of a key, does not allow the action
}

var deniedPattern = regexp.MustCompile(
	`(?:User: (\S+) )?is not authorized to perform: ([a-z0-9-]+:[A-Za-z*]+)(?: on resource: (\S+))?`)

// deniedIn returns the denial in the text of AWS's error; nil if it names no action.
func deniedIn(err error) *denial {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return nil
	}
	m := deniedPattern.FindStringSubmatch(api.ErrorMessage())
	if m == nil {
		return nil
	}
	return &denial{identity: m[1], action: m[2], resource: strings.TrimRight(m[3], ".,;"),
		explicit:   strings.Contains(api.ErrorMessage(), "explicit deny"),
		ofResource: strings.Contains(api.ErrorMessage(), "no resource-based policy allows")}
}

// advice returns what to allow, to which identity. The same roles are passed by different operations to the services
// that use them (Developer Guide, "IAM roles for Amazon ECS").
func (d *denial) advice(r request) string {
	to := "the identity in use"
	if d.identity != "" {
		to = shortARN(d.identity)
	}
	switch {
	case d.explicit:
		return "change the policy that explicitly denies " + d.permission(r) + " to " + to
	case d.ofResource && d.resource != "":
		return "allow " + d.action + " to " + to + " in the policy of " + shortARN(d.resource) + " itself"
	case strings.HasPrefix(d.action, "sts:"), strings.HasPrefix(d.action, "kms:"): // no plan knows it
		return "allow " + d.permission(r) + " in the IAM policy of " + to
	}
	return "allow " + d.permission(r) + " in the IAM policy of " + to + "; sluice plan --iam --check lists all that is missing"
}

// permission describes the denied action with its resource and condition.
func (d *denial) permission(r request) string {
	var b strings.Builder
	b.WriteString(d.action)
	if d.resource != "" && d.resource != "*" {
		b.WriteString(" on " + shortARN(d.resource))
	}
	if d.action == "iam:PassRole" {
		b.WriteString(" with iam:PassedToService " + passedTo(r.operation))
	}
	return b.String()
}

// passedTo returns the service to which an operation passes roles: those of tasks to tasks, those of volumes, load
// balancers and hooks to ECS.
func passedTo(operation string) string {
	switch operation {
	case "ecs:CreateService", "ecs:UpdateService", "ecs:CreateTaskSet":
		return "ecs.amazonaws.com"
	}
	return "ecs-tasks.amazonaws.com"
}

// shortARN returns the last part of an ARN: "role/app".
func shortARN(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	return parts[len(parts)-1]
}

// reachAdvice returns the advice for a service that cannot be reached.
func (g gate) reachAdvice(err error) string {
	var dns *net.DNSError
	switch {
	case isTLS(err):
		return "trust the certificate authority on this machine, or set AWS_CA_BUNDLE to its PEM file"
	case g.endpoint != "" && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "use http:// in place of https:// in " + secret.URL(g.endpoint) +
			"; it was set by --endpoint-url, AWS_ENDPOINT_URL or the profile"
	case IsLoopback(g.endpoint) && refusedAt(err) != "":
		return "start the local AWS with `sluice sim`, or unset its address; it was set by --endpoint-url, AWS_ENDPOINT_URL or " +
			"the profile"
	case g.endpoint != "":
		return "check that " + secret.URL(g.endpoint) +
			" responds; it was set by --endpoint-url, AWS_ENDPOINT_URL or the profile"
	case errors.As(err, &dns) && NearRegion(g.region) != "":
		return "correct the Region's name: " + NearRegion(g.region) + " exists"
	case errors.As(err, &dns):
		return "check the Region's name and the network"
	}
	return "check the network and the proxy settings"
}
