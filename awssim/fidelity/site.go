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

// tagKey is the tag of everything that the program makes; its value is the prefix.
const tagKey = "awssim-fidelity"

// namePrefix begins every name.
const namePrefix = "awssim-fid-"

// site is an account with what the program has made in it.
type site struct {
	options
	prefix string
	wait   waiter
	ecs    *awsecs.Client
	elb    *awselb.Client
	sd     *awssd.Client
	cd     *awscd.Client
	aas    *awsaas.Client
	cw     *awscw.Client
	logs   *awslogs.Client

	made    []removal
	objects objects
}

// removal takes something away that was made.
type removal struct {
	what string
	do   func(context.Context) error
}

func newSite(o options, cfg aws.Config, w waiter) *site {
	return &site{options: o, prefix: fmt.Sprintf("%s%x", namePrefix, w.Now().Unix()), wait: w,
		ecs: awsecs.NewFromConfig(cfg), elb: awselb.NewFromConfig(cfg), sd: awssd.NewFromConfig(cfg), cd: awscd.NewFromConfig(cfg),
		aas: awsaas.NewFromConfig(cfg), cw: awscw.NewFromConfig(cfg), logs: awslogs.NewFromConfig(cfg)}
}

// has reports whether the site has what a row needs.
func (s *site) has(what string) bool {
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

// remove notes how something that is about to be made is taken away again. It comes
// before the call that makes it, so that a lost answer leaves nothing behind.
func (s *site) remove(what string, do func(context.Context) error) {
	if slices.ContainsFunc(s.made, func(r removal) bool { return r.what == what }) {
		return
	}
	s.made = append(s.made, removal{what, do})
}

// removeAll takes everything away that was made, the newest first, also after the
// context of the checks has ended. What cannot be removed yet is tried again.
func (s *site) removeAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
	defer cancel()
	var left []error
	for i := len(s.made) - 1; i >= 0; i-- {
		if err := s.insist(ctx, s.made[i].do); err != nil {
			left = append(left, fmt.Errorf("%s: %w", s.made[i].what, err))
		}
	}
	s.made = nil
	return errors.Join(left...)
}

// insist removes something, again and again for two minutes: what still uses it may
// be on its way out. What does not exist is removed.
func (s *site) insist(ctx context.Context, do func(context.Context) error) (err error) {
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
