package goldentest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// CheckPage compares the marked blocks of a documentation page with the texts from the code. The
// page is a path from the root of the module.
func CheckPage(t *testing.T, page string, blocks map[string]string) {
	t.Helper()
	path := filepath.Join(moduleRoot(t), filepath.FromSlash(page))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	for name, want := range blocks {
		begin, end := "<!-- "+name+": from the code -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		got, after, ends := strings.Cut(rest, end)
		if !ok || !ends {
			t.Fatalf("%s has no marks for %s", page, name)
		}
		want = strings.TrimSpace(want) + "\n"
		if got != want && !*update {
			t.Errorf("%s: %s is not what the code says; run the test %s with -update\n%s", page, name, t.Name(), want)
		}
		text = before + begin + want + end + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// moduleRoot returns the folder of go.mod, at or above the working directory.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod at or above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// Table returns a table in Markdown.
func Table(head []string, all [][]string) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, cells := range all {
		for i, c := range cells {
			cells[i] = strings.TrimSuffix(strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`), ".")
		}
		line(cells)
	}
	return b.String()
}
