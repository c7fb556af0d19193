package wire

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// ErrToken is the error of a paging token that [Page] did not make. Each
// service has its own code for it.
var ErrToken = errors.New("invalid paging token")

// Page cuts the page that begins at token. max is what the caller asked for (0
// or less: def), never more than limit. Tokens are opaque and name the last item
// of the page before, so that a list that grows or shrinks meanwhile is neither
// repeated nor skipped; id may be nil, then they count. next is nil on the last
// page.
func Page[T any](items []T, token *string, max, def, limit int, id func(T) string) (page []T, next *string, err error) {
	if max <= 0 {
		max = def
	}
	max = min(max, limit)
	from := 0
	if token != nil && *token != "" {
		if from, err = resume(items, *token, id); err != nil {
			return nil, nil, err
		}
	}
	to := min(from+max, len(items))
	if to < len(items) {
		next = tokenAt(items, to, id)
	}
	return items[from:to:to], next, nil
}

func tokenAt[T any](items []T, to int, id func(T) string) *string {
	last := ""
	if id != nil {
		last = id(items[to-1])
	}
	t := base64.RawURLEncoding.EncodeToString([]byte("p1 " + strconv.Itoa(to) + " " + last))
	return &t
}

func resume[T any](items []T, token string, id func(T) string) (int, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	part := strings.SplitN(string(b), " ", 3)
	if err != nil || len(part) != 3 || part[0] != "p1" {
		return 0, ErrToken
	}
	at, err := strconv.Atoi(part[1])
	if err != nil || at < 0 {
		return 0, ErrToken
	}
	if id != nil {
		for i := range items {
			if id(items[i]) == part[2] {
				return i + 1, nil
			}
		}
	}
	return min(at, len(items)), nil
}
