package account_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
)

func TestErrorReadsWell(t *testing.T) {
	for _, c := range []struct {
		name, endpoint string
		answer         func(op string) (*http.Response, error)
		text, next     string
	}{
		{
			"input", "", func(op string) (*http.Response, error) {
				return bad(op, 400, "InvalidParameterException", "5 deployments exist on the service."), nil
			},
			"ecs:CreateTaskSet (prod/web): InvalidParameterException: 5 deployments exist on the service. (request " +
				"id req-1)", "correct what AWS refuses in the application's files, and check them: sluice verify",
		},
		{
			"deployment group", "", func(op string) (*http.Response, error) {
				return bad(op, 400, "DeploymentGroupDoesNotExistException", "No Deployment Group found for name: web"), nil
			},
			"ecs:CreateTaskSet (prod/web): DeploymentGroupDoesNotExistException: No Deployment Group found for name: web " +
				"(request id req-1)", "create the deployment group of CodeDeploy again, with the service, its two target groups, " +
				"its listeners and its role: aws deploy create-deployment-group",
		},
		{
			"application of CodeDeploy", "", func(op string) (*http.Response, error) {
				return bad(op, 400, "ApplicationDoesNotExistException", "No application found for name: shop"), nil
			},
			"ecs:CreateTaskSet (prod/web): ApplicationDoesNotExistException: No application found for name: shop " +
				"(request id req-1)", "create CodeDeploy's application again, then its deployment group: " +
				"aws deploy create-application --compute-platform ECS",
		},
		{
			"quota", "", func(op string) (*http.Response, error) {
				return bad(op, 400, "InvalidParameterException", "More than 5000, the quota of tasks per service."), nil
			},
			"ecs:CreateTaskSet (prod/web): InvalidParameterException: More than 5000, the quota of tasks per service. " +
				"(request id req-1)", "ask for less, or raise the quota that AWS names in Service Quotas",
		},
		{
			"denied", "", func(op string) (*http.Response, error) {
				return bad(op, 400, "AccessDeniedException", "User x is not authorized"), nil
			},
			"ecs:CreateTaskSet (prod/web): AccessDeniedException: User x is not authorized (request id req-1)",
			"allow ecs:CreateTaskSet in the IAM policy of the identity in use",
		},
		{
			"expired", "", func(op string) (*http.Response, error) {
				return bad(op, 400, "ExpiredTokenException", "The security token included in the request is expired"),
					nil
			},
			"ecs:CreateTaskSet (prod/web): ExpiredTokenException: The security token included in the request is " +
				"expired (request id req-1)",
			"log in again, or renew the session token",
		},
		{
			"unknown key", "", func(op string) (*http.Response, error) {
				return bad(op, 400, "UnrecognizedClientException",
					"The security token included in the request is invalid."), nil
			},
			"ecs:CreateTaskSet (prod/web): UnrecognizedClientException: The security token included in the request " +
				"is invalid. (request id req-1)",
			"check the credentials in use: aws sts get-caller-identity",
		},
		{
			"nobody listens", "http://127.0.0.1:4566", func(string) (*http.Response, error) { return nil, errDial },
			"ecs:CreateTaskSet (prod/web): nothing listens at 127.0.0.1:4566 (connection refused), at attempt 4",
			"start the local AWS with `sluice sim`, or unset its address; it was set by --endpoint-url, AWS_ENDPOINT_URL or " +
				"the profile",
		},
		{
			"nobody listens elsewhere", "http://aws.test:4566", func(string) (*http.Response, error) { return nil, errDial },
			"ecs:CreateTaskSet (prod/web): nothing listens at 127.0.0.1:4566 (connection refused), at attempt 4",
			"check that http://aws.test:4566 responds; it was set by --endpoint-url, AWS_ENDPOINT_URL or the profile",
		},
		{
			"no such host", "", func(string) (*http.Response, error) {
				return nil, &net.DNSError{Err: "no such host", Name: "ecs.us-esat-1.amazonaws.com", IsNotFound: true}
			},
			"ecs:CreateTaskSet (prod/web): lookup ecs.us-esat-1.amazonaws.com: no such host, at attempt 4",
			"check the Region's name and the network",
		},
		{
			"not AWS", "http://127.0.0.1:8080", func(string) (*http.Response, error) {
				return reply(404, "<html>nginx"),
					nil
			},
			"ecs:CreateTaskSet (prod/web): HTTP 404, and it is not a response of AWS (request id req-1), at attempt " +
				"6; no response: the call may have taken effect",
			"check that http://127.0.0.1:8080 responds; it was set by --endpoint-url, AWS_ENDPOINT_URL or the " +
				"profile",
		},
		{
			"redirected", "", func(string) (*http.Response, error) {
				return reply(302, "", "Location", "http://portal.test/login?token=secret"), nil
			},
			"ecs:CreateTaskSet (prod/web): HTTP 302, and it is not a response of AWS: it redirects to portal.test " +
				"(request id req-1), at attempt 6; no response: the call may have taken effect",
			"check the network and the proxy settings",
		},
		{
			"unknown authority", "", func(string) (*http.Response, error) { return nil, errUntrusted },
			"ecs:CreateTaskSet (prod/web): TLS: this machine does not trust the certificate authority \"CN=Corp " +
				"Root CA\", at attempt 4",
			"trust the certificate authority on this machine, or set AWS_CA_BUNDLE to its PEM file",
		},
		{
			"throttled", "", func(op string) (*http.Response, error) { return throttle(op), nil },
			"ecs:CreateTaskSet (prod/web): ThrottlingException: Rate exceeded (request id req-1), at attempt 8",
			"wait, or find the other callers that use up this account's request rate in this Region",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &wire{answer: func(op string, _ int, _ *http.Request) (*http.Response, error) { return c.answer(op) }}
			inside(t, w, func(o *account.Config) { o.EndpointURL = c.endpoint }, func(ctx context.Context, w *world) {
				err := createTaskSet(may(ctx, "ecs:CreateTaskSet prod/web"), w, "t")
				if c.text != "" {
					equal(t, "text", told(t, err).Error(), c.text)
				}
				equal(t, "next", sluice.NextStep(err), c.next)
			})
		})
	}
}

