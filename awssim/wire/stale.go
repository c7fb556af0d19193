package wire

import (
	"reflect"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	questionsKept = 4096 // per account and Region
	answersKept   = 64   // per question
)

// regionState is what wire remembers of one account in one Region.
type regionState struct {
	buckets map[string]*bucket
	answers world.Ordered[[]answer] // by operation and canonical input
}

// answer is what was once said to a question.
type answer struct {
	at  time.Time
	out reflect.Value
	ref *world.Refusal
}

// question identifies a read: the operation and its input in canonical form.
func (c *call) question() string {
	in, _ := c.room.plans(c.op)
	return string(in.appendJSON([]byte(c.room.Name+"."+c.op.name+" "), c.in.Elem()))
}

// isRead goes by AWS's verbs.
func isRead(operation string) bool {
	for _, verb := range []string{"Describe", "List", "Get", "Discover", "Filter"} {
		if strings.HasPrefix(operation, verb) {
			return true
		}
	}
	return false
}

func (s *regionState) remember(question string, a answer) {
	kept, ok := s.answers.Get(question)
	if !ok && s.answers.Len() >= questionsKept {
		s.answers.Delete(s.answers.Keys()[0])
	}
	if len(kept) >= answersKept {
		kept = append(kept[:0:0], kept[1:]...)
	}
	s.answers.Put(question, append(kept, a))
}

// recall is the newest answer that is at least age old; false if it is more than
// twice as old.
func (s *regionState) recall(question string, now time.Time, age time.Duration) (answer, bool) {
	kept, _ := s.answers.Get(question)
	for i := len(kept) - 1; i >= 0; i-- {
		if old := now.Sub(kept[i].at); old >= age {
			return kept[i], old <= 2*age
		}
	}
	return answer{}, false
}
