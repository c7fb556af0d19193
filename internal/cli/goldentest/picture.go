package goldentest

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Sizes of a picture of a terminal, in pixels.
const (
	columnWidth = 8.4
	lineHeight  = 20
	padding     = 20
	barHeight   = 36
)

// pictureHead begins the picture of a terminal. The colors follow the reader's setting for light or dark.
const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title desc">
<title id="title">%[3]s</title>
<desc id="desc">%[4]s</desc>
<style>
.back { fill: #f6f8fa; stroke: #d1d9e0 } .dot { fill: #d1d9e0 }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328; white-space: pre }
.command { font-weight: bold }
@media (prefers-color-scheme: dark) {
.back { fill: #0d1117; stroke: #3d444d } .dot { fill: #3d444d } text { fill: #f0f6fc }
}
</style>
<rect class="back" x="0.5" y="0.5" width="%[5]d" height="%[6]d" rx="8"/>
<circle class="dot" cx="24" cy="20" r="6"/><circle class="dot" cx="44" cy="20" r="6"/><circle class="dot" cx="64" cy="20" r="6"/>
`

// Picture returns a picture in SVG of a terminal that shows the text. Its title and description are for readers who
// do not see it.
func Picture(title, text string) string {
	text = strings.TrimRight(text, "\n")
	lines := strings.Split(text, "\n")
	columns := 0
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
	}
	width, height := int(float64(columns)*columnWidth)+2*padding, len(lines)*lineHeight+barHeight+padding
	var b strings.Builder
	fmt.Fprintf(&b, pictureHead, width, height, escape(title), escape(text), width-1, height-1)
	for i, line := range lines {
		if line == "" {
			continue
		}
		class := ""
		if strings.HasPrefix(line, "$ ") {
			class = ` class="command"`
		}
		fmt.Fprintf(&b, "<text%s x=\"%d\" y=\"%d\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">%s</text>\n",
			class, padding, barHeight+(i+1)*lineHeight-5, float64(utf8.RuneCountInString(line))*columnWidth, escape(line))
	}
	return b.String() + "</svg>\n"
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder returns no error
	return strings.ReplaceAll(b.String(), "&#xA;", "\n")
}

// PageBlock returns the marked block of a documentation page, without the fence of a code block.
func PageBlock(t *testing.T, page, name string) string {
	t.Helper()
	text := readFile(t, page)
	_, rest, ok := strings.Cut(text, "<!-- "+name+": from the code -->\n")
	block, _, ends := strings.Cut(rest, "<!-- end of "+name+" -->")
	if !ok || !ends {
		t.Fatalf("%s has no marks for %s", page, name)
	}
	block = strings.TrimPrefix(block, "```console\n")
	return strings.TrimSuffix(strings.TrimSpace(block), "```")
}

// CheckFile compares got with a file of the module. The path is from the root of the module.
func CheckFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join(moduleRoot(t), filepath.FromSlash(path)), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := readFile(t, path); got != want {
		t.Errorf("%s is not what the test makes; run the test %s with -update", path, t.Name())
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleRoot(t), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}
