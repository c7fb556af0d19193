package ecs

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// token is a stored idempotency token.
type token struct {
	fingerprint string   // of the request's parameters
	arns        []string // created by the first call
	at          time.Time
}

// maxTokenAge is how long RunTask's tokens are kept at most. A token also expires when ECS no
// longer returns its tasks, an hour after they stopped.
const maxTokenAge = 24 * time.Hour

// isExpired reports whether ECS has deleted a token.
func (t token) isExpired(tx *world.Tx, op string) bool {
	if op != "RunTask" {
		lasts := tx.Settings().TokenLifetime
		return lasts > 0 && tx.Now().Sub(t.at) > lasts
	}
	for _, arn := range t.arns {
		if _, known := tx.Tasks.Get(arn); known {
			return tx.Now().Sub(t.at) > maxTokenAge
		}
	}
	return len(t.arns) > 0 || tx.Now().Sub(t.at) > maxTokenAge
}

// findRepeated returns the resources that an earlier call with the same token created; ok is false
// if there was no such call. The same token with other parameters is an error. A token is valid
// within its cluster until it expires.
func findRepeated(tx *world.Tx, op, cluster, given, print string, conflict func([]string) error) (arns []string,
	ok bool, err error) {
	if given == "" {
		return nil, false, nil
	}
	if err := checkToken(op, given); err != nil {
		return nil, false, err
	}
	t, ok := stateOf(tx).tokens.Get(op + " " + cluster + " " + given)
	if ok && t.isExpired(tx, op) {
		return nil, false, nil
	}
	if ok && t.fingerprint != print {
		return nil, false, conflict(t.arns)
	}
	return t.arns, ok, nil
}

func rememberToken(tx *world.Tx, op, cluster, given, print string, arns ...string) {
	if given != "" {
		stateOf(tx).tokens.Put(op+" "+cluster+" "+given, token{print, arns, tx.Now()})
	}
}

func checkToken(op, given string) error {
	most := 36
	if op == "RunTask" {
		most = 64
	}
	if len(given) > most {
		return invalidParameter("clientToken can have at most %d characters.", most)
	}
	for i := range len(given) {
		if given[i] < 33 || given[i] > 126 {
			return invalidParameter("clientToken may only contain ASCII characters from 33 to 126.")
		}
	}
	return nil
}

func errTokenReused([]string) error {
	return invalidParameter("The client token was used before with different parameters.")
}
