package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// CheckRegion returns an error for the ARNs of the files in another Region than the one of the calls. AWS would only
// return that the resources do not exist.
func CheckRegion(app *appfile.Application, region string) error {
	return elsewhere{
		region, func(a arn) string { return a.region }, "another Region",
		"the ARN is in Region %s, but the requested Region is %s", "set --region %s",
	}.check(app, resourceARNs(app))
}

// CheckAccount is CheckRegion for the account of the credentials. AWS deploys no service with resources of another one.
func CheckAccount(app *appfile.Application, account string) error {
	return inAccount(account).check(app, resourceARNs(app))
}

// CheckAccountOfRoles is CheckAccount for a cluster that does not exist. The roles of the definitions show the account
// too; alone they prove nothing, as a local AWS has any role.
func CheckAccountOfRoles(app *appfile.Application, account string) error {
	return inAccount(account).check(app, append(resourceARNs(app), roleARNs(app)...))
}

func inAccount(account string) elsewhere {
	return elsewhere{
		account, func(a arn) string { return a.account }, "another account",
		"the ARN is of account %s, but the credentials are of account %s",
		"use credentials of account %s (--profile, --assume-role)",
	}
}

// elsewhere is how ARNs are compared with the Region or the account of the calls.
type elsewhere struct {
	want      string
	of        func(arn) string
	noun      string // "another Region"
	text      string // of the two Regions
	moveCalls string // the next step if no ARN is of the wanted one
}

// check returns one error for all ARNs of the files that are elsewhere. The calls may be mistaken if no ARN is where they
// are, or if the cluster is not; otherwise only these ARNs can be.
func (e elsewhere) check(app *appfile.Application, arns []string) error {
	var others, places, found []string // found are the other Regions
	isAll := true
	for _, text := range arns {
		a, err := parseARN(text)
		place := e.of(a)
		switch {
		case err != nil || place == "" || e.want == "" || slices.Contains(others, text):
		case place == e.want:
			isAll = false
		default:
			others, found = append(others, text), append(found, place)
			places = append(places, app.PlacesOf(text)...)
		}
	}
	if len(others) == 0 {
		return nil
	}
	err := &sluice.Error{Op: "check the ARNs", Resource: others[0], Err: fmt.Errorf(e.text, found[0], e.want)}
	err.Next = "correct " + theseARNs(len(others), places)
	if (isAll || others[0] == app.Cluster) && len(slices.Compact(found)) == 1 {
		err.Next = fmt.Sprintf(e.moveCalls, found[0]) + ", or " + err.Next
	}
	if len(places) > 1 {
		err.Err = fmt.Errorf("%w; ARNs of %s are also at %s", err.Err, e.noun, strings.Join(places[1:], ", "))
	}
	if len(places) == 0 {
		return err
	}
	return appfile.LocateAt(places[0], err)
}

// theseARNs returns the object of a next step about ARNs.
func theseARNs(n int, places []string) string {
	switch {
	case len(places) == 1:
		return "the ARN at " + places[0]
	case n == 1 && len(places) == 0:
		return "the ARN in the files"
	case len(places) == 0:
		return "the ARNs in the files"
	}
	return "the ARNs at these lines"
}

// resourceARNs returns the texts of the files that may be ARNs of resources of the service's account and Region.
func resourceARNs(app *appfile.Application) []string {
	all := []string{app.Cluster}
	if app.Service != nil {
		in := app.Service.Input
		all = append(all, aws.ToString(in.Cluster))
		for _, b := range in.LoadBalancers {
			all = append(all, aws.ToString(b.TargetGroupArn))
			if a := b.AdvancedConfiguration; a != nil {
				all = append(all, aws.ToString(a.AlternateTargetGroupArn), aws.ToString(a.ProductionListenerRule),
					aws.ToString(a.TestListenerRule))
			}
		}
		for _, r := range in.ServiceRegistries {
			all = append(all, aws.ToString(r.RegistryArn))
		}
	}
	for _, g := range []*appfile.TargetGroup{app.Primary, app.Canary} {
		if g != nil {
			all = append(all, g.ARN)
		}
	}
	return append(all, app.ListenerRules...)
}

// roleARNs returns the roles of the definitions.
func roleARNs(app *appfile.Application) (all []string) {
	for _, r := range rolesOf(app) {
		all = append(all, r.ARN)
	}
	return all
}

// checkElsewhere requires that the resources are in the Region and account of the calls. It reports whether those of
// another account make all other checks idle.
func (c *checker) checkElsewhere() (idle bool) {
	c.judgeElsewhere("Region "+c.aws.Region, CheckRegion(c.app, c.aws.Region))
	return !c.judgeElsewhere("account "+c.aws.Account, CheckAccount(c.app, c.aws.Account))
}

func (c *checker) judgeElsewhere(subject string, err error) bool {
	if err != nil {
		c.fail(subject, sluice.ARNNames(nil).Shorten(err.Error()), sluice.NextStep(err))
	}
	return err == nil
}
