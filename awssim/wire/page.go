package wire

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// ErrToken is the error for a paging token that [Page] did not create. Each service has its own
// code for it.
var ErrToken = errors.New("invalid paging token")

// Page returns the page that begins at token. max is the requested size (0 or less: def), at most
// limit. Tokens are opaque and contain the id of the last item of the previous page. A list that
// grows or shrinks between two pages therefore neither repeats nor skips items. Without id, tokens
// contain a position. next is nil on the last page.
func Page[T any](items []T, token *string, max, def, limit int, id func(T) string) (page []T, next *string, err error) {
	if max <= 0 {
		max = def
	}
	max = min(max, limit)
	from := 0
	if token != nil && *token != "" {
		if from, err = resumeIndex(items, *token, id); err != nil {
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

func resumeIndex[T any](items []T, token string, id func(T) string) (int, error) {
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
