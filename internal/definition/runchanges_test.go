package definition

import (
	"encoding/json"
	"testing"
)

func TestChangesOfARunReachItsRequest(t *testing.T) {
	r := NewRun()
	r.SetCount(3)
	r.SetCommand("job", []string{"./report", "--dry-run"})
	r.AddEnvironment("job", "A", "1")
	r.AddEnvironment("side", "B", "2")
	r.AddTag("team", "data")
	checkJSON(t, r, `{"count":3,"enableECSManagedTags":false,"enableExecuteCommand":false,"overrides":{"containerOverrides":[`+
		`{"command":["./report","--dry-run"],"environment":[{"name":"A","value":"1"}],"name":"job"},`+
		`{"environment":[{"name":"B","value":"2"}],"name":"side"}]},"tags":[{"key":"team","value":"data"}]}`)
	checkJSON(t, r.WithTags(map[string]string{"team": "ops", "cost": "42"}).withoutOverrides(),
		`{"count":3,"enableECSManagedTags":false,"enableExecuteCommand":false,"tags":[{"key":"cost","value":"42"},{"key":"team","value":"ops"}]}`)
	if got := *r.Input.Tags[0].Value; got != "data" || len(r.Input.Tags) != 1 {
		t.Errorf("the first request changed: its tags are %v", r.Input.Tags)
	}
}

func (r *Run) withoutOverrides() *Run {
	r.Input.Overrides = nil
	return r
}

func checkJSON(t *testing.T, r *Run, want string) {
	t.Helper()
	data, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(wanted)
	if string(a) != string(b) {
		t.Errorf("request\n got %s\nwant %s", a, b)
	}
}

func TestTagsOfAServiceAreReplacedByKey(t *testing.T) {
	s, err := DecodeService("servicedef.yaml",
		[]byte("serviceName: web\ntags: [{key: team, value: data}, {key: cost, value: '42'}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := s.WithTags(map[string]string{"team": "ops", "owner": "ann"}).Tags()
	if len(got) != 3 || got["team"] != "ops" || got["cost"] != "42" || got["owner"] != "ann" {
		t.Errorf("tags %v", got)
	}
	if was := s.Tags(); len(was) != 2 || was["team"] != "data" {
		t.Errorf("the tags of the file changed: %v", was)
	}
}

func TestTwoFilesAreComparedBothWays(t *testing.T) {
	decode := func(text string) *Service {
		s, err := DecodeService("servicedef.yaml", []byte("serviceName: web\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain, sized := decode(""), decode("desiredCount: 4\n")
	for _, c := range []struct {
		name       string
		want, have *Service
		diff       string
	}{
		{"equal files", sized, sized, ""},
		{"a default that is given", decode("schedulingStrategy: REPLICA\n"), plain, ""},
		{"a changed field", decode("desiredCount: 6\n"), sized, "desiredCount: 4 to 6"},
		{"a field that is no longer given", plain, sized, "desiredCount: 4 to not given"},
	} {
		text := ""
		for _, d := range CompareServiceFiles(c.want, c.have) {
			text += d.Path + ": " + d.Have + " to " + d.Want
		}
		if text != c.diff {
			t.Errorf("%s: %q, want %q", c.name, text, c.diff)
		}
	}
}
