package secret

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// IsName reports whether a name marks its values as secrets.
func IsName(key string) bool { return secretNamePattern.MatchString(key) }

// IsPair reports whether the member "value" of an object is secret by the name beside it, as in a tag
// {"key": "API_TOKEN", "value": "…"}. A value that only refers to a secret, by its ARN, is not.
func IsPair(object map[string]any) bool {
	value, ok := object["value"].(string)
	if !ok || value == "" || strings.HasPrefix(value, "arn:") {
		return false
	}
	key, _ := object["key"].(string)
	name, _ := object["name"].(string)
	return IsName(key) || IsName(name)
}

// plainWords are values that no one uses as a secret: switches and levels of logs.
var plainWords = [...]string{"true", "false", "yes", "no", "on", "off", "enabled", "disabled", "trace", "debug", "verbose",
	"info", "notice", "warn", "warning", "error", "fatal"}

// IsPlainWord reports whether a value is a switch or a level of a log, which is shown although an environment may have
// secrets without a name that says so.
func IsPlainWord(value string) bool { return slices.Contains(plainWords[:], strings.ToLower(value)) }

// harmlessOptions are the options of log drivers that only describe where a log is and its form.
// Addresses are not among them: they may contain a token.
var harmlessOptions = [...]string{"awslogs-group", "awslogs-region", "awslogs-stream-prefix", "awslogs-stream",
	"awslogs-create-group", "awslogs-datetime-format", "awslogs-multiline-pattern", "mode", "max-buffer-size",
	"max-size", "max-file", "tag", "labels", "env", "splunk-index", "splunk-source", "splunk-sourcetype",
	"splunk-format", "splunk-gzip", "Name", "region", "delivery_stream", "log_group_name", "log_stream_prefix",
	"auto_create_group", "log-driver-buffer-limit", "enable-ecs-log-metadata", "config-file-type",
	"config-file-value"}

// IsHarmless reports whether an option of a log driver may be shown.
func IsHarmless(option string) bool { return slices.Contains(harmlessOptions[:], option) }

// plainNames are keys of definitions whose values are names.
var plainNames = [...]string{"name", "family", "image", "valueFrom", "containerName", "serviceName", "cluster"}

// Value returns a value of a definition as it may be shown: masked if its name or its shape is that
// of a secret. key is its name, or a path that ends with it.
func Value(key, value string) string {
	if value == "" || strings.HasPrefix(value, "arn:") ||
		slices.Contains(plainNames[:], key[strings.LastIndexByte(key, '.')+1:]) {
		return value
	}
	if IsName(key) {
		return Stars
	}
	return wordPattern.ReplaceAllStringFunc(Mask(value), func(word string) string {
		if len(word) >= 24 && isRandom(word, 2) {
			return Stars
		}
		return word
	})
}

// List returns the entries of a list as they may be shown, such as the words of a command. It also
// masks the word after --password.
func List(key string, values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = Value(key, v)
		if i > 0 && isFlag(values[i-1]) && !strings.HasPrefix(v, "-") {
			out[i] = Stars
		}
	}
	return out
}

func isFlag(word string) bool {
	return strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && IsName(word)
}

// isRandom reports whether a word has upper and lower case, digits, and more
// information per character than names and hexadecimal digests have.
func isRandom(word string, minDigits int) bool {
	upper, lower, digits := 0, 0, 0
	for _, r := range word {
		switch {
		case unicode.IsUpper(r):
			upper++
		case unicode.IsLower(r):
			lower++
		case unicode.IsDigit(r):
			digits++
		}
	}
	return upper > 1 && lower > 1 && digits >= minDigits && entropyPerChar(word) > 4.1
}

// entropyPerChar returns the information per character of a text, in bits.
func entropyPerChar(text string) (bits float64) {
	counts := map[rune]int{}
	for _, r := range text {
		counts[r]++
	}
	for _, n := range counts {
		p := float64(n) / float64(len(text))
		bits -= p * math.Log2(p)
	}
	return bits
}
