package secret

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Stars replace a secret.
const Stars = "***"

// namePattern matches the last part of the name of a secret: DB_PASSWORD, apiKey.
const namePattern = `(?:pass(?:word|wd|phrase|code)?|pwd|secrets?|tokens?|api[-_]?keys?|access[-_]?keys?|secret[-_]?keys?|private[-_]?keys?|signing[-_]?keys?|encryption[-_]?keys?|client[-_]?secret|credentials?|authorization|basicauth(?:\.users)?|signature)`

// valuePattern matches a value up to the end of its text, its shell word or its JSON string.
const valuePattern = `[^\s"'\\,;&|<>)\]}]{4,}`

var (
	secretNamePattern = regexp.MustCompile(`(?i)` + namePattern + `$`)

	// assignedPattern matches NAME=value, also in the query of a URL and after `--`.
	assignedPattern = regexp.MustCompile(`(?i)([\w.-]*` + namePattern + `\\?["']?=\\?["']?)` + valuePattern)
	// flaggedPattern matches `--name value`, also as two entries of a list. The
	// hyphen begins the word: the text "splunk-token" is no flag.
	flaggedPattern = regexp.MustCompile(`(?i)((?:^|[^\w-])--?[\w-]*` + namePattern + `)(\\?["']?[,\s]\s*\\?["']?)` + valuePattern)
	// keyedPattern matches `name: value` of YAML and JSON. Prose contains such text too, so the
	// value needs a digit.
	keyedPattern = regexp.MustCompile(`(?i)([\w.-]*` + namePattern +
		`\\?["']?\s*:\s+\\?["']?)([^\s"'\\,;{}\[\]]*[0-9][^\s"'\\,;{}\[\]]*)`)
	// pairPattern matches `"name":"value"` of JSON without blanks.
	pairPattern = regexp.MustCompile(`(?i)([\w.-]*` + namePattern + `\\?":\\?")` + valuePattern)

	userInfoPattern = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@"'\\]+@`)
	bearerPattern   = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/-]{12,}=*`)
	pemPattern      = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s:,-]|\\[nrt])*`)

	shapePattern = regexp.MustCompile(`\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b` + // access keys of AWS
		`|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*` + // JSON Web Tokens
		`|\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|[rs]k_(?:live|test)_\w{10,})`)

	wordPattern = regexp.MustCompile(`[A-Za-z0-9+/_=-]+`)
)

// maskRule masks one kind of secret. Most texts contain none, and searching for substrings is many
// times faster than matching expressions.
type maskRule struct {
	needs []string // lower case; the rule matches only texts with one of these
	mask  func(text string) string
}

// rules are in the order in which they apply.
var rules = []maskRule{
	{[]string{"-----begin "}, func(text string) string { return pemPattern.ReplaceAllString(text, Stars) }},
	{[]string{"://"}, func(text string) string { return userInfoPattern.ReplaceAllString(text, "${1}"+Stars+"@") }},
	{[]string{"bearer", "basic"}, func(text string) string {
		return bearerPattern.ReplaceAllString(text,
			"${1}${2}"+Stars)
	}},
	{nameStems, func(text string) string {
		text = assignedPattern.ReplaceAllStringFunc(text, maskAssigned)
		text = flaggedPattern.ReplaceAllStringFunc(text, maskFlagged)
		text = keyedPattern.ReplaceAllStringFunc(text, maskKeyed)
		return pairPattern.ReplaceAllString(text, "${1}"+Stars)
	}},
	{[]string{"a3t", "akia", "asia", "abia", "acca", "eyj", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
		"glpat-", "xox", "k_live_", "k_test_"},
		func(text string) string { return shapePattern.ReplaceAllString(text, Stars) }},
}

// maskAssigned masks the value of NAME=value. A switch, such as --get-secrets=false, is no secret.
func maskAssigned(text string) string {
	if strings.HasSuffix(text, "=true") || strings.HasSuffix(text, "=false") {
		return text
	}
	return assignedPattern.ReplaceAllString(text, "${1}"+Stars)
}

// switches are flags of sluice without a value: the word after them is text of the help.
var switches = [...]string{"--show-secrets", "--get-secrets"}

// maskFlagged masks the value of `--name value`.
func maskFlagged(text string) string {
	for _, s := range switches {
		if strings.HasPrefix(strings.TrimLeft(text, " \n\t`"), s) {
			return text
		}
	}
	return flaggedPattern.ReplaceAllString(text, "${1}${2}"+Stars)
}

// nameStems are substrings: every match of namePattern contains one of them.
var nameStems = []string{"pass", "pwd", "secret", "token", "key", "credential", "auth", "signature"}

// Mask replaces text that looks like a secret by [Stars]. Valid JSON stays valid.
func Mask(text string) string {
	if len(text) < 8 {
		return text
	}
	lower := strings.ToLower(text)
	// some other letters match letters of the rules: ſ is an s
	ascii := !strings.ContainsFunc(text, func(c rune) bool { return c > unicode.MaxASCII })
	for _, r := range rules {
		if !ascii || slices.ContainsFunc(r.needs, func(part string) bool { return strings.Contains(lower, part) }) {
			text = r.mask(text)
		}
	}
	if longestWord(text) < awsKeyLength {
		return text
	}
	return wordPattern.ReplaceAllStringFunc(text, func(word string) string {
		if isAWSKey(word) {
			return Stars
		}
		return word
	})
}

// longestWord returns the length of the longest match of wordPattern.
func longestWord(text string) (longest int) {
	n := 0
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/_=-", c) >= 0 {
			n++
			longest = max(longest, n)
		} else {
			n = 0
		}
	}
	return longest
}

// URL returns an address without its user, password, query and fragment.
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

// maskKeyed keeps values that only refer to a secret, such as its ARN.
func maskKeyed(text string) string {
	m := keyedPattern.FindStringSubmatch(text)
	if len(m[2]) < 4 || strings.HasPrefix(m[2], "arn:") {
		return text
	}
	return m[1] + Stars
}

const awsKeyLength = 40

// isAWSKey recognizes a secret access key of AWS: random characters.
func isAWSKey(word string) bool { return len(word) == awsKeyLength && isRandom(word, 1) }
