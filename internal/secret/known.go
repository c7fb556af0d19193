package secret

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// leastKnown is the length from which a known value is masked inside of a text. A shorter value, such as "1", occurs
// in most texts.
const leastKnown = 4

// Known masks values that are known to be secret, whatever they look like. It is safe for use by several goroutines.
// The nil Known has no values, and takes none.
type Known struct {
	mu       sync.Mutex
	forms    []string // the values, and how JSON writes them; the longest first
	isHidden bool
}

// NewKnown returns a Known with values.
func NewKnown(values ...string) *Known {
	k := &Known{}
	k.Add(values...)
	return k
}

// Add adds values. Each line of a value with several lines is a value too.
func (k *Known) Add(values ...string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isHidden = true
	for _, v := range values {
		for _, form := range append(strings.Split(v, "\n"), v) {
			if len(form) >= leastKnown {
				k.forms = append(k.forms, form, asJSON(form))
			}
		}
	}
	slices.SortFunc(k.forms, func(a, b string) int { return len(b) - len(a) })
	k.forms = slices.Compact(k.forms)
}

// asJSON returns a text as it is written inside of a JSON string.
func asJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(data[1 : len(data)-1])
}

// Show makes the values visible.
func (k *Known) Show() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isHidden = false
}

// Mask replaces the values in a text by [Stars].
func (k *Known) Mask(text string) string {
	if k == nil {
		return text
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.isHidden {
		return text
	}
	for _, form := range k.forms {
		text = strings.ReplaceAll(text, form, Stars)
		if strings.Contains(text, cutMark) {
			text = maskCut(text, form)
		}
	}
	return text
}

// cutMark ends a text that was cut off, in differences.
const cutMark = " …"

// maskCut replaces the beginning of a value that was cut off.
func maskCut(text, form string) string {
	for n := len(form) - 1; n >= leastKnown; n-- {
		text = strings.ReplaceAll(text, form[:n]+cutMark, Stars+cutMark)
	}
	return text
}
