package cli

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// durationForm says how a duration is written.
const durationForm = "a duration in h, m and s, such as 90s, 10m or 1h30m"

var (
	numberOnly = regexp.MustCompile(`^\d+$`)
	// longUnit is a time in days or weeks, and the rest of the value.
	longUnit = regexp.MustCompile(`^(\d{1,4})(d|day|days|w|week|weeks)(\d.*)?$`)
	// longName is a time whose unit is written in more letters than Go reads.
	longName = regexp.MustCompile(`^(\d+(?:\.\d+)?)(s|m|h)(?:ec|ecs|econd|econds|in|ins|inute|inutes|r|rs|our|ours)$`)
	// bareMinutes is a time in hours whose minutes have no unit.
	bareMinutes = regexp.MustCompile(`^\d+h\d{1,2}$`)
)

// durationAdvice returns the next step for a value that is no duration: the duration that was meant.
func durationAdvice(flag, value string) string {
	give := func(meant string) string { return "give --" + flag + " " + meant }
	if numberOnly.MatchString(value) {
		return give(value+"s") + " or --" + flag + " " + value + "m"
	}
	if parts := longUnit.FindStringSubmatch(value); parts != nil {
		n, _ := strconv.Atoi(parts[1])
		if strings.HasPrefix(parts[2], "w") {
			n *= 7
		}
		if rest, err := time.ParseDuration("0s" + parts[3]); err == nil {
			return give(shortDuration(time.Duration(n)*24*time.Hour + rest))
		}
	}
	if parts := longName.FindStringSubmatch(value); parts != nil {
		return give(parts[1] + parts[2])
	}
	if bareMinutes.MatchString(value) {
		return give(value + "m")
	}
	return "give a duration such as 90s, 10m or 1h30m"
}

// shortDuration returns a duration without units of zero at its end.
func shortDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