// A misspelt Region has the shape of one, and the network does not know its host.
func TestTheHostOfAMisspeltRegionNamesTheRegion(t *testing.T) {
	w := &wire{answer: func(string, int, *http.Request) (*http.Response, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "ecs.us-esat-1.amazonaws.com", IsNotFound: true}
	}}
	inside(t, w, func(o *account.Config) { o.Region = "us-esat-1" }, func(ctx context.Context, w *world) {
		equal(t, "next", sluice.NextStep(describe(ctx, w)), "correct the Region's name: us-east-1 exists")
	})
}

func TestKinds(t *testing.T) {
	for code, want := range map[string]sluice.Kind{
		"AccessDenied": sluice.Denied, "AccessDeniedException": sluice.Denied,
		"UnrecognizedClientException": sluice.Denied,
		"InvalidClientTokenId":        sluice.Denied, "ExpiredToken": sluice.Denied,
		"ExpiredTokenException": sluice.Denied,
		"SignatureDoesNotMatch": sluice.Denied, "InvalidSignatureException": sluice.Denied,
		"MissingAuthenticationToken": sluice.Denied,
		"ServiceNotFoundException":   sluice.NotFound, "TargetGroupNotFound": sluice.NotFound,
		"ObjectNotFoundException":   sluice.NotFound,
		"ServiceNotActiveException": sluice.Conflict, "UpdateInProgressException": sluice.Conflict,
		"ResourceInUse":     sluice.Conflict,
		"ConflictException": sluice.Conflict, "PriorityInUse": sluice.Conflict,
		"ConcurrentUpdateException": sluice.Conflict,
		"InvalidParameterException": "", "ClientException": "", "LimitExceededException": "", "ValidationError": "",
		"TooManyRules": "",
	} {
		inside(t, &wire{answer: alwaysRepeat(func(op string) *http.Response { return bad(op, 400, code, "x") })}, nil,
			func(ctx context.Context, w *world) {
				equal(t, code, orNone(sluice.KindOf(describe(ctx, w))), orNone(want))
				equal(t, "attempts at "+code, len(w.calls), 1)
			})
	}
}

// An identity that may not make a call is not the same as credentials that AWS does not accept.
func TestMissingPermissionIsNotABadCredential(t *testing.T) {
	for code, want := range map[string]bool{
		"AccessDenied": true, "AccessDeniedException": true, "UnauthorizedOperation": true, "NotAuthorized": true,
		"ExpiredToken": false, "ExpiredTokenException": false, "RequestExpired": false, "InvalidClientTokenId": false,
		"UnrecognizedClientException": false, "SignatureDoesNotMatch": false, "TargetGroupNotFound": false,
	} {
		inside(t, &wire{answer: alwaysRepeat(func(string) *http.Response { return bad("", 403, code, "x") })}, nil,
			func(ctx context.Context, w *world) {
				equal(t, code, errors.Is(describe(ctx, w), sluice.ErrNoPermission), want)
			})
	}
}

