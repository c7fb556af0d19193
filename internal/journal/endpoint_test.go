package journal_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sluice-ecs/sluice/internal/journal"
)

// places are the endpoints that a deployment or a command can have.
var places = []journal.Endpoint{
	{}, {Unrecorded: true}, {URL: "http://127.0.0.1:4566"}, {URL: "http://127.0.0.1:4566", World: "a"},
	{URL: "http://localhost:4566", World: "a"}, {URL: "http://127.0.0.1:4566", World: "b"},
	{URL: "http://127.0.0.1:9000"},
}

// The deployments of AWS, of a local AWS, and of that local AWS before its reset are kept apart.
func TestEndpointsAreKeptApart(t *testing.T) {
	local := journal.Endpoint{URL: "http://127.0.0.1:4566", World: "a"}
	silent := journal.Endpoint{URL: "http://127.0.0.1:4566"}
	for _, c := range []struct {
		now, of journal.Endpoint
		want    bool
	}{
		{journal.Endpoint{}, journal.Endpoint{}, true},
		{journal.Endpoint{}, local, false},
		{local, journal.Endpoint{}, false},
		{local, local, true},
		{local, journal.Endpoint{URL: local.URL, World: "b"}, false},
		{local, journal.Endpoint{URL: "http://localhost:4566", World: "a"}, true},
		{local, silent, true},
		{silent, local, true},
		{silent, journal.Endpoint{URL: "http://127.0.0.1:9000"}, false},
		{journal.Endpoint{}, journal.Endpoint{Unrecorded: true}, true},
		{silent, journal.Endpoint{Unrecorded: true}, true},
		{local, journal.Endpoint{Unrecorded: true}, false},
	} {
		if got := c.now.Has(c.of); got != c.want {
			t.Errorf("%+v has %+v: %v", c.now, c.of, got)
		}
	}
}

// A list has exactly the deployments that [journal.Endpoint.Has] accepts.
func TestFilterByEndpoint(t *testing.T) {
	j := inMemory(t)
	for i, of := range places {
		d := web(fmt.Sprint("d", i))
		d.Endpoint = of
		must(t, j.CreateDeployment(bg, d))
		got, err := j.Deployment(bg, d.ID)
		must(t, err)
		equal(t, got.Endpoint, of)
	}
	for _, now := range places {
		var want, got []string
		for i := len(places) - 1; i >= 0; i-- {
			if now.Has(places[i]) {
				want = append(want, fmt.Sprint("d", i))
			}
		}
		list, err := j.Deployments(bg, journal.Filter{At: &now})
		must(t, err)
		for _, d := range list {
			got = append(got, d.ID)
		}
		equal(t, got, want)
	}
}

// The first schema had no endpoints: its deployments stay readable.
func TestJournalWithoutEndpointsIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	db := raw(t, path)
	for _, statement := range []string{journal.Migration(0), "PRAGMA application_id = 0x534c4345; PRAGMA user_version = 1",
		`INSERT INTO deployments (id, application, account, region, cluster, service, cause_of, state, outcome, cause, next,
			plan, began, updated, ended) VALUES ('old', 'web', '123456789012', 'eu-west-1', 'prod', 'web', 'manual',
			'paused', '', '', '', x'7b7d', 1, 1, 0)`} {
		_, err := db.Exec(statement)
		must(t, err)
	}
	must(t, db.Close())
	j := open(t, path, newTicking())
	created(t, j, "new")
	d, err := j.Deployment(bg, "old")
	must(t, err)
	equal(t, d.Endpoint, journal.Endpoint{Unrecorded: true})
	list, err := j.Deployments(bg, journal.Filter{At: &journal.Endpoint{}, Open: true})
	must(t, err)
	if len(list) != 2 {
		t.Errorf("%+v", list)
	}
}
