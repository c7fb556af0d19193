// Command fidelity checks the rows of FIDELITY.md against an AWS: against the local
// one in its test, and against the real one for users with an account.
//
//	go run ./awssim/fidelity --profile sandbox            # prints the resources to create, and their cost
//	go run ./awssim/fidelity --profile sandbox --yes      # creates them, compares, removes them
//	go run ./awssim/fidelity --profile sandbox --clean    # removes leftovers of a killed run
//
// It creates resources with its own prefix and tag, starts no task, and removes
// everything at the end, also after Ctrl-C. For each row it reports whether AWS
// agrees, with the difference. It lists rows that are not visible from outside with
// the reason. It uses no package of sluice.
//
// Start reading at [run], then [allRows], then any file that begins with check.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
)

// options are the command-line options.
type options struct {
	profile, region, endpoint string
	vpc                       string
	subnets                   []string
	balancer                  bool // make a load balancer, which costs money
	yes, clean, list          bool
	only                      *regexp.Regexp
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parseOptions(os.Args[1:], os.Stderr)
	if err != nil {
		os.Exit(2)
	}
	cfg, err := loadConfig(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fidelity: load the AWS configuration:", err)
		os.Exit(1)
	}
	differs, err := run(ctx, o, cfg, systemClock{}, os.Stdout)
	switch {
	case errors.Is(err, errNotConfirmed):
		fmt.Fprintln(os.Stderr, "next: to create the resources, run it again with --yes")
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "fidelity:", err)
		os.Exit(1)
	case differs > 0:
		os.Exit(3)
	}
}

func parseOptions(args []string, out io.Writer) (o options, err error) {
	f := flag.NewFlagSet("fidelity", flag.ContinueOnError)
	f.SetOutput(out)
	var subnets, only string
	f.StringVar(&o.profile, "profile", "", "profile of the AWS configuration")
	f.StringVar(&o.region, "region", "", "Region; that of the profile if empty")
	f.StringVar(&o.endpoint, "endpoint", "", "endpoint URL, for a local AWS")
	f.StringVar(&o.vpc, "vpc", "", "VPC for target groups; without it rows that need one are not checked")
	f.StringVar(&subnets, "subnets", "", "two subnets of the VPC, comma-separated, for task sets and the load balancer")
	f.BoolVar(&o.balancer, "balancer", false, "create a load balancer too (about 0.03 USD for an hour)")
	f.BoolVar(&o.yes, "yes", false, "create the resources without confirmation")
	f.BoolVar(&o.clean, "clean", false, "only remove the resources that earlier runs left, by their tag and prefix")
	f.BoolVar(&o.list, "list", false, "only list the rows, with the reason for those that are not checkable")
	f.StringVar(&only, "only", "", "regular expression: only rows whose text matches")
	if err = f.Parse(args); err != nil {
		return o, err
	}
	if subnets != "" {
		o.subnets = strings.Split(subnets, ",")
	}
	if o.only, err = regexp.Compile(only); err != nil {
		fmt.Fprintln(out, "fidelity: --only:", err)
	}
	return o, err
}

func loadConfig(ctx context.Context, o options) (aws.Config, error) {
	var with []func(*config.LoadOptions) error
	if o.profile != "" {
		with = append(with, config.WithSharedConfigProfile(o.profile))
	}
	if o.region != "" {
		with = append(with, config.WithRegion(o.region))
	}
	if o.endpoint != "" {
		with = append(with, config.WithBaseEndpoint(o.endpoint))
	}
	return config.LoadDefaultConfig(ctx, with...)
}

// waitClock is the clock by which the program waits.
type waitClock interface {
	Now() time.Time
	Sleep(context.Context, time.Duration) error
}

// systemClock is the machine's clock.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// errNotConfirmed means that --yes is missing, so no resource was created.
var errNotConfirmed = errors.New("no resource was created")

const cost = `Resources, all with prefix %q and tag %s, all removed at the end:
  1 ECS cluster, 1 service without tasks, up to 6 task sets of scale 0, 3 task definitions   no cost
  1 CodeDeploy application and 1 deployment configuration                                    no cost
  1 Cloud Map HTTP namespace with 2 services and 2 instances                                 no cost
  1 scalable target, 1 log group with 3 lines                                                no cost
  1 CloudWatch alarm                                                                         0.10 USD a month, for a minute
`

const costGroups = `  4 target groups                                                                            no cost
`

const costBalancer = `  1 internal Application Load Balancer with 1 listener and 3 rules                           0.0225 USD an hour, for some minutes
`

// printCost prints the resources to create and their cost.
func printCost(o options, out io.Writer, prefix string) {
	fmt.Fprintf(out, cost, prefix, tagKey)
	if o.vpc != "" {
		fmt.Fprint(out, costGroups)
	}
	if o.balancer {
		fmt.Fprint(out, costBalancer)
	}
}

// run executes the options. It returns the number of rows in which AWS differs.
func run(ctx context.Context, o options, cfg aws.Config, w waitClock, out io.Writer) (differs int, err error) {
	all, err := allRows()
	if err != nil {
		return 0, err
	}
	if o.list {
		for _, r := range all {
			fmt.Fprintln(out, r.listLine())
		}
		return 0, nil
	}
	s := newSite(o, cfg, w)
	if o.clean {
		return 0, s.removeLeftovers(ctx, out)
	}
	printCost(o, out, s.prefix)
	if !o.yes {
		return 0, errNotConfirmed
	}
	defer func() {
		if left := s.removeAll(ctx); left != nil {
			err = errors.Join(err, fmt.Errorf("remove the created resources: %w; next: run it again with --clean",
				left))
		}
	}()
	for _, r := range all {
		if !o.only.MatchString(r.text) {
			continue
		}
		if ctx.Err() != nil {
			return differs, fmt.Errorf("interrupted: %w", context.Cause(ctx))
		}
		if r.reportResult(ctx, s, out) {
			differs++
		}
	}
	return differs, nil
}