func TestForbiddenStatusIsDenied(t *testing.T) {
	inside(t, &wire{answer: alwaysRepeat(func(op string) *http.Response { return bad(op, 403, "SomethingNew", "x") })},
		nil, func(ctx context.Context, w *world) {
			equal(t, "kind", sluice.KindOf(describe(ctx, w)), sluice.Denied)
		})
}

func TestAPIErrorsStayReachable(t *testing.T) {
	inside(t, &wire{answer: alwaysRepeat(func(op string) *http.Response {
		return bad(op, 400,
			"ServiceNotFoundException", "x")
	})}, nil, func(ctx context.Context, w *world) {
		err := describe(ctx, w)
		var api smithy.APIError
		var typed *ecstypes.ServiceNotFoundException
		if !errors.As(err, &api) || !errors.As(createTaskSet(may(ctx, "ecs:CreateTaskSet prod/web"), w, "t"), &typed) {
			t.Errorf("not reachable in %v", err)
		}
	})
	inside(t, &wire{answer: alwaysRepeat(func(op string) *http.Response {
		return bad(op, 400, "RuleNotFound",
			"One or more rules not found")
	})}, nil, func(ctx context.Context, w *world) {
		_, err := w.ELB().DescribeRules(ctx, &awselb.DescribeRulesInput{RuleArns: []string{"a", "b", "c", "d"}})
		var typed *elbtypes.RuleNotFoundException
		equal(t, "typed", errors.As(err, &typed), true)
		equal(t, "text", told(t, err).Error(),
			"elasticloadbalancing:DescribeRules (a, b, c, …): RuleNotFound: One or more rules not found (request id "+
				"req-1)")
		equal(t, "next", sluice.NextStep(err), "check the resource's name, and that it is in this account and Region")
	})
}

// ECS registers the revisions of one family one after the other and calls it a
// client's fault.
func TestConcurrentRevisionsAreThrottling(t *testing.T) {
	const text = "Too many concurrent attempts to create a new revision of the specified family."
	inside(t, &wire{answer: first(2, func(op string) *http.Response { return bad(op, 400, "ClientException", text) })},
		nil, func(ctx context.Context, w *world) {
			if err := writeTable[10].do(may(ctx, "ecs:RegisterTaskDefinition web"), w); err != nil {
				t.Error(err)
			}
			equal(t, "sent", w.ops(), strings.TrimSpace(strings.Repeat("RegisterTaskDefinition ", 3)))
		})
}

// AWS may name another action than the call's own: a role to pass, a key, a call that ECS makes for the caller.
func TestDenialNamesTheActionOfAWSsText(t *testing.T) {
	const blueGroup = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/blue/0123456789abcdef"
	const user, app = "User: arn:aws:iam::123456789012:user/ci is not authorized to perform: ",
		" on resource: arn:aws:iam::123456789012:role/app because no identity-based policy allows the iam:PassRole action"
	for text, want := range map[string]string{
		user + "iam:PassRole" + app: "allow iam:PassRole on role/app with iam:PassedToService %s in the IAM policy of user/ci; " +
			"sluice plan --iam --check lists all that is missing",
		"User: arn:aws:sts::123456789012:assumed-role/deployer/1 is not authorized to perform: kms:Decrypt on resource: " +
			"arn:aws:kms:us-east-1:123456789012:key/1": "allow kms:Decrypt on key/1 in the IAM policy of " +
			"assumed-role/deployer/1",
		user + "kms:Decrypt on resource: arn:aws:kms:us-east-1:123456789012:key/1 because no resource-based policy allows the " +
			"kms:Decrypt action": "allow kms:Decrypt to user/ci in the policy of key/1 itself",
		"The target group with targetGroupArn " + blueGroup + " does not have an associated load balancer.": "forward a listener, or a " +
			"rule of one, to target group blue: aws elbv2 create-rule --listener-arn LISTENER --priority PRIORITY --conditions " +
			"CONDITIONS --actions Type=forward,TargetGroupArn=" + blueGroup,
		user + "ecs:CreateService on resource: * with an explicit deny in a service control policy": "change the policy that " +
			"explicitly denies ecs:CreateService to user/ci",
		"The caller is not authorized to perform: elasticloadbalancing:DescribeTargetGroups": "allow " +
			"elasticloadbalancing:DescribeTargetGroups in the IAM policy of the identity in use; sluice plan --iam --check lists all that is missing",
	} {
		for operation, passed := range map[string]string{"UpdateService": "ecs.amazonaws.com",
			"RegisterTaskDefinition": "ecs-tasks.amazonaws.com"} {
			for _, code := range []string{"AccessDeniedException", "ClientException", "InvalidParameterException"} {
				w := &wire{answer: func(op string, _ int, _ *http.Request) (*http.Response, error) {
					return bad(op, 400, code, text), nil
				}}
				inside(t, w, nil, func(ctx context.Context, w *world) {
					_, err := w.ECS().UpdateService(may(ctx, "ecs:UpdateService prod/web"),
						&awsecs.UpdateServiceInput{Cluster: ptr("prod"), Service: ptr("web")})
					if operation != "UpdateService" {
						_, err = w.ECS().RegisterTaskDefinition(may(ctx, "ecs:RegisterTaskDefinition web"),
							&awsecs.RegisterTaskDefinitionInput{Family: ptr("web"),
								ContainerDefinitions: []ecstypes.ContainerDefinition{}})
					}
					equal(t, operation+" "+code, sluice.NextStep(err), strings.Replace(want, "%s", passed, 1))
				})
			}
		}
	}
}

