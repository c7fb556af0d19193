package secret

import (
	"net/url"
	"regexp"
	"strings"
)

// Stars stand for a secret.
const Stars = "***"

// name matches the last part of the name of a secret: DB_PASSWORD, apiKey.
const name = `(?:pass(?:word|wd|phrase|code)?|pwd|secrets?|tokens?|api[-_]?keys?|access[-_]?keys?|secret[-_]?keys?|private[-_]?keys?|signing[-_]?keys?|encryption[-_]?keys?|client[-_]?secret|credentials?|authorization|basicauth(?:\.users)?|signature)`

// value matches a value up to where its text, its shell word or its JSON ends.
const value = `[^\s"'\\,;&|<>)\]}]{4,}`

var (
	secretName = regexp.MustCompile(`(?i)` + name + `$`)

	// assigned is NAME=value, also in the query of a URL and behind `--`.
	assigned = regexp.MustCompile(`(?i)([\w.-]*` + name + `\\?["']?=\\?["']?)` + value)
	// flagged is `--name value`, also as two entries of a list.
	flagged = regexp.MustCompile(`(?i)(--?[\w-]*` + name + `)(\\?["']?[,\s]\s*\\?["']?)` + value)
	// keyed is `name: value` of YAML and JSON. Prose has such text too, so that the
	// value needs a digit.
	keyed = regexp.MustCompile(`(?i)([\w.-]*` + name + `\\?["']?\s*:\s+\\?["']?)([^\s"'\\,;{}\[\]]*[0-9][^\s"'\\,;{}\[\]]*)`)
	// pair is `"name":"value"` of JSON without blanks.
	pair = regexp.MustCompile(`(?i)([\w.-]*` + name + `\\?":\\?")` + value)

	userInfo = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@"'\\]+@`)
	bearer   = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/-]{12,}=*`)
	keyPEM   = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s:,-]|\\[nrt])*`)

	shapes = regexp.MustCompile(`\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b` + // access keys of AWS
		`|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*` + // JSON Web Tokens
		`|\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|[rs]k_(?:live|test)_\w{10,})`)

	words = regexp.MustCompile(`[A-Za-z0-9+/_=-]+`)
)

// Mask replaces what looks like a secret in a text by [Stars]. The text may be JSON:
// it stays valid.
func Mask(text string) string {
	if len(text) < 8 {
		return text
	}
	text = keyPEM.ReplaceAllString(text, Stars)
	text = userInfo.ReplaceAllString(text, "${1}"+Stars+"@")
	text = bearer.ReplaceAllString(text, "${1}${2}"+Stars)
	text = assigned.ReplaceAllString(text, "${1}"+Stars)
	text = flagged.ReplaceAllString(text, "${1}${2}"+Stars)
	text = keyed.ReplaceAllStringFunc(text, maskKeyed)
	text = pair.ReplaceAllString(text, "${1}"+Stars)
	text = shapes.ReplaceAllString(text, Stars)
	return words.ReplaceAllStringFunc(text, func(word string) string {
		if isAWSKey(word) {
			return Stars
		}
		return word
	})
}

// URL is an address without its user, password, query and fragment.
func URL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return Stars
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, Opaque: u.Opaque}
	if u.Opaque != "" {
		shown.Opaque = Stars
	}
	text := shown.String()
	if u.User != nil {
		text = strings.Replace(text, "://", "://"+Stars+"@", 1)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		text += "?" + Stars
	}
	return text
}

// maskKeyed leaves names of secrets alone: what refers to a secret is none.
func maskKeyed(text string) string {
	m := keyed.FindStringSubmatch(text)
	if len(m[2]) < 4 || strings.HasPrefix(m[2], "arn:") {
		return text
	}
	return m[1] + Stars
}

// isAWSKey recognizes a secret access key of AWS: 40 random characters.
func isAWSKey(word string) bool { return len(word) == 40 && isRandom(word, 1) }
