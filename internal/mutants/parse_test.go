package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutation is one broken rule and the test that must fail because of it.
//
// In a file of testdata it is a block of lines. An empty line ends it.
//
//	the claim is not read back after it was written      what is broken
//	internal/stage/claim/claim.go                        the source file
//	 	if lost {                                        unchanged line: a space, then the line
//	-		return r.lost()                              removed line
//	+		return nil                                   added line
//	test ./internal/stage/claim -run ^TestClaimIsReadBack$   the package and the test that must fail
//
// Lines that begin with # are comments. The unchanged and removed lines together must
// occur once in the source file.
type mutation struct {
	rule     string // what is broken, in words
	file     string // path from the root of the module
	old, new string // whole lines, each with its newline
	pkg      string // pattern of go test: "./internal/stage"
	run      string // regular expression of -run
	where    string // "testdata/stage.txt:12", for messages
}

// parseFile reads the mutations of one file.
func parseFile(path string) ([]mutation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []mutation
	var block []string
	start := 0
	for i, line := range append(strings.Split(string(text), "\n"), "") {
		switch {
		case strings.HasPrefix(line, "#"):
		case line != "":
			if len(block) == 0 {
				start = i + 1
			}
			block = append(block, line)
		case len(block) > 0:
			m, err := parseBlock(block)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, start, err)
			}
			m.where = fmt.Sprintf("%s:%d", filepath.ToSlash(path), start)
			all, block = append(all, m), nil
		}
	}
	return all, nil
}

// parseBlock reads one mutation.
func parseBlock(lines []string) (mutation, error) {
	if len(lines) < 4 {
		return mutation{}, fmt.Errorf("a mutation has a rule, a file, changed lines and a test; this one has %d lines",
			len(lines))
	}
	m := mutation{rule: lines[0], file: lines[1]}
	for _, line := range lines[2 : len(lines)-1] {
		text := line[1:] + "\n"
		switch line[0] {
		case ' ':
			m.old, m.new = m.old+text, m.new+text
		case '-':
			m.old += text
		case '+':
			m.new += text
		default:
			return m, fmt.Errorf("line %q begins with none of space, - and +", line)
		}
	}
	words := strings.Fields(lines[len(lines)-1])
	if len(words) != 4 || words[0] != "test" || words[2] != "-run" {
		return m, fmt.Errorf("the last line is %q; write: test PACKAGE -run REGEXP", lines[len(lines)-1])
	}
	m.pkg, m.run = words[1], words[3]
	if m.old == m.new {
		return m, fmt.Errorf("nothing is changed")
	}
	return m, nil
}

// readAll reads the mutations of all files, in the order of the files' names.
func readAll() ([]mutation, error) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []mutation
	for _, file := range files {
		some, err := parseFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// apply returns the source file with the mutation in it.
func (m mutation) apply() (string, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	source := "\n" + string(text)
	if n := strings.Count(source, "\n"+m.old); n != 1 {
		return "", fmt.Errorf("%s: %s: its lines occur %d times in %s, want once", m.where, m.rule, n, m.file)
	}
	return strings.Replace(source, "\n"+m.old, "\n"+m.new, 1)[1:], nil
}
