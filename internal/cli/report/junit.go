package report

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/printable"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *junitSkipped `xml:"skipped,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// JUnit returns the reports as test results: a suite for each service, with a test for the outcome and one for each
// stage. The test of the outcome is the only one that fails, so that a failure is listed once. It is skipped if another
// deployment or a person ended the deployment: that says nothing about the version.
func JUnit(all []Report) (string, error) {
	var doc junitSuites
	for _, r := range all {
		s := r.junitSuite()
		doc.Tests += s.Tests
		doc.Failures += s.Failures
		doc.Suites = append(doc.Suites, s)
	}
	out, err := xml.MarshalIndent(doc, "", "  ")
	return xml.Header + string(out) + "\n", err
}

func (r Report) junitSuite() junitSuite {
	name := printable.Line(r.Name)
	s := junitSuite{Name: name, Time: seconds(r.Took)}
	outcome := junitCase{Class: name, Name: r.Outcome, Time: seconds(r.Took)}
	message := printable.Line(strings.TrimSuffix(r.Outcome+": "+firstLine(r.Cause), ": "))
	switch {
	case r.Exit == sluice.ExitSuperseded, r.Exit == sluice.ExitStopped:
		s.Skipped = 1
		outcome.Skipped = &junitSkipped{message}
	case r.IsFailure():
		s.Failures = 1
		body := printable.Text(r.Cause)
		if r.Next != "" {
			body += "\nnext: " + printable.Text(r.Next)
		}
		outcome.Failure = &junitFailure{Message: message, Text: body}
	}
	s.Cases = append(s.Cases, outcome)
	for _, stage := range r.Stages {
		c := junitCase{Class: name, Name: printable.Line(stage.title()), Time: seconds(stage.Took)}
		if stage.Status != "done" {
			c.Skipped = &junitSkipped{stage.status()}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	return s
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
