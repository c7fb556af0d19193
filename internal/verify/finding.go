package verify

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// Status is the result of one check.
type Status string

const (
	OK      Status = "ok"
	Warning Status = "warning" // it could not be checked, or may be wrong
	Error   Status = "error"   // a deployment of the files would fail
)

// Finding is the result of one check.
type Finding struct {
	Status  Status `json:"status"`
	Subject string `json:"subject"` // what was checked: "execution role ecsTaskExecutionRole"
	Detail  string `json:"detail,omitempty"`
	Next    string `json:"next,omitempty"`
	// Place is where the files name the subject, as "taskdef.yaml:14"; empty if it is right, or they do not name it.
	Place string `json:"place,omitempty"`
	// IsUnread: the resource could not be read, so nothing is known about it.
	IsUnread bool `json:"-"`
	// HasMoved: the tag of a running image names another image now.
	HasMoved bool `json:"-"`
	// IsOfPipeline: only a deployment with the pipeline depends on the subject.
	IsOfPipeline bool `json:"-"`
}

// findings collects results. place is where the files name what is checked now.
type findings struct {
	all   []Finding
	place string
}

func (f *findings) ok(subject, detail string) {
	f.all = append(f.all, Finding{Status: OK, Subject: subject, Detail: detail})
}

func (f *findings) warn(subject, detail, next string) {
	f.all = append(f.all, Finding{Status: Warning, Subject: subject, Detail: detail, Next: next, Place: f.place})
}

func (f *findings) fail(subject, detail, next string) {
	f.all = append(f.all, Finding{Status: Error, Subject: subject, Detail: detail, Next: next, Place: f.place})
}

// judge records a read that failed, and reports whether it succeeded. A resource that does not exist is an error. Any
// other failure says nothing about the resource.
func (f *findings) judge(subject string, err error, missing, next string) bool {
	switch {
	case err == nil:
		return true
	case isMissing(err):
		f.fail(subject, missing, next)
	default:
		f.unread(subject, err)
	}
	return false
}

// unread records a read that failed and says nothing about the resource.
func (f *findings) unread(subject string, err error) {
	f.warn(subject, fmt.Sprintf("it cannot be read: %v", sluice.Inner(err)), sluice.NextStep(err))
	f.all[len(f.all)-1].IsUnread = true
}

// isMissing reports whether a read found that the resource does not exist.
func isMissing(err error) bool { return sluice.KindOf(err) == sluice.NotFound }

// Count returns how many findings have a status.
func Count(all []Finding, status Status) (n int) {
	for _, f := range all {
		if f.Status == status {
			n++
		}
	}
	return n
}
