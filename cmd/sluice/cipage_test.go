package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each command and each file of docs/ci.md is in the script that plays it.
func TestCIPageIsPlayed(t *testing.T) {
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/script/ci.txtar")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, block := range regexp.MustCompile("(?s)```(sh|yaml)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		lines := []string{strings.SplitN(block[2], "\n", 2)[1]} // a file without the comment that names it
		switch {
		case block[1] == "sh":
			lines = strings.Split(strings.TrimSpace(block[2]), "\n")
		case !strings.HasPrefix(block[2], "# "):
			continue
		}
		for _, line := range lines {
			played++
			if !strings.Contains(string(script), line) {
				t.Errorf("not played: %s", line)
			}
		}
	}
	if played < 8 {
		t.Errorf("%d commands and files", played)
	}
}
