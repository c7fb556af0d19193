package show

import (
	"fmt"
	"time"
)

// CI is a CI system, by what its log can do.
type CI int

const (
	// NoCI: the log is text.
	NoCI CI = iota
	// GitHub Actions: a stage is a group, and problems are annotations.
	GitHub
	// GitLab: a stage is a section that folds.
	GitLab
	// gitHubMixed is a log of GitHub Actions with several deployments at once. Their stages cannot fold.
	gitHubMixed
)

// annotates reports whether the log has annotations.
func (c CI) annotates() bool { return c == GitHub || c == gitHubMixed }

// withoutSections returns the same CI system for a log in which the lines of several deployments mix.
func (c CI) withoutSections() CI {
	if c.annotates() {
		return gitHubMixed
	}
	return NoCI
}

// openSection returns the line that begins a section with a title. It is empty if the log has no sections.
func (c CI) openSection(p Paint, name, title string, at time.Time) string {
	switch c {
	case GitHub:
		return p.own.Raw("::") + "group::" + title
	case GitLab:
		return p.gitLabSection("start", name, at) + title
	}
	return ""
}

// closeSection returns the line that ends the section.
func (c CI) closeSection(p Paint, name string, at time.Time) string {
	switch c {
	case GitHub:
		return p.own.Raw("::") + "endgroup::"
	case GitLab:
		return p.gitLabSection("end", name, at)
	}
	return ""
}

// gitLabSection returns the mark of a section (GitLab documentation, "Custom collapsible sections").
func (p Paint) gitLabSection(edge, name string, at time.Time) string {
	clear := p.own.Code("[0K")
	return fmt.Sprintf("%ssection_%s:%d:%s%s%s", clear, edge, at.Unix(), name, p.own.Raw("\r"), clear)
}
