package image

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Parse reads an image reference of the built-in kinds:
//
//	sim/web:v1                          answers 200 "v1"
//	sim/web:v2?latency=20ms&errors=1%   with options, as in a URL's query
//	sim/web:v2-crash-after-5s           with options in the tag, for tools that
//	                                    refuse "?" in an image
//	123456789012.dkr.ecr.eu-west-1.amazonaws.com/sim/web:v1   any registry before sim/
//	host:./server --flag                a program of the host
//
// [Options] lists the options. Words of a tag that are no option belong to the version: v2-beta is
// a version. A host command is split at spaces; single or double quotes keep spaces together.
func Parse(ref string) (Behaviour, error) {
	if cmd, ok := strings.CutPrefix(ref, HostImages); ok {
		return parseHost(ref, cmd)
	}
	name, query, _ := strings.Cut(ref, "?")
	repo, tag, err := cutTag(ref, name)
	if err != nil {
		return Behaviour{}, err
	}
	if !isSimImage(repo) {
		return Behaviour{},
			fmt.Errorf("image %q is not one of the simulator's: sim/<name>:<version>[?options], or host:<command>", ref)
	}
	version, opts := splitTag(tag)
	if version == "" {
		return Behaviour{}, fmt.Errorf("image %q: the tag needs a version before its options, as in v1-%s", ref, tag)
	}
	b := Behaviour{Version: version}
	if err := b.applyOptions(append(opts, splitQuery(query)...)); err != nil {
		return Behaviour{}, fmt.Errorf("image %q: %w", ref, err)
	}
	return b, nil
}

// isSimImage reports whether a repository is sim/<name>, with or without a registry.
func isSimImage(repo string) bool {
	words := strings.Split(repo, "/")
	i := slices.Index(words, "sim")
	return i >= 0 && i == len(words)-2 && words[i+1] != ""
}

// cutTag splits the tag from a name. A colon before a slash belongs to the registry's port.
func cutTag(ref, name string) (repo, tag string, err error) {
	if strings.Contains(name, "@") {
		return "", "",
			fmt.Errorf("image %q: the simulator's images have no digest; name a version: sim/<name>:<version>", ref)
	}
	i := strings.LastIndexByte(name, ':')
	if i < 0 || strings.ContainsRune(name[i:], '/') {
		return name, "latest", nil
	}
	if i+1 == len(name) {
		return "", "", fmt.Errorf("image %q: the version after the colon is missing", ref)
	}
	return name[:i], name[i+1:], nil
}

func parseHost(ref, cmd string) (Behaviour, error) {
	words, err := splitWords(cmd)
	if err != nil {
		return Behaviour{}, fmt.Errorf("image %q: %w", ref, err)
	}
	if len(words) == 0 || words[0] == "" {
		return Behaviour{}, fmt.Errorf("image %q: host: needs a command, as in host:./server --flag", ref)
	}
	return Behaviour{Version: words[0], Command: words}, nil
}

// splitWords splits at spaces that are outside quotes.
func splitWords(s string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	open := false // a word has begun, even an empty quoted one
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && r == ' ':
			end()
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	end()
	return words, nil
}

// splitTag splits the options from a tag: "v2-crash-after-5s-exit-3" is version v2 with
// crash-after=5s and exit=3.
func splitTag(tag string) (version string, opts []option) {
	words := strings.Split(tag, "-")
	var head []string
	for len(words) > 0 {
		name, n := optionAt(words)
		switch {
		case n > 0:
			opts = append(opts, option{name: name})
		case len(opts) == 0:
			head, n = append(head, words[0]), 1
		default:
			last, sep := &opts[len(opts)-1], ""
			if last.value != "" {
				sep = "-"
			}
			last.value, n = last.value+sep+words[0], 1
		}
		words = words[n:]
	}
	return strings.Join(head, "-"), opts
}

// optionAt returns the longest option name that words begin with, and how many words it has.
func optionAt(words []string) (name string, n int) {
	for n := min(2, len(words)); n > 0; n-- {
		name := strings.Join(words[:n], "-")
		if _, ok := Options[name]; ok {
			return name, n
		}
	}
	return "", 0
}

// splitQuery reads a=b&c. A percent sign that begins no escape is taken literally, so that
// errors=1% is valid.
func splitQuery(query string) (opts []option) {
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if s, err := url.QueryUnescape(value); err == nil {
			value = s
		}
		opts = append(opts, option{name, value})
	}
	return opts
}