// No file names the tags of sluice, so that a refusal of them names the permission or the tag.
func TestARefusedTagIsNamed(t *testing.T) {
	const arn = "arn:aws:ecs:us-east-1:123456789012:service/prod/web"
	for _, c := range []struct{ code, text, want string }{
		{"AccessDeniedException", "User: arn:aws:iam::123456789012:user/ci is not authorized to perform: ecs:TagResource on " +
			"resource: " + arn, "allow ecs:TagResource on service/prod/web in the IAM policy of user/ci; sluice plan --iam --check " +
			"lists all that is missing"},
		{"AccessDeniedException", "no", "allow ecs:TagResource in the IAM policy of the identity in use"},
		{"InvalidParameterException", "The tag policy does not allow it.", "allow the tag sluice:deployment in the account's tag " +
			"policies, or remove unused tags (AWS allows 50): aws ecs list-tags-for-resource --resource-arn " + arn},
		{"InvalidParameterException", "The new ARN and resource ID format must be enabled to add tags to the service. Opt in to " +
			"the new format and try again.", "enable serviceLongArnFormat in the account settings of ECS, " +
			"without which AWS tags no service"},
	} {
		w := &wire{answer: func(op string, _ int, _ *http.Request) (*http.Response, error) {
			return bad(op, 400, c.code, c.text), nil
		}}
		inside(t, w, nil, func(ctx context.Context, w *world) {
			_, err := w.ECS().TagResource(may(ctx, "ecs:TagResource "+arn), &awsecs.TagResourceInput{ResourceArn: ptr(arn),
				Tags: []ecstypes.Tag{{Key: ptr("sluice:deployment"), Value: ptr("x")}}})
			equal(t, c.text, sluice.NextStep(err), c.want)
		})
	}
}

// Every refusal has advice.
func TestEveryRefusalHasAdvice(t *testing.T) {
	for code, want := range map[string]string{
		"InvalidParameterException":                      "sluice verify",
		"ClientException":                                "sluice verify",
		"InvalidConfigurationRequest":                    "sluice verify",
		"UnsupportedFeatureException":                    "sluice verify",
		"LimitExceededException":                         "raise the quota",
		"TooManyTargets":                                 "raise the quota",
		"PlatformUnknownException":                       "correct platformVersion",
		"PlatformTaskDefinitionIncompatibilityException": "correct platformVersion",
		"ServiceNotActiveException":                      "create the service again, as it was deleted: sluice deploy; list those that exist: aws ecs list-services --cluster prod",
		"UpdateInProgressException":                      "wait until the other change",
		"ServiceNotFoundException":                       "check the resource's name",
		"SomethingNewException":                          "sluice verify",
	} {
		w := &wire{answer: func(op string, _ int, _ *http.Request) (*http.Response, error) {
			return bad(op, 400, code, "no"), nil
		}}
		inside(t, w, nil, func(ctx context.Context, w *world) {
			err := createTaskSet(may(ctx, "ecs:CreateTaskSet prod/web"), w, "t")
			if next := sluice.NextStep(err); !strings.Contains(next, want) {
				t.Errorf("%s: next %q, want %q", code, next, want)
			}
		})
	}
}
