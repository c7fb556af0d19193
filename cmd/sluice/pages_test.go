package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// fencedBlock is a block of code of a page: its language and its lines.
	fencedBlock = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")
	// listedPage is a page of the section "How to" of docs/README.md.
	listedPage = regexp.MustCompile(`\]\(([a-z-]+\.md)\)`)
	// commentAfter is a comment after a command.
	commentAfter = regexp.MustCompile(`\s+# .*$`)
)

// playedElsewhere are pages without commands of sluice, and the tests that play their examples.
var playedElsewhere = map[string]string{
	"terraform.md": "internal/terraform",
	"pulumi.md":    "internal/pulumi",
}

// TestPagesArePlayed wants each command of sluice on a page that describes a task in a script or an example
// that a test plays, and each file whose name is its first line. So a test does what a page asks of its reader.
func TestPagesArePlayed(t *testing.T) {
	played := playedText(t)
	tree := readText(t, "../../docs/README.md")
	_, howTo, _ := strings.Cut(tree, "\n## How to\n")
	howTo, _, _ = strings.Cut(howTo, "\n## ")
	pages := []string{"quickstart.md", "first-release.md"}
	for _, m := range listedPage.FindAllStringSubmatch(howTo, -1) {
		pages = append(pages, m[1])
	}
	if len(pages) < 20 {
		t.Errorf("%d pages", len(pages))
	}
	for _, page := range pages {
		text := readText(t, "../../docs/"+page)
		lines := linesToPlay(text)
		if beginning, _, _ := strings.Cut(text, "\n## "); !strings.Contains(beginning, "```") && page != "first-release.md" &&
			page != "quickstart.md" {
			t.Errorf("docs/%s does not begin with what a reader does", page)
		}
		if len(lines) == 0 && playedElsewhere[page] == "" {
			t.Errorf("docs/%s has no command that a script plays", page)
		}
		for _, line := range lines {
			if !strings.Contains(played, line) {
				t.Errorf("docs/%s: no script plays %s", page, line)
			}
		}
	}
}

// playedText returns the scripts, the screens of the examples and of the tutorial, which tests of internal/cli play,
// and the files of the examples.
func playedText(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"testdata/script/*.txtar", "testdata/long/*.txtar",
		"../../internal/cli/testdata/examples/*.txt", "../../internal/cli/testdata/tutorial/*.txt",
		"../../examples/*/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			all.WriteString(readText(t, name))
		}
	}
	return all.String()
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// linesToPlay returns the commands of sluice of a page and the lines of its files.
func linesToPlay(page string) (all []string) {
	for _, block := range fencedBlock.FindAllStringSubmatch(page, -1) {
		lines := strings.Split(strings.TrimSpace(block[2]), "\n")
		isFile := strings.HasPrefix(lines[0], "# ") && strings.Contains(lines[0], ".yaml")
		for i, line := range lines {
			command := strings.TrimPrefix(commentAfter.ReplaceAllString(line, ""), "$ ")
			switch {
			case strings.HasPrefix(command, "sluice sim --world examples/"): // the scripts load these files themselves
			case (block[1] == "sh" || block[1] == "console") && (strings.HasPrefix(command, "sluice ") || strings.HasPrefix(command, "aws elbv2 ")):
				all = append(all, command)
			case block[1] == "yaml" && isFile && i > 0 && line != "":
				all = append(all, line)
			}
		}
	}
	return all
}
