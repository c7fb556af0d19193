package layers

import (
	"bytes"
	"encoding/xml"
	"errors"
	"go/ast"
	"go/token"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// mostWords is how many words README.md and docs may have, without docs/reference.
const mostWords = 40_000

var (
	codeBlock = regexp.MustCompile("(?s)```.*?\n```")
	pageLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// readPages returns the Markdown pages of the module by their path.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	root, pages := moduleRoot(t), map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/README.md", "sdk/*/README.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(names), err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			pages[filepath.ToSlash(relative)] = strings.ReplaceAll(string(text), "\r\n", "\n")
		}
	}
	return pages
}

// anchorsOf returns the anchors of a page as GitHub makes them from its headings.
func anchorsOf(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		words := pageLink.ReplaceAllString(m[1], "]")
		slug := strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(words), ""), " ", "-")
		for n, first := 1, slug; all[slug]; n++ {
			slug = first + "-" + strconv.Itoa(n)
		}
		all[slug] = true
	}
	return all
}

// TestPagesLinkToWhatExists follows each link of a page to a file of the module, and to a heading in it.
func TestPagesLinkToWhatExists(t *testing.T) {
	root, pages := moduleRoot(t), readPages(t)
	for name, text := range pages {
		for _, m := range pageLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			link, err := url.Parse(m[1])
			if err != nil || link.Scheme != "" {
				continue
			}
			target := name
			if link.Path != "" {
				target = path.Join(path.Dir(name), link.Path)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			} else if link.Fragment != "" && strings.HasSuffix(target, ".md") && !anchorsOf(pages[target])[link.Fragment] {
				t.Errorf("%s links to %s: %s has no such heading", name, m[1], target)
			}
		}
	}
}

// TestEachPageIsListed wants each page of docs in the tree of docs/README.md or in that of the reference.
func TestEachPageIsListed(t *testing.T) {
	pages := readPages(t)
	for name := range pages {
		list := "docs/README.md"
		if strings.HasPrefix(name, "docs/reference/") {
			list = "docs/reference/README.md"
		}
		relative, err := filepath.Rel(path.Dir(list), name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "docs/") && name != list && name != "docs/reference/README.md" &&
			!strings.Contains(pages[list], "]("+filepath.ToSlash(relative)+")") {
			t.Errorf("%s does not list %s", list, name)
		}
	}
}

// TestPagesAreShort counts the words that a person may have to read.
func TestPagesAreShort(t *testing.T) {
	words := 0
	for name, text := range readPages(t) {
		if name == "README.md" || strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/reference/") {
			words += len(strings.Fields(text))
		}
	}
	if words > mostWords {
		t.Errorf("README.md and docs without docs/reference have %d words, the limit is %d", words, mostWords)
	}
}

// TestPicturesHaveWords wants of each picture that it is valid XML, has a title and a description, and colors for a
// light and a dark page, and that the page that shows it has a text for readers who do not see it.
func TestPicturesHaveWords(t *testing.T) {
	pictures, err := filepath.Glob(filepath.Join(moduleRoot(t), "docs", "images", "*.svg"))
	if err != nil || len(pictures) == 0 {
		t.Fatalf("%d pictures, %v", len(pictures), err)
	}
	all := strings.Builder{}
	for _, text := range readPages(t) {
		all.WriteString(text)
	}
	for _, picture := range pictures {
		data, err := os.ReadFile(picture)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(picture)
		texts := textsOfXML(t, name, data)
		for _, element := range []string{"title", "desc"} {
			if len(strings.Fields(texts[element])) < 5 {
				t.Errorf("%s: its <%s> is %q", name, element, texts[element])
			}
		}
		if !bytes.Contains(data, []byte("prefers-color-scheme: dark")) {
			t.Errorf("%s has no colors for a dark page", name)
		}
		shown := regexp.MustCompile(`!\[([^\]]*)\]\([^)]*images/` + regexp.QuoteMeta(name) + `\)`)
		if m := shown.FindStringSubmatch(all.String()); m == nil || len(strings.Fields(m[1])) < 8 {
			t.Errorf("%s: no page shows it, or the page says too little about it: %q", name, m)
		}
	}
}

// textsOfXML returns the text of each kind of element.
func textsOfXML(t *testing.T, name string, data []byte) map[string]string {
	t.Helper()
	texts, inside := map[string]string{}, ""
	for decoder := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inside = token.Name.Local
		case xml.CharData:
			texts[inside] += string(token)
		}
	}
}

// TestMessagesExist wants each message that the page about troubleshooting explains in the texts of the program. A
// message is a heading in code; … stands for what differs.
func TestMessagesExist(t *testing.T) {
	var texts []string
	for _, f := range parseSources(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				if text, err := strconv.Unquote(s.Value); err == nil {
					texts = append(texts, text)
				}
			}
			return true
		})
	}
	known, found := strings.Join(texts, "\n"), 0
	for _, m := range regexp.MustCompile("(?m)^### `(.+)`$").FindAllStringSubmatch(readPages(t)["docs/troubleshooting.md"], -1) {
		found++
		for part := range strings.SplitSeq(m[1], "…") {
			if part = strings.TrimSpace(part); !strings.Contains(known, part) {
				t.Errorf("docs/troubleshooting.md explains %q: no text of the program has %q", m[1], part)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d messages", found)
	}
}
