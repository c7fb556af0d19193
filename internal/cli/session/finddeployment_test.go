package session

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// recorded is a deployment of the journal of a test.
type recorded struct {
	id, region, service string
	ended               bool
}

// newFinder returns a session in the root of the module and a journal with the deployments, the
// oldest first.
func newFinder(t *testing.T, all ...recorded) (*Session, *journal.Journal) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	failOn(t, err)
	c := clock.NewVirtual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	j, err := journal.Open(journal.Memory, c)
	failOn(t, err)
	t.Cleanup(func() { j.Close() })
	for _, d := range all {
		failOn(t, j.CreateDeployment(t.Context(), journal.Deployment{ID: d.id, Account: "123456789012",
			Region: d.region, Cluster: "prod", Service: d.service}))
		if d.ended {
			failOn(t, j.EndDeployment(t.Context(), d.id, "succeeded", "", ""))
		}
	}
	return &Session{Env: Env{Disk: Disk{Getwd: func() (string, error) { return root, nil }, FS: folder.New},
		Getenv: func(string) string { return "" }}}, j
}

func failOn(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A command finds the deployment that the user means, or lists those that it can be.
func TestFindDeployment(t *testing.T) {
	web := recorded{id: "slc-web1", region: "us-east-1", service: "web", ended: true}
	newer := recorded{id: "slc-web2", region: "us-east-1", service: "web"}
	api := recorded{id: "slc-api1", region: "us-east-1", service: "api"}
	abroad := recorded{id: "slc-web3", region: "eu-west-1", service: "web"}
	for name, c := range map[string]struct {
		all    []recorded
		path   string
		given  bool
		region string
		want   string // ID, or the parts of the error, separated by " … "
	}{
		"by its ID":          {[]recorded{web, api}, "slc-web1", true, "", "slc-web1"},
		"an unknown ID":      {[]recorded{web}, "slc-none", true, "", "the deployment is not in the journal"},
		"the begin of an ID": {[]recorded{web, api}, "slc-w", true, "", "slc-web1"},
		"the begin of several IDs": {[]recorded{web, newer, api}, "slc-web", true, "",
			"2 deployments have an ID that begins so … slc-web2  prod/web … slc-web1  prod/web … more characters"},
		"an ID that begins another": {[]recorded{web, {id: "slc-web12", service: "web"}}, "slc-web1", true, "", "slc-web1"},
		"a service":                 {[]recorded{web, newer, api}, "prod/web", true, "", "slc-web2"},
		"a misspelt service": {[]recorded{web, api}, "prod/wbe", true, "",
			"no deployment of the service … there is no folder prod/wbe either … CLUSTER/SERVICE: prod/web"},
		"the newest of a service": {[]recorded{web, newer, api}, "examples/pipecd-v1", true, "", "slc-web2"},
		"none of the service":     {[]recorded{api}, "examples/pipecd-v1", true, "", "no deployment of the service"},
		"the same name twice": {[]recorded{newer, abroad}, "examples/pipecd-v1", true, "",
			"several accounts or Regions … slc-web2 … slc-web3"},
		"the same name twice, with --region": {[]recorded{newer, abroad}, "examples/pipecd-v1", true, "us-east-1",
			"slc-web2"},
		"the only open one":    {[]recorded{web, api}, ".", false, "", "slc-api1"},
		"several open ones":    {[]recorded{newer, api}, ".", false, "", "2 deployments are under way … slc-api1 … slc-web2"},
		"no open one":          {[]recorded{web}, ".", false, "", "no deployment is under way"},
		"a folder without one": {[]recorded{api}, "docs", true, "", "read the application"},
	} {
		t.Run(name, func(t *testing.T) {
			s, j := newFinder(t, c.all...)
			s.Flags.Region = c.region
			d, err := s.Deployments(j).Find(context.Background(), "resume", c.path, c.given)
			got := d.ID
			if err != nil {
				got = err.Error() + "\n" + sluice.NextStep(err)
			}
			for _, part := range strings.Split(c.want, " … ") {
				if !strings.Contains(got, part) {
					t.Errorf("got %s\nwant %s", got, c.want)
				}
			}
			if err == nil && got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
