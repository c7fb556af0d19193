package wire

import (
	"reflect"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxQuestions = 4096 // per account and Region
	maxAnswers   = 64   // per question
)

// regionState is wire's state of one account in one Region.
type regionState struct {
	buckets   map[string]*bucket
	answers   world.Ordered[[]answer] // by operation and canonical input
	objects   world.Ordered[[]answer] // by operation and the object's identity
	creations creations
}

// answer is a stored answer to a read.
type answer struct {
	at  time.Time
	out reflect.Value
	ref *world.Refusal
}

// questionKey returns the key of a read: the operation and its input in canonical form.
func (c *call) questionKey() string {
	in, _ := c.api.operationShapes(c.op)
	return string(in.appendJSON([]byte(c.api.Name+"."+c.op.name+" "), c.in.Elem()))
}

// IsRead reports by AWS's naming whether an operation is a read, which can be stale.
func IsRead(operation string) bool { return isRead(operation) }

func isRead(operation string) bool {
	for _, verb := range []string{"Describe", "List", "Get", "BatchGet", "Discover", "Filter", "Lookup"} {
		if strings.HasPrefix(operation, verb) {
			return true
		}
	}
	return false
}

func (s *regionState) rememberAnswer(question string, a answer) { keepAnswer(&s.answers, question, a) }

func keepAnswer(in *world.Ordered[[]answer], key string, a answer) {
	kept, ok := in.Get(key)
	if !ok && in.Len() >= maxQuestions {
		in.Delete(in.Keys()[0])
	}
	if len(kept) >= maxAnswers {
		kept = append(kept[:0:0], kept[1:]...)
	}
	in.Put(key, append(kept, a))
}

// recallAnswer returns the newest answer that is at least age old; false if it is more than twice
// as old.
func recallAnswer(from *world.Ordered[[]answer], key string, now time.Time, age time.Duration) (answer, bool) {
	kept, _ := from.Get(key)
	for i := len(kept) - 1; i >= 0; i-- {
		if old := now.Sub(kept[i].at); old >= age {
			return kept[i], old <= 2*age
		}
	}
	return answer{}, false
}
