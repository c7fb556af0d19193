package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
)

// tagKey is the key of the tag on all resources of the program; its value is the prefix.
const tagKey = "awssim-fidelity"

// namePrefix begins every name.
const namePrefix = "awssim-fid-"

// site is an account with the resources that the program created in it.
type site struct {
	options
	prefix string
	wait   waitClock
	ecs    *awsecs.Client
	elb    *awselb.Client
	sd     *awssd.Client
	cd     *awscd.Client
	aas    *awsaas.Client
	cw     *awscw.Client
	logs   *awslogs.Client

	made    []removal
	objects sharedObjects
}

// removal deletes a created resource.
type removal struct {
	what   string
	remove func(context.Context) error
}

func newSite(o options, cfg aws.Config, w waitClock) *site {
	return &site{options: o, prefix: fmt.Sprintf("%s%x", namePrefix, w.Now().Unix()), wait: w,
		ecs: awsecs.NewFromConfig(cfg), elb: awselb.NewFromConfig(cfg), sd: awssd.NewFromConfig(cfg),
		cd:  awscd.NewFromConfig(cfg),
		aas: awsaas.NewFromConfig(cfg), cw: awscw.NewFromConfig(cfg), logs: awslogs.NewFromConfig(cfg)}
}

// canCheck reports whether the site has the option that a row needs.
func (s *site) canCheck(what string) bool {
	switch what {
	case "vpc":
		return s.vpc != ""
	case "subnets":
		return len(s.subnets) > 0
	case "balancer":
		return s.balancer && s.vpc != "" && len(s.subnets) > 1
	}
	return true
}

// removeLater registers the removal of a resource. Call it before the call that creates the
// resource, so that a lost answer leaves no resource.
func (s *site) removeLater(what string, do func(context.Context) error) {
	if slices.ContainsFunc(s.made, func(r removal) bool { return r.what == what }) {
		return
	}
	s.made = append(s.made, removal{what, do})
}

// removeAll removes all created resources, newest first, also after the context of the checks has
// ended. It tries again while a resource cannot be removed yet.
func (s *site) removeAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
	defer cancel()
	var left []error
	for i := len(s.made) - 1; i >= 0; i-- {
		if err := s.removeWithRetry(ctx, s.made[i].remove); err != nil {
			left = append(left, fmt.Errorf("%s: %w", s.made[i].what, err))
		}
	}
	s.made = nil
	return errors.Join(left...)
}

// removeWithRetry removes a resource and tries again for two minutes, because a dependent resource
// may still be deleting. A missing resource counts as removed.
func (s *site) removeWithRetry(ctx context.Context, do func(context.Context) error) (err error) {
	for end := s.wait.Now().Add(2 * time.Minute); ; {
		if err = do(ctx); err == nil || isMissing(err) {
			return nil
		}
		if !s.wait.Now().Before(end) {
			return err
		}
		if s.wait.Sleep(ctx, 3*time.Second) != nil {
			return err
		}
	}
}
